"""Algorithm 8, repaired: each peer finds its *relay*, the core that is nearest, and the way there.

    CORE_SPT    a core says that it is 0 far away from itself; who hears it adds the weight of the link, and if that
                core is its nearest one passes it on (`Beat.reaches`). Ways to other cores are pruned there, but never
                those to the root core, to which all cores must find, nor any where each two cores are joined.
    JOIN_CORE   the peer joins the tree of its relay at the neighbour it heard it from (`branch.py`).

As printed, a peer joins a core that is nearer than *all* cores, itself among them, which none is; compared with the
others only, it takes what it heard last for the nearest, and parents form circles. Here only what is strictly nearer
counts, in the way of `way.py`, which forms none while anything changes either.

A peer that loses its parent takes the next way it knows at once, to whichever core. If it knows none it asks its
neighbours, and they those they go by, up to the core, which begins a new round (`Seek`).

Cost: a beat carries two ways, or as many as there are cores where they are joined in all pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.core_tree.messages import Reach
from siftcast.overlays.protocols.core_tree.way import Way, Ways


class Relays:
    """One peer's ways to the cores."""

    __slots__ = ("_node", "_prunes", "_ways", "cores", "relay", "round")

    def __init__(self, node: NodeId, *, prunes: bool) -> None:
        self._node = node
        self._prunes = prunes
        self._ways = Ways(node)
        self.cores: tuple[NodeId, ...] = (node,)
        self.relay: NodeId | None = node
        self.round = 0
        """As a core."""

    @property
    def root(self) -> NodeId:
        """The root core."""
        return self.cores[0]

    @property
    def is_core(self) -> bool:
        """Whether this peer is a core."""
        return self._node in self.cores

    @property
    def weight(self) -> float:
        """How far the relay is."""
        return inf if self.relay is None else self.weight_to(self.relay)

    @property
    def parent(self) -> NodeId | None:
        """The next peer on the way to the relay; None for cores, and where there is no way."""
        return None if self.relay is None or self.relay == self._node else self._ways.to(self.relay).parent

    def towards(self, core: NodeId) -> NodeId | None:
        """The next peer on the way to a core."""
        return None if core == self._node else self._ways.to(core).parent

    def weight_to(self, core: NodeId) -> float:
        """How far a core is."""
        return 0.0 if core == self._node else self._ways.to(core).weight

    def best_round(self, core: NodeId) -> int:
        """The newest round of a core that this peer has had."""
        return self.round if core == self._node else self._ways.to(core).best_round

    def hear(self, peer: NodeId, reaches: tuple[Reach, ...], now: float) -> None:
        """A neighbour says which cores it reaches."""
        self._ways.hear(peer, {reach.target: reach for reach in reaches}, now)

    def forget(self, peer: NodeId) -> None:
        """A neighbour is none any more."""
        self._ways.forget(peer)

    def choose(self, links: Mapping[NodeId, float], alive_ms: float) -> None:
        """Decides which core is the relay."""
        ways = [self._ways.to(core) for core in self.cores if core != self._node]
        for way in ways:
            way.choose(links, alive_ms)
        if self.is_core:
            self.relay = self._node
            return
        known = [way for way in ways if way.is_known]
        self.relay = min(known, key=self._rank).target if known else None

    def _rank(self, way: Way) -> tuple[float, bool, NodeId]:
        return way.weight, way.target != self.relay, way.target

    @property
    def reaches(self) -> tuple[Reach, ...]:
        """What the neighbours are told: of each core that is not pruned here."""
        found: list[Reach] = []
        for core in self.cores:
            if core == self._node:
                found.append(Reach(core, self.round, 0.0, core))
            elif (not self._prunes or core in (self.relay, self.root)) and self._ways.to(core).is_known:
                found.append(self._ways.to(core).reach)
        return tuple(found)
