"""QoS peers by the thousand: until all are served, how many bounds are kept, and how fast events pass through.

Peers lie in a square and are 5 to 90 ms apart. Each wants a rectangle of 6 to 31 % of each of two attributes, and two
publishers offer everything. All come at once: first 7,000 without bounds, then fewer of whom 60 % name a bound of 20 to
80 ms more than the publishers themselves need. Events are published afterwards; everyone who wants one must get it,
once. Bounds are judged by the links there are and the delays of the network, not by what peers say of themselves. Times
are those of the process, checking not counted.
"""

from __future__ import annotations

from math import inf
from random import Random
from time import process_time

import numpy as np

from benchmarks.report import Report
from benchmarks.settings import Settings
from siftcast.model import Attribute, Event, Filter, Schema, Subscription
from siftcast.overlays.contract import AdvertiseRequested, MessageReceived, NodeId, SubscribeRequested
from siftcast.overlays.protocols.qos import PeerId, Qos, QosSettings
from siftcast.overlays.protocols.qos.messages import Advert, Connect, Forward, News, Profile
from siftcast.overlays.tables import matcher_tables
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim import Simulation
from siftcast.space.dz import DzSet, DzSpace

GOAL_S, GOAL_MESSAGES = 300.0, 100_000.0
PUBLISHERS, BOUNDED, SPARE_MS = 2, 0.6, (20.0, 80.0)
WIDTHS, SIDE = (8, 16, 40), 128
SCHEMA = Schema([Attribute("x", "int", (0, SIDE - 1), 1), Attribute("y", "int", (0, SIDE - 1), 1)])
TABLES = matcher_tables("brute_force")
STEP_MS, LIMIT_MS, QUIET_MS = 500.0, 120_000.0, 30_000.0


class _Square:
    """Peers in a square; a message takes 5 ms, and 60 for the length of a side."""

    def __init__(self, nodes: int, random: Random) -> None:
        self._points = [complex(random.random(), random.random()) for _ in range(nodes)]

    def latency_ms(self, a: int, b: int) -> float:
        return 5.0 + 60.0 * abs(self._points[a] - self._points[b]) if a != b else 0.0


class _Network:
    """Publishers, and peers with a rectangle each; some with a bound."""

    def __init__(self, nodes: int, seed: int, *, bounded: float, degree: int) -> None:
        self.random = Random(seed)
        self.delays = _Square(nodes, self.random)
        space, settings = DzSpace.of(SCHEMA), QosSettings(degree=degree)
        entrances = [(), *((self.random.randrange(node),) for node in range(1, nodes))]
        self.simulation = Simulation(
            range(nodes),
            lambda node: Qos(node, space, TABLES, settings),
            self.delays,
            seed=seed,
            trace=Trace(messages=False),
            contacts=entrances.__getitem__,
        )
        self.boxes = np.array([self._box() for _ in range(nodes)])
        everything = Filter.parse("TRUE")
        for node in range(PUBLISHERS):
            self.boxes[node] = (SIDE, -1, SIDE, -1)
            self.simulation.at(0.0, node, AdvertiseRequested((Subscription(f"a{node}", everything),)))
        for node in range(PUBLISHERS, nodes):
            left, right, low, high = self.boxes[node].tolist()
            wanted = Filter.parse(f"x BETWEEN {left} AND {right} AND y BETWEEN {low} AND {high}")
            direct_ms = max(self.delays.latency_ms(each, node) for each in range(PUBLISHERS))
            bound_ms = direct_ms + self.random.uniform(*SPARE_MS) if self.random.random() < bounded else None
            self.simulation.subscribe(node, Subscription(f"s{node}", wanted, delay_ms_max=bound_ms))

    def _box(self) -> tuple[int, int, int, int]:
        width, height = self.random.choice(WIDTHS), self.random.choice(WIDTHS)
        left, low = self.random.randrange(SIDE - width), self.random.randrange(SIDE - height)
        return left, left + width, low, low + height

    @property
    def protocols(self) -> dict[NodeId, Qos]:
        return self.simulation.protocols  # type: ignore[return-value]

    def serve_all(self) -> float:
        """Runs until everybody is served, by steps; returns the seconds it took."""
        started = process_time()
        while True:
            self.simulation.run(self.simulation.now + STEP_MS)
            if all(self._is_served(node) for node in self.protocols.values()):
                return process_time() - started
            if self.simulation.now > LIMIT_MS:
                raise RuntimeError(f"peers are not all served after {LIMIT_MS:g} ms")

    @staticmethod
    def _is_served(node: Qos) -> bool:
        """Whether a node knows all publishers, and gets all that it wants of them."""
        known = len(node.state()["publishing"]) == PUBLISHERS
        return known and all(place.is_served for place in node.places.values())

    def reaches(self) -> dict[PeerId, tuple[float, int]]:
        """How late events come to each peer, and through how many links, by the links there are."""
        found: dict[PeerId, tuple[float, int]] = {}

        def reach(peer: PeerId) -> tuple[float, int]:
            if peer[1] == 0:
                return 0.0, 0
            if peer not in found:
                found[peer] = (inf, 0)  # what is met again on its own way is a circle
                place = self.protocols[peer[0]].places[peer[1]]
                ways = [
                    (delay + self.delays.latency_ms(parent[0], peer[0]), depth + 1)
                    for parent, link in place.parents.links.items()
                    if link.granted
                    for delay, depth in (reach(parent),)
                ]
                found[peer] = (max(delay for delay, _ in ways), max(depth for _, depth in ways))
            return found[peer]

        for node, protocol in self.protocols.items():
            for number in protocol.places:
                reach((node, number))
        return found

    def publish(self, events: int) -> int:
        """Publishes events; how many did not reach exactly those who want them."""
        simulation, left, right, low, high = self.simulation, *self.boxes.T
        first, wanted = len(simulation.trace.deliveries), {}
        for number in range(events):
            x, y = self.random.randrange(SIDE), self.random.randrange(SIDE)
            wanted[f"e{number}"] = np.flatnonzero((left <= x) & (x <= right) & (low <= y) & (y <= high)).tolist()
            simulation.publish(number % PUBLISHERS, Event({"x": x, "y": y}, id=f"e{number}"))
        simulation.run(simulation.now + 2_000.0)
        got: dict[str, list[NodeId]] = {id: [] for id in wanted}
        for row in simulation.trace.deliveries[first:]:
            got[row[2]].append(row[1])
        return sum(sorted(nodes) != wanted[id] for id, nodes in got.items())


def run(settings: Settings, report: Report) -> None:
    """Measures all of it."""
    _measure_growth(settings, report)
    _measure_bounds(settings, report)
    _measure_messages(settings, report)


def _measure_growth(settings: Settings, report: Report) -> None:
    nodes, events = settings.size(7_000, 300), settings.size(100, 50)
    report.progress(f"{nodes:,} QoS peers look for parents")
    network = _Network(nodes, settings.seed, bounded=0.0, degree=13)
    seconds = network.serve_all()
    goal = None if settings.quick else GOAL_S
    note = f"{network.simulation.now / 1000:.0f} s simulated"
    report.add(f"{nodes:,} QoS peers until all are served", seconds, "s", "lower", goal=goal, note=note)
    _report_tree(network, report)
    wrong = network.publish(events)
    report.add("events that did not reach exactly who wants them", wrong, "", "lower", goal=0, required=True)


def _measure_bounds(settings: Settings, report: Report) -> None:
    nodes = settings.size(1_000, 200)
    report.progress(f"{nodes:,} QoS peers, most of them with bounds")
    network = _Network(nodes, settings.seed, bounded=BOUNDED, degree=10)
    seconds = network.serve_all()
    started = process_time()
    network.simulation.run(network.simulation.now + QUIET_MS)
    seconds += process_time() - started
    seconds += network.serve_all()
    reaches = network.reaches()
    bounds = {
        (node, number): place.bound.bound_ms
        for node, protocol in network.protocols.items()
        for number, place in protocol.places.items()
        if place.bound.is_finite
    }
    kept = sum(reaches[peer][0] <= bound_ms for peer, bound_ms in bounds.items()) / len(bounds)
    report.add(f"bounds kept of {len(bounds):,}, all feasible", 100 * kept, "%", "higher")
    report.add(f"{nodes:,} QoS peers with bounds", seconds, "s", "lower", note="until 30 s after all are served")
    _report_tree(network, report)
    wrong = network.publish(50)
    report.add("events that missed or came twice", wrong, "", "lower", goal=0, required=True)


def _report_tree(network: _Network, report: Report) -> None:
    depths = [depth for _, depth in network.reaches().values()]
    places = [place for protocol in network.protocols.values() for place in protocol.places.values()]
    report.add("links from a publisher to a peer", float(np.mean(depths)), "", "lower", note=f"at most {max(depths)}")
    quarter = 0.25  # of all expressions, the part that holds events with both values
    taken = float(np.mean([place.taken_on for place in places])) / quarter
    report.add("of all events, taken on for others by a peer", 100 * taken, "%", "lower")


def _measure_messages(settings: Settings, report: Report) -> None:
    """One peer with a parent and eight children gets events: messages in and out."""
    events = settings.size(20_000, 2_000)
    space = DzSpace.of(SCHEMA)
    everything = space.of_filter(Filter.parse("TRUE"), 16)
    node = Qos(1, space, TABLES, QosSettings(degree=8))
    node.handle(MessageReceived(0, News((Advert(0, everything, 1),), (), False)), 0.0)
    node.handle(SubscribeRequested((Subscription("s", Filter.parse("x < 80")),)), 0.0)
    for child in range(2, 10):
        region = space.of_filter(Filter.parse(f"x < {8 * child}"), 16)
        own = float(region.volume)
        profile = Profile((child, 1), region, own, inf, inf, True, inf, 0, None, 0, inf)
        node.handle(MessageReceived(child, Connect(1, profile, region, 1)), 1.0)
    forwards = []
    for number in range(events):
        event = Event({"x": number % SIDE, "y": number % 100}, id=f"e{number}")
        forwards.append(MessageReceived(0, Forward((1,), event, DzSet([space.of_event(event)]), 1.0)))
    sent = 0
    started = process_time()
    for forward in forwards:
        sent += len(node.handle(forward, 2.0))
    seconds = process_time() - started
    expected = sum((number % SIDE < 8 * child) for number in range(events) for child in range(2, 10))
    expected += sum(number % SIDE < 80 for number in range(events))
    report.add("copies and deliveries too many or too few", abs(sent - expected), "", "lower", goal=0, required=True)
    rate = (events + sent) / seconds
    report.add("messages through one peer", rate, "/s", "higher", goal=GOAL_MESSAGES, note="in, out and delivered")
