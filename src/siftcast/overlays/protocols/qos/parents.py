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

from collections.abc import Callable, Mapping

import msgspec

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.qos.choosing import Choosing
from siftcast.overlays.protocols.qos.claims import Bound
from siftcast.overlays.protocols.qos.messages import (
    PUBLISHING,
    Connect,
    Hint,
    PeerId,
    Profile,
    Release,
    Status,
)
from siftcast.overlays.protocols.qos.options import QosSettings
from siftcast.overlays.protocols.qos.order import rank
from siftcast.overlays.protocols.qos.parent_link import Parent, Supply, Surroundings
from siftcast.overlays.protocols.qos.regions import Pieces

_TRIES_MAX = 3
_RISING_DEPTH, _RISING_ROUNDS = 2, 2
"""Who stands deeper than this looks for a higher place every so many rounds."""
_WEARY, _REFUSED_MAX = 4, 24
_FULL_REQUESTS, _SILENT_REQUESTS = 2, 6
"""For how many times `request_ms` somebody is not asked again who had no place, or gave no answer."""
_ASKED_ROUNDS, _ASKED_ROUNDS_MAX = 2, 256
Send = Callable[[NodeId, Connect | Release], None]
Numbers = Callable[[], int]


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
        """How often since it last had all that it needs."""
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
        choosing = Choosing(
            self._me, bound.bound_ms, pieces, self.links, self._aside, self._relevant, self._refused >= _WEARY, around
        )
        own_rank = rank(me)
        insists = is_modest = False
        if missing:
            if not choosing.publishers_have_place(missing, own_rank):
                for peer, mask in choosing.for_missing(missing, own_rank).items():
                    plan[peer] = plan.get(peer, 0) | mask
                    missing &= ~mask
            insists = missing != 0 and self._refused >= _REFUSED_MAX
            for peer, mask in self._relevant.items():
                if mask & missing and (insists or peer not in self._aside):
                    plan[peer] = plan.get(peer, 0) | (mask & missing)
        elif self._is_trying:
            pass  # one step after the other
        elif bound.is_worth_trying:
            late = self._late(pieces, needed, bound, delays)
            if late:
                me = self._seek_timely(me, bound, late, choosing, plan)
        elif bound.is_impossible and (shortcut := choosing.timely_peer(own_rank)) is not None:
            plan[shortcut] = plan.get(shortcut, 0) | self._late(pieces, needed, bound, delays)
        elif self.supply.depth > _RISING_DEPTH and now >= self._next_rise_ms:
            self._next_rise_ms = now + _RISING_ROUNDS * self._settings.round_ms
            above = choosing.shallower(needed, self.supply.depth, own_rank)
            if above is not None:
                is_modest, plan[above] = True, needed
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
        return any(link.is_trying for link in self.links.values())

    def _expire(self, around: Surroundings) -> None:
        now = around.now
        for peer in [peer for peer, until_ms in self._aside.items() if until_ms <= now]:
            del self._aside[peer]
        for peer, link in tuple(self.links.items()):
            patience = around.patience_ms(peer) * link.tries
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
            supplied |= link.served(pieces)
            if link.is_given_up(around.patience_ms(peer), around.now):
                continue
            expected |= pieces.mask(link.asked if link.is_waiting else link.granted)
        return supplied, expected

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

    def _seek_timely(
        self, me: Profile, bound: Bound, late: int, choosing: Choosing, plan: dict[PeerId, int]
    ) -> Profile:
        """Asks somebody who would keep the bound; returns what the peer says of itself then, as it may have claimed."""
        around = choosing.around
        found = choosing.timely(late, rank(me))
        claim_ms = None if found else bound.claimable(self.direct_ms(around), around.now)
        if claim_ms is not None:
            claiming = msgspec.structs.replace(me, claim_ms=claim_ms)
            found = choosing.timely(late, rank(claiming))
            if found:
                bound.claim(claim_ms, around.now)
                me = claiming
        if not found and around.now >= self._next_ask_ms:
            # Nobody is known who would help. Publishers name those below them.
            self._next_ask_ms = around.now + self._asked_wait_ms
            self._asked_wait_ms = min(2 * self._asked_wait_ms, _ASKED_ROUNDS_MAX * self._settings.round_ms)
            found = choosing.publishers_of(late)
        for peer in found:
            plan[peer] = plan.get(peer, 0) | (late & self._relevant.get(peer, late))
        return me

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
        good = [peer for peer in plan if peer[1] != PUBLISHING and peer in self.links and self.links[peer].is_good]
        late = {peer for peer in good if self._reach(peer, delays) > bound.bound_ms}
        taken = 0
        for peer in sorted(
            good, key=lambda each: (each in late, -plan[each].bit_count(), self.links[each].depth, each)
        ):
            if peer in late:
                break
            plan[peer] &= ~taken
            taken |= self.links[peer].served(pieces) & plan[peer]
        for peer in plan:
            if peer[1] == PUBLISHING:
                plan[peer] &= ~taken
        taken |= self._direct(pieces, needed & ~taken)
        for peer in sorted(late, key=lambda each: (self._reach(each, delays), each)):
            plan[peer] &= ~taken
            taken |= self.links[peer].served(pieces) & plan[peer]
        for peer in plan:
            link = self.links.get(peer)
            if link is None or peer[1] == PUBLISHING:
                continue
            if link.is_leaving or link.is_given_up(around.patience_ms(peer), around.now):
                plan[peer] &= ~taken

    def _reach(self, peer: PeerId, delays: Mapping[NodeId, float]) -> float:
        """How late events come over a link."""
        return self.links[peer].reach_ms + (0.0 if peer[0] == self._node else delays.get(peer[0], 0.0))

    def _late(self, pieces: Pieces, mask: int, bound: Bound, delays: Mapping[NodeId, float]) -> int:
        """Of some pieces, those that come too late.

        Publishers bring them late only where a bound is below the line to them. A way over others may be shorter still.
        """
        late = 0
        for peer, link in self.links.items():
            if self._reach(peer, delays) > bound.bound_ms:
                late |= pieces.mask(link.granted)
        return late & mask

    def direct_ms(self, around: Surroundings) -> float:
        """How late events would come from the publishers themselves; 0 where that is not known."""
        return max((around.least.get(node, 0.0) for node, _ in self._relevant), default=0.0)

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
            elif link.is_waiting and now - link.sent_ms >= around.patience_ms(peer) * link.tries:
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
                supplied |= link.served(pieces)
                above.add(peer)
                above |= link.above
            reach, depth = max(reach, self._reach(peer, delays)), max(depth, link.depth + 1)
        direct = self._direct(pieces, needed & ~supplied, leaving=True)
        unserved = pieces.region(needed & ~(supplied | direct))
        if not unserved:
            self._refused = 0
        same = above == self.supply.above
        self.supply = Supply(unserved, self.supply.above if same else frozenset(above), reach, depth)
