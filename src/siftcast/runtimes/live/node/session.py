"""One client of a node: what it asks for is done, refused or handed on, and what it holds ends with its connection.

A client's subscription has a number of the client's choosing on its connection and an id of ours in the network
(`sessions`). What it may do is asked of its `Guard` each time, since its rights can change while it is connected
(`hold_to`). Answers to what a client asks are not dropped; one that goes on asking while it reads none of them is
disconnected at twice its queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from siftcast.model import Filter, FilterLimitError, Subscription, SubscriptionError
from siftcast.model.errors import SiftcastError
from siftcast.overlays.contract import Effects, Stimulus, SubscribeRequested, UnsubscribeRequested
from siftcast.overlays.wire_events import WireEvent, decode_event
from siftcast.runtimes.live.errors import Forbidden, FrameError, Refused, SlowConsumer
from siftcast.runtimes.live.node.backlog import Backlog
from siftcast.runtimes.live.node.bounds import id_of
from siftcast.runtimes.live.node.client_limits import ClientLimits
from siftcast.runtimes.live.node.rights import Guard, Rights
from siftcast.runtimes.live.wire.connection import Connection
from siftcast.runtimes.live.wire.frames import (
    SUBSCRIPTION_MAX,
    AcknowledgeOffers,
    Describe,
    Description,
    EndDurable,
    Ended,
    Failure,
    Frame,
    Heartbeat,
    Inquire,
    Operate,
    Publish,
    Published,
    ReadDeadLetters,
    Reject,
    Replace,
    Subscribe,
    Subscribed,
    Unsubscribe,
    delivery_tail,
)

if TYPE_CHECKING:
    from siftcast.runtimes.live.node.durable_clients import Answer, DurableClients
    from siftcast.runtimes.live.node.sessions import Sessions

Wishes = tuple[float | None, float | None]
_ANSWERS_SHARE = 2
_KEYS = {"length": "filter_length_max", "nesting": "filter_depth_max", "terms": "filter_terms_max"}


class Desk(Protocol):
    """What a client may have its node do."""

    def tell(self, stimulus: Stimulus) -> Effects: ...

    def publish(self, event: WireEvent) -> str | None: ...

    def publish_durable(self, event: WireEvent, source: str, answer: Answer, connection: Connection) -> None: ...

    def durable_clients(self) -> DurableClients: ...

    def check_ephemeral(self) -> None: ...

    def when_heard(self, answer: Callable[[], None]) -> None: ...

    def inquire(self, connection: Connection, guard: Guard, frame: Inquire) -> None: ...

    def leave(self) -> None: ...

    def apply(self, text: str) -> tuple[str, ...]: ...

    def replan(self, connection: Connection, request: int) -> None: ...

    def forget(self, text: str, connection: Connection, request: int) -> None: ...

    def reload(self, connection: Connection, request: int) -> None: ...

    def describe(self) -> dict[str, Any]: ...


class ClientSubscription:
    """A subscription of a connected client."""

    __slots__ = ("connection", "difference", "filter", "id", "length", "number", "pending", "session", "tail", "wishes")
    is_durable = False

    def __init__(self, session: Session, number: int, id: str, filter: Filter) -> None:
        self.session = session
        self.connection = session.connection
        self.number = number
        self.tail, self.difference = delivery_tail(number)
        self.id = id
        self.filter = filter
        self.length = 0
        """How many characters the filter had as the client wrote it."""
        self.wishes: Wishes = None, None
        """Its bound on delay, and its bandwidth."""
        self.pending: list[Wishes] = []
        """Those that it was asked to have after that, in order, and that are not safe yet."""

    def resume(self) -> None:
        """There is room again on the connection."""


class Session:
    """One connected client."""

    def __init__(
        self, sessions: Sessions, desk: Desk, connection: Connection, name: str, serial: str, guard: Guard
    ) -> None:
        self.guard = guard
        self.connection = connection
        self.name = name
        self.needs_frames = False
        """Whether deliveries are put together for it alone: it has several subscriptions, or one with a bound."""
        self.backlog = Backlog(
            sessions.slow,
            sessions.spill_folder,
            connection,
            name,
            sessions.log,
            on_dropped=sessions.count_dropped,
            on_room=self._resume,
        )
        self._desk = desk
        self._sessions = sessions
        self._serial = serial
        self._subscriptions: dict[int, ClientSubscription] = {}
        self._filters_length = 0
        self._accepted: list[int] = []
        self._requests: dict[type[Frame], Callable[[Any], bool | None]] = {
            Subscribe: self._subscribe,
            Replace: self._replace,
            Unsubscribe: self._unsubscribe,
            Describe: self._describe,
            EndDurable: self._end_durable,
            ReadDeadLetters: self._read_dead_letters,
            Inquire: self._inquire,
            Operate: self._operate,
        }
        self._sessions.open.add(self)

    # -- what the client asks ------------------------------------------------------------------------

    def frame_received(self, frame: Frame) -> None:
        kind = type(frame)
        if self.connection.is_full:
            self._check_answers()
        if kind is Publish:
            self._publish(frame)  # type: ignore[arg-type]
        elif kind is Heartbeat:
            if frame.echo:  # type: ignore[attr-defined]
                self.connection.send(Heartbeat(frame.number))  # type: ignore[attr-defined]
            elif frame.number:  # type: ignore[attr-defined]
                self._sessions.bounds.echoes.answered(frame.number, id_of(self.connection))  # type: ignore[attr-defined]
        elif isinstance(frame, AcknowledgeOffers | Reject):
            self._take_answer(frame)
        elif kind in self._requests:
            self._carry_out(frame)
        else:
            raise FrameError(f"a client does not send {kind.__name__} at this point")

    def _carry_out(self, frame: Frame) -> None:
        """Does what a request asks for, and writes down that it did; what comes of some is only known later."""
        try:
            if type(frame) is not Unsubscribe:  # who wants less is not held back
                self.guard.check_audited()
            is_open = self._requests[type(frame)](frame)
        except SlowConsumer:
            raise
        except SiftcastError as error:
            self.guard.note_request(frame, error)
            self.connection.send(Failure(frame.request, error.code, str(error)))  # type: ignore[attr-defined]
        else:
            if not is_open:
                self.guard.note_request(frame)

    def _check_answers(self) -> None:
        """Raises SlowConsumer if too many answers wait for a client that asks and does not read."""
        limit = _ANSWERS_SHARE * self._sessions.slow.queue_bytes_max
        if self.connection.queued_bytes > limit:
            raise SlowConsumer(
                f"more than {limit:,} bytes of answers wait to be read; read them before asking for more "
                "(queue_bytes_max in [slow_consumers] of the node's configuration)"
            )

    def _prepare_large_answer(self) -> None:
        """Before an answer that is large for a small question: has those before it counted, though they are new."""
        self.connection.flush()
        self._check_answers()

    def _publish(self, frame: Publish) -> None:
        try:
            event = decode_event(bytes(frame.event), self._sessions.event_limits)
            self.guard.publish(event)
            if frame.durable:
                answer = partial(self._answer_publish, frame.request)
                self._desk.publish_durable(event, self.name, answer, self.connection)
                return
            reason = self._desk.publish(event)
        except SiftcastError as error:
            self.guard.count_refused(error)
            self.refuse(frame.request, error)
            return
        self._answer_publish(frame.request, reason)

    def _answer_publish(self, request: int, reason: str | None) -> None:
        if reason is not None:
            self.guard.count_refused(error := Refused(reason))
            self.refuse(request, error)
            return
        self.guard.count_published()
        if not self._accepted:
            self._sessions.outbox.before_flush(self._confirm)
        self._accepted.append(request)

    def refuse(self, request: int, error: SiftcastError) -> None:
        """Tells the client that a request came to nothing."""
        if not self.connection.closing:
            self.connection.send(Failure(request, error.code, str(error)))

    def _confirm(self) -> None:
        """Answers the publishes of this turn, those with consecutive numbers together."""
        if self.connection.closing:
            return
        for first, count in _runs(self._accepted):
            self.connection.send(Published(first, count))
        self._accepted.clear()

    def _subscribe(self, frame: Subscribe) -> bool:
        if frame.subscription in self._subscriptions:
            raise SubscriptionError(f"subscription {frame.subscription} exists already; replace it, or choose another")
        if not 0 <= frame.subscription <= SUBSCRIPTION_MAX:
            raise SubscriptionError(f"subscriptions are numbered from 0 to {SUBSCRIPTION_MAX:,}")
        self.guard.limits.check_subscriptions(len(self._subscriptions) + 1)
        filter_ = self._filter(frame.filter, 0)
        self.guard.bound(frame.delay_ms_max)
        if frame.durable is not None:
            self._desk.durable_clients().subscribe(self, frame, filter_)
            return True
        self._desk.check_ephemeral()
        id = f"{self._serial}.{frame.subscription}"
        wanted = Subscription(id, filter_, self.name, frame.delay_ms_max, frame.bandwidth)
        subscription = ClientSubscription(self, frame.subscription, id, filter_)
        self.hold(subscription, len(frame.filter))
        self._sessions.add(subscription)
        self.watch(subscription, wanted)
        self._desk.tell(SubscribeRequested((wanted,)))
        self._desk.when_heard(partial(self.confirm_subscription, frame.request))
        return False

    def watch(self, subscription: ClientSubscription, wanted: Subscription) -> None:
        """Has the bound of a subscription judged, and told of."""
        subscription.wishes = wanted.delay_ms_max, wanted.bandwidth
        self._look_at_needs()
        self._sessions.bounds.hold(wanted.id, wanted.delay_ms_max, self.connection, subscription.number)

    def _filter(self, text: str, before: int) -> Filter:
        """A filter of the client, in place of one of `before` characters; raises FilterError, or what its limits do."""
        self.guard.limits.check_filters(self._filters_length - before + len(text))
        try:
            filter_ = Filter.parse(text, limits=self._sessions.filter_limits)
        except FilterLimitError as error:
            error.args = (f"{error} ({_KEYS[error.what]} in [limits] of the node's configuration)",)
            raise
        self.guard.subscribe(filter_)
        return filter_

    def hold(self, subscription: ClientSubscription, length: int) -> None:
        """Has a number of this client stand for a subscription, whose filter has so many characters."""
        subscription.length = length
        self._filters_length += length
        self._subscriptions[subscription.number] = subscription
        self._look_at_needs()

    def _look_at_needs(self) -> None:
        held = self._subscriptions.values()
        self.needs_frames = len(held) > 1 or any(each.wishes[0] is not None for each in held)

    def holds(self, subscription: ClientSubscription) -> bool:
        """Whether a number still stands for this subscription."""
        return self._subscriptions.get(subscription.number) is subscription

    def drop(self, subscription: ClientSubscription) -> None:
        """Frees the number of a subscription."""
        if self.holds(subscription):
            del self._subscriptions[subscription.number]
            self._filters_length -= subscription.length
            self._look_at_needs()

    def lose(self, subscription: ClientSubscription, error: SiftcastError) -> None:
        """A subscription is taken from this client."""
        self.drop(subscription)
        if not self.connection.closing:
            self.connection.send(Ended(subscription.number, error.code, str(error)))

    def hold_to(self, rights: Rights, limits: ClientLimits) -> bool:
        """Other rights hold from now on; ends the subscriptions that lie beyond them, and says whether there were any.

        What a durable one holds stays at the node, and is not shown to anybody until somebody may take it up again.
        """
        self.guard.rights, self.guard.limits = rights, limits
        beyond = False
        for subscription in tuple(self._subscriptions.values()):
            try:
                rights.check_subscribe(self._wanted_by(subscription))
            except Forbidden as error:
                beyond = True
                self.guard.note("subscription ended", error.code, subscription=subscription.number, reason=str(error))
                self._take_away(subscription, error)
        return beyond

    def _wanted_by(self, subscription: ClientSubscription) -> Filter:
        """What a subscription is for; a durable one may have been given another filter since it was taken up."""
        kept = self._desk.durable_clients().filter_of(subscription.id) if subscription.is_durable else None
        return subscription.filter if kept is None else kept

    def _take_away(self, subscription: ClientSubscription, error: SiftcastError) -> None:
        self.lose(subscription, error)
        if subscription.is_durable:
            self._desk.durable_clients().detach(subscription)
        else:
            self._desk.tell(UnsubscribeRequested((subscription.id,)))
            self._sessions.discard(subscription.id)

    @property
    def has_queue(self) -> bool:
        """Whether something waits for the client to read it."""
        return self.backlog.is_spilled or bool(self.connection.pieces) or self.connection.queued_bytes > 0

    def confirm_subscription(self, request: int) -> None:
        """Tells the client that what it asked for stands."""
        if not self.connection.closing:
            self.connection.send(Subscribed(request))

    def _replace(self, frame: Replace) -> bool:
        subscription = self._known(frame.subscription)
        filter_ = self._filter(frame.filter, subscription.length)
        asked = frame.delay_ms_max, frame.bandwidth
        held = subscription.pending[-1] if subscription.pending else subscription.wishes
        wishes = [had if ask is None else ask or None for ask, had in zip(asked, held, strict=True)]
        self.guard.bound(frame.delay_ms_max or None)
        wanted = Subscription(subscription.id, filter_, self.name, *wishes)
        self._filters_length += len(frame.filter) - subscription.length
        subscription.length = len(frame.filter)
        if subscription.is_durable:
            subscription.pending.append((wanted.delay_ms_max, wanted.bandwidth))
            replaced = partial(self._replaced, frame, subscription, wanted)
            self._desk.durable_clients().replace(subscription, wanted, replaced)
            return True
        subscription.filter = filter_
        self.watch(subscription, wanted)
        self._desk.tell(SubscribeRequested((wanted,)))
        self._desk.when_heard(partial(self.confirm_subscription, frame.request))
        return False

    def _replaced(
        self, frame: Replace, subscription: ClientSubscription, wanted: Subscription, reason: str | None
    ) -> None:
        del subscription.pending[0]
        error = None if reason is None else Refused(reason)
        self.guard.note_request(frame, error)
        if error is not None:
            self.refuse(frame.request, error)
        elif not self.connection.closing:
            if self.holds(subscription):
                self.watch(subscription, wanted)
            self.confirm_subscription(frame.request)

    def _unsubscribe(self, frame: Unsubscribe) -> None:
        subscription = self._known(frame.subscription)
        self.drop(subscription)
        if subscription.is_durable:
            self._desk.durable_clients().detach(subscription)
        else:
            self._desk.tell(UnsubscribeRequested((subscription.id,)))
            self._sessions.discard(subscription.id)
        self.confirm_subscription(frame.request)

    def _take_answer(self, frame: AcknowledgeOffers | Reject) -> None:
        subscription = self._subscriptions.get(frame.subscription)
        if subscription is None or not subscription.is_durable:  # unsubscribed while it was under way
            return
        if isinstance(frame, AcknowledgeOffers):
            self._desk.durable_clients().acknowledge(subscription, frame)
        else:
            self._desk.durable_clients().reject(subscription, frame)

    def _end_durable(self, frame: EndDurable) -> None:
        self._desk.durable_clients().end(frame, self.guard.rights.principal)
        self.confirm_subscription(frame.request)

    def _read_dead_letters(self, frame: ReadDeadLetters) -> None:
        self._prepare_large_answer()
        self.connection.send(self._desk.durable_clients().dead_letters(frame, self.guard.rights))

    def _known(self, number: int) -> ClientSubscription:
        subscription = self._subscriptions.get(number)
        if subscription is None:
            raise SubscriptionError(f"there is no subscription {number}")
        return subscription

    def _inquire(self, frame: Inquire) -> None:
        self._prepare_large_answer()
        self._desk.inquire(self.connection, self.guard, frame)

    def _operate(self, frame: Operate) -> None:
        self.guard.operate()
        if frame.action == "replan":
            self._desk.replan(self.connection, frame.request)
        elif frame.action == "reload":
            self._desk.reload(self.connection, frame.request)
        elif frame.action == "forget":
            self._desk.forget(frame.what, self.connection, frame.request)
        elif frame.action == "apply":
            self.connection.send(Description(frame.request, {"remarks": list(self._desk.apply(frame.what))}))
        else:
            self._desk.leave()
            self.connection.send(Description(frame.request, {}))

    def _describe(self, frame: Describe) -> None:
        self.guard.see()
        self._prepare_large_answer()
        self.connection.send(Description(frame.request, self._desk.describe()))

    # -- a client that is slow -----------------------------------------------------------------------

    def writing_resumed(self) -> None:
        self.backlog.resume()

    def _resume(self) -> None:
        for subscription in self._subscriptions.values():
            subscription.resume()

    def connection_opened(self) -> None:
        """It was open before it became a session."""

    def connection_closed(self, reason: str) -> None:
        self._sessions.on_closed(self.connection)
        self._sessions.open.discard(self)
        self._sessions.bounds.left(self.connection)
        for each in tuple(self._subscriptions.values()):
            if each.is_durable:
                self.drop(each)
                self._desk.durable_clients().detach(each)
        ids = tuple(each.id for each in self._subscriptions.values())
        self._subscriptions.clear()
        self.backlog.close()
        if ids:
            self._desk.tell(UnsubscribeRequested(ids))
            for id in ids:
                self._sessions.discard(id)
        self.guard.note("logout", reason=reason)
        self._sessions.log.info("client left", client=self.name, address=self.connection.address, reason=reason)


def _runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Consecutive numbers as first and count, in order."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and sum(runs[-1]) == number:
            runs[-1] = runs[-1][0], runs[-1][1] + 1
        else:
            runs.append((number, 1))
    return runs
