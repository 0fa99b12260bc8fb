"""Those from whom a peer gets its events: each piece of what it wants from one peer, or from all its publishers.

A piece for which nobody publishes needs no parent. Every turn compares what is needed with what the links supply:

    supplied     granted by a peer that is supplied itself
    expected     asked for and not answered yet, or granted by a peer that has lost its own parent a moment ago
    direct       granted by every publisher of it
    missing      the rest: asked of the publishers, if they have a place, or of a peer through which it comes over few

Who is asked for more than it wants takes it on. A peer whose bound is missed asks a parent that would keep it and has a
place, if it knows one. If it does not, it asks the publishers now and then, who name those below them.

A parent is left only when another one supplies what it did (make before break): until then events may come twice, and
are known by their ids. So a parent that says it will stop, or has lost its own, keeps what it holds.

Masks are those of `Pieces`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import msgspec

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.qos.claims import Bound
from siftcast.overlays.protocols.qos.messages import (
    PUBLISHING,
    Connect,
    Hint,
    PeerId,
    Profile,
    Rank,
    Release,
    Status,
)
from siftcast.overlays.protocols.qos.options import QosSettings
from siftcast.overlays.protocols.qos.order import has_place, landing, rank, scatter
from siftcast.overlays.protocols.qos.regions import NOTHING, Pieces
from siftcast.space.dz import DzSet

_TRIES_MAX = 3
_QUARTERS = 4
_RISE_MIN, _RISE_LEVELS, _RISE_ROUNDS, _RISE_LACKING = 2, 1, 2, 1
_REFUSED_MAX = 24
_FULL_REQUESTS, _SILENT_REQUESTS = 2, 6
"""For how many times `request_ms` somebody is not asked again who had no place, or gave no answer."""
_UNSERVED_REQUESTS = 2
"""For how long a parent may lack what it passes on; what it takes on comes from above, level by level."""
_ASKED_ROUNDS, _ASKED_ROUNDS_MAX = 2, 256
_DELAYS = 3
"""An answer is waited for three times as long as a message takes on its way, if that is longer than `request_ms`."""
Send = Callable[[NodeId, Connect | Release], None]
Numbers = Callable[[], int]


@dataclass(slots=True)
class Parent:
    """A link to a parent."""

    asked: DzSet
    sent_ms: float
    granted: DzSet = NOTHING
    lacking: DzSet = NOTHING
    """What of it the parent does not get itself."""
    above: frozenset[PeerId] = frozenset()
    reach_ms: float = 0.0
    number: int = 0
    stamp: int = -1
    answered: int = -1
    """The last number that the parent has answered."""
    tries: int = 0
    unserved_ms: float | None = None
    """Since when it has not been supplied itself."""
    asked_number: int = 0
    """The number with which this region was asked for first."""
    left_ms: float | None = None
    """Since when it is about to stop, as it said or as it seems."""
    depth: int = 0
    is_sated: bool = False
    """Whether it has taken on as much as its bandwidth allows."""
    insists: bool = False
    is_modest: bool = False

    @property
    def is_leaving(self) -> bool:
        return self.left_ms is not None

    @property
    def is_waiting(self) -> bool:
        return self.answered < self.number and not self.is_leaving


@dataclass(frozen=True, slots=True)
class Supply:
    """What the links of a peer come to: what lacks a parent, through whom the rest comes, and how late."""

    unserved: DzSet = NOTHING
    above: frozenset[PeerId] = frozenset()
    reach_ms: float = 0.0
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a place sees of the others."""

    known: Callable[[], Sequence[Profile]]
    delays: Mapping[NodeId, float]
    lasts: Mapping[NodeId, Rank | None]
    """Of each publisher, the child that would have to go; None, if it has room."""
    now: float


class Parents:
    """The parents of one peer."""

    __slots__ = (
        "_aside",
        "_asked_wait_ms",
        "_me",
        "_next_ask_ms",
        "_next_number",
        "_next_rise_ms",
        "_node",
        "_refused",
        "_relevant",
        "_send",
        "_settings",
        "links",
        "supply",
    )

    def __init__(self, me: PeerId, settings: QosSettings, send: Send, next_number: Numbers) -> None:
        self._me = me
        self._node = me[0]
        self._settings = settings
        self._send = send
        self._next_number = next_number
        self._aside: dict[PeerId, float] = {}
        """Whom not to ask before a time."""
        self._next_ask_ms = 0.0
        self._next_rise_ms = 0.0
        self._asked_wait_ms = _ASKED_ROUNDS * settings.round_ms
        """How long until publishers are asked again who might be timely."""
        self._relevant: dict[PeerId, int] = {}
        """The pieces of each publisher."""
        self._refused = 0
        """How often in a row."""
        self.links: dict[PeerId, Parent] = {}
        self.supply = Supply()

    # -- what parents say ------------------------------------------------------------------------------------

    def handle_status(self, status: Status, now: float) -> bool:
        """A parent says what it passes on; whether that changes anything.

        A parent that is below the peer itself does not count as supplied. That happens where a peer comes to stand
        before its parent, and is taken by it as a parent before it has found another one for itself.
        """
        link = self.links.get(status.parent)
        if link is None or status.stamp <= link.stamp:
            return False
        link.stamp, link.answered = status.stamp, max(link.answered, status.number)
        link.tries = 0
        before = link.granted, link.lacking, link.above, link.reach_ms, link.depth, link.is_leaving
        link.granted = link.asked if status.region == link.asked else status.region & link.asked
        link.above, link.reach_ms, link.depth, link.left_ms = status.above, status.reach_ms, status.depth, None
        if status.number >= link.asked_number:
            link.is_sated = link.granted != link.asked
        link.lacking = link.granted if self._me in status.above else status.lacking & link.granted
        if not link.lacking:
            link.unserved_ms = None
        elif link.unserved_ms is None:
            link.unserved_ms = now
        self._refused = 0
        return before != (link.granted, link.lacking, link.above, link.reach_ms, link.depth, False)

    def handle_hint(self, hint: Hint, now: float) -> bool:
        """A parent has no place, or none any more; whether that changes anything."""
        link = self.links.get(hint.parent)
        if link is None or hint.stamp <= link.stamp or hint.number < link.asked_number:
            return False
        link.stamp, link.answered = hint.stamp, max(link.answered, hint.number)
        self._refused += 1
        self._put_aside(hint.parent, now + _FULL_REQUESTS * self._settings.request_ms)
        self._part(hint.parent, now)
        return True

    def _part(self, peer: PeerId, now: float) -> None:
        """Counts on a parent no longer than it may still pass on what it has granted."""
        link = self.links[peer]
        if not link.granted:
            del self.links[peer]
        elif link.left_ms is None:
            link.left_ms = now

    def lose(self, node: NodeId, now: float) -> None:
        """A node cannot be reached."""
        for peer in [peer for peer in self.links if peer[0] == node]:
            del self.links[peer]
            self._put_aside(peer, now + _SILENT_REQUESTS * self._settings.request_ms)

    def _put_aside(self, peer: PeerId, until_ms: float) -> None:
        self._aside[peer] = until_ms

    # -- what is to be done ------------------------------------------------------------------------------------

    def arrange(
        self, me: Profile, bound: Bound, pieces: Pieces, relevant: Mapping[NodeId, int], around: Surroundings
    ) -> None:
        """Compares what is needed with what there is, and asks whom it takes."""
        now, delays = around.now, around.delays
        self._expire(around)
        self._relevant = {(node, PUBLISHING): mask for node, mask in relevant.items() if node != self._node and mask}
        needed = 0
        for mask in self._relevant.values():
            needed |= mask
        supplied, expected = self._from_peers(pieces, around)
        missing = self._lacking(pieces, needed & ~(supplied | expected))
        plan = {peer: self._hoped(peer, pieces) & needed for peer in self.links}
        insists = is_modest = False
        if missing:
            if not self._publishers_have_place(missing, rank(me), around):
                missing = self._ask_peers(me, bound.bound_ms, pieces, missing, around, plan)
            insists = missing != 0 and self._refused >= _REFUSED_MAX
            for peer, mask in self._relevant.items():
                if mask & missing and (insists or peer not in self._aside):
                    plan[peer] = plan.get(peer, 0) | (mask & missing)
        elif bound.is_worth_trying and not self._is_trying:
            me = self._seek_timely(me, bound, pieces, needed, around, plan)
        elif self.supply.depth > _RISE_MIN and now >= self._next_rise_ms and not self._is_trying:
            self._next_rise_ms = now + _RISE_ROUNDS * self._settings.round_ms
            is_modest = self._seek_shallow(me, bound.bound_ms, pieces, needed, around, plan)
        self._give_up(plan, pieces, needed, bound, around)
        self._tell(me, pieces, plan, around, insists=insists, is_modest=is_modest)
        self._add_up(pieces, needed, delays)

    def refresh(self, me: Profile, now: float) -> None:
        """Says again to all parents what is wanted of them."""
        for peer, link in self.links.items():
            self._connect(me, peer, link, now)

    def end(self, me: Profile) -> None:
        """Wants nothing of anybody."""
        for peer in tuple(self.links):
            self._release(me, peer)

    @property
    def is_settled(self) -> bool:
        """Whether all that is needed is supplied, and nothing new was asked for."""
        asked = any(link.is_waiting and link.granted != link.asked for link in self.links.values())
        return not asked and not self.supply.unserved

    @property
    def _is_trying(self) -> bool:
        """Whether somebody has been asked who has not answered, or has nothing to pass on yet."""
        return any(
            not link.is_leaving and ((link.is_waiting and link.granted != link.asked) or link.unserved_ms is not None)
            for link in self.links.values()
        )

    def _patience_ms(self, peer: PeerId, delays: Mapping[NodeId, float]) -> float:
        """How long an answer is waited for."""
        return max(self._settings.request_ms, _DELAYS * delays.get(peer[0], 0.0))

    def _expire(self, around: Surroundings) -> None:
        now = around.now
        for peer in [peer for peer, until_ms in self._aside.items() if until_ms <= now]:
            del self._aside[peer]
        for peer, link in tuple(self.links.items()):
            patience = self._patience_ms(peer, around.delays) * link.tries
            if link.is_waiting and now - link.sent_ms >= patience and link.tries >= _TRIES_MAX:
                self._put_aside(peer, now + _SILENT_REQUESTS * self._settings.request_ms)
                self._part(peer, now)
            elif link.left_ms is not None and now - link.left_ms >= self._settings.grace_ms:
                del self.links[peer]

    def _from_peers(self, pieces: Pieces, around: Surroundings) -> tuple[int, int]:
        """What peers supply, and what they are expected to."""
        supplied = expected = 0
        for peer, link in self.links.items():
            if peer[1] == PUBLISHING or link.is_leaving:
                continue
            supplied |= self._served(peer, pieces)
            if self._is_given_up(peer, around):
                continue
            expected |= pieces.mask(link.asked if link.is_waiting else link.granted)
        return supplied, expected

    def _served(self, peer: PeerId, pieces: Pieces) -> int:
        """What a parent passes on and gets itself."""
        link = self.links[peer]
        granted = pieces.mask(link.granted)
        return granted & ~pieces.touched(link.lacking) if link.lacking else granted

    def _is_given_up(self, peer: PeerId, around: Surroundings) -> bool:
        """Whether a parent has not been supplied for so long that others are asked."""
        since = self.links[peer].unserved_ms
        patience = _UNSERVED_REQUESTS * self._patience_ms(peer, around.delays)
        return since is not None and around.now - since >= patience

    def _hoped(self, peer: PeerId, pieces: Pieces) -> int:
        """What a parent has granted, or still may."""
        link = self.links[peer]
        return pieces.mask(link.asked if link.is_waiting or peer[1] == PUBLISHING else link.granted)

    def _lacking(self, pieces: Pieces, open_: int) -> int:
        """Of what no peer supplies, that for which not all publishers are asked."""
        missing = 0
        for peer, mask in self._relevant.items():
            link = self.links.get(peer)
            has = 0 if link is None or link.is_leaving else pieces.mask(link.asked)
            missing |= mask & open_ & ~has
        return missing

    def _publishers_have_place(self, missing: int, own_rank: Rank, around: Surroundings) -> bool:
        """Whether all publishers of some pieces would take this peer, as far as it knows."""
        return all(
            self._is_child_of(peer) or (peer not in self._aside and has_place(around.lasts.get(peer[0]), own_rank))
            for peer, mask in self._relevant.items()
            if mask & missing
        )

    def _is_child_of(self, peer: PeerId) -> bool:
        """Whether it has a place there already."""
        link = self.links.get(peer)
        return link is not None and bool(link.granted) and not link.is_leaving

    def _ask_peers(
        self,
        me: Profile,
        bound_ms: float,
        pieces: Pieces,
        missing: int,
        around: Surroundings,
        plan: dict[PeerId, int],
    ) -> int:
        """Asks one peer for all that is missing, or several whose bandwidth is limited; returns what is left."""
        own_rank = rank(me)
        fit = []
        for each in around.known():
            peer = each.peer
            if peer in self._aside or each.reach_ms == inf or rank(each) >= own_rank:
                continue
            link = self.links.get(peer)
            if link is not None and (link.is_leaving or self._is_given_up(peer, around)):
                continue
            held = pieces.mask(each.wanted) & missing
            takes_on = each.spare > 0.0 and not (link is not None and link.is_sated)
            if not takes_on and not held:
                continue
            reach = each.reach_ms + around.delays.get(peer[0], 0.0)
            key = (
                reach > bound_ms,
                link is None,
                not each.is_open,
                _QUARTERS * (missing & ~held).bit_count() // missing.bit_count(),
                landing(each, own_rank),
                scatter(me.peer, peer),
            )
            fit.append((key, peer, missing if takes_on else held))
        for _, peer, has in sorted(fit):
            plan[peer] = plan.get(peer, 0) | (has & missing)
            missing &= ~has
            if not missing:
                break
        return missing

    def _seek_shallow(
        self,
        me: Profile,
        bound_ms: float,
        pieces: Pieces,
        needed: int,
        around: Surroundings,
        plan: dict[PeerId, int],
    ) -> bool:
        """Asks a peer that has room, takes on little, and is nearer to the publishers; whether there is one."""
        own_rank, deepest = rank(me), self.supply.depth - _RISE_LEVELS
        found: tuple[int, int, PeerId] | None = None
        for each in around.known():
            peer = each.peer
            if peer in self._aside or peer in self.links or each.last is not None or not each.is_open:
                continue
            if (
                each.depth >= deepest
                or each.reach_ms + around.delays.get(peer[0], 0.0) > bound_ms
                or rank(each) >= own_rank
            ):
                continue
            lacking = _QUARTERS * (needed & ~pieces.mask(each.wanted)).bit_count() // needed.bit_count()
            key = each.depth, lacking, peer
            if lacking <= _RISE_LACKING and (found is None or key < found):
                found = key
        if found is not None:
            plan[found[2]] = needed
        return found is not None

    # -- bounds --------------------------------------------------------------------------------------------------

    def _seek_timely(
        self,
        me: Profile,
        bound: Bound,
        pieces: Pieces,
        needed: int,
        around: Surroundings,
        plan: dict[PeerId, int],
    ) -> Profile:
        """Asks somebody who would keep the bound; returns what the peer says of itself then, as it may have claimed."""
        late = self._late(pieces, needed, bound, around.delays)
        if not late:
            return me
        found = self._timely(rank(me), bound, late, around)
        if found is None:
            claim_ms = bound.claimable(self.direct_ms(around.delays), around.now)
            if claim_ms is not None:
                claiming = msgspec.structs.replace(me, claim_ms=claim_ms)
                found = self._timely(rank(claiming), bound, late, around)
                if found is not None:
                    bound.claim(claim_ms, around.now)
                    me = claiming
        if found is None and around.now >= self._next_ask_ms:
            # Nobody is known who would help. Publishers name those below them.
            self._next_ask_ms = around.now + self._asked_wait_ms
            self._asked_wait_ms = min(2 * self._asked_wait_ms, _ASKED_ROUNDS_MAX * self._settings.round_ms)
            found = tuple(peer for peer, mask in self._relevant.items() if mask & late)
        for peer in found or ():
            mask = self._relevant[peer] if peer[1] == PUBLISHING else late
            plan[peer] = plan.get(peer, 0) | (mask & late)
        return me

    def _timely(self, own_rank: Rank, bound: Bound, late: int, around: Surroundings) -> tuple[PeerId, ...] | None:
        """Whom to ask for pieces that come too late: a peer, or all publishers; nobody who would refuse, or be late."""
        best: tuple[tuple[bool, bool, float, PeerId], PeerId] | None = None
        for each in around.known():
            node, peer = each.peer[0], each.peer
            if peer in self._aside or each.spare <= 0.0 or rank(each) >= own_rank:
                continue
            if not (has_place(each.last, own_rank) or self._is_child_of(peer)):
                continue
            if node != self._node and node not in around.delays:
                continue
            link = self.links.get(peer)
            if link is not None and (link.is_leaving or link.is_sated or link.lacking):
                continue
            reach = each.reach_ms + around.delays.get(node, 0.0)
            if reach > bound.bound_ms:
                continue
            # Whoever comes soon is left to those in a greater hurry.
            key = (each.last is not None, not each.is_open, -reach, peer)
            if best is None or key < best[0]:
                best = key, peer
        if best is not None:
            return (best[1],)
        return tuple(self._relevant) if self._publishers_have_place(late, own_rank, around) else None

    def _give_up(
        self,
        plan: dict[PeerId, int],
        pieces: Pieces,
        needed: int,
        bound: Bound,
        around: Surroundings,
    ) -> None:
        """Takes out of the plan what somebody better supplies already: timely peers, publishers, late peers, others."""
        delays = around.delays
        good = [peer for peer in plan if peer[1] != PUBLISHING and self._is_good(peer)]
        late = {peer for peer in good if self._reach(peer, delays) > bound.bound_ms}
        taken = 0
        for peer in sorted(
            good, key=lambda each: (each in late, -plan[each].bit_count(), self.links[each].depth, each)
        ):
            if peer in late:
                break
            plan[peer] &= ~taken
            taken |= self._served(peer, pieces) & plan[peer]
        for peer in plan:
            if peer[1] == PUBLISHING:
                plan[peer] &= ~taken
        taken |= self._direct(pieces, needed & ~taken)
        for peer in sorted(late, key=lambda each: (self._reach(each, delays), each)):
            plan[peer] &= ~taken
            taken |= self._served(peer, pieces) & plan[peer]
        for peer in plan:
            link = self.links.get(peer)
            if link is not None and peer[1] != PUBLISHING and (link.is_leaving or self._is_given_up(peer, around)):
                plan[peer] &= ~taken

    def _is_good(self, peer: PeerId) -> bool:
        link = self.links.get(peer)
        return link is not None and bool(link.granted) and link.lacking != link.granted and not link.is_leaving

    def _reach(self, peer: PeerId, delays: Mapping[NodeId, float]) -> float:
        """How late events come over a link."""
        return self.links[peer].reach_ms + (0.0 if peer[0] == self._node else delays.get(peer[0], 0.0))

    def _late(self, pieces: Pieces, mask: int, bound: Bound, delays: Mapping[NodeId, float]) -> int:
        """Of some pieces, those that come too late."""
        late = 0
        for peer, link in self.links.items():
            if peer[1] != PUBLISHING and self._reach(peer, delays) > bound.bound_ms:
                late |= pieces.mask(link.granted)
        return late & mask

    def direct_ms(self, delays: Mapping[NodeId, float]) -> float:
        """How late events would come from the publishers themselves; 0 where that is not known."""
        return max((delays.get(node, 0.0) for node, _ in self._relevant), default=0.0)

    def _direct(self, pieces: Pieces, mask: int, *, leaving: bool = False) -> int:
        """Of some pieces, those that all their publishers pass on; or still do, though they are about to stop."""
        for peer, of in self._relevant.items():
            link = self.links.get(peer)
            has = 0
            if link is not None and link.granted and (leaving or not link.is_leaving):
                # It grants all that it offers, and its advert may end within a piece, where there are very many.
                has = pieces.mask(link.granted if link.is_waiting else link.asked)
            mask &= ~of | has
        return mask

    def _tell(
        self,
        me: Profile,
        pieces: Pieces,
        plan: Mapping[PeerId, int],
        around: Surroundings,
        *,
        insists: bool,
        is_modest: bool,
    ) -> None:
        """Says what has changed, or was not answered."""
        now = around.now
        for peer, mask in plan.items():
            link = self.links.get(peer)
            region = pieces.region(mask)
            if link is None:
                if mask:
                    self.links[peer] = link = Parent(region, now)
                    link.insists, link.is_modest = insists and peer[1] == PUBLISHING, is_modest
                    self._connect(me, peer, link, now)
                    link.asked_number = link.number
            elif not mask:
                self._release(me, peer)
            elif region != link.asked:
                link.asked, link.granted, link.tries = region, link.granted & region, 0
                self._connect(me, peer, link, now)
                link.asked_number = link.number
            elif link.is_waiting and now - link.sent_ms >= self._patience_ms(peer, around.delays) * link.tries:
                self._connect(me, peer, link, now)

    def _connect(self, me: Profile, peer: PeerId, link: Parent, now: float) -> None:
        link.number, link.sent_ms = self._next_number(), now
        link.tries += 1
        self._send(peer[0], Connect(peer[1], me, link.asked, link.number, link.insists, link.is_modest))

    def _release(self, me: Profile, peer: PeerId) -> None:
        del self.links[peer]
        self._send(peer[0], Release(peer[1], me.peer, self._next_number()))

    def _add_up(self, pieces: Pieces, needed: int, delays: Mapping[NodeId, float]) -> None:
        supplied, reach, depth, above = 0, 0.0, 0, set[PeerId]()
        for peer, link in self.links.items():
            if not link.granted or link.lacking == link.granted:
                continue
            if peer[1] != PUBLISHING:
                supplied |= self._served(peer, pieces)
                above.add(peer)
                above |= link.above
            reach, depth = max(reach, self._reach(peer, delays)), max(depth, link.depth + 1)
        direct = self._direct(pieces, needed & ~supplied, leaving=True)
        unserved = pieces.region(needed & ~(supplied | direct))
        same = above == self.supply.above
        self.supply = Supply(unserved, self.supply.above if same else frozenset(above), reach, depth)
