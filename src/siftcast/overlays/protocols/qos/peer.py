"""A place of a node that subscribes, for one class of bounds: it has parents, and children for whom it takes on more.

It wants what its subscriptions and its children do. What it takes on for children is kept in few expressions, coarse
ones: then what the next child wants is often covered already, and there is less to compute.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from operator import is_

from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.contract import ExpectDelay, NodeId
from siftcast.overlays.protocols.qos.budget import Budget
from siftcast.overlays.protocols.qos.children import Told
from siftcast.overlays.protocols.qos.claims import Bound
from siftcast.overlays.protocols.qos.messages import Connect, PeerId, Profile
from siftcast.overlays.protocols.qos.options import QosSettings
from siftcast.overlays.protocols.qos.order import rank
from siftcast.overlays.protocols.qos.parent_link import Surroundings
from siftcast.overlays.protocols.qos.parents import Parents
from siftcast.overlays.protocols.qos.place import Desk, Place
from siftcast.overlays.protocols.qos.regions import NOTHING, Pieces, coarse, coarse_union
from siftcast.overlays.tables import Table
from siftcast.space.dz import DzSet

_TAKEN_PIECES = 8
"""What is taken on is kept in so few expressions. With four times as many, peers took on half as much, and a network of
little room took ten times as long to settle: each child that came or went was news to all above it."""
_TOLD_STEP = 0.05


@dataclass(frozen=True, slots=True)
class Wish:
    """A subscription: what it is mapped to, and when it came."""

    filter: Filter
    region: DzSet
    since_ms: float
    bandwidth: float | None


class SubscribingPlace(Place):
    """Subscriptions of one class of bounds."""

    def __init__(self, id: PeerId, bound_ms: float, table: Table, settings: QosSettings, desk: Desk) -> None:
        super().__init__(id, settings, desk)
        self.bound = Bound(bound_ms, settings.round_ms)
        self.budget = Budget()
        self.parents = Parents(id, settings, desk.send, desk.next_number)
        self._table = table
        self._wishes: dict[str, Wish] = {}
        self._own = NOTHING
        self._own_volume = 0.0
        self._wanted = NOTHING
        self._parts: list[DzSet] = []
        """What it is made of."""
        self._pieces = Pieces(NOTHING)
        self._adverts: Mapping[NodeId, DzSet] = {}
        self._relevant: Mapping[NodeId, int] = {}
        self._profile: Profile | None = None
        self._told: ExpectDelay | None = None

    # -- subscriptions ---------------------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """Whether nobody of this node subscribes here."""
        return not self._wishes

    def __len__(self) -> int:
        return len(self._wishes)

    def put(self, item: Subscription, region: DzSet, since_ms: float) -> None:
        """Adds a subscription, or gives it a new filter."""
        is_known = item.id in self._wishes
        if is_known:
            self._table.remove(item.id)
        self._wishes[item.id] = Wish(item.filter, region, since_ms, item.bandwidth)
        self._table.add(item.id, item.filter)
        self._want(self._union() if is_known else self._own | region)

    def since_of(self, item: Subscription, now: float) -> float:
        """Since when a subscription that is here has its filter: now, if it has another one now."""
        wish = self._wishes[item.id]
        return wish.since_ms if wish.filter == item.filter else now

    def remove(self, id: str) -> None:
        """Removes a subscription that is there."""
        del self._wishes[id]
        self._table.remove(id)
        self._want(self._union())

    def _union(self) -> DzSet:
        own = NOTHING
        for wish in self._wishes.values():
            own = coarse(own | wish.region, self._settings.pieces)
        return own

    def _want(self, region: DzSet) -> None:
        self._own = coarse(region, self._settings.pieces)
        self._own_volume = float(self._own.volume)
        given = [wish.bandwidth for wish in self._wishes.values() if wish.bandwidth is not None]
        self.budget.limit = min(given) / (self._settings.degree + 1) if given else inf

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
        found, supply, children = self._profile, self.parents.supply, self.children
        made = Profile(
            peer=self.id,
            wanted=self._wanted,
            own=self._own_volume,
            bound_ms=self.bound.bound_ms,
            claim_ms=self.bound.claim_ms,
            is_open=not self.budget.is_limited,
            reach_ms=inf if supply.unserved else supply.reach_ms,
            depth=supply.depth,
            last=children.last,
            room_below=children.room_below,
            spare=self.budget.spare,
        )
        if found is None or found.wanted is not made.wanted or found != made:
            self._profile = found = made
        return found

    def turn(self, adverts: Mapping[NodeId, DzSet], around: Surroundings) -> None:
        """Has links that fit what is wanted now."""
        self.children.expire(around.now, self._settings.forget_ms)
        self._widen()
        if self._pieces.wanted is not self._wanted or self._adverts != adverts:
            offers = dict.fromkeys(adverts.values())
            self._adverts = dict(adverts)
            granted = [link.granted for link in self.parents.links.values() if link.granted]
            self._pieces = Pieces(self._wanted, (*offers, *dict.fromkeys(granted)))
            touched = {offered: self._pieces.touched(offered) for offered in offers}
            self._relevant = {node: touched[offered] for node, offered in adverts.items()}
        self.parents.arrange(self.profile, self.bound, self._pieces, self._relevant, around)
        if not self.parents.supply.unserved:
            self.bound.check(self.parents.supply.reach_ms, self.parents.direct_ms(around), around.now)
        self.tell_children()

    def end(self, now: float) -> bool:
        """Wants nothing for itself any more; True once it is of no use to children either."""
        self.dismiss_all(now)
        if self.children.links:
            return False
        self.parents.end(self.profile)
        return True

    def _widen(self) -> None:
        parts = [self._own, *self.children.regions]
        if len(parts) == len(self._parts) and all(map(is_, parts, self._parts)):
            return
        self._parts = parts
        wanted = self._with(parts[1:])
        if wanted != self._wanted:
            self._wanted = wanted

    def _admit(self, connect: Connect, now: float) -> DzSet:
        region = connect.region
        if self.is_empty or not self._may_have(connect.child):
            return NOTHING
        if not self.budget.is_limited or self._own.covers(region):
            return region
        kept = self._received(without=connect.child.peer)
        return region if self._desk.rate_of(kept | region, self._wanted) <= self.budget.limit else region & kept

    def _received(self, without: PeerId | None = None) -> DzSet:
        """What it wants for its subscriptions and for those children that stay."""
        staying = self.children.staying
        return self._with([child.region for child in staying if child.profile.peer != without])

    def _with(self, regions: Iterable[DzSet]) -> DzSet:
        """Its own wishes and what it takes on; exactly where every byte counts, else in coarse expressions."""
        taken = [region for region in regions if not self._own.covers(region)]
        if not taken:
            return self._own
        pieces = self._settings.pieces
        return self._own | coarse_union(taken, pieces if self.budget.is_limited else min(_TAKEN_PIECES, pieces))

    def weigh(self, now: float) -> None:
        """Compares what it receives with its bandwidth; lets children go if that is too much (Algorithm 3)."""
        if not self.budget.is_limited:
            return
        self.budget.rate = self._desk.rate_of(self._received(), self._wanted)
        self.budget.own_rate = self._desk.rate_of(self._own, self._wanted)
        while self.budget.rate > self.budget.limit:
            costly = [child for child in self.children.staying if not self._own.covers(child.region)]
            if not costly:
                break
            child = max(costly, key=lambda each: each.rank)
            self.children.dismiss(child.profile.peer, now)
            self._hint(child.profile, child.region, child.number)
            self.budget.rate = self._desk.rate_of(self._received(), self._wanted)

    # -- what it says of itself --------------------------------------------------------------------------------

    @property
    def is_served(self) -> bool:
        """Whether all that its own subscribers want comes, as far as anybody publishes it."""
        return self._pieces.wanted is self._wanted and not self._own.overlaps(self.parents.supply.unserved)

    @property
    def taken_on(self) -> float:
        """The volume that it receives for others alone."""
        return max(0.0, float(self._wanted.volume) - self._own_volume)

    @property
    def taken_on_share(self) -> float:
        """Of what it receives, by volume, how much its own subscribers do not want."""
        wanted = float(self._wanted.volume)
        return self.taken_on / wanted if wanted else 0.0

    def expectation(self, around: Surroundings) -> ExpectDelay | None:
        """How late events will come to its subscriptions, if that is not what it said last."""
        if not self.bound.is_finite or not any(self._relevant.values()):
            return None
        if any(node != self.id[0] and node not in around.delays for node, _ in self.parents.links):
            return None  # a link that was not measured yet would count as none
        supply = self.parents.supply
        reach, direct = inf if supply.unserved else supply.reach_ms, self.parents.direct_ms(around)
        ids, bound_ms = tuple(self._wishes), self.bound.bound_ms
        told = self._told
        if (
            told is not None
            and told.subscriptions == ids
            and not (_differs(told.reach_ms, reach, bound_ms) or _differs(told.direct_ms, direct, bound_ms))
            and abs(told.taken_on_share - self.taken_on_share) <= _TOLD_STEP
        ):
            return None
        self._told = ExpectDelay(ids, reach, direct, self.taken_on_share)
        return self._told

    def _may_have(self, profile: Profile) -> bool:
        return rank(self.profile) < rank(profile)

    def _service(self, region: DzSet) -> Told:
        supply = self.parents.supply
        lacking = NOTHING if self._wanted.covers(region) else region - self._wanted
        if supply.unserved and region.overlaps(supply.unserved):
            lacking |= region & supply.unserved
        return lacking, supply.above, supply.reach_ms, supply.depth

    def _elders(self) -> tuple[Profile, ...]:
        found = (self._desk.profile_of(peer) for peer in self.parents.links)
        return tuple(each for each in found if each is not None)


def _differs(told_ms: float, found_ms: float, bound_ms: float) -> bool:
    """Whether a delay has changed so much that it is worth a word."""
    if (told_ms <= bound_ms) != (found_ms <= bound_ms) or (told_ms < inf) != (found_ms < inf):
        return True
    return found_ms < inf and abs(found_ms - told_ms) > _TOLD_STEP * told_ms
