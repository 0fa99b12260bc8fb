"""A node of any scheme that keeps its promises: the scheme inside, and around it everything that survives.

See the package's docstring for the whole picture. This is the one place that knows all its parts; it takes stimuli
apart, lets the scheme handle what concerns it, and sends the effects of the scheme on their way:

    what the scheme wants            because of a durable event     of anything else
    ───────────────────────────────────────────────────────────────────────────────────
    to send an event                 a relay                        as it is, at once
    to send a control message        a control relay                a control relay
    to deliver to a durable name     into the queue                 into the queue
    to deliver to others             held                           at once
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from siftcast.model import DataError, Event, EventError, Subscription
from siftcast.overlays.contract import (
    Accept,
    Deliver,
    DurableSubscribeRequested,
    Effect,
    Effects,
    Message,
    MessageReceived,
    NodeId,
    OfferRefused,
    OffersAcknowledged,
    PeerFound,
    PeerLost,
    Persist,
    PersistAll,
    Persisted,
    PersistFailed,
    Protocol,
    PublishRequested,
    Refuse,
    SendMessage,
    SetTimer,
    Spent,
    Started,
    Stimulus,
    SubscriberAttached,
    SubscriberDetached,
    SubscribeRequested,
    TimerFired,
    UnsubscribeRequested,
)
from siftcast.overlays.delivery import Parcel
from siftcast.overlays.durability.errors import RestoreError
from siftcast.overlays.durability.id_memory import IdMemory
from siftcast.overlays.durability.ledger import Ledger
from siftcast.overlays.durability.messages import Acknowledge, ControlRelay, Greet, Relay, Release, Ticket
from siftcast.overlays.durability.order import Landed, Landings, Place, Released, Unparked
from siftcast.overlays.durability.queues import RETENTION_TIMER, Queues
from siftcast.overlays.durability.relaying import RESEND_TIMER, Relaying
from siftcast.overlays.durability.routing_memory import RoutingMemory, check_rules
from siftcast.overlays.durability.settings import DEFAULTS, Settings
from siftcast.overlays.wire_events import encode_event
from siftcast.overlays.wire_messages import MessageCodec

DURABLE_MESSAGES: tuple[type[Message], ...] = (Relay, ControlRelay, Release, Greet, Acknowledge)
_RETRY_TIMER = "durable/retry"
_SELF = "self"
_INNER = "inner/"
_KEPT_FROM_REPLAY = (SetTimer,)


class _Kept(Effect, frozen=True, gc=False):
    """Held in place of the scheme's own `Persist`: what it asked to keep is safe."""

    key: str


class Durable(Protocol):
    """One node; `inner` is its part in a scheme, made afresh for each life."""

    def __init__(self, node: NodeId, inner: Protocol, settings: Settings = DEFAULTS) -> None:
        check_rules(inner)
        self.messages = (*inner.messages, *DURABLE_MESSAGES)  # type: ignore[misc]
        self._inner = inner
        self._settings = settings
        self._ledger = Ledger()
        self._landings = Landings(self._ledger, node)
        self._relaying = Relaying(
            self._ledger,
            MessageCodec(inner.messages),
            self._landings.is_released,
            window=settings.window,
            resend_ms=settings.resend_ms,
            resend_ms_max=settings.resend_ms_max,
        )
        self._queues = Queues(self._ledger, settings.ids_max)
        self._accepted = IdMemory(self._ledger, "accepted", settings.ids_max)
        self._routing = RoutingMemory(self._ledger, node)
        self._out: list[Effect] = []
        """Effects of this stimulus that wait until it is safe."""
        self._now_out: list[Effect] = []
        """Effects of this stimulus that need not wait."""
        self._calendar_ms = 0.0
        self._relaying.out = self._queues.out = self._out

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        if type(stimulus) is MessageReceived:
            self._receive(stimulus, now)
        else:
            self._meet(stimulus, now)
        self._ledger.hold(self._out)
        self._out.clear()
        ready = self._ledger.flush()
        if any(type(effect) is _Kept for effect in ready):
            ready = self._answer_scheme(ready, now)
        immediate = [*self._now_out, *self._relaying.watch(now), *self._queues.watch(self._clock(now))]
        self._now_out.clear()
        return [*immediate, *ready]

    def _answer_scheme(self, ready: list[Effect], now: float) -> list[Effect]:
        """Tells the scheme what of its own is safe now, and adds what it wants done about it."""
        for effect in ready:
            if isinstance(effect, _Kept):
                self._run(Persisted(effect.key), now)
        self._ledger.hold(self._out)
        self._out.clear()
        more = self._ledger.flush()
        writes = [effect for effect in ready if isinstance(effect, PersistAll)]
        return [effect for effect in ready if not isinstance(effect, _Kept | PersistAll)] + more + writes

    def _clock(self, now: float) -> float:
        return now + self._calendar_ms

    def _meet(self, stimulus: Stimulus, now: float) -> None:
        match stimulus:
            case PublishRequested(event, durable):
                self._publish(event, now) if durable else self._run(stimulus, now)
            case Persisted(key):
                self._ledger.settle(key)
            case OffersAcknowledged(name, positions):
                self._queues.acknowledge(name, positions, self._clock(now))
            case OfferRefused(name, position, reason):
                self._queues.refuse(name, position, reason)
            case SubscriberAttached(name, window, start, since_ms):
                self._queues.attach(name, window, start, since_ms)
            case SubscriberDetached(name):
                self._queues.detach(name)
            case SubscribeRequested(subscriptions):
                self._subscribe(subscriptions, now)
            case DurableSubscribeRequested(subscription, policy):
                self._queues.subscribe(subscription, policy)
                self._run(SubscribeRequested((subscription,)), now)
                self._out.append(Accept(subscription.id))
            case UnsubscribeRequested(ids):
                for id in ids:
                    if id in self._queues:
                        self._queues.unsubscribe(id)
                self._run(stimulus, now)
            case PeerLost(peer):
                self._relaying.lose(peer)
            case PeerFound(peer):
                self._relaying.find(peer, now)
            case TimerFired(name) if name.startswith("durable/"):
                self._wake(name, now)
            case PersistFailed(key, reason):
                if self._ledger.fail(key, reason):
                    self._now_out.append(SetTimer(_RETRY_TIMER, self._settings.retry_ms))
            case Started(restored, clock_ms, damaged):
                self._calendar_ms = 0.0 if clock_ms is None else clock_ms - now
                self._start(restored, now, damaged=damaged)
            case _:
                self._run(stimulus, now)

    def _wake(self, timer: str, now: float) -> None:
        if timer == RESEND_TIMER:
            self._relaying.resend(now)
        elif timer == RETENTION_TIMER:
            self._queues.expire(self._clock(now))
        elif timer == _RETRY_TIMER:
            self._ledger.retry()

    # -- a life begins -----------------------------------------------------------------------------------

    def _start(self, restored: Mapping[str, bytes], now: float, *, damaged: bool) -> None:
        try:
            subscriptions = self._restore(restored, now, damaged=damaged)
            own = {key[len(_INNER) :]: data for key, data in restored.items() if key.startswith(_INNER)}
            replay: list[Stimulus] = [Started(own), *self._routing.restore(restored)]
            if subscriptions:
                replay.insert(1, SubscribeRequested(tuple(subscriptions)))
            for stimulus in replay:
                effects = self._inner.handle(stimulus, now)
                self._now_out += [effect for effect in effects if isinstance(effect, _KEPT_FROM_REPLAY)]
            for peer, link in list(self._relaying.links.items()):
                if link.told:
                    self._introduce(peer, now)
                else:
                    self._relaying.resume(peer, now)
                if damaged:
                    self._relaying.acknowledge(peer)  # the new lineage has the peer introduce itself
        except (msgspec.DecodeError, DataError, EventError, ValueError, KeyError) as error:
            raise RestoreError(
                f"what this node kept does not fit it ({type(error).__name__}: {error}); was the layout of the network "
                "changed? Run it once more as it was until nothing waits, or start with an empty store"
            ) from error
        self._landings.resume()
        self._follow(now)

    def _restore(self, restored: Mapping[str, bytes], now: float, *, damaged: bool) -> list[Subscription]:
        """Everything but the scheme's own state; returns the durable subscriptions."""
        lineage, life = int(self._clock(now)), 0
        if _SELF in restored:
            before, life = msgspec.msgpack.decode(restored[_SELF], type=tuple[int, int])
            lineage = max(lineage, before + 1) if damaged else before
        self._ledger.put(_SELF, msgspec.msgpack.encode((lineage, life + 1)))
        duties = self._relaying.restore(restored, lineage, life + 1, renumber=damaged)
        self._accepted.restore(restored)
        subscriptions = self._queues.restore(restored)
        for (peer, number), duty in self._landings.restore(restored, duties):
            self._relaying.link(peer).unlanded[number] = duty
        return subscriptions

    def _introduce(self, peer: NodeId, now: float) -> None:
        """Tells a peer all there is to say about routing; what was said before is void."""
        self._relaying.renew(peer)
        self._relaying.resume(peer, now)
        self._carry_out(self._inner.handle(PeerFound(peer), now), now)

    # -- events ------------------------------------------------------------------------------------------

    def _publish(self, event: Event, now: float) -> None:
        reason = self._objection(event)
        if reason:
            self._now_out.append(Refuse(event.id, reason))
        elif event.id in self._accepted:
            self._out.append(Accept(event.id))
        elif self._enter(event, now):
            self._accepted.add(event.id)
            self._out.append(Accept(event.id))

    def _objection(self, event: Event) -> str:
        """Why an event cannot be taken, if it cannot."""
        if not event.id:
            return "a durable event needs an id"
        if self._ledger.failure:
            return f"nothing can be kept now: {self._ledger.failure}"
        if self._relaying.waiting >= self._settings.waiting_max:
            return "too many events wait for nodes out of reach; try again later"
        try:
            encode_event(event)
        except EventError as error:
            return str(error)
        return ""

    def _enter(self, event: Event, now: float) -> bool:
        """Hands a durable event to the scheme; False if that refused it."""
        effects = self._inner.handle(PublishRequested(event), now)
        if any(isinstance(effect, Refuse) for effect in effects):
            self._carry_out(effects, now)
            return False
        way = self._inner.way_of(event) if self._settings.ordered else None
        if way is None:
            self._carry_out(effects, now, durable=True)
            return True
        duty, ticket = self._landings.begin_own(event.source, way)
        self._landings.charge(duty, self._carry_out(effects, now, durable=True, duty=duty, ticket=ticket))
        self._follow(now)
        return True

    def _follow(self, now: float) -> None:
        """Does what follows from relays that landed and events that were released."""
        while self._landings.outcomes:
            outcomes, self._landings.outcomes = self._landings.outcomes, []
            for outcome in outcomes:
                match outcome:
                    case Landed((peer, number), duty, done):
                        self._relaying.link(peer).note_landed(number, duty, done=done)
                        self._relaying.acknowledge(peer)
                    case Released(places):
                        self._relaying.release(places)
                    case Unparked(event, names):
                        if held := [name for name in names if name in self._queues]:
                            self._queue(event, held, now)

    # -- messages ----------------------------------------------------------------------------------------

    def _receive(self, stimulus: MessageReceived, now: float) -> None:
        sender, message = stimulus.sender, stimulus.message
        match message:
            case Relay():
                self._take_relays(sender, message, now)
            case ControlRelay():
                if not self._ledger.failure:
                    for content in self._relaying.take_control(sender, message):
                        self._routing.note(sender, content)
                        self._run(MessageReceived(sender, content), now)
                self._relaying.acknowledge(sender)
            case Acknowledge():
                progress = self._relaying.settle(sender, message, now)
                for duty, place in progress.landed:
                    self._landings.land(duty, place)
                for duty, place in progress.done:
                    self._landings.finish(duty, place)
                self._follow(now)
                if progress.forgot:
                    self._introduce(sender, now)
            case Release(lineage, numbers):
                self._take_releases(sender, lineage, numbers, now)
            case Greet(token):
                self._relaying.greet_back(sender, token)
            case _:
                self._run(stimulus, now)

    def _take_relays(self, sender: NodeId, relay: Relay, now: float) -> None:
        """Takes relays whose turn it is; while nothing can be kept, none, so that the sender keeps them."""
        if self._ledger.failure:
            return
        link = self._relaying.link(sender)
        for each in self._relaying.take_relay(sender, relay):
            duty = 0
            if each.watched:
                duty = link.unlanded[each.number] = self._landings.begin((sender, each.number), each.ticket)
            if each.event_id is None:
                self._routing.note(sender, each.content)
            effects = self._inner.handle(MessageReceived(sender, each.content), now)
            places = self._carry_out(effects, now, durable=True, duty=duty, ticket=each.ticket)
            if duty:
                self._landings.charge(duty, places)
        for orphan in link.orphans:
            self._landings.release(orphan)
        link.orphans.clear()
        if relay.ticket is not None and relay.released and relay.lineage == link.lineage:
            self._landings.release(link.duty_of(relay.number))
        self._follow(now)
        self._relaying.acknowledge(sender)

    def _take_releases(self, sender: NodeId, lineage: int, numbers: tuple[int, ...], now: float) -> None:
        link = self._relaying.link(sender)
        if lineage == link.lineage and not self._ledger.failure:
            for number in numbers:
                self._landings.release(link.duty_of(number))
            self._follow(now)
            self._relaying.acknowledge(sender)

    def _subscribe(self, subscriptions: tuple[Subscription, ...], now: float) -> None:
        for item in subscriptions:
            if item.id in self._queues:
                self._now_out.append(Refuse(item.id, f"'{item.id}' is the name of a durable subscription"))
        if free := tuple(item for item in subscriptions if item.id not in self._queues):
            self._run(SubscribeRequested(free), now)

    # -- what the scheme wants -----------------------------------------------------------------------------

    def _run(self, stimulus: Stimulus, now: float) -> None:
        self._carry_out(self._inner.handle(stimulus, now), now)

    def _carry_out(
        self, effects: Effects, now: float, *, durable: bool = False, duty: int = 0, ticket: Ticket | None = None
    ) -> list[Place]:
        """Sends effects of the scheme on their way; returns the relays that were made."""
        places: list[Place] = []
        delivered: dict[str, None] = {}
        event: Event | None = None
        for effect in effects:
            match effect:
                case SendMessage(message, destinations):
                    if message.control:
                        self._relaying.steer(message, destinations)
                    elif durable or message.event_id is None:
                        places += self._relaying.relay(message, destinations, duty, ticket)
                        if message.event_id is None and isinstance(message, Parcel):
                            for peer in message.destinations:
                                self._relaying.note_told(peer)
                    else:
                        self._now_out.append(effect)
                case Deliver(event, ids):
                    delivered.update(dict.fromkeys(ids))
                case Persist(key, data):
                    self._ledger.put(_INNER + key, data) if data is not None else self._ledger.forget(_INNER + key)
                    self._out.append(_Kept(key))
                case Spent():
                    self._now_out.append(effect)
                case _:
                    (self._out if durable else self._now_out).append(effect)
        if event is not None:
            others, names = self._split(list(delivered))
            if others:
                (self._out if durable else self._now_out).append(Deliver(event, others))
            if names and ticket is not None and not self._landings.is_own(duty):
                self._landings.park(duty, event, names)
            elif names:
                self._queue(event, names, now)
        return places

    def _split(self, ids: list[str]) -> tuple[list[str], list[str]]:
        """Ephemeral and durable subscriptions."""
        names = [id for id in ids if id in self._queues] if len(self._queues) else []
        return ([id for id in ids if id not in self._queues] if names else ids), names

    def _queue(self, event: Event, names: list[str], now: float) -> None:
        try:
            self._queues.append(event, names, self._clock(now))
        except EventError as error:  # an ephemeral event; durable ones were asked at the door
            self._now_out.append(Refuse(event.id, str(error)))

    # -- facts -------------------------------------------------------------------------------------------

    @property
    def queues(self) -> Queues:
        """The durable subscriptions, to look at."""
        return self._queues

    def way_of(self, event: Event) -> str | None:
        return self._inner.way_of(event)

    def state(self) -> Mapping[str, Any]:
        """The scheme's facts, and how much waits: in outboxes, for earlier events, and for answers of clients."""
        return {
            **self._inner.state(),
            "relays_waiting": self._relaying.waiting,
            "events_parked": self._landings.parked,
            "peers_lost": sorted(peer for peer, link in self._relaying.links.items() if link.lost),
            "durable": self._queues.unanswered,
            "failure": self._ledger.failure,
        }
