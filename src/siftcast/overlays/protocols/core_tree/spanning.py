"""The leader, and the tree that leads to it (T_C): the peer of the least identity, as every peer finds it.

Each peer that knows nobody less than itself is its own leader. It goes by the neighbours that know a lesser one, on the
shortest way to the least (`way.py`), and says so. A leader that is lost raises its round no more: those next to it
notice, and after them everybody who went by them, until another one is the least. While that lasts a peer may be its
own leader for a moment, which costs nothing: it keeps the cores that were chosen (`votes.py`).

Cost: nothing of its own; it is part of each beat.
"""

from __future__ import annotations

from collections.abc import Mapping

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.core_tree.messages import Reach
from siftcast.overlays.protocols.core_tree.way import Ways


class Spanning:
    """One peer's place in the tree."""

    __slots__ = ("_node", "_offered", "_ways", "leader", "round")

    def __init__(self, node: NodeId) -> None:
        self._node = node
        self._ways = Ways(node)
        self._offered: dict[NodeId, Reach] = {}
        self.leader = node
        self.round = 0
        """As its own leader."""

    @property
    def is_leader(self) -> bool:
        """Whether this peer is the leader."""
        return self.leader == self._node

    @property
    def parent(self) -> NodeId | None:
        """The next peer on the way to the leader."""
        return None if self.is_leader else self._ways.to(self.leader).parent

    @property
    def children(self) -> tuple[NodeId, ...]:
        """The neighbours that go by this peer."""
        return tuple(peer for peer, reach in self._offered.items() if reach.over == self._node)

    @property
    def reach(self) -> Reach:
        """What the neighbours are told."""
        if self.is_leader:
            return Reach(self._node, self.round, 0.0, self._node)
        return self._ways.to(self.leader).reach

    def hear(self, peer: NodeId, reach: Reach, now: float) -> None:
        """A neighbour says which leader it has."""
        self._offered[peer] = reach
        self._ways.hear(peer, {reach.target: reach}, now)

    def forget(self, peer: NodeId) -> None:
        """A neighbour is none any more."""
        self._offered.pop(peer, None)
        self._ways.forget(peer)

    def choose(self, links: Mapping[NodeId, float], alive_ms: float) -> None:
        """Decides who leads."""
        for target in sorted({reach.target for peer, reach in self._offered.items() if peer in links}):
            if target >= self._node:
                break
            way = self._ways.to(target)
            way.choose(links, alive_ms)
            if way.is_known:
                self.leader = target
                return
        self.leader = self._node
