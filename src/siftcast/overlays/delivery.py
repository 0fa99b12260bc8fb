"""Delivery: getting a message to destinations that are already known. Its one call is `send(message, destinations)`.

Matching says who; delivery says how. Any scheme that finds destinations goes with any of these (the layering paper):

- `Direct`: a copy to each, straight.
- `NetworkMulticast`: one copy that the network multiplies; the ideal that no overlay can beat.
- `AlongTree`: the destination list travels with the message and is split at each hop of a tree.
- `OnRing`: fingers on a ring of members, log n hops and log n contacts (what Kyra suggests inside large cliques).

A delivery wraps what it sends in a `Parcel` where other nodes must pass it on; `receive` says whether this node is a
destination and what goes on from here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from siftcast.overlays.contract import Effect, Message, NodeId, SendMessage


class Parcel(Message, frozen=True, gc=False):
    """A message on its way to destinations that lie at the receiver or beyond."""

    control: ClassVar[bool] = False

    content: Message
    destinations: tuple[NodeId, ...]
    network: int = 0

    @property
    def event_id(self) -> str | None:
        return self.content.event_id


class Delivery(ABC):
    """One node's part in getting messages to destinations."""

    @abstractmethod
    def send(self, message: Message, destinations: Iterable[NodeId]) -> list[Effect]:
        """Gets a message to each destination once; the node itself must not be among them."""

    def receive(self, parcel: Parcel) -> tuple[Message | None, list[Effect]]:
        """The content, if it is for this node, and what is to go on."""
        return parcel.content, []


class Direct(Delivery):
    """Unicast: a copy to each."""

    def send(self, message: Message, destinations: Iterable[NodeId]) -> list[Effect]:
        listed = tuple(destinations)
        return [SendMessage(Parcel(message, ()), listed)] if listed else []


class NetworkMulticast(Delivery):
    """The network's own multicast, over the merged shortest ways."""

    def send(self, message: Message, destinations: Iterable[NodeId]) -> list[Effect]:
        listed = tuple(destinations)
        return [SendMessage(Parcel(message, ()), listed, multicast=True)] if listed else []


class _Relayed(Delivery):
    """Each hop takes its own name off the list and splits the rest."""

    def __init__(self, node: NodeId, network: int = 0) -> None:
        self._node = node
        self._network = network

    def send(self, message: Message, destinations: Iterable[NodeId]) -> list[Effect]:
        return [
            SendMessage(Parcel(message, tuple(group), self._network), (hop,))
            for hop, group in self._split(destinations).items()
        ]

    def receive(self, parcel: Parcel) -> tuple[Message | None, list[Effect]]:
        others = [node for node in parcel.destinations if node != self._node]
        mine = parcel.content if len(others) < len(parcel.destinations) else None
        return mine, self.send(parcel.content, others)

    @abstractmethod
    def _split(self, destinations: Iterable[NodeId]) -> dict[NodeId, list[NodeId]]:
        """Which destinations are reached over which next hop."""


class AlongTree(_Relayed):
    """Over the edges of a tree; `next_hops` names the neighbour on the way to each node."""

    def __init__(self, node: NodeId, next_hops: Mapping[NodeId, NodeId], network: int = 0) -> None:
        super().__init__(node, network)
        self._next_hops = next_hops

    def _split(self, destinations: Iterable[NodeId]) -> dict[NodeId, list[NodeId]]:
        groups: dict[NodeId, list[NodeId]] = {}
        for destination in destinations:
            groups.setdefault(self._next_hops[destination], []).append(destination)
        return groups


class OnRing(_Relayed):
    """Over fingers at distances 1, 2, 4, … on the ring of members: at most log2 n hops, log2 n contacts."""

    def __init__(self, node: NodeId, members: Sequence[NodeId], network: int = 0) -> None:
        super().__init__(node, network)
        count = len(members)
        start = members.index(node)
        self._distance = {other: (place - start) % count for place, other in enumerate(members)}
        self._steps = [1 << bit for bit in range(max(0, count - 1).bit_length()) if 1 << bit < count]
        self._fingers = [members[(start + step) % count] for step in self._steps]

    @property
    def contacts(self) -> tuple[NodeId, ...]:
        """The members this node must know."""
        return tuple(dict.fromkeys(self._fingers))

    def _split(self, destinations: Iterable[NodeId]) -> dict[NodeId, list[NodeId]]:
        groups: dict[NodeId, list[NodeId]] = {}
        for destination in destinations:
            finger = bisect_right(self._steps, self._distance[destination]) - 1
            groups.setdefault(self._fingers[finger], []).append(destination)
        return groups
