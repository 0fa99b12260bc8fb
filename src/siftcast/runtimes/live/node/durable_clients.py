"""Clients that were promised something: publishes and subscriptions that are answered when they are on disk.

A request waits here, by the event's id or the subscription's name in the network, until the protocol says `Accept` or
`Refuse`. A durable subscription belongs to its node, not to a connection; one client at a time is attached to it, and
the last to come has it. Names are the clients' own; in the network they have the node's identity before them, so that
two nodes can have a `desk-7` each, and that of the principal, so that nobody can take up or end what is another's. What
was taken over from a node that left keeps its name in the network; a client finds it here under its own.

Slow clients: at most a window of offers is unanswered, and those for which a connection has no room wait here as they
are, without a copy. Nothing is dropped.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from siftcast.model import Event, Filter, Subscription, SubscriptionError
from siftcast.overlays.contract import NodeId, PublishRequested, UnsubscribeRequested
from siftcast.overlays.durability.contract import (
    Bury,
    DurableSubscribeRequested,
    Expire,
    Offer,
    OfferRefused,
    OffersAcknowledged,
    QueuePolicy,
    SubscriberAttached,
    SubscriberDetached,
)
from siftcast.overlays.durability.queues import Queues
from siftcast.overlays.wire_events import encode_event
from siftcast.runtimes.live.errors import Refused, Superseded
from siftcast.runtimes.live.logs import Logger
from siftcast.runtimes.live.node.bounds import Bounds
from siftcast.runtimes.live.node.peers import Tell
from siftcast.runtimes.live.node.rights import Rights
from siftcast.runtimes.live.node.session import ClientSubscription, Session
from siftcast.runtimes.live.wire.connection import Connection
from siftcast.runtimes.live.wire.frames import (
    AcknowledgeOffers,
    DeadLetters,
    Deliver,
    EndDurable,
    Expired,
    Letter,
    ReadDeadLetters,
    Reject,
    Subscribe,
)

WINDOW_MAX = 1_024
REASON_LENGTH_MAX = 1_000
Answer = Callable[[str | None], None]
"""Is told None when a request is safe, or why it was refused."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,126}")


class _Asked(NamedTuple):
    """A request that waits: how it is answered, and over which connection it came."""

    answer: Answer
    connection: Connection


class DurableSubscription(ClientSubscription):
    """A durable subscription while a client is attached to it."""

    __slots__ = ("_bounds", "_held", "_pass_over", "name")
    is_durable = True

    def __init__(
        self,
        session: Session,
        number: int,
        wanted: Subscription,
        name: str,
        bounds: Bounds,
        pass_over: Callable[[DurableSubscription, Offer], None],
    ) -> None:
        super().__init__(session, number, wanted.id, wanted.filter)
        self.name = name
        self._bounds = bounds
        self._pass_over = pass_over
        self._held: deque[Offer] = deque()

    def offer(self, offer: Offer) -> None:
        """Sends an event, or has it wait for room."""
        if self._held or self.connection.blocked:
            self._held.append(offer)
        else:
            self._send(offer)

    def resume(self) -> None:
        """Sends what waited, if there is room."""
        while self._held and not self.connection.blocked:
            self._send(self._held.popleft())

    def _send(self, offer: Offer) -> None:
        if not self.session.guard.rights.may_read(offer.event):  # it was held before these rights were
            self._pass_over(self, offer)
            return
        event, age_ms = msgspec.Raw(encode_event(offer.event)), None
        if self.wishes[0] is not None:
            is_first = offer.attempt == 1
            age_ms = self._bounds.offer(offer.event.id, self.id, self.connection, is_first=is_first)
        self.connection.send(Deliver(event, (self.number,), offer.position, offer.attempt, age_ms))


class DurableClients:
    """What clients of a node were promised, or are about to be."""

    def __init__(
        self,
        queues: Queues,
        node: NodeId,
        name: str,
        frame_bytes_max: int,
        *,
        bounds: Bounds,
        tell: Tell,
        log: Logger,
    ) -> None:
        self._queues = queues
        self._bounds = bounds
        self._name = name
        self._prefix = f"{node}/"
        self._frame_bytes_max = frame_bytes_max
        self._tell = tell
        self._log = log
        self._waiting: dict[str, list[_Asked]] = {}
        self._attached: dict[str, DurableSubscription] = {}
        self._passed_over: dict[DurableSubscription, list[int]] = {}

    # -- requests ------------------------------------------------------------------------------------

    def publish(self, event: Event, answer: Answer, connection: Connection) -> None:
        """Publishes an event that must not be lost."""
        if event.id.startswith(self._prefix):  # those are names of subscriptions, which are accepted by them
            raise Refused(f"ids of events do not begin with '{self._prefix}'")
        self._waiting.setdefault(event.id, []).append(_Asked(answer, connection))
        self._tell(PublishRequested(event, durable=True))

    def subscribe(self, session: Session, frame: Subscribe, filter: Filter) -> None:
        """Makes or takes up a durable subscription, and attaches the client once it is safe."""
        id = self._id(frame.durable or "", session.guard.rights.principal)
        if frame.window < 1:
            raise SubscriptionError("the window of a durable subscription is at least 1")
        limits, principal = session.guard.limits, session.guard.rights.principal
        is_new = id not in self._queues
        if is_new:
            limits.check_durable_names(1 + sum(self._is_of(principal, each) for each in self._queues.names))
        policy = limits.granted(frame.policy, self._queues.policy(id))
        wanted = Subscription(id, filter, session.name, *self._wishes(id, frame, session.guard.rights.delay_ms_min))
        subscription = DurableSubscription(
            session, frame.subscription, wanted, frame.durable or "", self._bounds, self._pass_over
        )
        session.hold(subscription, len(frame.filter))

        def attach(reason: str | None) -> None:
            is_there = session.holds(subscription) and not session.connection.closing
            error = None if reason is None else Refused(reason)
            session.guard.note_request(frame, error, made=is_new)
            if error is not None:
                session.drop(subscription)
                session.refuse(frame.request, error)
            elif not is_there:
                session.refuse(frame.request, Refused("it was ended before it stood"))
            if error is not None or not is_there:
                return
            self._take_over(id, subscription, "another client took over")
            session.watch(subscription, wanted)
            session.confirm_subscription(frame.request)
            self._tell(SubscriberAttached(id, min(frame.window, WINDOW_MAX), frame.start, frame.since_ms))

        self._ask(wanted, session, policy, attach)

    def _wishes(self, id: str, frame: Subscribe, least_ms: float | None) -> tuple[float | None, float | None]:
        """The bound and the bandwidth that a client asks for, or else those that the subscription has.

        A bound that was kept may be tighter than the principal may ask for by now; then it has the least it may.
        """
        if id not in self._queues:
            return frame.delay_ms_max, frame.bandwidth
        kept = self._queues.subscription(id)
        bound_ms = kept.delay_ms_max
        if bound_ms is not None and least_ms is not None:
            bound_ms = max(bound_ms, least_ms)
        return (
            bound_ms if frame.delay_ms_max is None else frame.delay_ms_max,
            kept.bandwidth if frame.bandwidth is None else frame.bandwidth,
        )

    def replace(self, subscription: ClientSubscription, wanted: Subscription, answer: Answer) -> None:
        """Gives a durable subscription another filter, bound and bandwidth."""
        policy = subscription.session.guard.limits.granted(None, self._queues.policy(subscription.id))
        self._ask(wanted, subscription.session, policy, answer)

    def _ask(self, wanted: Subscription, session: Session, policy: QueuePolicy, answer: Answer) -> None:
        self._waiting.setdefault(wanted.id, []).append(_Asked(answer, session.connection))
        self._tell(DurableSubscribeRequested(wanted, policy))

    def _id(self, name: str, principal: str) -> str:
        if not _NAME.fullmatch(name):
            raise SubscriptionError(
                f"'{name}' cannot name a durable subscription; use up to 127 letters, digits, and the signs _ . -"
            )
        own = f"{principal}/{name}" if principal else name
        if self._prefix + own not in self._queues:
            for adopted in self._queues.adopted:  # of a node that has left, or is gone
                if _own(adopted) == own:
                    return adopted
        return self._prefix + own

    def _is_of(self, principal: str, id: str) -> bool:
        """Whether a name in the network is a principal's; that of nobody, where there are none, has no slash in it."""
        owner, slash, _ = _own(id).partition("/")
        return owner == principal if slash else not principal

    def _known(self, name: str, principal: str) -> str:
        id = self._id(name, principal)
        if id not in self._queues:
            raise SubscriptionError(f"this node has no durable subscription '{name}'")
        return id

    def _take_over(self, id: str, subscription: DurableSubscription | None, why: str) -> None:
        before = self._attached.pop(id, None)
        if before is not None and before is not subscription:
            before.session.lose(before, Superseded(f"{why} '{before.name}'"))
        if subscription is not None:
            self._attached[id] = subscription

    def detach(self, subscription: ClientSubscription) -> None:
        """A client is gone, or wants no more for now."""
        if self._attached.get(subscription.id) is subscription:
            del self._attached[subscription.id]
            self._bounds.detach(subscription.id)
            self._tell(SubscriberDetached(subscription.id))

    def end(self, frame: EndDurable, principal: str) -> None:
        """Ends a durable subscription with all it holds."""
        id = self._known(frame.name, principal)
        self._take_over(id, None, "a client ended")
        self._bounds.forget(id)
        self._tell(UnsubscribeRequested((id,)))

    def acknowledge(self, subscription: ClientSubscription, frame: AcknowledgeOffers) -> None:
        """A client has dealt with events."""
        if self._attached.get(subscription.id) is subscription:
            self._tell(OffersAcknowledged(subscription.id, frame.positions))

    def reject(self, subscription: ClientSubscription, frame: Reject) -> None:
        """A client could not deal with an event."""
        if self._attached.get(subscription.id) is subscription:
            self._tell(OfferRefused(subscription.id, frame.position, frame.reason[:REASON_LENGTH_MAX]))

    def dead_letters(self, frame: ReadDeadLetters, rights: Rights) -> DeadLetters:
        """What a subscription refused too often, and may still be read, as much as fits a frame."""
        room = self._frame_bytes_max // 2
        letters: list[Letter] = []
        for each in self._queues.dead_letters(self._known(frame.name, rights.principal)):
            if each.position > frame.after and rights.may_read(each.event):
                encoded = encode_event(each.event)
                room -= len(encoded) + len(each.reason)
                if letters and room < 0:
                    return DeadLetters(frame.request, letters, more=True)
                letters.append(Letter(each.position, each.refusals, each.reason, msgspec.Raw(encoded)))
        return DeadLetters(frame.request, letters)

    # -- effects -------------------------------------------------------------------------------------

    def answer(self, request: str, reason: str | None) -> bool:
        """A request is safe, or was refused; False if nobody waits for it."""
        waiting = self._waiting.pop(request, None)
        for asked in waiting or ():
            try:
                asked.answer(reason)
            except Exception as error:  # keeps no other from being answered; this client comes back and asks again
                self._log.error("answer failed", address=asked.connection.address, exc_info=error)
                asked.connection.abort(f"an answer failed: {error}")
        return waiting is not None

    def cut_askers(self, request: str, reason: str) -> None:
        """Breaks the connections of those who wait for an answer that cannot be given; they come back and ask again."""
        for asked in self._waiting.pop(request, ()):
            asked.connection.abort(reason)

    def offer(self, offer: Offer) -> None:
        """Hands an event to the client that is attached; it was offered to one before, if none is."""
        subscription = self._attached.get(offer.subscription)
        if subscription is not None:
            subscription.offer(offer)

    def _pass_over(self, subscription: DurableSubscription, offer: Offer) -> None:
        """An event is not shown, because rights have become narrower since it was held; it counts as dealt with.

        Otherwise it would stand in the way of all that follow. It can be replayed, should the rights be wider again,
        as far back as the policy goes. The protocol hears of it in a turn of its own: each that is dealt with has it
        offer another.
        """
        if not self._passed_over:
            asyncio.get_running_loop().call_soon(self._tell_passed_over)
        self._passed_over.setdefault(subscription, []).append(offer.position)

    def _tell_passed_over(self) -> None:
        passed_over, self._passed_over = self._passed_over, {}
        for subscription, positions in passed_over.items():
            if self._attached.get(subscription.id) is not subscription:
                continue
            count, reason = len(positions), "the rights of the principal do not include them any more"
            self._log.warning("events passed over", subscription=_own(subscription.id), count=count, reason=reason)
            subscription.session.guard.note("events passed over", durable=subscription.name, count=count)
            subscription.connection.send(Expired(subscription.number, count, reason))
            self._tell(OffersAcknowledged(subscription.id, tuple(positions)))

    def cut(self, id: str, reason: str) -> None:
        """Breaks the connection of the client that is attached; it comes back and is offered what it did not answer."""
        subscription = self._attached.get(id)
        if subscription is not None:
            subscription.connection.abort(reason)

    def bury(self, letter: Bury) -> None:
        """An event was refused too often."""
        self._log.warning(
            "dead letter",
            subscription=_own(letter.subscription),
            event_id=letter.event.id,
            refusals=letter.refusals,
            reason=letter.reason,
        )

    def expire(self, effect: Expire) -> None:
        """Events were dropped before they were acknowledged."""
        name, count = _own(effect.subscription), len(effect.positions)
        self._log.warning("events expired", subscription=name, count=count, reason=effect.reason)
        subscription = self._attached.get(effect.subscription)
        if subscription is not None:
            subscription.connection.send(Expired(subscription.number, count, effect.reason))

    def listed(self) -> list[tuple[str, str, Filter]]:
        """The id, client and filter of every durable subscription, whether a client is attached or not."""
        found = []
        for id in self._queues.unanswered:
            attached, filter_ = self._attached.get(id), self.filter_of(id)
            if filter_ is not None:
                found.append(
                    (self.shown(id), "nobody attached" if attached is None else attached.session.name, filter_)
                )
        return found

    def shown(self, id: str) -> str:
        """The id of a durable subscription for people, who know this node by its name; any other as it is."""
        return f"{self._name}/{_own(id)}" if id in self._queues else id

    def filter_of(self, id: str) -> Filter | None:
        """What a durable subscription wants; None if there is none of this id."""
        return self._queues.filter(id) if id in self._queues else None

    def describe(self) -> list[dict[str, Any]]:
        """All durable subscriptions, for people."""
        found = []
        for id, waiting in self._queues.unanswered.items():
            attached = self._attached.get(id)
            found.append(
                {
                    "id": self.shown(id),
                    "client": "" if attached is None else attached.session.name,
                    "address": "" if attached is None else attached.connection.address,
                    "filter": str(self._queues.filter(id)),
                    "dropped": 0,
                    "delay_ms_max": self._queues.subscription(id).delay_ms_max,
                    "bandwidth": self._queues.subscription(id).bandwidth,
                    "bound": self._bounds.describe(id),
                    "durable": _own(id),
                    "waiting": waiting,
                    "dead": len(self._queues.dead_letters(id)),
                }
            )
        return found


def _own(id: str) -> str:
    """The name of a durable subscription without the identity of the node that it was made at."""
    return id.partition("/")[2]
