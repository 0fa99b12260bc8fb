"""One connection of a client: requests and their answers, deliveries into inboxes, and when to stop reading.

A connection ends as a whole: every request that has no answer by then fails with `ConnectionLost`, whether the node
hung up, fell silent, or sent a frame that was altered on the way. Who asked decides what to ask again (`client`,
`publishing`, `durable_inbox`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from siftcast.model.errors import EventError, SiftcastError
from siftcast.runtimes.live.client.bounds import Wishes, bound_of
from siftcast.runtimes.live.client.received import Inbox
from siftcast.runtimes.live.client.token_notice import TokenNotice
from siftcast.runtimes.live.errors import (
    ConnectionLost,
    DamagedFrame,
    FrameError,
    Refused,
    VersionError,
    failure_error,
)
from siftcast.runtimes.live.wire.connection import Connection, Outbox, Watch
from siftcast.runtimes.live.wire.frames import (
    BOUNDS,
    FRAME_BYTES_MAX,
    OLDEST,
    VERSION,
    AcknowledgeOffers,
    BoundReported,
    DeadLetters,
    Deliver,
    Description,
    Dropped,
    Ended,
    Expired,
    Failure,
    Frame,
    Heartbeat,
    Hello,
    Publish,
    Published,
    Reject,
    Subscribed,
    Welcome,
    encode_frame,
    publish_frame,
    spoken,
)
from siftcast.runtimes.live.wire.framing import HEADER_BYTES
from siftcast.runtimes.live.wire.tls import Dial

_logger = logging.getLogger("siftcast")
_HELLO_WAIT_S = 10.0
_NOBODY_THERE = (
    "connection refused, so no node listens there; siftcast serve starts one at 127.0.0.1:7007, "
    "siftcast serve --listen 127.0.0.1:PORT at another port"
)
_REQUEST_MAX = 2**32 - 1  # requests have four bytes, and 0 stands for the connection


class Window:
    """Publishes that are under way together: how many were taken, and what went wrong first."""

    __slots__ = ("_kept", "_loop", "_waiter", "_wanted", "durable", "failure", "lost", "open", "taken")

    def __init__(self, loop: asyncio.AbstractEventLoop, *, durable: bool = False) -> None:
        self.durable = durable
        self.lost: list[bytes] = []
        """Durable events that a connection was lost with, in order; they may be published again, and count once."""
        self._kept: dict[int, bytes] = {}
        self.open = 0
        self.taken = 0
        self.failure: Exception | None = None
        self._loop = loop
        self._wanted = 0
        self._waiter: asyncio.Future[None] | None = None

    def begin(self, request: int, event: bytes) -> None:
        """One is under way."""
        self.open += 1
        if self.durable:
            self._kept[request] = event

    def answer(self, request: int, failure: Exception | None) -> None:
        """One was taken, or came to nothing."""
        self.open -= 1
        kept = self._kept.pop(request, None)
        if failure is None:
            self.taken += 1
        elif kept is not None and isinstance(failure, ConnectionLost):
            self.lost.append(kept)
        elif self.failure is None:
            self.failure = failure
        if self._waiter is not None and self.open <= self._wanted and not self._waiter.done():
            self._waiter.set_result(None)

    async def shrink(self, wanted: int) -> None:
        """Waits until no more than so many are under way."""
        if self.open > wanted:
            self._wanted = wanted
            self._waiter = self._loop.create_future()
            await self._waiter
            self._waiter = None


class ClientLink:
    """A client's end of a connection that stands."""

    def __init__(
        self, inboxes: Mapping[int, Inbox], on_dropped: Callable[[int], None], notice: TokenNotice | None = None
    ) -> None:
        loop = asyncio.get_running_loop()
        self.name = ""
        self._loop = loop
        self._inboxes = inboxes
        self._on_dropped = on_dropped
        self._notice = notice
        self._pending: dict[int, asyncio.Future[Any] | Window] = {}
        self._acknowledged: dict[int, list[int]] = {}
        self._count = 0
        self._welcome: asyncio.Future[Welcome] = loop.create_future()
        self._closed: asyncio.Future[SiftcastError] = loop.create_future()
        self._room: asyncio.Event = asyncio.Event()
        self._room.set()
        self._failure: SiftcastError | None = None
        self._frame_bytes_max = self._event_bytes_max = FRAME_BYTES_MAX
        """What the node takes at once. More would end the connection, and be sent again over the next, for ever."""
        self._full: Inbox | None = None
        self._watch = Watch(loop, 1_000.0)
        self._outbox = Outbox(loop)
        self.connection = Connection(
            self._outbox, lambda _: self, frame_bytes_max=FRAME_BYTES_MAX, on_damage=_report_damage
        )

    @classmethod
    async def open(
        cls,
        dial: Dial,
        hello: Hello,
        inboxes: Mapping[int, Inbox],
        on_dropped: Callable[[int], None],
        notice: TokenNotice | None = None,
    ) -> ClientLink:
        """Connects and introduces the client; raises SiftcastError. `notice` hears how long its token is good."""
        link = cls(inboxes, on_dropped, notice)
        link.connection.send(hello)
        try:
            await dial(lambda: link.connection)
            async with asyncio.timeout(_HELLO_WAIT_S):
                welcome = await link._welcome
        except ConnectionRefusedError:
            link.connection.abort("not reached")
            raise ConnectionLost(_NOBODY_THERE) from None
        except OSError as error:  # a TimeoutError is one as well
            link.connection.abort("not reached")
            raise ConnectionLost(error.strerror or str(error) or "no answer") from None
        except BaseException:
            link.connection.abort("given up")
            raise
        link.connection.frame_bytes_max = max(FRAME_BYTES_MAX, welcome.frame_bytes_max)
        link._frame_bytes_max, link._event_bytes_max = welcome.frame_bytes_max, welcome.event_bytes_max
        link._watch.interval_ms = welcome.heartbeat_ms
        link._watch.add(link.connection)
        return link

    # -- requests ------------------------------------------------------------------------------------

    def ask(self, make: Callable[[int], Frame]) -> asyncio.Future[Any]:
        """Sends a request; the future has its answer."""
        self._count = self._count % _REQUEST_MAX + 1
        future: asyncio.Future[Any] = self._loop.create_future()
        if self.is_closed:
            future.set_exception(self._lost())
            return future
        frame = make(self._count)
        if isinstance(frame, Publish) and len(bytes(frame.event)) > self._event_bytes_max:
            future.set_exception(self._too_large(bytes(frame.event)))
            return future
        data = encode_frame(frame)
        if len(data) - HEADER_BYTES > self._frame_bytes_max:
            problem = f"a request of {len(data):,} bytes; the node takes {self._frame_bytes_max:,} at once"
            future.set_exception(FrameError(problem))
            return future
        self._pending[self._count] = future
        self._send_acknowledged()  # what is asked for may be to hear no more of the subscription
        self.connection.send_bytes(data)
        if self._full is not None:  # somebody waits for an answer, so reading must go on
            self.connection.resume_reading()
        return future

    def subscribe(self, wishes: Wishes, make: Callable[[int], Frame]) -> asyncio.Future[Any]:
        """Asks for a subscription, or for a change of one; a node that would not read all of it is not asked."""
        if not (wishes.is_any and self.connection.version < BOUNDS):
            return self.ask(make)
        future: asyncio.Future[Any] = self._loop.create_future()
        problem = f"the node speaks version {self.connection.version}, which knows no delay_ms_max and no bandwidth"
        future.set_exception(Refused(f"{problem}; run the siftcast of this client there, or leave them out"))
        return future

    def publish_all(self, events: Sequence[bytes], window: Window) -> None:
        """Publishes events as some of many; the window is told what becomes of each."""
        number, durable, pending, frames = self._count, window.durable, self._pending, []
        for event in events:
            number = number % _REQUEST_MAX + 1
            window.begin(number, event)
            if len(event) > self._event_bytes_max:
                window.answer(number, self._too_large(event))
                continue
            pending[number] = window
            frames.append(publish_frame(number, event, durable=durable))
        self._count = number
        if self.is_closed:
            self._fail_pending(self._lost())
            return
        self.connection.send_bytes(b"".join(frames))
        if self._full is not None:
            self.connection.resume_reading()

    def _too_large(self, event: bytes) -> EventError:
        limit = f"the limit is {self._event_bytes_max:,} (event_bytes_max)"
        return EventError(f"the event has {len(event):,} bytes, {limit}")

    async def request(self, make: Callable[[int], Frame]) -> Any:
        """Sends a request, and waits for its answer and for room if much is waiting to be sent."""
        if self.connection.blocked:
            await self.drained()
        return await self.ask(make)

    @property
    def is_closed(self) -> bool:
        """Whether the connection is gone or going."""
        return self.connection.closing

    @property
    def is_full(self) -> bool:
        """Whether the node does not read what is sent."""
        return self.connection.blocked

    async def drained(self) -> None:
        """Waits until there is room."""
        while self.connection.blocked and not self.is_closed:
            self._room.clear()
            await self._room.wait()

    async def closed(self) -> SiftcastError:
        """Waits until the connection is gone; says why."""
        return await asyncio.shield(self._closed)

    def close(self) -> None:
        """Hangs up, after what was acknowledged is said."""
        if not self.is_closed:
            self._send_acknowledged()
        self.connection.close("closed by this end")

    # -- what comes in -------------------------------------------------------------------------------

    def connection_opened(self) -> None:
        """The Hello is on its way already."""

    def frame_received(self, frame: Frame) -> None:
        kind = type(frame)
        if kind is Deliver:
            self._deliver(frame)  # type: ignore[arg-type]
        elif kind is Published:
            self._published(frame)  # type: ignore[arg-type]
        elif isinstance(frame, Subscribed | Description | DeadLetters):
            self._answer(frame.request, frame)
        else:
            self._receive_rare(frame)

    def _receive_rare(self, frame: Frame) -> None:
        match frame:
            case Welcome(version):
                if not OLDEST["client"] <= version <= VERSION:
                    raise VersionError(f"the node speaks version {version}, this client {spoken('client')}")
                self.name = frame.name
                self.connection.version = version
                if self._notice is not None:
                    self._notice.heard(frame.expires_in_ms)
                if not self._welcome.done():
                    self._welcome.set_result(frame)
            case Failure(0, code, message):
                self._failure = failure_error(code, message) if code != "stopping" else ConnectionLost(message)
                self.connection.close(message)
            case Failure(request, code, message):
                _fail(request, self._pending.pop(request, None), failure_error(code, message))
            case Heartbeat(number, echo):
                if echo:
                    self.connection.send(Heartbeat(number))
            case Dropped(count):
                self._on_dropped(count)
            case Expired(number, count):
                if number in self._inboxes:
                    self._inboxes[number].expired += count
            case BoundReported(number):
                if number in self._inboxes:
                    self._inboxes[number].judged(bound_of(frame))
            case Ended(number, code, message):
                if number in self._inboxes:
                    self._inboxes[number].end(failure_error(code, message))
            case _:
                raise FrameError(f"a node does not send {type(frame).__name__} to a client")

    def _published(self, frame: Published) -> None:
        pop = self._pending.pop
        for number in range(frame.first, frame.first + frame.count):
            asked = pop(number, None)
            if type(asked) is Window:
                asked.answer(number, None)
            elif asked is not None and not asked.done():  # type: ignore[union-attr]
                asked.set_result(frame)  # type: ignore[union-attr]
        if self._full is not None and not self._pending:
            self.connection.pause_reading()

    def _answer(self, number: int, frame: Frame) -> None:
        asked = self._pending.pop(number, None)
        if isinstance(asked, asyncio.Future) and not asked.done():
            asked.set_result(frame)
        if self._full is not None and not self._pending:
            self.connection.pause_reading()

    def _deliver(self, frame: Deliver) -> None:
        encoded = bytes(frame.event)
        for number in frame.subscriptions:
            inbox = self._inboxes.get(number)
            if inbox is None:  # unsubscribed while it was under way
                continue
            inbox.take(self, encoded, frame.position, frame.attempt, frame.age_ms)
            if self._full is None and inbox.is_full:
                self._full = inbox
                if not self._pending:
                    self.connection.pause_reading()

    def acknowledge(self, subscription: int, position: int) -> None:
        """Says that an event was dealt with, together with others of this turn."""
        if not self._acknowledged:
            self._outbox.before_flush(self._send_acknowledged)
        self._acknowledged.setdefault(subscription, []).append(position)

    def _send_acknowledged(self) -> None:
        acknowledged, self._acknowledged = self._acknowledged, {}
        if not self.is_closed:
            for subscription, positions in acknowledged.items():
                self.connection.send(AcknowledgeOffers(subscription, tuple(positions)))

    def reject(self, subscription: int, position: int, reason: str) -> None:
        """Says that an event could not be dealt with."""
        self.connection.send(Reject(subscription, position, reason))

    def made_room(self) -> None:
        """An event was taken out of an inbox; reads on if none is full any more."""
        if self._full is None or (self._full.is_full and not self._full.closed):
            return
        self._full = next((inbox for inbox in self._inboxes.values() if inbox.is_full), None)
        if self._full is None:
            self.connection.resume_reading()

    # -- the end -------------------------------------------------------------------------------------

    def writing_resumed(self) -> None:
        self._room.set()

    def connection_closed(self, reason: str) -> None:
        error = self._failure or ConnectionLost(f"the connection to the node broke: {reason}")
        if isinstance(self.connection.error, VersionError):
            error = self.connection.error
        self._watch.stop()
        self._room.set()
        if not self._closed.done():
            self._closed.set_result(error)
        if not self._welcome.done():
            self._welcome.set_exception(error)
            self._welcome.exception()  # looked at, should nobody else do so
        # What the node could not read it will not read the next time either; all else may be asked again.
        is_final = isinstance(error, FrameError) and not isinstance(error, DamagedFrame)
        self._fail_pending(error if is_final or isinstance(error, ConnectionLost) else ConnectionLost(str(error)))

    def _lost(self) -> ConnectionLost:
        """What whoever asks is told once the connection is closed: it may be asked again, over another one."""
        return ConnectionLost(str(self._failure or "the connection is closed"))

    def _fail_pending(self, error: SiftcastError) -> None:
        pending, self._pending = self._pending, {}
        for request, asked in pending.items():
            _fail(request, asked, error)


def _fail(request: int, asked: asyncio.Future[Any] | Window | None, error: SiftcastError) -> None:
    """Tells whoever asked that it came to nothing; nobody, if they have given up."""
    if isinstance(asked, Window):
        asked.answer(request, error)
    elif asked is not None and not asked.done():
        asked.set_exception(error)


def _report_damage(connection: Connection, error: DamagedFrame) -> None:
    who = f"node '{connection.handler.name}'" if connection.handler.name else "the node"
    _logger.warning("damaged frame from %s at %s: %s; it is called again", who, connection.address, error)
