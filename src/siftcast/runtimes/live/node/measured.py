"""What the nodes of a network have measured, as settings of a plan: delays between them, and the load of the content.

Each node says how far it is from the others (`echoes`) and what passes it (`load_meter`); here that is added up. It
goes into the settings of an epoch, so that all nodes plan by the same numbers (`planning`).

- Delays are the mean of both directions. Between two nodes that have not measured each other it is the shortest way
  over those that have; where there is none, by their regions.
- The load of a cell is that of Kyra: how many want an event there, by the share of the events that lie there. A tenth
  of it is spread evenly, because what was not seen yet may come.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from statistics import median
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from siftcast.model import Schema
from siftcast.overlays.contract import NodeId
from siftcast.runtimes.live.node.load_meter import added, cell_edges
from siftcast.schemes import AxisLoad
from siftcast.space import ContentSpace

_UNSEEN = 0.1
_DIGITS = 3

Floats = npt.NDArray[np.float64]


class DelayTable(msgspec.Struct, frozen=True, omit_defaults=True):
    """Delays between these nodes as they travel: 4 bytes for each pair, row by row above the diagonal.

    They go with every message about a view, and a pair with its identities would take 28. NaN is what nobody knows.
    """

    nodes: list[NodeId] = []
    delays_ms: bytes = b""

    @classmethod
    def of(cls, delays_ms: Sequence[tuple[NodeId, NodeId, float]]) -> DelayTable:
        """The table of some pairs, the smaller identity first."""
        known = {(a, b): delay_ms for a, b, delay_ms in delays_ms}
        nodes = sorted({node for pair in known for node in pair})
        listed = [known.get(pair, np.nan) for pair in combinations(nodes, 2)]
        return cls(nodes, np.array(listed, dtype="<f4").tobytes())

    def pairs(self) -> list[tuple[NodeId, NodeId, float]]:
        """The pairs that are known."""
        listed = np.frombuffer(self.delays_ms, dtype="<f4").tolist()
        rows = zip(combinations(self.nodes, 2), listed, strict=True)
        return [(a, b, round(delay_ms, _DIGITS)) for (a, b), delay_ms in rows if delay_ms == delay_ms]


class Measured(msgspec.Struct, frozen=True, omit_defaults=True):
    """Delays by pairs of nodes, and for attributes the load of each of its cells (`load_meter.cell_edges`).

    Delays are pairs here, and a `table` where they travel.
    """

    delays_ms: list[tuple[NodeId, NodeId, float]] = []
    loads: dict[str, list[float]] = {}
    table: DelayTable = DelayTable()

    def packed(self) -> Measured:
        """The same with delays as they travel."""
        return Measured([], self.loads, DelayTable.of(self.delays_ms)) if self.delays_ms else self

    def unpacked(self) -> Measured:
        """The same with delays as pairs."""
        return Measured(self.table.pairs(), self.loads) if self.table.nodes else self

    def updated(self, answers: Sequence[Mapping[str, Any]], gone: Collection[NodeId] = ()) -> Measured:
        """The same with delays as nodes measure them now; what none of them has measured stays as it was."""
        delays = {(a, b): delay_ms for a, b, delay_ms in self.delays_ms if a not in gone and b not in gone}
        delays |= {(a, b): delay_ms for a, b, delay_ms in _delays(answers, gone)}
        return Measured([(a, b, delay_ms) for (a, b), delay_ms in sorted(delays.items())], self.loads)

    @property
    def nodes(self) -> frozenset[NodeId]:
        """Those of whom some delay is known."""
        return frozenset(node for a, b, _ in self.delays_ms for node in (a, b))

    def latencies_ms(self, nodes: Sequence[NodeId], guessed_ms: Floats) -> Floats:
        """How far the nodes are from each other, guessed where nobody knows."""
        from scipy.sparse.csgraph import shortest_path

        places = {node: place for place, node in enumerate(nodes)}
        known = np.full((len(nodes), len(nodes)), np.inf)
        np.fill_diagonal(known, 0.0)
        for a, b, delay_ms in self.delays_ms:
            if a in places and b in places:
                known[places[a], places[b]] = known[places[b], places[a]] = delay_ms
        ways = shortest_path(np.where(np.isinf(known), 0.0, np.maximum(known, 1e-6)), directed=False)
        found = np.where(np.isinf(known), ways, known)
        return np.where(np.isinf(found), guessed_ms, found)

    def axis_loads(self, schema: Schema | None) -> dict[str, AxisLoad]:
        """The load along each attribute of the schema that was counted."""
        if schema is None or not self.loads:
            return {}
        edges = {axis.attribute.name: cell_edges(axis) for axis in ContentSpace(schema).axes}
        return {
            name: AxisLoad(edges[name], np.asarray(loads))
            for name, loads in self.loads.items()
            if name in edges and len(edges[name]) == len(loads) + 1
        }


def combine(answers: Sequence[Mapping[str, Any]], gone: Collection[NodeId] = ()) -> Measured:
    """What all nodes that answered have measured together; delays to nodes that are gone say nothing any more."""
    events, wanted = (added([answer[what] for answer in answers]) for what in ("events", "wanted"))
    subscriptions = sum(answer["subscriptions"] for answer in answers)
    loads = {name: _loads(by_cell, wanted.get(name), subscriptions) for name, by_cell in events.items()}
    return Measured(_delays(answers, gone), {name: found for name, found in loads.items() if found})


def _delays(answers: Sequence[Mapping[str, Any]], gone: Collection[NodeId]) -> list[tuple[NodeId, NodeId, float]]:
    delays: dict[tuple[NodeId, NodeId], list[float]] = {}
    for answer in answers:
        for other, delay_ms in answer["delays_ms"]:
            if other in gone:
                continue
            pair = min(answer["identity"], other), max(answer["identity"], other)
            delays.setdefault(pair, []).append(delay_ms)
    return [(a, b, round(sum(each) / len(each), _DIGITS)) for (a, b), each in sorted(delays.items())]


def _loads(events: Floats, wanted: Floats | None, subscriptions: int) -> list[float]:
    """The load of each cell; nothing, if nobody publishes or wants anything."""
    from siftcast.planning import cell_loads

    if wanted is None or len(wanted) != len(events) or not events.sum():
        return []
    popularity = np.clip(wanted / max(subscriptions, 1), 0.0, 1.0)
    loads = cell_loads(popularity, events / events.sum())
    if not loads.sum():
        return []
    spread = (1 - _UNSEEN) * loads / loads.sum() + _UNSEEN / len(loads)
    return [float(f"{load:.6g}") for load in spread]


def summarise(measured: Measured, answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What was measured, for people."""
    delays_ms = [delay_ms for _, _, delay_ms in measured.delays_ms]
    return {
        "nodes": len(answers),
        "pairs": len(delays_ms),
        "delay_ms_median": median(delays_ms) if delays_ms else None,
        "delay_ms_max": max(delays_ms, default=None),
        "events_s": sum(answer["events_s"] for answer in answers),
        "subscriptions": sum(answer["subscriptions"] for answer in answers),
        "attributes": sorted(measured.loads),
    }
