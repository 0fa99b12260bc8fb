"""Those whom a peer passes events on to, at most `degree` of them, and who has to go when there are more.

The last in the order of all goes. A child that is sent away is told of others that would take it, and is still served
for a while (`grace_ms`), so that it misses nothing until it has found a place elsewhere. Children that are not heard of
are forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.qos.messages import Connect, PeerId, Profile, Rank
from siftcast.overlays.protocols.qos.order import landing, rank, scatter
from siftcast.space.dz import DzSet

_OTHERS_MAX = 4
_QUARTERS = 4
Told = tuple[DzSet, frozenset[PeerId], float, int]


@dataclass(slots=True)
class Child:
    """A link to a child."""

    profile: Profile
    rank: Rank
    region: DzSet
    number: int
    heard_ms: float
    until_ms: float | None = None
    """When it is cut, once it was sent away."""
    told: Told | None = None
    was_lost: bool = False
    """Whether it could not be reached since it last spoke, and so may have missed something."""
    insists: bool = False
    """Whether it is served beyond the degree."""


class Children:
    """The children of one peer."""

    __slots__ = ("_degree", "_grace_ms", "links")

    def __init__(self, degree: int, grace_ms: float) -> None:
        self._degree = degree
        self._grace_ms = grace_ms
        self.links: dict[PeerId, Child] = {}

    def __len__(self) -> int:
        return len(self.links)

    @property
    def staying(self) -> list[Child]:
        """Those that were not sent away."""
        return [child for child in self.links.values() if child.until_ms is None]

    @property
    def _counted(self) -> list[Child]:
        return [child for child in self.links.values() if child.until_ms is None and not child.insists]

    @property
    def has_room(self) -> bool:
        """Whether another child can come without one that has to go."""
        return len(self._counted) < self._degree

    @property
    def last(self) -> Rank | None:
        """Who would have to go if another came; None, if there is room."""
        counted = self._counted
        return max(child.rank for child in counted) if len(counted) >= self._degree else None

    @property
    def room_below(self) -> int:
        """How many levels lower there is room."""
        counted = self._counted
        if len(counted) < self._degree:
            return 0
        return 1 + min(child.profile.room_below for child in counted)

    @property
    def regions(self) -> Iterable[DzSet]:
        """What each of them wants."""
        return [child.region for child in self.links.values()]

    def put(self, connect: Connect, region: DzSet, now: float) -> DzSet:
        """Takes a child in, or what it wants now; returns what it did not get before."""
        place = rank(connect.child)
        child = self.links.get(connect.child.peer)
        if child is None:
            child = Child(connect.child, place, region, connect.number, now, insists=connect.insists)
            self.links[connect.child.peer] = child
            return region
        fresh = region if child.was_lost else region - child.region
        child.was_lost, child.insists = False, connect.insists
        child.profile, child.rank, child.region = connect.child, place, region
        child.number, child.heard_ms = connect.number, now
        return fresh

    def surplus(self) -> PeerId | None:
        """Who has to go, if there are too many."""
        counted = self._counted
        if len(counted) <= self._degree:
            return None
        return max(counted, key=lambda child: child.rank).profile.peer

    def dismiss(self, peer: PeerId, now: float, until_ms: float | None = None) -> None:
        """Sends a child away; it is served for a while, or until a time that was set before."""
        child = self.links[peer]
        if child.until_ms is None:
            child.until_ms = now + self._grace_ms if until_ms is None else until_ms

    def recall(self, peer: PeerId) -> float | None:
        """Counts a child among those that stay; when it would have been cut."""
        child = self.links[peer]
        until_ms, child.until_ms = child.until_ms, None
        return until_ms

    def lose(self, node: NodeId) -> None:
        """A node cannot be reached: what it is sent until it speaks again is lost."""
        for peer, child in self.links.items():
            if peer[0] == node:
                child.was_lost = True

    def forget(self, peer: PeerId) -> bool:
        """Drops a child; whether there was one."""
        return self.links.pop(peer, None) is not None

    def expire(self, now: float, forget_ms: float) -> None:
        """Drops those whose time is over, and those that were not heard of."""
        for peer, child in tuple(self.links.items()):
            if (child.until_ms is not None and now >= child.until_ms) or now - child.heard_ms > forget_ms:
                del self.links[peer]

    def hints_for(self, profile: Profile, region: DzSet) -> tuple[Profile, ...]:
        """Children that could pass a region on to a peer: those that want most of it, where there is room soonest."""
        own_rank = rank(profile)
        priced = []
        for child in self.staying:
            each = child.profile
            if child.rank < own_rank and each.peer != profile.peer:
                lacking = sum(not each.wanted.covers(piece) for piece in region)
                place = landing(each, own_rank), scatter(profile.peer, each.peer)
                priced.append((not each.is_open, _QUARTERS * lacking // max(1, len(region)), *place, each))
        priced.sort(key=lambda item: item[:4])
        return tuple(each for *_, each in priced[:_OTHERS_MAX])
