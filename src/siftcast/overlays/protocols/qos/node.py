"""A node of the QoS overlay: subscriptions of different bounds, publishers, and what is passed on.

    SubscribeRequested ─▶ the place of its bound ─▶ parents
    PublishRequested, Forward ─▶ own subscribers, children
    Connect, Status, Hint, Release ─▶ the place they are for
    Exchange, News ─▶ whom and what the node has heard of

Whatever changes, each place compares once, at the end of the turn, what it wants with what its links supply
(`parents.py`). Places of one node talk without messages.

An event is passed on where it has not been yet, wherever it comes from: a place that gets it a second time knows its
id. A node that publishes without having said what advertises everything, and keeps its first events for those who will
connect (`overlays/recent.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from functools import partial
from random import Random
from typing import Any, ClassVar

from siftcast.model import Event, EventError, Subscription
from siftcast.overlays.contract import (
    AdvertiseRequested,
    DelayMeasured,
    Deliver,
    Effect,
    Effects,
    Leave,
    LeaveRequested,
    MeasureDelay,
    Message,
    MessageReceived,
    NodeId,
    PeerFound,
    PeerGone,
    PeerLost,
    Protocol,
    PublishRequested,
    Refuse,
    SendMessage,
    SetTimer,
    Started,
    Stimulus,
    SubscribeRequested,
    TimerFired,
    UnadvertiseRequested,
    UnsubscribeRequested,
    Unwatch,
    Watch,
)
from siftcast.overlays.membership.random_view import RANDOM_MESSAGES, RandomView, RandomViewOptions
from siftcast.overlays.protocols.qos.delays import Delays
from siftcast.overlays.protocols.qos.messages import (
    CONTROL_MESSAGES,
    PUBLISHING,
    Advert,
    Connect,
    Forward,
    Hint,
    News,
    PeerId,
    Profile,
    Release,
    Status,
)
from siftcast.overlays.protocols.qos.news import Gazette
from siftcast.overlays.protocols.qos.options import QosSettings
from siftcast.overlays.protocols.qos.parent_link import Surroundings
from siftcast.overlays.protocols.qos.peer import SubscribingPlace
from siftcast.overlays.protocols.qos.place import PublishingPlace
from siftcast.overlays.protocols.qos.rates import Rates
from siftcast.overlays.protocols.qos.regions import EVERYTHING, NOTHING, coarse
from siftcast.overlays.protocols.qos.soundness import is_sound
from siftcast.overlays.recent import Kept, Recent
from siftcast.overlays.tables import TableFactory
from siftcast.space.dz import DzSet, DzSpace

_ROUND, _TURN = "qos/round", "qos/turn"
_NEWS_TO = 4
_SEEDS_ROUNDS, _TIDIED_ROUNDS = 8, 16
_LINKED_ROUNDS = 4
"""So often the news is for a parent: it must know the publishers that this node knows, or it does not pass them on."""
_MEASURED_MAX = 8
_NO_BOUND = float("inf")


class Qos(Protocol):
    """A node."""

    messages: ClassVar[tuple[type[Message], ...]] = (*CONTROL_MESSAGES, Forward, *RANDOM_MESSAGES)

    def __init__(self, node: NodeId, space: DzSpace, tables: TableFactory, settings: QosSettings | None = None) -> None:
        self._settings = settings = settings if settings is not None else QosSettings()
        self._node = node
        self._space = space
        self._tables = tables
        self._random = Random(node)
        self._view = RandomView(node, RandomViewOptions(exchange_ms=settings.round_ms), self._random)
        self._gazette = Gazette(node, settings, self._random)
        self._recent = Recent[DzSet](settings.linger_ms)
        self._rates = Rates(len(space.axes), space.length, settings.round_ms)
        self._publishing = PublishingPlace(node, settings, self)
        self._places: dict[int, SubscribingPlace] = {}
        self._place_of: dict[str, int] = {}
        self._adverts: dict[str, DzSet] = {}
        self._seeds: tuple[NodeId, ...] = ()
        self._delays = Delays(self._random)
        self._watched: set[NodeId] = set()
        self._lost: set[NodeId] = set()
        self._effects: list[Effect] = []
        self._inner: deque[Message] = deque()
        self._outgoing: dict[tuple[NodeId, str], list[int]] = {}
        self._number = self._last_place = self._rounds = 0
        self._clock_ms = self._now = 0.0
        self._is_changed = self._is_timed = self._leaving = False

    # -- what places need of the node ------------------------------------------------------------------------

    def send(self, node: NodeId, message: Message) -> None:
        """To a node, or to this one."""
        if node == self._node:
            self._inner.append(message)
        else:
            self._effects.append(SendMessage(message, (node,)))

    def replay(self, place: int, child: PeerId, region: DzSet) -> None:
        """Gives a child that has come what there was of its region not long ago."""
        near = [kept for kept in self._recent.at(place, self._now) if region.covers(kept.note)]
        for kept in near:
            self._pass_on(kept, child)

    def next_number(self) -> int:
        """Grows with every call, and over restarts."""
        self._number = max(self._number + 1, int(self._now + self._clock_ms))
        return self._number

    def profile_of(self, peer: PeerId) -> Profile | None:
        """Another peer, if it is known; one of this node is."""
        if peer[0] != self._node:
            return self._gazette.profile_of(peer)
        place = self._places.get(peer[1])
        return None if place is None else place.profile

    def rate_of(self, region: DzSet, received: DzSet) -> float:
        """Bytes per second in a region, if so much is received here."""
        return self._rates.of(region, received, self._now)

    # -- what happens ----------------------------------------------------------------------------------------

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        self._now = now
        kind = type(stimulus)
        if kind is MessageReceived:
            self._receive(stimulus.sender, stimulus.message)  # type: ignore[attr-defined]
        elif kind is PublishRequested:
            self._publish(stimulus.event)  # type: ignore[attr-defined]
        else:
            self._meet(stimulus)
        while self._inner or self._is_changed:
            while self._inner:
                self._receive(self._node, self._inner.popleft())
            if self._is_changed:
                self._is_changed = False
                self._turn()
        self._flush()
        effects, self._effects = self._effects, []
        return effects

    def _meet(self, stimulus: Stimulus) -> None:
        match stimulus:
            case TimerFired(name):
                self._wake(name)
            case SubscribeRequested(subscriptions):
                for item in subscriptions:
                    self._subscribe(item)
                self._is_changed = True
            case UnsubscribeRequested(ids):
                for id in ids:
                    self._unsubscribe(id)
                self._is_changed = True
            case AdvertiseRequested(advertisements):
                for item in advertisements:
                    self._adverts[item.id] = self._space.of_filter(item.filter, self._settings.theta)
                self._advertise()
            case UnadvertiseRequested(ids):
                for id in ids:
                    self._adverts.pop(id, None)
                self._advertise()
            case DelayMeasured(peer, delay_ms):
                self._is_changed |= self._delays.note(peer, delay_ms)
            case PeerLost(peer):
                self._lose(peer)
            case PeerFound(peer):
                self._lost.discard(peer)
            case PeerGone(peer):
                self._lose(peer)
                self._gazette.forget_node(peer)
                self._view.forget(peer)
            case Started():
                self._start(stimulus)
            case LeaveRequested():
                self._leave()

    def _start(self, started: Started) -> None:
        self._random.seed(started.nonce * 31 + self._node)
        self._clock_ms = (started.clock_ms if started.clock_ms is not None else self._now) - self._now
        self._seeds = started.contacts
        self._effects += self._view.handle_started(started.contacts)
        self._effects.append(SetTimer(_ROUND, self._random.random() * self._settings.round_ms))
        for node in started.contacts:
            self.send(node, self._gazette.everything((), asks=True))
        self._is_changed = True

    def _receive(self, sender: NodeId, message: Message) -> None:
        self._lost.discard(sender)  # it may not be watched any more
        self._gazette.hear(sender, self._now)
        if not is_sound(message, self._space.length):
            return
        kind = type(message)
        if kind is Forward:
            self._take_forward(sender, message)  # type: ignore[arg-type]
            return
        match message:
            case Connect(to):
                place = self._place(to)
                if place is not None:
                    self._gazette.add_profile(message.child, self._now)
                    self._is_changed |= place.handle_connect(message, self._now)
                else:
                    stamp = self.next_number()
                    hint = Hint(message.child.peer[1], (self._node, to), (), None, (), message.number, stamp)
                    self.send(message.child.peer[0], hint)
            case Status():
                self._take_status(message)
            case Hint():
                self._hear_parent(message)
                for profile in message.others:
                    self._gazette.add_profile(profile, self._now)
                taker = self._places.get(message.to)
                if taker is not None:
                    self._is_changed |= taker.parents.handle_hint(message, self._now)
            case Release(to, child, number):
                place = self._place(to)
                link = None if place is None else place.children.links.get(child)
                if place is not None and link is not None and number > link.number:
                    self._is_changed |= place.children.forget(child)
            case News():
                self._take_news(sender, message)
            case _:
                self._effects += self._view.handle_message(sender, message)

    def _take_status(self, status: Status) -> None:
        self._hear_parent(status)
        place = self._places.get(status.to)
        if place is not None and status.parent in place.parents.links:
            self._is_changed |= place.parents.handle_status(status, self._now)
        else:
            child = (self._node, status.to)
            self.send(status.parent[0], Release(status.parent[1], child, self.next_number()))

    def _hear_parent(self, message: Status | Hint) -> None:
        """Notes what a parent says of itself."""
        node, place = message.parent
        if place == PUBLISHING:
            self._gazette.note_last(node, message.last)
        for profile in message.profile:
            self._gazette.add_profile(profile, self._now)

    def _place(self, number: int) -> PublishingPlace | SubscribingPlace | None:
        return self._publishing if number == PUBLISHING else self._places.get(number)

    # -- subscriptions and adverts -----------------------------------------------------------------------------

    def _subscribe(self, item: Subscription) -> None:
        bound = _NO_BOUND if item.delay_ms_max is None else float(item.delay_ms_max)
        before = self._place_of.get(item.id)
        number = next((n for n, place in self._places.items() if place.bound.bound_ms == bound), None)
        if number is None:
            self._last_place += 1
            number = self._last_place
            peer = (self._node, number)
            self._places[number] = SubscribingPlace(peer, bound, self._tables(), self._settings, self)
        # Another bound or bandwidth makes it no newer: what is on its way is for it all the same.
        since_ms = self._now if before is None else self._places[before].since_of(item, self._now)
        if before is not None and before != number:
            self._places[before].remove(item.id)
        region = self._space.of_filter(item.filter, self._settings.theta)
        self._places[number].put(item, region, since_ms)
        self._place_of[item.id] = number

    def _unsubscribe(self, id: str) -> None:
        number = self._place_of.pop(id, None)
        if number is not None:
            self._places[number].remove(id)

    def _advertise(self) -> None:
        """Says what the node publishes, and tells others at once if that is new."""
        offered = NOTHING
        for region in self._adverts.values():
            offered |= region
        self._publishing.offered = offered = coarse(offered, self._settings.pieces)
        advert = Advert(self._node, offered, self.next_number(), self._publishing.children.last)
        if self._gazette.add_advert(advert, self._now):
            self._spread([advert], None)
        self._is_changed = True

    # -- news --------------------------------------------------------------------------------------------------

    def _take_news(self, sender: NodeId, news: News) -> None:
        fresh = []
        for advert in news.adverts:
            if advert.publisher == self._node:  # of a life before this one: what is said now must come after it
                self._number = max(self._number, advert.beat)
            elif self._gazette.add_advert(advert, self._now):
                fresh.append(advert)
        for profile in news.profiles:
            self._gazette.add_profile(profile, self._now)
        self._rates.hear(news.rates, self._now)
        self._view.add(sender)
        if news.asks:
            self.send(sender, self._news(asks=False))
        if fresh:
            self._spread(fresh, sender)
            self._is_changed = True

    def _news(self, *, asks: bool) -> News:
        return self._gazette.news(self._profiles(), self._rates.report(self._random, self._now), asks=asks)

    def _spread(self, adverts: list[Advert], sender: NodeId | None) -> None:
        """Passes adverts on that are new here: to those it is linked with, and some others."""
        linked = {peer[0] for place in self._all_places() for peer in place.children.links}
        linked |= {peer[0] for place in self._places.values() for peer in place.parents.links}
        nodes = dict.fromkeys((*sorted(linked), *self._view.sample(_NEWS_TO)))
        others = tuple(node for node in nodes if node not in (self._node, sender))
        if others:
            self._effects.append(SendMessage(News(tuple(adverts), (), False), others))

    def _profiles(self) -> list[Profile]:
        return [place.profile for place in self._places.values() if not place.is_empty]

    # -- turns -------------------------------------------------------------------------------------------------

    def _wake(self, name: str) -> None:
        if name == _TURN:
            self._is_timed = False
            self._is_changed = True
        elif name == _ROUND:
            self._round()
        else:
            self._effects += self._view.handle_timer(name)

    def _round(self) -> None:
        self._effects.append(SetTimer(_ROUND, self._settings.round_ms))
        self._recent.expire(self._now)
        self._rates.expire(self._now)
        self._gazette.expire(self._now)
        self._publishing.children.expire(self._now, self._settings.forget_ms)
        mine = self._publishing.offered
        if mine:
            last = self._publishing.children.last
            self._gazette.add_advert(Advert(self._node, mine, self.next_number(), last), self._now)
        for place in self._places.values():
            place.weigh(self._now)
            place.parents.refresh(place.profile, self._now)
        parents = sorted(self._parent_nodes())
        missed = any(place.bound.missed_since_ms is not None for place in self._places.values())
        self._effects += map(MeasureDelay, self._delays.to_measure(parents, missed))
        # Those it came through may have nobody else who knows them, if all that was sent at first was lost.
        self._rounds += 1
        if self._rounds % _TIDIED_ROUNDS == 0:
            self._forget_strangers()
        others = (
            [self._random.choice(parents)] if parents and self._rounds % _LINKED_ROUNDS == 0 else self._view.sample(1)
        )
        if not others or self._rounds % _SEEDS_ROUNDS == 0:
            others = [*others, *self._seeds]
        for node in dict.fromkeys(others):
            self.send(node, self._news(asks=True))
        self._is_changed = True

    def _forget_strangers(self) -> None:
        """Drops what is remembered of nodes that nothing else is known of."""
        known = {each.peer[0] for each in self._gazette.profiles} | self._watched | set(self._gazette.offered)
        self._lost &= known
        self._delays.keep(known)

    def _turn(self) -> None:
        """Has every place look after its links."""
        delays = self._delays
        for number, place in tuple(self._places.items()):
            known = partial(self._known, place.id)
            around = Surroundings(
                known, delays.known, self._gazette.lasts, self._now, self._settings.request_ms, delays.least
            )
            place.turn(self._gazette.offered, around)
            expected = place.expectation(around)
            if expected is not None:
                self._effects.append(expected)
            if place.is_empty and place.end(self._now):
                del self._places[number]
        self._watch()
        if not self._is_timed and not self.is_settled:
            self._is_timed = True
            self._effects.append(SetTimer(_TURN, self._settings.request_ms))
        if self._leaving and not self._places and not self._publishing.children.links:
            self._effects.append(Leave())

    def _known(self, asking: PeerId) -> list[Profile]:
        """The peers that one of this node may ask."""
        others = [each for each in self._gazette.profiles if each.peer[0] not in self._lost]
        return [*others, *(each for each in self._profiles() if each.peer != asking)]

    def _all_places(self) -> list[PublishingPlace | SubscribingPlace]:
        return [self._publishing, *self._places.values()]

    def _parent_nodes(self) -> set[NodeId]:
        return {peer[0] for place in self._places.values() for peer in place.parents.links} - {self._node}

    def _watch(self) -> None:
        linked = self._parent_nodes()
        unmeasured = linked - self._delays.asked
        if any(place.bound.is_finite for place in self._places.values()):
            maybe = (*self._gazette.offered, *self._gazette.youngest(_MEASURED_MAX))
            unmeasured |= {node for node in maybe if node not in self._delays.asked}
        for node in sorted(unmeasured - {self._node}):
            self._delays.asked.add(node)
            self._effects.append(MeasureDelay(node))
        children = {peer[0] for place in self._all_places() for peer in place.children.links} - {self._node}
        wanted = linked | children
        self._effects += [Watch(node) for node in sorted(wanted - self._watched)]
        self._effects += [Unwatch(node) for node in sorted(self._watched - wanted)]
        self._watched = wanted

    def _lose(self, node: NodeId) -> None:
        self._lost.add(node)
        for place in self._all_places():
            place.children.lose(node)
        for place in self._places.values():
            place.parents.lose(node, self._now)
        self._is_changed = True

    def _leave(self) -> None:
        self._leaving = True
        self._adverts.clear()
        self._advertise()
        for id in tuple(self._place_of):
            self._unsubscribe(id)
        self._publishing.dismiss_all(self._now)

    # -- events ------------------------------------------------------------------------------------------------

    def _publish(self, event: Event) -> None:
        if self._leaving:  # whoever advertised again would find new children, and never be gone
            self._effects.append(Refuse(event.id, "the node is leaving its network"))
            return
        try:
            point = DzSet([self._space.of_event(event)])
        except EventError as error:
            self._effects.append(Refuse(event.id, str(error)))
            return
        if not self._publishing.offered.covers(point):
            if self._adverts:
                self._effects.append(Refuse(event.id, "the node has not advertised such events"))
                return
            self._adverts[""] = EVERYTHING
            self._advertise()
        kept = self._keep(event, point, 0.0)
        kept.places.add(PUBLISHING)
        for peer, child in self._publishing.children.links.items():
            if child.region.covers(point):
                self._pass_on(kept, peer)
        for number in tuple(self._places):
            self._take(number, kept)

    def _take_forward(self, sender: NodeId, forward: Forward) -> None:
        elapsed = forward.elapsed_ms + self._delays.known.get(sender, 0.0)
        kept = self._keep(forward.event, forward.point, elapsed)
        for number in forward.to:
            self._take(number, kept)

    def _keep(self, event: Event, point: DzSet, elapsed_ms: float) -> Kept[DzSet]:
        """Remembers an event, and counts it if it is new."""
        kept = self._recent.put(event, point, elapsed_ms, self._now)
        if not kept.places:
            self._rates.count(event, point.items[0])
        return kept

    def _take(self, number: int, kept: Kept[DzSet]) -> None:
        """Hands an event to a place, unless it has had it."""
        place = self._places.get(number)
        if place is None or number in kept.places:
            return
        kept.places.add(number)
        found = [id for id in place.matching(kept.event, kept.born_ms) if id not in kept.handed]
        if found:
            kept.handed.update(found)
            self._effects.append(Deliver(kept.event, found))
        for peer, child in place.children.links.items():
            if child.region.covers(kept.note):
                self._pass_on(kept, peer)

    def _pass_on(self, kept: Kept[DzSet], child: PeerId) -> None:
        node, number = child
        if node == self._node:
            self._take(number, kept)
        else:
            self._outgoing.setdefault((node, kept.event.id), []).append(number)

    def _flush(self) -> None:
        """Sends the events of the turn: one message for all places of a node."""
        for (node, id), numbers in self._outgoing.items():
            kept = self._recent.get(id)
            to = tuple(dict.fromkeys(numbers))
            forward = Forward(to, kept.event, kept.note, self._now - kept.born_ms)
            self._effects.append(SendMessage(forward, (node,)))
        self._outgoing.clear()

    # -- facts -------------------------------------------------------------------------------------------------

    @property
    def is_settled(self) -> bool:
        """Whether all that is wanted is supplied, and nobody has to find another parent."""
        return all(place.parents.is_settled and not place.is_empty for place in self._places.values())

    @property
    def can_leave(self) -> bool:
        return True

    @property
    def publishing(self) -> PublishingPlace:
        """Where its publishers are, for checkers and people."""
        return self._publishing

    @property
    def places(self) -> Mapping[int, SubscribingPlace]:
        """Its subscribing places, for checkers and people."""
        return self._places

    def state(self) -> Mapping[str, Any]:
        """`entries` are its links; `parents` and `children` are for checkers and people."""
        parents = {peer for place in self._places.values() for peer in place.parents.links}
        children = {peer for place in self._all_places() for peer in place.children.links}
        return {
            "entries": len(parents) + len(children),
            "local": len(self._place_of),
            "neighbours": tuple(sorted({peer[0] for peer in parents | children} - {self._node})),
            "parents": len(parents),
            "children": len(children),
            "publishing": tuple(sorted(self._gazette.offered)),
            "bounds_missed": sum(place.bound.is_worth_trying for place in self._places.values()),
            "bounds_claimed": sum(place.bound.claim_ms < _NO_BOUND for place in self._places.values()),
            "bounds_impossible": sum(place.bound.is_impossible for place in self._places.values()),
            "kept": len(self._recent),
            "depth": max((place.parents.supply.depth for place in self._places.values()), default=0),
            "taken_on_share": max((place.taken_on_share for place in self._places.values()), default=0.0),
            "bandwidths_exceeded": sum(place.budget.is_exceeded for place in self._places.values()),
        }
