"""What a run asks of servers and of the links below them.

- **Node stress**: messages a server sends plus those it receives. A network multicast is one send.
- **Link stress**: messages that cross an arc between two routers, over the routes of the underlay. The mean is over
  arcs that are used at all; access links, which every message crosses, are left out.
- **Normalised resource usage** (NRU): latency times messages, summed over all arcs (access links too), divided by the
  same for an ideal multicast from each publisher to the servers that got the event. It is a ratio of sums.

Messages that carry events count, or with `control` all. A message that is lost on its way counts all the way.

Cost: messages are counted by pair of servers first and routes are expanded once a pair, so a million messages take a
second; a multicast is expanded for each publisher and set of receivers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim.checkers.columns import NONE, Columns, Floats, Integers, read_columns
from siftcast.underlay import Underlay

_SENDS = ("sent", "multicast")


@dataclass(frozen=True, slots=True)
class Spread:
    """A load over those who bear it."""

    mean: float
    median: float
    max: float
    count: int

    @classmethod
    def of(cls, values: Integers | Floats) -> Spread:
        """The spread of these values; zeros where there are none."""
        if not len(values):
            return cls(0.0, 0.0, 0.0, 0)
        return cls(float(values.mean()), float(np.median(values)), float(values.max()), len(values))

    def per(self, events: int, each: int = 1_000) -> Spread:
        """The same for so many events."""
        scale = each / events if events else 0.0
        return Spread(self.mean * scale, self.median * scale, self.max * scale, self.count)


def node_stress(trace: Trace, servers: int, *, control: bool = False) -> Integers:
    """Sends plus receives of each server."""
    columns = read_columns(trace, (*_SENDS, "received"), control=control)
    sends = np.concatenate((columns.node[columns.of("sent")], [group.source for group in _multicasts(columns)])).astype(
        np.int64
    )
    receives = columns.node[columns.of("received")]
    stress: Integers = np.bincount(sends, minlength=servers) + np.bincount(receives, minlength=servers)
    return stress


def arc_stress(trace: Trace, underlay: Underlay, *, control: bool = False) -> Integers:
    """How many messages cross each arc of the underlay, access arcs included."""
    columns = read_columns(trace, _SENDS, control=control)
    sent = columns.of("sent")
    stress = np.zeros(len(underlay.arcs), dtype=np.int64)
    pairs, counts = np.unique(columns.node[sent] * underlay.servers + columns.peer[sent], return_counts=True)
    routes = [underlay.route(*divmod(pair, underlay.servers)) for pair in pairs.tolist()]
    lengths = np.array([len(route) for route in routes], dtype=np.int64)
    crossed = np.fromiter((arc for route in routes for arc in route), dtype=np.int64, count=int(lengths.sum()))
    np.add.at(stress, crossed, np.repeat(counts, lengths))
    known: dict[tuple[int, tuple[int, ...]], Integers] = {}
    for group in _multicasts(columns):
        key = group.source, group.receivers
        if key not in known:
            known[key] = underlay.multicast_arcs(*key)
        stress[known[key]] += 1
    return stress


def link_stress(trace: Trace, underlay: Underlay, *, control: bool = False) -> Spread:
    """The load of the arcs between routers that are used."""
    stress = arc_stress(trace, underlay, control=control)[~underlay.arcs.is_access]
    return Spread.of(stress[stress > 0])


def resource_usage(trace: Trace, underlay: Underlay) -> float:
    """Normalised resource usage; NaN where nothing had to be sent."""
    used = float(arc_stress(trace, underlay) @ underlay.arcs.latency_ms)
    ideal = 0.0
    known: dict[tuple[int, tuple[int, ...]], float] = {}
    for key in _needed(trace):
        if key not in known:
            known[key] = float(underlay.arcs.latency_ms[underlay.multicast_arcs(*key)].sum())
        ideal += known[key]
    return used / ideal if ideal else float("nan")


@dataclass(frozen=True, slots=True)
class _Multicast:
    source: int
    receivers: tuple[int, ...]


def _multicasts(columns: Columns) -> Iterator[_Multicast]:
    """Rows of one multicast stand together: same sender, same event, same time, no receiver twice."""
    rows = np.flatnonzero(columns.of("multicast"))
    receivers: list[int] = []
    before: tuple[int, int, float] | None = None
    for row in rows.tolist():
        key = int(columns.node[row]), int(columns.event[row]), float(columns.time_ms[row])
        peer = int(columns.peer[row])
        if before is not None and (key != before or peer in receivers):
            yield _Multicast(before[0], tuple(receivers))
            receivers = []
        before = key
        receivers.append(peer)
    if before is not None:
        yield _Multicast(before[0], tuple(receivers))


def _needed(trace: Trace) -> Iterator[tuple[int, tuple[int, ...]]]:
    """For each published event that others got, its publisher's server and theirs."""
    published = read_columns(trace, ("published",))
    homes = dict(zip((published.events[event] for event in published.event), published.node.tolist(), strict=True))
    table = trace.delivery_table()
    reached: dict[str, set[int]] = {}
    for event, node in zip(table["event"].to_pylist(), table["node"].to_pylist(), strict=True):
        reached.setdefault(event, set()).add(node)
    for event, nodes in reached.items():
        home = homes.get(event, NONE)
        others = nodes - {home}
        if others and home != NONE:
            yield home, tuple(sorted(others))
