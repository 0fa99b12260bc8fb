"""Those whom a peer passes events on to, at most `degree` of them, and who has to go when there are more.

    covered by a child that comes before it   it can go below that child; the last such one goes
    nobody is                                 the last of all goes, and children are named that would cover it if they
                                              wanted a little more: the one that would have to widen least first

A child that is sent away is still served for a while (`grace_ms`), so that it misses nothing until it has found a place
elsewhere. Children that are not heard of are forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.qos.messages import Connect, PeerId, Profile
from siftcast.overlays.protocols.qos.order import nearness, rank, rank_with
from siftcast.space.dz import DzSet

_OTHERS_MAX = 4
_ADOPTERS_MAX = 3
Told = tuple[bool, frozenset[PeerId], float]


@dataclass(slots=True)
class Child:
    """A link to a child."""

    profile: Profile
    region: DzSet
    number: int
    heard_ms: float
    until_ms: float | None = None
    """When it is cut, once it was sent away."""
    told: Told | None = None
    was_lost: bool = False
    """Whether it could not be reached since it last spoke, and so may have missed something."""


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
    def room(self) -> int:
        """How many more it can have."""
        return max(0, self._degree - sum(child.until_ms is None for child in self.links.values()))

    @property
    def regions(self) -> Iterable[DzSet]:
        """What each of them wants."""
        return [child.region for child in self.links.values()]

    def put(self, connect: Connect, region: DzSet, now: float) -> DzSet:
        """Takes a child in, or what it wants now; returns what it did not get before."""
        child = self.links.get(connect.child.peer)
        if child is None:
            self.links[connect.child.peer] = Child(connect.child, region, connect.number, now)
            return region
        fresh = region if child.was_lost else region - child.region
        child.was_lost = False
        child.profile, child.region, child.number, child.heard_ms = connect.child, region, connect.number, now
        return fresh

    def surplus(self) -> PeerId | None:
        """Who has to go, if there are too many."""
        staying = [(peer, child) for peer, child in self.links.items() if child.until_ms is None]
        if len(staying) <= self._degree:
            return None
        ordered = sorted(staying, key=lambda item: rank(item[1].profile))
        for place in range(len(ordered) - 1, 0, -1):
            peer, child = ordered[place]
            if any(before.profile.wanted.covers(child.region) for _, before in ordered[:place]):
                return peer
        return ordered[-1][0]

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

    def hints_for(self, profile: Profile, region: DzSet) -> tuple[tuple[Profile, ...], tuple[Profile, ...]]:
        """Children that could pass a region on to a peer, and those that could if they wanted more."""
        own_rank = rank(profile)
        staying = [
            child.profile for peer, child in self.links.items() if child.until_ms is None and peer != profile.peer
        ]
        before = [each for each in staying if rank(each) < own_rank and each.wanted.overlaps(region)]
        before.sort(key=lambda each: (not each.wanted.covers(region), nearness(profile.peer, each), rank(each)))
        if before and before[0].wanted.covers(region):
            return tuple(before[:_OTHERS_MAX]), ()
        priced = []
        for each in staying:
            wider = rank_with(each, region)
            if wider < own_rank:
                priced.append((not each.room, -wider[0] - each.wanted.volume, wider, each))
        priced.sort(key=lambda item: item[:3])
        return tuple(before[:_OTHERS_MAX]), tuple(each for *_, each in priced[:_ADOPTERS_MAX])
