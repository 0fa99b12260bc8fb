"""What subscribers get: events that can be acknowledged, and the streams they come in.

A stream is filled by a connection and emptied by an `async for`. While `buffer` events wait in one, its connection
stops reading, so that the node sees a slow consumer; if an answer is waited for meanwhile, it must read on, and then
events beyond `OVERFLOW_FACTOR` times the buffer are dropped and counted (`EventStream.dropped`). A stream that nobody
holds any more is unsubscribed: leaving the loop is enough.

Where a subscription has a bound on delay, its events say how old they were when they came (`bounds`). Where it has
keys, only events that could be opened with them come (`opening`), and say who sealed them.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Protocol, Self

from siftcast.model import Event, EventError, Filter, SubscriptionError
from siftcast.model.filter import AnyFilter, as_filter
from siftcast.model.showing import shown
from siftcast.model.values import is_text
from siftcast.overlays.wire_events import WireEvent, decode_wire
from siftcast.runtimes.live.client.bounds import NOTHING_MORE, Bound, Change, Unchanged, Wishes, lateness_ms, tell
from siftcast.runtimes.live.client.opening import Opening
from siftcast.security import Opened, Reason, UnopenedError, is_sealed

OVERFLOW_FACTOR = 10


class ReceivedEvent(WireEvent):
    """An event as a subscriber gets it. One of an ephemeral subscription needs no acknowledgement.

    One of a durable subscription has a position, from which it can be replayed, and counts how often it was offered.
    """

    __slots__ = ("_opened",)
    attempt: int = 1
    position: int = 0
    answers: Callable[[str | None], None] | None = None
    """Who is told None for an acknowledgement, or the reason of a refusal."""
    age_ms: float | None = None
    """How old it was when it came, where its subscription has a bound and that is known."""
    late_ms: float | None = None
    """By how much it came later than its subscription's bound allows; 0 if it came in time, None as with `age_ms`."""

    @property
    def is_late(self) -> bool:
        """Whether it came later than the bound of its subscription allows, as far as that is known."""
        return self.late_ms is not None and self.late_ms > 0

    @property
    def matched(self) -> tuple[str, ...]:
        """The names of the filters of `subscribe_many` that it satisfies; a stream of one filter names none."""
        return ()

    @property
    def is_sealed(self) -> bool:
        """Whether its payload is sealed still, because the subscription has no keys."""
        return is_sealed(self.payload)

    @property
    def sealed_by(self) -> str | None:
        """The publisher that sealed its payload, as the subscription's keys have verified; None for a plain one."""
        opened: Opened | None = getattr(self, "_opened", None)
        return None if opened is None else opened.publisher

    @property
    def group(self) -> str | None:
        """The group for which its payload was sealed; None for a plain one."""
        opened: Opened | None = getattr(self, "_opened", None)
        return None if opened is None else opened.group

    def open_as(self, opened: Opened) -> None:
        """Puts what was opened in the place of the sealed payload; its bytes, and its pickle, stay sealed."""
        _set_payload(self, opened.payload)
        _set_opened(self, opened)

    def ack(self) -> None:
        """Says that the event was dealt with, so that a durable subscription does not deliver it again."""
        if self.answers is not None:
            self.answers(None)

    def nack(self, reason: str) -> None:
        """Says that the event could not be dealt with; a durable subscription delivers it again, or sets it aside."""
        if not is_text(reason):
            raise EventError(f"the reason of a refusal is text, not {shown(reason)}")
        if self.answers is not None:
            self.answers(reason)


_set_opened = ReceivedEvent.__dict__["_opened"].__set__  # events are frozen
_set_payload = Event.__dict__["payload"].__set__


class TimedEvent(ReceivedEvent):
    """An event of a subscription with a bound on delay."""

    __slots__ = ("age_ms", "late_ms")
    age_ms: float | None
    late_ms: float | None

    def __init__(self, encoded: bytes, age_ms: float | None, bound_ms: float | None) -> None:
        super().__init__(decode_wire(encoded), encoded)
        self.set_age(age_ms, bound_ms)

    def set_age(self, age_ms: float | None, bound_ms: float | None) -> None:
        """Says how old it is, and by which bound it is late or not."""
        _set_age(self, age_ms)
        _set_late(self, lateness_ms(age_ms, bound_ms))


_set_age, _set_late = (TimedEvent.__dict__[name].__set__ for name in ("age_ms", "late_ms"))


class AnswerableEvent(TimedEvent):
    """An event of a durable subscription."""

    __slots__ = ("answers", "attempt", "position")
    answers: Callable[[str | None], None] | None
    attempt: int
    position: int

    def __init__(
        self, encoded: bytes, position: int, attempt: int, age_ms: float | None = None, bound_ms: float | None = None
    ) -> None:
        super().__init__(encoded, age_ms, bound_ms)
        _set_position(self, position)
        _set_attempt(self, attempt)
        self.answer_with(None)

    def answer_with(self, answer: Callable[[str | None], None] | None) -> None:
        """Says who is to be told."""
        _set_answers(self, answer)


_set_answers, _set_attempt, _set_position = (
    AnswerableEvent.__dict__[name].__set__ for name in ("answers", "attempt", "position")
)


class AnswerLine(Protocol):
    """A connection that takes answers."""

    @property
    def is_closed(self) -> bool:
        """Whether answers would be lost."""

    def acknowledge(self, subscription: int, position: int) -> None:
        """Says that an event was dealt with."""

    def reject(self, subscription: int, position: int, reason: str) -> None:
        """Says that an event could not be dealt with."""


class Inbox:
    """The events of one subscription that wait to be looked at."""

    __slots__ = (
        "bound",
        "buffer",
        "closed",
        "dropped",
        "durable",
        "error",
        "events",
        "expired",
        "filter",
        "number",
        "opening",
        "source",
        "waiter",
        "wishes",
    )

    def __init__(
        self,
        number: int,
        filter: Filter,
        durable: str | None,
        buffer: int,
        wishes: Wishes = NOTHING_MORE,
        opening: Opening | None = None,
    ) -> None:
        self.number = number
        self.opening = opening
        self.filter = filter
        self.wishes = wishes
        self.bound = None if wishes.delay_ms_max is None else Bound(wishes.delay_ms_max)
        self.durable = durable
        self.buffer = buffer
        self.events: deque[ReceivedEvent] = deque()
        self.dropped = 0
        self.expired = 0
        self.closed = False
        self.source: Source | None = None
        """Who is told that nobody wants its events any more; the stream says so."""
        self.error: Exception | None = None
        self.waiter: asyncio.Future[None] | None = None

    @property
    def is_full(self) -> bool:
        return len(self.events) >= self.buffer

    @property
    def bounds(self) -> Mapping[str, Bound]:
        """How the bounds of many filters stand, by name."""
        return {}

    def take(self, line: AnswerLine, encoded: bytes, position: int, attempt: int, age_ms: float | None) -> None:
        """An event came over a connection."""
        event: ReceivedEvent
        if self.wishes.delay_ms_max is None:
            event = ReceivedEvent(decode_wire(encoded), encoded)
        else:
            event = TimedEvent(encoded, age_ms, self.wishes.delay_ms_max)
        if self.opening is None or self.opens(event):
            self.put(event)

    def opens(self, event: ReceivedEvent, position: int = 0) -> bool:
        """Whether an event may be handed out, as far as keys are concerned; if it was sealed, it is open then."""
        if self.opening is None:
            return True
        try:
            opened = self.opening.open(event, position)
        except UnopenedError as error:
            self.opening.note(event, error)
            return False
        if opened is not None:
            event.open_as(opened)
        return True

    def wish(self, wishes: Wishes) -> None:
        """Another bound or bandwidth holds from now on."""
        if wishes.delay_ms_max is None:
            self.bound = None
        elif self.bound is None or self.bound.delay_ms_max != wishes.delay_ms_max:
            self.bound = Bound(wishes.delay_ms_max)
        self.wishes = wishes

    def judged(self, bound: Bound) -> None:
        """The node says how the bound stands; a durable subscription may have one from earlier."""
        before, self.bound = self.bound, bound
        self.wishes = self.wishes._replace(delay_ms_max=bound.delay_ms_max)
        tell(self.wishes.on_bound, before, bound, self.break_off)

    def put(self, event: ReceivedEvent) -> None:
        """Adds an event, unless far too many wait."""
        if len(self.events) >= OVERFLOW_FACTOR * self.buffer:
            self.dropped += 1
            return
        self.events.append(event)
        self.wake()

    def end(self, error: Exception | None = None) -> None:
        """Lets nothing more in; what waits can still be taken, and then the error is raised."""
        if not self.closed:
            self.closed = True
            self.error = error
            self.wake()

    def break_off(self, error: Exception) -> None:
        """What was called with a bound has raised this: the stream ends with it, as with a handler's failure."""
        if not self.closed:
            self.end(error)
            if self.source is not None:
                self.source.forget(self)

    def wake(self) -> None:
        """Wakes whoever waits."""
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)


class Source(Protocol):
    """Where a stream gets its events from."""

    async def subscribed(self, inbox: Inbox) -> None:
        """Waits until the subscription stands; raises what it was refused with."""

    async def replace(self, inbox: Inbox, filter: Filter, change: Change) -> None:
        """Gives the subscription another filter, bound or bandwidth."""

    def taken(self, inbox: Inbox) -> None:
        """An event was taken out."""

    def forget(self, inbox: Inbox) -> None:
        """Nobody wants the events any more."""


class EventStream(AsyncIterator[ReceivedEvent]):
    """The events of one subscription: `async for event in stream`."""

    def __init__(self, source: Source, inbox: Inbox) -> None:
        self._source = inbox.source = source
        self._inbox = inbox

    @property
    def filter(self) -> Filter:
        """What is wanted."""
        return self._inbox.filter

    @property
    def dropped(self) -> int:
        """How many events came while too many waited already."""
        return self._inbox.dropped

    @property
    def unopened(self) -> Counter[Reason]:
        """How many events were not handed out because the subscription's keys did not open them, by reason."""
        opening = self._inbox.opening
        return Counter() if opening is None else Counter(opening.unopened)

    @property
    def is_durable(self) -> bool:
        """Whether the node holds the events until they are acknowledged."""
        return self._inbox.durable is not None

    @property
    def expired(self) -> int:
        """How many events of a durable subscription its limits dropped while this stream was there."""
        return self._inbox.expired

    async def ready(self) -> Self:
        """Waits until the subscription stands: events published from now on are seen."""
        await self._source.subscribed(self._inbox)
        return self

    @property
    def bound(self) -> Bound | None:
        """How the subscription's bound on delay stands, the worst of them if there are many; None without one."""
        return self._inbox.bound

    @property
    def bounds(self) -> Mapping[str, Bound]:
        """How the bounds of `subscribe_many` stand, by name; a stream of one filter has `bound`."""
        return self._inbox.bounds

    async def replace(
        self,
        filter: AnyFilter | None = None,
        *,
        delay_ms_max: float | Unchanged | None = ...,
        bandwidth: float | Unchanged | None = ...,
    ) -> None:
        """Asks for something else from now on; events that wait already stay.

        What is left out stays as it is. None as `delay_ms_max` or `bandwidth` takes it away.
        """
        change = Change(delay_ms_max, bandwidth).check()
        await self._source.replace(self._inbox, self._inbox.filter if filter is None else as_filter(filter), change)

    async def __anext__(self) -> ReceivedEvent:
        inbox = self._inbox
        while not inbox.events:
            if inbox.closed:
                if inbox.error is not None:
                    raise inbox.error
                raise StopAsyncIteration
            if inbox.waiter is not None and not inbox.waiter.done():
                raise RuntimeError("a stream is read by one task at a time; subscribe once more for another")
            inbox.waiter = asyncio.get_running_loop().create_future()
            try:
                await inbox.waiter
            finally:
                inbox.waiter = None
        event = inbox.events.popleft()
        self._source.taken(inbox)
        return event

    def close(self) -> None:
        """Unsubscribes; events that wait can still be taken. A durable subscription stays at the node, for later."""
        if not self._inbox.closed:
            self._inbox.end()
            self._source.forget(self._inbox)

    async def __aenter__(self) -> Self:
        return await self.ready()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        with suppress(RuntimeError):  # the loop has ended before, and with it the subscription
            self.close()


def check_buffer(buffer: object) -> None:
    if type(buffer) is not int or buffer < 1:
        raise SubscriptionError(
            f"a stream needs room for at least one event; buffer is a whole number, not {shown(buffer)}"
        )
