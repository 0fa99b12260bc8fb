"""The way each event took through a network, read from the trace: who was sent it, how often, after how many hops."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import pyarrow.compute as pc

from siftcast.overlays.contract import NodeId
from siftcast.overlays.trace import Trace


@dataclass(slots=True)
class Trip:
    """One event. The publisher is at depth 0."""

    publisher: NodeId
    sent: int = 0
    receipts: dict[NodeId, int] = field(default_factory=dict)
    depths: dict[NodeId, int] = field(default_factory=dict)
    delivered: set[NodeId] = field(default_factory=set)

    @property
    def participants(self) -> set[NodeId]:
        """Whoever was sent it, but for its publisher."""
        return self.receipts.keys() - {self.publisher}

    @property
    def repeated(self) -> int:
        """Receipts beyond the first."""
        return sum(self.receipts.values()) - len(self.receipts)


def read_trips(trace: Trace, carriers: Collection[str]) -> dict[str, Trip]:
    """The trip of every event, over messages of these names."""
    table = trace.record_table()
    table = table.filter(pc.is_valid(table["event"]))
    columns = (table[name].to_pylist() for name in ("kind", "node", "peer", "message", "event"))
    trips: dict[str, Trip] = {}
    for kind, node, peer, message, event in zip(*columns, strict=True):
        if kind == "published":
            trips[event] = Trip(node, depths={node: 0})
        elif message not in carriers or event not in trips:
            continue
        elif kind == "sent":
            trips[event].sent += 1
        elif kind == "received":
            trip = trips[event]
            trip.receipts[node] = trip.receipts.get(node, 0) + 1
            trip.depths.setdefault(node, trip.depths.get(peer, 0) + 1)
    deliveries = trace.delivery_table()
    for node, event in zip(deliveries["node"].to_pylist(), deliveries["event"].to_pylist(), strict=True):
        trips[event].delivered.add(node)
    return trips
