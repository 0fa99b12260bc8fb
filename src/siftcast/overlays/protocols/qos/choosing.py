"""Whom a peer asks: for what it misses, for what comes too late, and to come nearer to the publishers.

    missing     publishers, if they have a place for it; else one peer for all of it: a parent that serves already, then
                whoever takes on least, then where there is room soonest. Those that take on least may have no place,
                nor those below them; who was refused some times asks whoever has one
    late        of those who have a place and would keep the bound, the one that gets events last: whoever gets them
                sooner is left to those in a greater hurry; else the publishers, if they have a place
    deep        whoever has room, takes on little, and is nearer to the publishers than its own parent

What is known of others may be old. Whoever has no place says so, and names others.

One parent for all: a peer whose pieces come from several is above the deepest of them, and moves whenever one does.
Rejected: to choose by depth before what is taken on. Trees were hardly lower, and peers took on half as much again.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from math import inf

from siftcast.overlays.protocols.qos.messages import PeerId, Profile, Rank
from siftcast.overlays.protocols.qos.order import has_place, landing, rank, scatter
from siftcast.overlays.protocols.qos.parent_link import Parent, Surroundings
from siftcast.overlays.protocols.qos.regions import Pieces

_QUARTERS = 4
_RISING_QUARTERS = 1
"""Of what a peer wants, a parent nearer to the publishers may have to take on so many quarters, and a part of one."""


@dataclass(frozen=True, slots=True)
class Choosing:
    """One peer that looks for parents."""

    me: PeerId
    bound_ms: float
    pieces: Pieces
    links: Mapping[PeerId, Parent]
    aside: Container[PeerId]
    """Whom not to ask."""
    relevant: Mapping[PeerId, int]
    """The publishers, and what of each."""
    is_weary: bool
    """Whether it was refused so often that it asks whoever has a place, whatever that one has to take on."""
    around: Surroundings

    def publishers_have_place(self, pieces: int, own_rank: Rank) -> bool:
        """Whether all publishers of some pieces would take this peer, as far as it knows."""
        return all(
            self._has_place_at(peer, self.around.lasts.get(peer[0]), own_rank)
            for peer, mask in self.relevant.items()
            if mask & pieces
        )

    def for_missing(self, missing: int, own_rank: Rank) -> dict[PeerId, int]:
        """One peer for all that is missing, or several whose bandwidth is limited."""
        fit = []
        for each in self.around.known():
            peer = each.peer
            if peer in self.aside or each.reach_ms == inf or rank(each) >= own_rank:
                continue
            link = self.links.get(peer)
            if link is not None and (link.is_leaving or self._is_given_up(peer, link)):
                continue
            held = self.pieces.mask(each.wanted) & missing
            takes_on = each.spare > 0.0 and not (link is not None and link.is_sated)
            if takes_on or held:
                key = (
                    self._reach_ms(each) > self.bound_ms,
                    link is None,
                    self.is_weary and not has_place(each.last, own_rank),
                    not each.is_open,
                    self._quarters(missing, each),
                    landing(each, own_rank),
                    scatter(self.me, peer),
                )
                fit.append((key, peer, missing if takes_on else held))
        found: dict[PeerId, int] = {}
        for _, peer, has in sorted(fit):
            if has & missing:
                found[peer] = has & missing
                missing &= ~has
        return found

    def timely(self, late: int, own_rank: Rank) -> tuple[PeerId, ...]:
        """Whom to ask for what comes too late: a peer, or all publishers; nobody who would refuse, or be late."""
        peer = self.timely_peer(own_rank)
        if peer is not None:
            return (peer,)
        return self.publishers_of(late) if self.publishers_have_place(late, own_rank) else ()

    def timely_peer(self, own_rank: Rank) -> PeerId | None:
        """A peer that would keep the bound, and not refuse."""
        best: tuple[tuple[bool, bool, float, PeerId], PeerId] | None = None
        for each in self.around.known():
            peer = each.peer
            if each.spare <= 0.0 or rank(each) >= own_rank or not self._has_place_at(peer, each.last, own_rank):
                continue
            link = self.links.get(peer)
            if link is not None and (link.is_leaving or link.is_sated or link.lacking):
                continue
            if self._is_timely(each):
                key = (each.last is not None, not each.is_open, -self._reach_ms(each), peer)
                if best is None or key < best[0]:
                    best = key, peer
        return None if best is None else best[1]

    def shallower(self, needed: int, depth: int, own_rank: Rank) -> PeerId | None:
        """Somebody through whom all would come over fewer links, and for whom nobody has to go."""
        found: tuple[int, int, PeerId] | None = None
        for each in self.around.known() if needed else ():
            peer = each.peer
            if peer in self.aside or peer in self.links or each.last is not None or not each.is_open:
                continue
            if each.depth + 1 >= depth or rank(each) >= own_rank or not self._is_timely(each):
                continue
            quarters = self._quarters(needed, each)
            key = each.depth, quarters, peer
            if quarters <= _RISING_QUARTERS and (found is None or key < found):
                found = key
        return None if found is None else found[2]

    def publishers_of(self, pieces: int) -> tuple[PeerId, ...]:
        """The publishers of some pieces."""
        return tuple(peer for peer, mask in self.relevant.items() if mask & pieces)

    def _has_place_at(self, peer: PeerId, last: Rank | None, own_rank: Rank) -> bool:
        link = self.links.get(peer)
        if link is not None and link.has_place:
            return True
        return peer not in self.aside and has_place(last, own_rank)

    def _is_given_up(self, peer: PeerId, link: Parent) -> bool:
        return link.is_given_up(self.around.patience_ms(peer), self.around.now)

    def _reach_ms(self, each: Profile) -> float:
        return each.reach_ms + self.around.delays.get(each.peer[0], 0.0)

    def _is_timely(self, each: Profile) -> bool:
        """Whether the bound would be kept below a peer, which takes knowing how far away it is."""
        if self.bound_ms == inf:
            return each.reach_ms < inf
        is_measured = each.peer[0] == self.me[0] or each.peer[0] in self.around.delays
        return is_measured and self._reach_ms(each) <= self.bound_ms

    def _quarters(self, pieces: int, each: Profile) -> int:
        """How much of some pieces a peer would have to take on, in quarters."""
        lacking = pieces & ~self.pieces.mask(each.wanted)
        return _QUARTERS * lacking.bit_count() // max(1, pieces.bit_count())
