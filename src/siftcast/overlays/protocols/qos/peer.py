"""The places of a node in the overlay: one that publishes, and one that subscribes for each class of bounds.

Both have children and answer them alike. A publishing place has all it passes on; a subscribing one has parents for it,
wants what its subscriptions and its children do, and may want more when it is asked to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from operator import is_
from typing import Protocol as Interface

from siftcast.model import Event, Filter
from siftcast.overlays.contract import Message, NodeId
from siftcast.overlays.protocols.qos.bounds import Bound
from siftcast.overlays.protocols.qos.children import Child, Children
from siftcast.overlays.protocols.qos.messages import PUBLISHING, Connect, Hint, PeerId, Profile, Status
from siftcast.overlays.protocols.qos.options import QosSettings
from siftcast.overlays.protocols.qos.order import rank, rank_with
from siftcast.overlays.protocols.qos.parents import Parents
from siftcast.overlays.protocols.qos.regions import NOTHING, Pieces, coarse
from siftcast.overlays.tables import Table
from siftcast.space.dz import DzSet

_REACH_STEP = 0.02
_PLEDGED_ROUNDS = 3


class Desk(Interface):
    """What a place needs of its node."""

    def send(self, node: NodeId, message: Message) -> None: ...
    def replay(self, place: int, child: PeerId, region: DzSet) -> None: ...
    def next_number(self) -> int: ...


class Place(ABC):
    """What all places do: they serve children."""

    def __init__(self, id: PeerId, settings: QosSettings, desk: Desk) -> None:
        self.id = id
        self.children = Children(settings.degree, settings.grace_ms)
        self._settings = settings
        self._desk = desk

    @property
    @abstractmethod
    def profile(self) -> Profile | None:
        """How others see it; None for publishing places, which come before all."""

    @abstractmethod
    def _admit(self, connect: Connect, now: float) -> DzSet:
        """What of a region can be passed on to a child; nothing, if it is not to be one."""

    @abstractmethod
    def _may_have(self, profile: Profile) -> bool:
        """Whether a peer comes after this one, and so may be its child."""

    @abstractmethod
    def _service(self, region: DzSet) -> tuple[bool, frozenset[PeerId], float]:
        """Whether it gets a region itself, through whom, and how late."""

    def _elders(self) -> tuple[Profile, ...]:
        """Its own parents."""
        return ()

    def handle_connect(self, connect: Connect, now: float) -> bool:
        """A peer wants to be a child, or says again what it wants; whether that changes anything."""
        peer = connect.child.peer
        child = self.children.links.get(peer)
        if child is not None:
            if connect.number <= child.number:
                return False
            same = connect.region == child.region and connect.child.is_like(child.profile)
            if same and child.until_ms is None and not child.was_lost and self._may_have(connect.child):
                child.number, child.heard_ms = connect.number, now
                self._tell(peer, child)
                return False
        region = self._admit(connect, now)
        if not region:
            if child is not None:
                self.children.put(connect, child.region, now)
                self.children.dismiss(peer, now)
            self._hint(connect.child, connect.region, connect.number, self._elders())
            return True
        fresh = self.children.put(connect, region, now)
        left_ms = self.children.recall(peer)
        surplus = self.children.surplus()
        if surplus == peer:
            if child is None:
                self.children.forget(peer)
            else:
                self.children.dismiss(peer, now, left_ms)
            self._hint(connect.child, connect.region, connect.number)
        else:
            if surplus is not None:
                self.children.dismiss(surplus, now)
                out = self.children.links[surplus]
                self._hint(out.profile, out.region, out.number)
            self._tell(peer, self.children.links[peer])
        if fresh and peer in self.children.links:
            self._desk.replay(self.id[1], peer, fresh)
        return True

    def tell_children(self) -> None:
        """Tells those for whom something has changed."""
        for peer, child in self.children.links.items():
            if child.until_ms is not None or child.told is None:
                continue
            served, above, reach = child.told
            now_served, now_above, now_reach = self._service(child.region)
            if served != now_served or above != now_above or abs(now_reach - reach) > _REACH_STEP * reach + 0.5:
                self._tell(peer, child)

    def dismiss_all(self, now: float) -> None:
        """Sends all children away, who are served for a while."""
        for child in self.children.links.values():
            if child.until_ms is None:
                child.until_ms = now + self._settings.grace_ms
                self._hint(child.profile, child.region, child.number, self._elders())

    def _tell(self, peer: PeerId, child: Child) -> None:
        child.told = served, above, reach = self._service(child.region)
        stamp = self._desk.next_number()
        own = () if self.profile is None else (self.profile,)
        status = Status(peer[1], self.id, own, child.region, served, above, reach, child.number, stamp)
        self._desk.send(peer[0], status)

    def _hint(self, profile: Profile, region: DzSet, number: int, elders: tuple[Profile, ...] = ()) -> None:
        """Names children that may do instead; and those above, to whom it cannot have below itself."""
        others, adopters = self.children.hints_for(profile, region)
        named = {each.peer for each in others}
        others += tuple(each for each in elders if each.peer not in named and each.peer != profile.peer)
        stamp = self._desk.next_number()
        self._desk.send(profile.peer[0], Hint(profile.peer[1], self.id, others, adopters, number, stamp))


class PublishingPlace(Place):
    """Where the publishers of a node are."""

    def __init__(self, node: NodeId, settings: QosSettings, desk: Desk) -> None:
        super().__init__((node, PUBLISHING), settings, desk)
        self.offered: DzSet = NOTHING

    @property
    def profile(self) -> None:
        return None

    def _admit(self, connect: Connect, now: float) -> DzSet:
        return connect.region & self.offered

    def _may_have(self, profile: Profile) -> bool:
        return True

    def _service(self, region: DzSet) -> tuple[bool, frozenset[PeerId], float]:
        return True, frozenset(), 0.0


@dataclass(frozen=True, slots=True)
class Wish:
    """A subscription: what it is mapped to, and when it came."""

    filter: Filter
    region: DzSet
    since_ms: float


class SubscribingPlace(Place):
    """Subscriptions of one class of bounds."""

    def __init__(self, id: PeerId, bound_ms: float, table: Table, settings: QosSettings, desk: Desk) -> None:
        super().__init__(id, settings, desk)
        self.bound = Bound(bound_ms)
        self.parents = Parents(id, settings, desk.send, desk.next_number)
        self._table = table
        self._wishes: dict[str, Wish] = {}
        self._own = NOTHING
        self._pledges: list[tuple[DzSet, float]] = []
        self._wanted = NOTHING
        self._parts: list[DzSet] = []
        """What it is made of."""
        self._pieces = Pieces(NOTHING)
        self._adverts: Mapping[NodeId, DzSet] = {}
        self._relevant: Mapping[NodeId, int] = {}
        self._profile: Profile | None = None
        self._known_parents: tuple[Profile, ...] = ()

    # -- subscriptions ---------------------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """Whether nobody of this node subscribes here."""
        return not self._wishes

    def __len__(self) -> int:
        return len(self._wishes)

    def put(self, id: str, filter_: Filter, region: DzSet, now: float) -> None:
        """Adds a subscription, or gives it a new filter."""
        if id in self._wishes:
            self._table.remove(id)
        self._wishes[id] = Wish(filter_, region, now)
        self._table.add(id, filter_)
        self._own = coarse(self._own | region, self._settings.pieces)

    def remove(self, id: str) -> None:
        """Removes a subscription that is there."""
        del self._wishes[id]
        self._table.remove(id)
        self._own = NOTHING
        for wish in self._wishes.values():
            self._own = coarse(self._own | wish.region, self._settings.pieces)

    def matching(self, event: Event, born_ms: float) -> list[str]:
        """The subscriptions that are to be handed an event; not those that came after it.

        When it was published is known by measured delays, which may be wrong by as much as it took on its way.
        """
        latest = born_ms + self.parents.supply.reach_ms
        return [id for id in self._table.match(event) if self._wishes[id].since_ms <= latest]

    # -- its place in the overlay ------------------------------------------------------------------------------

    @property
    def wanted(self) -> DzSet:
        """What it wants for its subscriptions and its children."""
        return self._wanted

    @property
    def profile(self) -> Profile:
        found, supply, room = self._profile, self.parents.supply, self.children.room
        reach = inf if supply.unserved else supply.reach_ms
        if found is None or (found.wanted, found.reach_ms, found.room) != (self._wanted, reach, room):
            self._profile = found = Profile(self.id, self._wanted, self.bound.bound_ms, reach, room)
        return found

    def turn(
        self,
        adverts: Mapping[NodeId, DzSet],
        known: Iterable[Profile],
        delays: Mapping[NodeId, float],
        now: float,
    ) -> None:
        """Has links that fit what is wanted now."""
        self.children.expire(now, self._settings.forget_ms)
        self._widen(now)
        if self._pieces.wanted is not self._wanted or self._adverts != adverts:
            offers = dict.fromkeys(adverts.values())
            self._adverts = dict(adverts)
            granted = [link.granted for link in self.parents.links.values() if link.granted]
            self._pieces = Pieces(self._wanted, (*offers, *dict.fromkeys(granted)))
            touched = {offered: self._pieces.touched(offered) for offered in offers}
            self._relevant = {node: touched[offered] for node, offered in adverts.items()}
        self._known_parents = tuple(each for each in known if each.peer in self.parents.links)
        self.parents.arrange(self.profile, self.bound, self._pieces, self._relevant, known, delays, now)
        self.bound.check(self.parents.supply.reach_ms, self.parents.direct_ms(delays), now)
        self.tell_children()

    def end(self, now: float) -> bool:
        """Wants nothing for itself any more; True once it is of no use to children either."""
        self.dismiss_all(now)
        if self.children.links:
            return False
        self.parents.end(self.profile)
        return True

    def _widen(self, now: float) -> None:
        self._pledges = [pledge for pledge in self._pledges if pledge[1] > now]
        parts = [self._own, *self.children.regions, *(region for region, _ in self._pledges)]
        if len(parts) == len(self._parts) and all(map(is_, parts, self._parts)):
            return
        self._parts = parts
        wanted = parts[0]
        for region in parts:
            if not wanted.covers(region):
                wanted |= region
        wanted = coarse(wanted, self._settings.pieces)
        if wanted != self._wanted:
            self._wanted = wanted

    def _admit(self, connect: Connect, now: float) -> DzSet:
        if self.is_empty:
            return NOTHING
        if self._wanted.covers(connect.region):
            return connect.region if self._may_have(connect.child) else NOTHING
        if connect.adopt and rank_with(self.profile, connect.region) < rank(connect.child):
            self._pledges.append((connect.region, now + _PLEDGED_ROUNDS * self._settings.round_ms))
            self._widen(now)
            return connect.region
        return connect.region & self._wanted if self._may_have(connect.child) else NOTHING

    def _may_have(self, profile: Profile) -> bool:
        return rank(self.profile) < rank(profile)

    def _service(self, region: DzSet) -> tuple[bool, frozenset[PeerId], float]:
        supply = self.parents.supply
        return not (supply.unserved and region.overlaps(supply.unserved)), supply.above, supply.reach_ms

    def _elders(self) -> tuple[Profile, ...]:
        return self._known_parents
