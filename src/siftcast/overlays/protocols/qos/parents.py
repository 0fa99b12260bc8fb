"""Those from whom a peer gets its events: each point of what it wants from one peer, or from all publishers of it.

What is wanted is cut where adverts end, so that a part for which nobody publishes needs no parent. Every turn compares
what is needed with what the links supply:

    supplied     granted by a peer that is supplied itself
    expected     asked for and not answered yet, or granted by a peer that has lost its own parent a moment ago
    direct       asked of every publisher of it
    missing      the rest: asked of the best peer that is known, else of the publishers

A parent is left only when another one supplies what it did (make before break): until then events may come twice, and
are known by their ids. So a parent that says it will stop, or has lost its own, keeps what it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.qos.messages import PUBLISHING, Connect, Hint, PeerId, Profile, Release, Status
from siftcast.overlays.protocols.qos.options import QosSettings
from siftcast.overlays.protocols.qos.order import rank, rank_with
from siftcast.overlays.protocols.qos.regions import NOTHING
from siftcast.space.dz import DzSet

_TRIES_MAX = 3
HOPS_MAX = 64
"""Longer ways are taken for circles."""
Send = Callable[[NodeId, Connect | Release], None]
Numbers = Callable[[], int]


@dataclass(slots=True)
class Parent:
    """A link to a parent."""

    asked: DzSet
    sent_ms: float
    granted: DzSet = NOTHING
    is_served: bool = False
    hops: int = 0
    reach_ms: float = 0.0
    number: int = 0
    stamp: int = -1
    answered: int = -1
    """The last number that the parent has answered."""
    tries: int = 0
    unserved_ms: float | None = None
    """Since when it has not been supplied itself."""
    is_leaving: bool = False
    """Whether it said that it will stop."""
    adopts: bool = False
    """Whether it is asked to want what it does not."""

    @property
    def is_waiting(self) -> bool:
        return self.answered < self.number and not self.is_leaving


@dataclass(slots=True)
class Supply:
    """What the links of a peer add up to."""

    needed: DzSet = NOTHING
    supplied: DzSet = NOTHING
    direct: DzSet = NOTHING
    hops: int = 0
    reach_ms: float = 0.0

    @property
    def unserved(self) -> DzSet:
        return self.needed - self.supplied - self.direct


class Parents:
    """The parents of one peer."""

    __slots__ = ("_adopters", "_aside", "_next_number", "_node", "_send", "_settings", "links", "supply")

    def __init__(self, node: NodeId, settings: QosSettings, send: Send, next_number: Numbers) -> None:
        self._node = node
        self._settings = settings
        self._send = send
        self._next_number = next_number
        self._aside: dict[PeerId, float] = {}
        """Whom not to ask before a time."""
        self._adopters: dict[PeerId, Profile] = {}
        """Peers that may want more than they do, if they are asked."""
        self.links: dict[PeerId, Parent] = {}
        self.supply = Supply()

    # -- what parents say ------------------------------------------------------------------------------------

    def handle_status(self, status: Status, now: float) -> bool:
        """A parent says what it passes on; whether that changes anything."""
        link = self.links.get(status.parent)
        if link is None or status.stamp <= link.stamp:
            return False
        link.stamp, link.answered = status.stamp, max(link.answered, status.number)
        if status.number == link.number:
            link.tries = 0
        is_served = status.is_served and status.hops < HOPS_MAX
        before = link.granted, link.is_served, link.hops, link.reach_ms, link.is_leaving
        link.granted = link.asked if status.region == link.asked else status.region & link.asked
        link.hops, link.reach_ms, link.is_leaving = status.hops, status.reach_ms, False
        if is_served:
            link.unserved_ms = None
        elif link.unserved_ms is None:
            link.unserved_ms = now
        link.is_served = is_served
        return before != (link.granted, is_served, link.hops, link.reach_ms, False)

    def handle_hint(self, hint: Hint, now: float) -> bool:
        """A parent has no place; whether the adopters are of use."""
        link = self.links.get(hint.parent)
        if link is None or hint.stamp <= link.stamp or hint.number < link.number:
            return False
        link.stamp, link.answered = hint.stamp, hint.number
        self.put_aside(hint.parent, now + 2 * self._settings.request_ms)
        for each in hint.adopters:
            self._adopters[each.peer] = each
        for each in (*hint.others, *hint.adopters):
            self._aside.pop(each.peer, None)
        if link.granted:
            link.is_leaving = True
        else:
            del self.links[hint.parent]
        return True

    def put_aside(self, peer: PeerId, until_ms: float) -> None:
        """Has a peer not asked before a time."""
        self._aside[peer] = until_ms
        self._adopters.pop(peer, None)

    def lose(self, node: NodeId, now: float) -> bool:
        """A node cannot be reached; whether that concerns the peer."""
        found = [peer for peer in self.links if peer[0] == node]
        for peer in found:
            del self.links[peer]
            self.put_aside(peer, now + self._settings.forget_ms)
        return bool(found)

    # -- what is to be done ------------------------------------------------------------------------------------

    def arrange(
        self,
        me: Profile,
        wanted: DzSet,
        adverts: Mapping[NodeId, DzSet],
        known: Iterable[Profile],
        delays: Mapping[NodeId, float],
        now: float,
    ) -> None:
        """Compares what is needed with what there is, and asks whom it takes."""
        self._expire(now)
        relevant = {node: part for node, offered in adverts.items() if node != self._node and (part := offered & wanted)}
        needed = NOTHING
        for part in relevant.values():
            needed |= part
        supplied, expected = self._from_peers(now)
        missing = self._lacking(relevant, needed - supplied - expected)
        plan = {peer: link.asked & needed for peer, link in self.links.items()}
        adopting: set[PeerId] = set()
        if missing:
            missing = self._ask_peers(me, missing, known, delays, plan, adopting, now)
        for node, part in relevant.items():
            peer = (node, PUBLISHING)
            lacking = part & missing
            if lacking and self._aside.get(peer, 0.0) <= now:
                plan[peer] = plan.get(peer, NOTHING) | lacking
        self._give_up(plan, relevant, needed, supplied)
        self._tell(me, plan, adopting, now)
        self.supply = self._add_up(relevant, needed, delays)

    def refresh(self, me: Profile, now: float) -> None:
        """Says again to all parents what is wanted of them."""
        for peer, link in self.links.items():
            self._connect(me, peer, link, now, link.adopts)

    def end(self, me: Profile) -> None:
        """Wants nothing of anybody."""
        for peer in tuple(self.links):
            self._release(me, peer)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return any(link.is_waiting for link in self.links.values())

    def _expire(self, now: float) -> None:
        request_ms = self._settings.request_ms
        for peer, until in tuple(self._aside.items()):
            if until <= now:
                del self._aside[peer]
        for peer, link in tuple(self.links.items()):
            if link.is_waiting and now - link.sent_ms >= request_ms and link.tries >= _TRIES_MAX:
                self.put_aside(peer, now + self._settings.forget_ms)
                if link.granted:
                    link.is_leaving = True
                else:
                    del self.links[peer]

    def _from_peers(self, now: float) -> tuple[DzSet, DzSet]:
        """What peers supply, and what they are expected to."""
        supplied = expected = NOTHING
        patience = 2 * self._settings.request_ms
        for (_, place), link in self.links.items():
            if place == PUBLISHING or link.is_leaving:
                continue
            if link.is_served:
                supplied |= link.granted
            elif link.unserved_ms is not None and now - link.unserved_ms >= patience:
                continue
            expected |= link.asked if link.is_waiting else link.granted
        return supplied, expected

    def _lacking(self, relevant: Mapping[NodeId, DzSet], open_: DzSet) -> DzSet:
        """Of what no peer supplies, that for which not all publishers are asked."""
        missing = NOTHING
        if open_:
            for node, part in relevant.items():
                link = self.links.get((node, PUBLISHING))
                lacking = part & open_
                missing |= lacking if link is None or link.is_leaving else lacking - link.asked
        return missing

    def _ask_peers(
        self,
        me: Profile,
        missing: DzSet,
        known: Iterable[Profile],
        delays: Mapping[NodeId, float],
        plan: dict[PeerId, DzSet],
        adopting: set[PeerId],
        now: float,
    ) -> DzSet:
        """Deals what is missing out to peers; returns what none of them has."""
        own_rank = rank(me)
        fit = []
        for each in known:
            peer = each.peer
            if peer == me.peer or self._aside.get(peer, 0.0) > now or not each.wanted.overlaps(missing):
                continue
            link = self.links.get(peer)
            if rank(each) < own_rank and (link is None or not (link.is_leaving or link.unserved_ms is not None)):
                reach = each.reach_ms + delays.get(peer[0], 0.0)
                fit.append((reach > me.claim_ms, not each.wanted.covers(missing), peer not in self.links, reach, each))
        fit.sort(key=lambda item: (item[:4], item[4].peer))
        for _, _, _, _, each in fit:
            part = each.wanted & missing
            if part:
                plan[each.peer] = plan.get(each.peer, NOTHING) | part
                missing -= part
                if not missing:
                    return missing
        for peer, each in tuple(self._adopters.items()):
            if self._aside.get(peer, 0.0) <= now and rank_with(each, missing) < own_rank and peer not in self.links:
                plan[peer] = plan.get(peer, NOTHING) | missing
                adopting.add(peer)
                del self._adopters[peer]
                return NOTHING
        return missing

    def _give_up(
        self, plan: dict[PeerId, DzSet], relevant: Mapping[NodeId, DzSet], needed: DzSet, supplied: DzSet
    ) -> None:
        """Takes out of the plan what somebody better supplies already."""
        direct = needed - supplied
        for node, part in relevant.items():
            link = self.links.get((node, PUBLISHING))
            direct -= part if link is None or link.is_leaving else part - link.granted
        taken = NOTHING
        for peer in sorted(plan):
            link = self.links.get(peer)
            if peer[1] == PUBLISHING:
                plan[peer] -= supplied
            elif link is not None and link.is_served and not link.is_leaving:
                plan[peer] -= taken
                taken |= link.granted & plan[peer]
            elif link is not None and (link.is_leaving or link.unserved_ms is not None):
                plan[peer] -= supplied | direct

    def _tell(self, me: Profile, plan: Mapping[PeerId, DzSet], adopting: set[PeerId], now: float) -> None:
        """Says what has changed, or was not answered."""
        for peer, region in plan.items():
            link = self.links.get(peer)
            if link is None:
                if region:
                    self.links[peer] = link = Parent(region, now)
                    self._connect(me, peer, link, now, peer in adopting)
            elif not region:
                self._release(me, peer)
            elif region != link.asked:
                fresh = not link.asked.covers(region)
                link.asked, link.granted, link.tries = region, link.granted & region, 0
                self._connect(me, peer, link, now, peer in adopting or (link.adopts and fresh))
            elif link.is_waiting and now - link.sent_ms >= self._settings.request_ms:
                self._connect(me, peer, link, now, link.adopts)

    def _connect(self, me: Profile, peer: PeerId, link: Parent, now: float, adopts: bool) -> None:
        link.number, link.sent_ms, link.adopts = self._next_number(), now, adopts
        link.tries += 1
        self._send(peer[0], Connect(peer[1], me, link.asked, link.number, adopts))

    def _release(self, me: Profile, peer: PeerId) -> None:
        del self.links[peer]
        self._send(peer[0], Release(peer[1], me.peer, self._next_number()))

    def release_stranger(self, me: Profile, peer: PeerId) -> None:
        """Tells somebody who takes himself for a parent that he is none."""
        self._send(peer[0], Release(peer[1], me.peer, self._next_number()))

    def _add_up(self, relevant: Mapping[NodeId, DzSet], needed: DzSet, delays: Mapping[NodeId, float]) -> Supply:
        """What the links come to."""
        supplied, direct = NOTHING, needed
        hops, reach = 0, 0.0
        for peer, link in self.links.items():
            if not link.granted or not link.is_served:
                continue
            if peer[1] != PUBLISHING:
                supplied |= link.granted
            hops = max(hops, link.hops + 1)
            reach = max(reach, link.reach_ms + (0.0 if peer[0] == self._node else delays.get(peer[0], 0.0)))
        for node, part in relevant.items():
            link = self.links.get((node, PUBLISHING))
            direct -= part if link is None else part - link.granted
        return Supply(needed, supplied, direct & needed, hops, reach)
