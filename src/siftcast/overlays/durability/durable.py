"""A node of any scheme that keeps its promises: the scheme inside, and around it everything that survives.

This is the one place that knows all parts of the package; it lets the scheme handle what concerns it, and sends on:

    what the scheme wants            because of a durable event     of anything else
    ───────────────────────────────────────────────────────────────────────────────────
    to send an event                 a relay                        as it is, at once
    to send a control message        a control relay                a control relay
    to deliver to a durable name     into the queue                 into the queue
    to deliver to others             held                           at once
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from siftcast.model import DataError, Event, EventError, Subscription
from siftcast.overlays.contract import (
    Defer,
    Deliver,
    Effect,
    Effects,
    EpochRetired,
    InputSetAside,
    Message,
    MessageReceived,
    MessageReturned,
    NodeId,
    PeerFound,
    PeerGone,
    PeerLost,
    PeerResumed,
    Persist,
    PersistAll,
    Persisted,
    PersistFailed,
    Protocol,
    PublishRequested,
    Refuse,
    Report,
    SendMessage,
    SetTimer,
    Spent,
    Started,
    Stimulus,
    SubscribeRequested,
    TimerFired,
    UnsubscribeRequested,
)
from siftcast.overlays.delivery import Parcel
from siftcast.overlays.durability.arrivals import Arrivals
from siftcast.overlays.durability.capacity import Capacity, objection_to
from siftcast.overlays.durability.contract import (
    Accept,
    Admit,
    AdoptSubscriptions,
    DurableSubscribeRequested,
    HandOverRequested,
    OfferRefused,
    OffersAcknowledged,
    Postpone,
    QueuePolicy,
    SubscriberAttached,
    SubscriberDetached,
)
from siftcast.overlays.durability.deferred import Deferred
from siftcast.overlays.durability.errors import RestoreError
from siftcast.overlays.durability.handing_over import HandingOver
from siftcast.overlays.durability.handshake import Handshake
from siftcast.overlays.durability.held_back import HeldBack
from siftcast.overlays.durability.id_memory import IdMemory
from siftcast.overlays.durability.ledger import Ledger
from siftcast.overlays.durability.messages import (
    Acknowledge,
    ControlRelay,
    Greet,
    Lineage,
    Relay,
    Release,
    TakeOver,
    Ticket,
)
from siftcast.overlays.durability.order import Landed, Landings, Place, Released, Unparked
from siftcast.overlays.durability.past import Past
from siftcast.overlays.durability.queues import RETENTION_TIMER, Queues
from siftcast.overlays.durability.relaying import RESEND_TIMER, Relaying
from siftcast.overlays.durability.roster import Roster
from siftcast.overlays.durability.routing_memory import RoutingMemory, check_memory
from siftcast.overlays.durability.settings import DEFAULTS, Settings
from siftcast.overlays.durability.watchdog import WATCH_TIMER, Watchdog
from siftcast.overlays.envelopes import opened
from siftcast.overlays.wire_messages import MessageCodec

DURABLE_MESSAGES: tuple[type[Message], ...] = (Relay, ControlRelay, Release, Greet, Acknowledge, TakeOver)
_RETRY_TIMER = "durable/retry"
_INNER = "inner/"
_KEPT_FROM_REPLAY = (SetTimer,)


class _Kept(Effect, frozen=True, gc=False):
    """Held in place of the scheme's own `Persist`: what it asked to keep is safe."""

    key: str


class Durable(Protocol):
    """One node; `inner` is its part in a scheme, made afresh for each life. `roster` says who the others are."""

    def __init__(
        self, node: NodeId, inner: Protocol, settings: Settings = DEFAULTS, roster: Roster | None = None
    ) -> None:
        check_memory(inner)
        roster = Roster() if roster is None else roster
        self.messages = (*inner.messages, *DURABLE_MESSAGES)  # type: ignore[misc]
        self._node = node
        self._roster = roster
        self._inner = inner
        self._settings = settings
        self._ledger = Ledger()
        self._landings = Landings(self._ledger, node)
        self._codec = MessageCodec((*inner.messages, TakeOver))
        self._relaying = Relaying(
            self._ledger,
            self._codec,
            self._landings.is_released,
            window=settings.window,
            resend_ms=settings.resend_ms,
            resend_ms_max=settings.resend_ms_max,
        )
        self._queues = Queues(self._ledger, settings.ids_max)
        self._handing_over = HandingOver(self._ledger, self._queues)
        self._accepted = IdMemory(self._ledger, "accepted", settings.ids_max)
        self._routing = RoutingMemory(self._ledger, node, inner.messages)
        self._deferred = Deferred(self._ledger, self._codec)
        self._out: list[Effect] = []  # effects of this stimulus that wait until it is safe
        self._now_out: list[Effect] = []  # those that need not wait
        self._calendar_ms = 0.0
        self._past = Past(node, roster, self._ledger, self._now_out.append)
        self._set_aside = 0
        self._postponed: set[str] = set()  # subscriptions that were asked for and are not answered yet
        self._relaying.out = self._queues.out = self._out
        self._handshake = Handshake(
            self._relaying,
            self._landings,
            roster,
            introduce=self._introduce,
            keep=self._keep_self,
            report=self._now_out.append,
        )
        self._capacity = Capacity(self._queues, self._landings, self._relaying, settings)
        self._held_back = HeldBack(self._relaying, self._capacity, roster, self._now_out.append)
        self._arrivals = Arrivals(
            self._queues, self._handing_over, self._landings, self._capacity, self._relaying, self._now_out
        )
        self._watchdog = Watchdog(self._relaying, self._landings, self._ledger, roster, settings.stall_ms)

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        if type(stimulus) is MessageReceived:
            self._receive(stimulus, now)
        else:
            self._meet(stimulus, now)
        if self._held_back.peers and not self._ledger.failure:
            for sender, relay in self._held_back.ready():
                self._take_relays(sender, relay, now)
        self._ledger.hold(self._out)
        self._out.clear()
        ready = self._ledger.flush()
        if any(type(effect) is _Kept for effect in ready):
            ready = self._answer_scheme(ready, now)
        timers = (*self._relaying.watch(now), *self._queues.watch(self._clock(now)), *self._watchdog.watch(now))
        immediate = [*self._now_out, *timers]
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
                self._publish(event, now) if durable else self._run(stimulus, now, own=True)
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
                self._run(SubscribeRequested((subscription,), durable=True), now)
                self._out += [] if subscription.id in self._postponed else [Accept(subscription.id)]
            case UnsubscribeRequested(ids):
                for id in filter(self._queues.__contains__, ids):
                    self._queues.unsubscribe(id)
                ended = self._postponed.intersection(ids)
                self._postponed -= ended
                self._now_out += [Refuse(id, "it was ended before it was active") for id in sorted(ended)]
                self._run(stimulus, now)
            case PeerLost(peer):
                self._relaying.lose(peer)
                self._run(stimulus, now)  # a scheme with replicas asks another one
            case PeerFound(peer):
                if not self._relaying.link(peer).told:  # a neighbour that is new to this node
                    self._relaying.note_told(peer)
                    self._introduce(peer, now)
                else:
                    self._run(PeerResumed(peer), now)
                self._relaying.greet(peer)
            case PeerGone():
                self._give_up(stimulus, now)
            case EpochRetired(epoch):
                self._routing.forget_epoch(epoch)
                self._deferred.forget_epoch(epoch)
                self._run(stimulus, now)
            case HandOverRequested(heir):
                for piece in self._handing_over.give(heir):
                    self._relaying.relay(piece, (heir,))
            case TimerFired(name) if name.startswith("durable/"):
                self._wake(name, now)
            case PersistFailed(key, reason):
                if self._ledger.fail(key, reason):
                    self._now_out.append(SetTimer(_RETRY_TIMER, self._settings.retry_ms))
            case Started(restored, clock_ms, damaged, nonce):
                self._calendar_ms = 0.0 if clock_ms is None else clock_ms - now
                self._start(restored, now, damaged=damaged, nonce=nonce)
            case InputSetAside(MessageReceived(sender, message)):
                self._leave_out(sender, message, now)
            case _:
                self._run(stimulus, now)

    def _give_up(self, gone: PeerGone, now: float) -> None:
        """A node is gone: what it announced is void, and what waited for it takes other ways."""
        peer = gone.peer
        self._routing.forget_sender(peer)
        returned, duties = self._relaying.end(peer)
        self._held_back.peers.discard(peer)
        self._run(gone, now)
        for duty in duties:
            self._landings.release(duty)
        for place, waiting in returned:
            if isinstance(waiting.content, TakeOver):
                facts = {"node": self._roster.name(peer), "subscription": waiting.content.subscription}
                self._now_out.append(Report("an heir is gone; its subscription goes on here", facts))
                self._adopt(waiting.content, now)
            else:
                effects = self._inner.handle(MessageReturned(peer, waiting.content), now)
                self._carry_out(effects, now, durable=True)
            if waiting.duty:
                self._landings.finish(waiting.duty, place)
        self._follow(now)

    def _adopt(self, told: TakeOver, now: float) -> None:
        """A durable subscription of another node is this one's from now on."""
        item = self._handing_over.take(told)
        self._run(SubscribeRequested((item,), durable=True), now)

    def _wake(self, timer: str, now: float) -> None:
        if timer == RESEND_TIMER:
            self._relaying.resend(now)
        elif timer == RETENTION_TIMER:
            self._queues.expire(self._clock(now))
        elif timer == _RETRY_TIMER:
            self._ledger.retry()
        elif timer == WATCH_TIMER:
            reports, stuck = self._watchdog.look(now)
            self._now_out += reports
            for peer in stuck:
                self._relaying.greet(peer)

    # -- a life begins -----------------------------------------------------------------------------------

    def _start(self, restored: Mapping[str, bytes], now: float, *, damaged: bool, nonce: int) -> None:
        try:
            records = self._restore(restored, damaged=damaged, nonce=nonce)
            subscriptions = self._queues.restore(records)
            self._handing_over.restore(records)
            own = {key[len(_INNER) :]: data for key, data in records.items() if key.startswith(_INNER)}
            replay: list[Stimulus] = [Started(own, nonce=nonce), *self._routing.restore(records)]
            if subscriptions:
                replay.insert(1, SubscribeRequested(tuple(subscriptions), durable=True, restored=True))
            for stimulus in replay:
                effects = self._inner.handle(stimulus, now)
                self._now_out += [effect for effect in effects if isinstance(effect, _KEPT_FROM_REPLAY)]
        except (msgspec.DecodeError, DataError, EventError, ValueError, KeyError) as error:
            raise RestoreError(
                f"what this node kept does not fit it ({type(error).__name__}: {error}); was the layout of the network "
                "changed? Run it once more as it was until nothing waits, or start with an empty data folder"
            ) from error
        for peer, link in list(self._relaying.links.items()):
            if damaged:
                self._landings.move(self._relaying.begin_stream(peer))
            if self._past.is_laid_out_otherwise:
                # It may be no neighbour any more; if it is, it will be found, and told all as one that is new.
                self._relaying.lose(peer)
                link.told = False
                continue
            if link.told:
                self._introduce(peer, now)
            self._relaying.greet(peer)
        self._landings.resume()
        for message in self._deferred.restore(records):
            self._carry_out(self._inner.handle(MessageReceived(self._node, message), now), now, durable=True)
        self._follow(now)

    def _restore(self, restored: Mapping[str, bytes], *, damaged: bool, nonce: int) -> Mapping[str, bytes]:
        """Takes up everything but queues and the scheme's own state; returns the records that are good."""
        records, lineage = self._past.take_up(restored, damaged=damaged, nonce=nonce)
        duties = self._relaying.restore(records, lineage, self._past.life, nonce)
        self._keep_self()
        self._accepted.restore(records)
        for (peer, number), duty in self._landings.restore(records, duties):
            self._relaying.link(peer).owe(number, duty)
        return records

    def _keep_self(self) -> None:
        self._past.keep(self._relaying.lineage)

    def _introduce(self, peer: NodeId, now: float) -> None:
        """Tells a peer all there is to say about routing; what was said before is void."""
        self._relaying.begin_chapter(peer)
        self._carry_out(self._inner.handle(PeerFound(peer), now), now)

    # -- events ------------------------------------------------------------------------------------------

    def _publish(self, event: Event, now: float) -> None:
        reason = objection_to(event, self._ledger.failure)
        if reason:
            self._now_out.append(Refuse(event.id, reason))
        elif event.id in self._accepted:
            self._out.append(Accept(event.id))
        elif reason := self._capacity.objection():
            self._now_out.append(Refuse(event.id, reason))
        elif self._enter(event, now):
            self._accepted.add(event.id)
            self._out.append(Accept(event.id))

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
                            self._arrivals.queue(event, held, self._clock(now))

    # -- messages ----------------------------------------------------------------------------------------

    def _receive(self, stimulus: MessageReceived, now: float) -> None:
        sender, message = stimulus.sender, stimulus.message
        match message:
            case Relay():
                if self._handshake.takes(sender, message, now) and not self._ledger.failure:
                    if self._capacity.holds_back(sender):
                        self._held_back.hold(sender, message)
                    else:
                        self._take_relays(sender, message, now)
            case ControlRelay():
                if not self._ledger.failure:
                    self._take_control(sender, message, now)
                self._relaying.acknowledge(sender)
            case Acknowledge():
                if self._handshake.is_good(sender, message, now):
                    progress = self._relaying.settle(sender, message, now)
                    for duty, place in progress.landed:
                        self._landings.land(duty, place)
                    for duty, place in progress.done:
                        self._landings.finish(duty, place)
                    self._follow(now)
            case Release(stream, numbers):
                self._take_releases(sender, stream, numbers, now)
            case Greet():
                self._handshake.take_greeting(sender, message, now)
                self._landings.release_all(self._relaying.link(sender).take_orphans())
                self._follow(now)
            case _:
                self._run(stimulus, now)

    def _take_relays(self, sender: NodeId, relay: Relay, now: float, *, without: Relay | None = None) -> None:
        """Takes relays whose turn it is; while nothing can be kept nobody calls this, so that the sender keeps them."""
        link = self._relaying.link(sender)
        for each in self._relaying.take_relay(sender, relay):
            if each is without:
                self._put_aside(sender, each.content)
                continue
            duty = 0
            if each.watched:
                duty = self._landings.begin((sender, each.number), each.ticket)
                link.owe(each.number, duty)
            if isinstance(each.content, TakeOver):
                self._adopt(each.content, now)
                continue
            if each.event_id is None:
                self._routing.note(sender, each.content)
            effects = self._inner.handle(MessageReceived(sender, each.content), now)
            places = self._carry_out(effects, now, durable=True, duty=duty, ticket=each.ticket)
            if duty:
                self._landings.charge(duty, places)
        self._landings.release_all(link.take_orphans())
        if relay.ticket is not None and relay.released and relay.stream == link.stream_in:
            self._landings.release(link.duty_of(relay.number))
        self._follow(now)
        self._relaying.acknowledge(sender)

    def _leave_out(self, sender: NodeId, message: Message, now: float) -> None:
        """Goes past a message that stopped this node: it counts as taken, and is kept apart on disk."""
        match message:
            case Relay():
                self._take_relays(sender, message, now, without=message)
            case ControlRelay():
                self._take_control(sender, message, now, without=message.content)
                self._relaying.acknowledge(sender)

    def _take_control(self, sender: NodeId, relay: ControlRelay, now: float, *, without: Message | None = None) -> None:
        for content in self._relaying.take_control(sender, relay):
            if content is without:
                self._put_aside(sender, content)
            else:
                self._routing.note(sender, content)
                self._run(MessageReceived(sender, content), now)

    def _put_aside(self, sender: NodeId, content: Message) -> None:
        self._set_aside += 1
        key = f"aside/{self._past.life}/{self._set_aside}"
        self._ledger.put(key, msgspec.msgpack.encode((sender, self._codec.encode(content))))

    def _take_releases(self, sender: NodeId, stream: Lineage, numbers: tuple[int, ...], now: float) -> None:
        link = self._relaying.link(sender)
        if stream == link.stream_in and not self._ledger.failure:
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

    def _run(self, stimulus: Stimulus, now: float, *, own: bool = False) -> None:
        self._carry_out(self._inner.handle(stimulus, now), now, own=own)

    def _carry_out(
        self,
        effects: Effects,
        now: float,
        *,
        durable: bool = False,
        duty: int = 0,
        ticket: Ticket | None = None,
        own: bool = False,
    ) -> list[Place]:
        """Sends effects of the scheme on their way; returns the relays that were made.

        `own`: an ephemeral event of this node's publishers, who can be told that it is not kept."""
        places: list[Place] = []
        delivered: dict[str, tuple[Event, bool, dict[str, None]]] = {}
        for effect in effects:
            match effect:
                case SendMessage(message, destinations):
                    if message.repeated:
                        self._out.append(effect)
                    elif message.control:
                        self._relaying.steer(message, destinations)
                    elif message.must_arrive:
                        # For a node that may be absent: nobody else waits until it has arrived there.
                        self._relaying.relay(message, destinations)
                    elif self._is_kept(message.event_id, durable=durable):
                        places += self._relaying.relay(message, destinations, duty, ticket)
                        if message.event_id is None and isinstance(parcel := opened(message)[1], Parcel):
                            for peer in parcel.destinations:
                                self._relaying.note_told(peer)
                    else:
                        self._now_out.append(effect)
                case Deliver(event, ids):
                    # Of one event several times if a plan passes to another; of several if what was deferred goes on.
                    first = delivered.setdefault(event.id, (event, durable or event.id in self._deferred, {}))
                    first[2].update(dict.fromkeys(ids))
                case Defer(_, message):
                    if message is None or self._is_kept(message.event_id, durable=durable):
                        self._deferred.follow(effect)
                case AdoptSubscriptions(subscriptions):
                    for item in subscriptions:
                        self._queues.subscribe(item, QueuePolicy(), adopted=True)
                case Postpone(ids):
                    self._postponed.update(ids)
                case Admit(ids):
                    self._out += [Accept(id) for id in ids if id in self._postponed]
                    self._postponed.difference_update(ids)
                case Persist(key, data):
                    self._ledger.put(_INNER + key, data) if data is not None else self._ledger.forget(_INNER + key)
                    self._out.append(_Kept(key))
                case Spent():
                    self._now_out.append(effect)
                case _:
                    (self._out if durable else self._now_out).append(effect)
        for event, kept, meant in delivered.values():
            self._arrivals.take(event, meant, self._clock(now), durable=kept, duty=duty, ticket=ticket, own=own)
        return places

    def _is_kept(self, event_id: str | None, *, durable: bool) -> bool:
        """Whether a message must not be lost: it is about no event, or about one that is kept, whatever set it off."""
        return durable or event_id is None or event_id in self._accepted or event_id in self._deferred

    # -- facts -------------------------------------------------------------------------------------------

    @property
    def queues(self) -> Queues:
        """The durable subscriptions, to look at."""
        return self._queues

    def waiting(self) -> Iterator[tuple[NodeId, Message]]:
        """Everything of the scheme that its receiver has not acknowledged, with the receiver, and what is deferred."""
        yield from self._relaying.all_waiting()
        yield from ((self._node, message) for message in self._deferred.messages())

    @property
    def relays_waiting(self) -> int:
        """How many relays were not acknowledged."""
        return self._relaying.waiting

    @property
    def heirs(self) -> tuple[NodeId, ...]:
        """To whom this node, which leaves, has handed over subscriptions."""
        return self._handing_over.heirs

    @property
    def is_parking(self) -> bool:
        """Whether events wait here until others have landed."""
        return self._landings.parked > 0

    def way_of(self, event: Event) -> str | None:
        return self._inner.way_of(event)

    @property
    def is_settled(self) -> bool:
        return self._inner.is_settled and not (self._relaying.waiting or self._landings.parked)

    def state(self) -> Mapping[str, Any]:
        """The scheme's facts, and how much waits: in outboxes, for earlier events, and for answers of clients."""
        return {
            **self._inner.state(),
            "relays_waiting": self._relaying.waiting,
            "events_parked": self._landings.parked,
            "kept_bytes": self._capacity.kept_bytes,
            "held_back": sorted(self._held_back.peers),
            "peers_lost": sorted(peer for peer, link in self._relaying.links.items() if link.lost),
            "durable": self._queues.unanswered,
            "failure": self._ledger.failure,
            "stalled": self._watchdog.stalled(),
        }
