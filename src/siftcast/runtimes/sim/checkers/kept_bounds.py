"""Which subscriptions with a bound on delay have it kept, by the judgement of the live network (`overlays.bounds`).

A trace knows when each event was published and when it came to each server, so the age of a delivery is exact, and so
is its slowest hop: of the way on which it came first, from one server's first arrival to that of the next. Where
messages were only counted there are no hops.

Cost: a microsecond or two for each delivery to such a subscription, and one pass over the arrivals of their events.
"""

from __future__ import annotations

from dataclasses import dataclass

from siftcast.overlays.bounds import BoundWatch, Hop, Standing
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim.checkers.columns import read_columns, rows_of

_Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class KeptBound:
    """A subscription's bound and how it stood at the end."""

    subscription: str
    bound_ms: float
    standing: Standing


def kept_bounds(trace: Trace) -> tuple[KeptBound, ...]:
    """Every subscription with a bound, the one with the smallest share in time first."""
    bounds = {item.id: item.delay_ms_max for item in trace.subscriptions.values() if item.delay_ms_max is not None}
    if not bounds:
        return ()
    watches = {id: BoundWatch(bound, 0.0) for id, bound in bounds.items()}
    ways = _Ways(trace)
    for time, node, event, ids in _arrived(trace):
        begun = ways.begun.get(event)
        for id in ids:
            if id in watches and begun is not None:
                watches[id].note(time - begun, ways.slowest(event, node), time)
    for id, (reach_ms, direct_ms) in trace.expected.items():
        if id in watches:
            watches[id].expect(reach_ms, direct_ms, 0.0)
    found = [KeptBound(id, bounds[id], watch.standing) for id, watch in watches.items()]
    return tuple(sorted(found, key=lambda each: 1.0 if each.standing.share is None else each.standing.share))


def _arrived(trace: Trace) -> list[tuple[float, int, str, list[str]]]:
    """What was handed to subscribers, in order: deliveries, and first offers of durable subscriptions."""
    table = trace.delivery_table()
    names = ("time_ms", "node", "event", "subscriptions")
    found = list(zip(*(table[name].to_pylist() for name in names), strict=True))
    offered: set[tuple[str, str]] = set()
    for row in rows_of(trace, ("offered",)).to_pylist():
        id = row["message"].rpartition("@")[0]
        if (id, row["event"]) not in offered:
            offered.add((id, row["event"]))
            found.append((row["time_ms"], row["node"], row["event"], [id]))
    return sorted(found, key=lambda each: each[0])


class _Ways:
    """When events were published, and how they came to each server first."""

    def __init__(self, trace: Trace) -> None:
        published = read_columns(trace, ("published",))
        self.begun = {
            published.events[event]: time
            for event, time in zip(published.event.tolist(), published.time_ms.tolist(), strict=True)
        }
        self._first: dict[_Place, tuple[float, int]] = {}
        self._slowest: dict[_Place, Hop | None] = {}
        if trace.messages:
            rows = read_columns(trace, ("received",))
            columns = (rows.event.tolist(), rows.node.tolist(), rows.time_ms.tolist(), rows.peer.tolist())
            for event, node, time, peer in zip(*columns, strict=True):
                self._first.setdefault((rows.events[event], node), (time, peer))
        for event, node in zip(published.event.tolist(), published.node.tolist(), strict=True):
            self._slowest[published.events[event], node] = None

    def slowest(self, event: str, node: int) -> Hop | None:
        """The hop that took an event longest on its way to a server; None at its publisher's, or if it is not known."""
        chain: list[int] = []
        while (event, node) not in self._slowest and (event, node) in self._first and node not in chain:
            chain.append(node)
            node = self._first[event, node][1]
        slowest = self._slowest.get((event, node))
        for at in reversed(chain):
            time, peer = self._first[event, at]
            came = self._first.get((event, peer), (self.begun.get(event, time), 0))[0]
            if (event, peer) in self._slowest and self._slowest[event, peer] is None:
                came = self.begun.get(event, time)  # at its publisher's, it was there from the start
            hop = Hop(peer, at, time - came)
            slowest = hop if slowest is None or hop.taken_ms > slowest.taken_ms else slowest
            self._slowest[event, at] = slowest
        return slowest
