"""The links of one peer: near ones by the rules of the overlay, and distant ones against partitions.

A link is there once both ends have said so. *Near* ones obey the degree limit: over it, the farthest is told to look
elsewhere, with names of others. *Distant* ones are beyond the limit; a peer chooses one, and others may choose it, up
to `DISTANT_MAX`. A link may be both. The host is told who came and went (`news`) whichever of the two it is.

Lost is not gone: neighbours that cannot be reached are kept as `former`, and are asked again when they are found, so
that two halves of a network that was cut come together.

Invariants: never itself; no more near links than the limit, but for those that are about to be taken over; all
neighbours and former ones are watched, and nobody else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from siftcast.overlays.contract import Effect, NodeId, SendMessage, Unwatch, Watch
from siftcast.overlays.discovery.messages import Part
from siftcast.overlays.discovery.routes import Route
from siftcast.overlays.membership.partial_view import Neighbouring

DISTANT_MAX = 8
FORMER_MAX = 16
_NAMED = 4


@dataclass(slots=True)
class Near:
    """A near neighbour: how far it is, and the way to it where that is known."""

    delay_ms: float
    route: Route | None = None
    is_leaving: bool = False
    """Whether another peer is taking it over."""


class Links:
    """Neighbours of one peer."""

    __slots__ = ("_chosen_by", "_degree", "_node", "distant", "far", "former", "near", "news")

    def __init__(self, node: NodeId, degree: int) -> None:
        self.near: dict[NodeId, Near] = {}
        self.far: dict[NodeId, float] = {}
        """Distant neighbours, by either end's choice, and how far they are."""
        self.distant: NodeId | None = None
        """The one that this peer has chosen."""
        self.former: dict[NodeId, Near] = {}
        """Neighbours that were lost last, the latest at the end."""
        self.news: list[Neighbouring] = []
        """What changed; the host takes it out."""
        self._node = node
        self._degree = degree
        self._chosen_by: set[NodeId] = set()  # those whose distant neighbour this peer is

    def __contains__(self, peer: object) -> bool:
        return peer in self.near or peer in self.far

    def __bool__(self) -> bool:
        return bool(self.near) or bool(self.far)

    @property
    def needs_distant(self) -> bool:
        """Whether there is no neighbour that is there against partitions alone; one that is near as well is not."""
        return bool(self.near) and (self.distant is None or self.distant in self.near)

    @property
    def distant_only(self) -> frozenset[NodeId]:
        """Neighbours that are not near as well."""
        return frozenset(peer for peer in self.far if peer not in self.near)

    @property
    def delays_ms(self) -> Mapping[NodeId, float]:
        """How far all neighbours are."""
        return self.far | {peer: near.delay_ms for peer, near in self.near.items()}

    def farthest(self, but: NodeId | None = None) -> NodeId | None:
        """The farthest near neighbour that counts."""
        counted = (peer for peer, near in self.near.items() if peer != but and not near.is_leaving)
        return max(counted, key=lambda peer: (self.near[peer].delay_ms, peer), default=None)

    def has_room(self, delay_ms: float) -> bool:
        """Whether there is room for a near neighbour at this distance, if need be in place of the farthest."""
        if not self._degree or self._count() < self._degree:
            return True
        farthest = self.farthest()
        return farthest is not None and delay_ms < self.near[farthest].delay_ms

    def names(self, but: NodeId) -> tuple[NodeId, ...]:
        """A few neighbours that somebody else may ask, the nearest."""
        others = sorted((near.delay_ms, peer) for peer, near in self.near.items() if peer != but)
        found = [peer for _, peer in others] + [peer for peer in self.far if peer != but and peer not in self.near]
        return tuple(found[:_NAMED])

    # -- coming --------------------------------------------------------------------------------------------

    def add_near(self, peer: NodeId, delay_ms: float, route: Route | None) -> list[Effect]:
        """Makes a peer a near neighbour; of too many, the farthest other one goes."""
        if peer == self._node:
            return []
        effects = self._come(peer)
        self.near[peer] = Near(delay_ms, route)
        while self._degree and self._count() > self._degree and (victim := self.farthest(but=peer)) is not None:
            effects += self.part(victim)
        return effects

    def add_far(self, peer: NodeId, delay_ms: float, *, chosen: bool) -> list[Effect]:
        """Makes a peer a distant neighbour; one that this peer had chosen before is let go."""
        if peer == self._node:
            return []
        effects = self._come(peer)
        self.far[peer] = delay_ms
        if not chosen:
            self._chosen_by.add(peer)
            return effects
        before, self.distant = self.distant, peer
        if before is None or before == peer or before in self._chosen_by:
            return effects
        del self.far[before]
        if before in self.near:
            return effects
        self.news.append(Neighbouring("down", before))
        return [*effects, SendMessage(Part(self.names(before)), (before,)), Unwatch(before)]

    def measured(self, peer: NodeId, delay_ms: float) -> None:
        """A neighbour was measured."""
        if peer in self.near:
            self.near[peer].delay_ms = delay_ms
        if peer in self.far:
            self.far[peer] = delay_ms

    def _come(self, peer: NodeId) -> list[Effect]:
        if peer in self:
            return []
        self.former.pop(peer, None)
        self.news.append(Neighbouring("up", peer))
        return [Watch(peer)]

    def _count(self) -> int:
        return sum(not near.is_leaving for near in self.near.values())

    # -- going ---------------------------------------------------------------------------------------------

    def part(self, peer: NodeId, peers: tuple[NodeId, ...] = ()) -> list[Effect]:
        """Ends a near link; the other end is told of others. A link that is distant too stays as that."""
        if self.near.pop(peer, None) is None or peer in self.far:
            return []
        self.news.append(Neighbouring("down", peer))
        return [SendMessage(Part(peers or self.names(peer)), (peer,)), Unwatch(peer)]

    def drop(self, peer: NodeId) -> list[Effect]:
        """The other end has ended the link."""
        if not self._go(peer):
            return []
        return [Unwatch(peer)]

    def lose(self, peer: NodeId) -> list[Effect]:
        """A neighbour cannot be reached; it stays watched."""
        if peer not in self:
            return []
        self.former[peer] = self.near.get(peer) or Near(self.far[peer])
        self._go(peer)
        if len(self.former) <= FORMER_MAX:
            return []
        oldest = next(iter(self.former))
        del self.former[oldest]
        return [Unwatch(oldest)]

    def forget(self, peer: NodeId) -> list[Effect]:
        """A peer does not come back."""
        was_former = self.former.pop(peer, None) is not None
        return [Unwatch(peer)] if self._go(peer) or was_former else []

    def leave(self) -> list[Effect]:
        """Ends all links, for good."""
        effects: list[Effect] = []
        for peer in self.delays_ms:
            effects.append(SendMessage(Part(self.names(peer), leaving=True), (peer,)))
        for peer in tuple(self.delays_ms):
            effects += self.drop(peer)
        return effects

    def spare(self, peers: Iterable[NodeId]) -> None:
        """These neighbours are being taken over, and do not count any more."""
        for peer in peers:
            if peer in self.near:
                self.near[peer].is_leaving = True

    def tidy(self) -> list[Effect]:
        """Those that nobody has taken over count again, and of too many the farthest go."""
        for near in self.near.values():
            near.is_leaving = False
        effects: list[Effect] = []
        while self._degree and self._count() > self._degree and (victim := self.farthest()) is not None:
            effects += self.part(victim)
        return effects

    def _go(self, peer: NodeId) -> bool:
        if peer not in self:
            return False
        self.near.pop(peer, None)
        self.far.pop(peer, None)
        self._chosen_by.discard(peer)
        if self.distant == peer:
            self.distant = None
        self.news.append(Neighbouring("down", peer))
        return True
