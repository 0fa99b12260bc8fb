"""Runs one configuration: builds the network once, then sends the same events under every strategy.

Cost is the CPU time that all routers spend on events; set-up does not count. The total is taken over a whole run, best
of the repeats. Where it goes (match at the source, match elsewhere, lookups and the rest) is measured in a separate
run, because reading a clock around each match takes time, too; its shares are applied to the total.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from time import process_time, process_time_ns
from typing import Any

import numpy as np

from siftcast.experiments.lookup_reuse.setup import (
    ROUTERS,
    STRATEGIES,
    binary_tree,
    cyclic_graph,
    events_of,
    subscriptions_of,
)
from siftcast.matching import Matcher
from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.contract import (
    Deliver,
    MessageReceived,
    PublishRequested,
    SendMessage,
    Spent,
    SubscribeRequested,
)
from siftcast.overlays.keys import LOCAL, KeyTable, key_of
from siftcast.overlays.links import Links, SourceTreeLinks, TreeLinks
from siftcast.overlays.loopback import Loopback
from siftcast.overlays.messages import Publication
from siftcast.overlays.protocols.filter_based import FilterBased
from siftcast.overlays.reuse import Reuse
from siftcast.overlays.tables import matcher_tables

Found = dict[str, Any]


def run(configuration: dict[str, Any]) -> Found:
    """The entry of the sweep."""
    if configuration["part"] == "exactness":
        return _exactness(configuration["seed"])
    return _costs(**{name: value for name, value in configuration.items() if name != "part"})


# -- costs -------------------------------------------------------------------------------------------


def _costs(engine: str, density: float, seed: int, subscriptions: int, events: int, repeats: int) -> Found:
    rng = np.random.default_rng([seed, round(density * 10_000)])
    wanted = subscriptions_of(subscriptions, density, rng)
    clock = _Clock()
    tree = binary_tree()
    routers = [
        FilterBased(node, TreeLinks.of(tree, node), lambda: _TimedTable(engine, clock), reuse=Reuse("partial", 1))
        for node in range(ROUTERS)
    ]
    _subscribe(routers, wanted)
    clock.warm_up(events_of(2, rng))
    sources = rng.integers(0, ROUTERS, size=events).tolist()
    published = list(zip(sources, events_of(events, rng), strict=True))
    found: Found = {"operations": _operations(engine, wanted, [event for _, event in published])}
    expected = None
    for strategy in STRATEGIES:
        for router in routers:
            router.reuse = Reuse.parse(strategy)
        times = []
        for _ in range(repeats):
            begun = process_time()
            for source, event in published:
                _publish(routers, source, event, clock)
            times.append(process_time() - begun)
        measured = _Tally()
        clock.running = True
        for source, event in published:
            _publish(routers, source, event, clock, measured)
        clock.running = False
        if expected is None:
            expected = measured.delivered
        if measured.delivered != expected:
            raise AssertionError(f"{strategy} delivers {measured.delivered} times, never-reuse {expected} times")
        found[strategy] = measured.summary(min(times), clock, len(published))
        clock.reset()
    return found


def _subscribe(routers: list[FilterBased], wanted: list[Subscription]) -> None:
    """Deals subscriptions out in turn and lets them spread."""
    queue: deque[tuple[int, Any]] = deque(
        (node, SubscribeRequested(tuple(wanted[node :: len(routers)]))) for node in range(len(routers))
    )
    while queue:
        node, stimulus = queue.popleft()
        for effect in routers[node].handle(stimulus, 0.0):
            assert isinstance(effect, SendMessage)
            queue.extend((other, MessageReceived(node, effect.message)) for other in effect.destinations)


def _publish(routers: list[FilterBased], source: int, event: Event, clock: _Clock, tally: _Tally | None = None) -> None:
    """Sends one event through the routers."""
    queue: deque[tuple[int, Any]] = deque([(source, PublishRequested(event))])
    while queue:
        node, stimulus = queue.popleft()
        clock.at_source = type(stimulus) is PublishRequested
        if tally is None:
            effects = routers[node].handle(stimulus, 0.0)
        else:
            begun = process_time_ns()
            effects = routers[node].handle(stimulus, 0.0)
            tally.handling_ns += process_time_ns() - begun
        for effect in effects:
            if type(effect) is SendMessage:
                received = MessageReceived(node, effect.message)
                queue.extend((other, received) for other in effect.destinations)
            if tally is not None:
                tally.count(effect)


class _Clock:
    """Time spent in matching, at the source of an event and elsewhere; stands still unless running."""

    def __init__(self) -> None:
        self.running = False
        self.at_source = True
        self.tables: list[Matcher] = []
        self.reset()

    def warm_up(self, events: list[Event]) -> None:
        """Has every table finish what it put off, so that no strategy pays for it."""
        for table in self.tables:
            for event in events:
                table.match(event)
                table.match_any(event)

    def reset(self) -> None:
        self.source_ns = self.elsewhere_ns = 0

    def add(self, nanoseconds: int) -> None:
        if self.at_source:
            self.source_ns += nanoseconds
        else:
            self.elsewhere_ns += nanoseconds


class _TimedTable:
    """A matcher that says how long it takes."""

    __slots__ = ("_clock", "_matcher")

    def __init__(self, engine: str, clock: _Clock) -> None:
        self._matcher = Matcher(engine)
        self._clock = clock
        clock.tables.append(self._matcher)

    def match(self, event: Event, limit: int | None = None) -> list[str]:
        if not self._clock.running:
            return self._matcher.match(event, limit)
        begun = process_time_ns()
        found = self._matcher.match(event, limit)
        self._clock.add(process_time_ns() - begun)
        return found

    def match_any(self, event: Event) -> bool:
        if not self._clock.running:
            return self._matcher.match_any(event)
        begun = process_time_ns()
        found = self._matcher.match_any(event)
        self._clock.add(process_time_ns() - begun)
        return found

    def add(self, id: str, filter: Filter) -> None:
        self._matcher.add(id, filter)

    def remove(self, id: str) -> None:
        self._matcher.remove(id)

    def __contains__(self, id: object) -> bool:
        return id in self._matcher

    def __iter__(self) -> Iterator[str]:
        return iter(self._matcher)

    def __len__(self) -> int:
        return len(self._matcher)


class _Tally:
    """What happened while the clock ran."""

    def __init__(self) -> None:
        self.handling_ns = 0
        self.delivered = self.messages = self.matches = self.lookups = self.bytes_max = self.bytes_sum = 0

    def count(self, effect: object) -> None:
        match effect:
            case SendMessage(message, destinations):
                self.messages += len(destinations)
                self.bytes_sum += message.overhead_bytes * len(destinations)
                self.bytes_max = max(self.bytes_max, message.overhead_bytes)
            case Deliver(_, ids):
                self.delivered += len(ids)
            case Spent(matches, lookups):
                self.matches += matches
                self.lookups += lookups

    def summary(self, total_s: float, clock: _Clock, events: int) -> Found:
        """Microseconds and counts per event."""
        matching = clock.source_ns + clock.elsewhere_ns
        handling = max(self.handling_ns, matching, 1)
        total_us = total_s * 1e6 / events
        return {
            "total_us": total_us,
            "source_us": total_us * clock.source_ns / handling,
            "elsewhere_us": total_us * clock.elsewhere_ns / handling,
            "lookup_us": total_us * (handling - matching) / handling,
            "messages": self.messages / events,
            "matches": self.matches / events,
            "lookups": self.lookups / events,
            "bytes_mean": self.bytes_sum / max(self.messages, 1),
            "bytes_max": self.bytes_max,
        }


def _operations(engine: str, wanted: list[Subscription], events: list[Event]) -> Found:
    """Table 1: one key looked up, and one content match over all subscriptions, in microseconds."""
    keys = KeyTable()
    table = Matcher(engine)
    for item in wanted:
        keys.add(item.id, LOCAL)
        table.add(item.id, item.filter)
    asked = [key_of(item.id) for item in wanted]
    for event in events[:5]:
        table.match_any(event)
    begun = process_time()
    for key in asked:
        keys.find(key)
    lookup = (process_time() - begun) / len(asked)
    begun = process_time()
    for event in events:
        table.match_any(event)
    exists = (process_time() - begun) / len(events)
    begun = process_time()
    for event in events:
        table.match(event)
    find_all = (process_time() - begun) / len(events)
    return {"lookup_us": lookup * 1e6, "exists_us": exists * 1e6, "find_all_us": find_all * 1e6}


# -- what must hold exactly --------------------------------------------------------------------------


def _exactness(seed: int) -> Found:
    return {"covering": _covering(seed), "graph": _graph(seed)}


def _covering(seed: int) -> Found:
    """L6: subscribers missed with covering switched on, by strategy, on a small random tree."""
    rng = np.random.default_rng([seed, 6])
    tree = binary_tree(15)
    wanted = subscriptions_of(60, 0.2, rng) + [
        Subscription(f"w{number}", Filter.parse(f"a1 < {0.5 + number / 20:.2f}")) for number in range(5)
    ]
    events = events_of(25, rng)
    homes = {item.id: int(rng.integers(0, 15)) for item in wanted}
    sources = rng.integers(0, 15, size=len(events)).tolist()
    expected = {(event.id, item.id) for event in events for item in wanted if item.filter.matches(event)}
    missed: Found = {"expected": len(expected)}
    for strategy in ("never", "always", "partial-1", "partial-60"):
        net = _loopback(lambda node: TreeLinks.of(tree, node), len(tree), strategy, summary="covering")
        for item in wanted:
            net.do(homes[item.id], SubscribeRequested((item,)))
        for source, event in zip(sources, events, strict=True):
            net.do(source, PublishRequested(event))
        got = Counter((event, id) for _, event, id in net.delivered)
        if any(count > 1 for count in got.values()) or set(got) - expected:
            raise AssertionError(f"{strategy} with covering delivers twice, or what nobody asked for")
        missed[strategy] = len(expected - set(got))
    return missed


def _graph(seed: int) -> Found:
    """L7: how often a router gets an event on a graph with cycles, and whether deliveries are exact."""
    rng = np.random.default_rng([seed, 7])
    graph = cyclic_graph(rng)
    wanted = subscriptions_of(300, 0.05, rng)
    homes = {item.id: int(rng.integers(0, ROUTERS)) for item in wanted}
    events = events_of(30, rng)
    sources = rng.integers(0, ROUTERS, size=len(events)).tolist()
    expected = {(event.id, item.id) for event in events for item in wanted if item.filter.matches(event)}
    found: Found = {"links": sum(map(len, graph.neighbours.values())) // 2, "expected": len(expected)}
    for strategy in ("never", "always", "partial-60"):
        net = _loopback(lambda node: SourceTreeLinks.of(graph, node), ROUTERS, strategy)
        for item in wanted:
            net.do(homes[item.id], SubscribeRequested((item,)))
        net.sent.clear()
        for source, event in zip(sources, events, strict=True):
            net.do(source, PublishRequested(event))
        copies = Counter((to, message.event.id) for _, to, message in net.sent if isinstance(message, Publication))
        delivered = Counter((event, id) for _, event, id in net.delivered)
        found[strategy] = {
            "copies_max": max(copies.values()),
            "exact": set(delivered) == expected and max(delivered.values()) == 1,
        }
    return found


def _loopback(links: Any, count: int, strategy: str, summary: str = "none") -> Loopback:
    tables = matcher_tables("brute_force")
    reuse = Reuse.parse(strategy)

    def make(node: int) -> FilterBased:
        own: Links = links(node)
        return FilterBased(node, own, tables, summary=summary, reuse=reuse, unsafe=True)

    return Loopback(range(count), make)
