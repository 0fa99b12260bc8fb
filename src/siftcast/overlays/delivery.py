"""Delivery: getting a message to destinations that are already known. Its one call is `send(message, destinations)`.

Matching says who; delivery says how. Any scheme that finds destinations goes with any of these (the layering paper):

- `Direct`: a copy to each, straight.
- `NetworkMulticast`: one copy that the network multiplies; the ideal that no overlay can beat.
- `AlongTree`: the destination list travels with the message and is split at each hop of a tree.
- `OnRing`: fingers on a ring of members, log n hops and log n contacts (what Kyra suggests inside large cliques).
- `OverCliques`: one copy into each group of nodes that are near each other, and from there a copy to each (Kyra's
  cliques): far links carry an event once.

A delivery wraps what it sends in a `Parcel`; `receive` says whether this node is a destination and what goes on from
here. What a parcel carries is opaque (`wrapped`): it is read by destinations and by nobody on the way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from siftcast.model import DataError, Event
from siftcast.overlays.contract import Effect, Message, NodeId, Report, SendMessage
from siftcast.overlays.wrapped import Wrapped


class Parcel(Message, frozen=True, gc=False):
    """A message on its way to destinations that lie at the receiver or beyond; without any, it is for the receiver."""

    control: ClassVar[bool] = False

    content: Wrapped
    destinations: tuple[NodeId, ...]
    network: int = 0

    @property
    def carried(self) -> Event | None:
        try:
            return self.content.open().carried
        except DataError:
            return None

    @property
    def event_id(self) -> str | None:
        return self.content.event_id


class Delivery(ABC):
    """One node's part in getting messages to destinations. Several in one scheme go by numbers of their `network`."""

    def __init__(self, network: int = 0) -> None:
        self._network = network

    def send(self, message: Message, destinations: Iterable[NodeId]) -> list[Effect]:
        """Gets a message to each destination once; the node itself must not be among them."""
        return self.pass_on(Wrapped(message), destinations)

    @abstractmethod
    def pass_on(self, wrapped: Wrapped, destinations: Iterable[NodeId]) -> list[Effect]:
        """The same for a message that may have come from elsewhere and is not read here."""

    def receive(self, parcel: Parcel) -> tuple[Message | None, list[Effect]]:
        """The content, if it is for this node, and what is to go on."""
        return _opened(parcel)


def _opened(parcel: Parcel) -> tuple[Message | None, list[Effect]]:
    try:
        return parcel.content.open(), []
    except DataError as error:
        return None, [Report("a message that was delivered cannot be read", {"why": str(error)})]


class Direct(Delivery):
    """Unicast: a copy to each."""

    def pass_on(self, wrapped: Wrapped, destinations: Iterable[NodeId]) -> list[Effect]:
        listed = tuple(destinations)
        return [SendMessage(Parcel(wrapped, (), self._network), listed)] if listed else []


class NetworkMulticast(Delivery):
    """The network's own multicast, over the merged shortest ways."""

    def pass_on(self, wrapped: Wrapped, destinations: Iterable[NodeId]) -> list[Effect]:
        listed = tuple(destinations)
        return [SendMessage(Parcel(wrapped, (), self._network), listed, multicast=True)] if listed else []


class _Relayed(Delivery):
    """Each hop takes its own name off the list and splits the rest."""

    def __init__(self, node: NodeId, network: int = 0) -> None:
        super().__init__(network)
        self._node = node

    def pass_on(self, wrapped: Wrapped, destinations: Iterable[NodeId]) -> list[Effect]:
        return [
            SendMessage(Parcel(wrapped, tuple(group), self._network), (hop,))
            for hop, group in self._split(destinations).items()
        ]

    def receive(self, parcel: Parcel) -> tuple[Message | None, list[Effect]]:
        others = [node for node in parcel.destinations if node != self._node]
        onward = self.pass_on(parcel.content, others)
        if len(others) == len(parcel.destinations):
            return None, onward
        content, effects = _opened(parcel)
        return content, [*effects, *onward]

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


class OverCliques(_Relayed):
    """One copy for each clique: its first destination gets it, and hands it to the others of the clique.

    `cliques` gives each node the number of its clique. A destination of the sender's own clique gets its copy at once.
    """

    def __init__(self, node: NodeId, cliques: Mapping[NodeId, int], network: int = 0) -> None:
        super().__init__(node, network)
        self._cliques = cliques
        self._own = cliques[node]

    def _split(self, destinations: Iterable[NodeId]) -> dict[NodeId, list[NodeId]]:
        heads: dict[int, NodeId] = {}
        groups: dict[NodeId, list[NodeId]] = {}
        for destination in destinations:
            clique = self._cliques[destination]
            head = destination if clique == self._own else heads.setdefault(clique, destination)
            groups.setdefault(head, []).append(destination)
        return groups
