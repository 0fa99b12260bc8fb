"""One TCP connection as frames: what comes in is cut into frames, what goes out is gathered and written once a turn.

Reading: whole frames are decoded straight from the bytes the loop read; only an unfinished one is kept, and, while
reading is paused, what the loop had read already. A length beyond what is allowed closes the connection before anything
is stored, so an idle or hostile peer holds one frame at most. A header is checked before its body is waited for, and a
body before it is decoded (`framing`); one that was altered on the way ends the connection, and no later byte is looked
at. The first bytes may be those of version 1, which is then answered in its own words.
Writing: `pieces` gathers bytes until the loop comes round (`Outbox.flush`), then they are one write, one system call
for many frames. When the peer does not read, the transport fills up to `queue_bytes_max` and `blocked` becomes true;
who sends events must look at it and act on its policy. `hold` keeps it true while older events wait elsewhere.
Turns: frames of one peer are handled for `turn_s` at most before the others have theirs, however many came in at once
and however long each takes; one frame is always handled whole. What is left is read on after the others. Meanwhile what
goes out is gathered for `GATHER_S`: a write for each turn and connection costs more than what it carries.
Heartbeats (`Watch`) count rounds, not time: a process that was stopped for an hour finds one silent round at most, and
a jump of the clock is nothing to it. A connection silent for SILENT_ROUNDS_MAX rounds is half-open: it is cut.

Rejected: asyncio's streams (a coroutine switch and several copies a frame, 3 to 8 times slower).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, Protocol, cast
from zlib import crc32

from siftcast.model.errors import SiftcastError
from siftcast.runtimes.live.errors import ConnectionLost, DamagedFrame, FrameError, VersionError
from siftcast.runtimes.live.wire.frames import (
    FRAME_BYTES_MAX,
    VERSION,
    Failure,
    Frame,
    Heartbeat,
    decode_frame,
    encode_body,
    encode_frame,
)
from siftcast.runtimes.live.wire.framing import (
    CHECKED_BYTES,
    HEADER_BYTES,
    framed_for_version_1,
    is_version_1,
    read_header,
)

QUEUE_BYTES_MAX = 4_194_304
GATHER_S = 0.03
"""How long what goes out may wait for what follows from a read that took more than a turn."""
SILENT_ROUNDS_MAX = 3
_HEARTBEAT = encode_frame(Heartbeat())


class Handler(Protocol):
    """Who deals with what a connection brings; it may hand over to another (`Connection.handler`)."""

    name: str
    """Who is at the other end, for logs; empty while nobody knows."""

    def connection_opened(self) -> None:
        """The connection stands. A `SiftcastError` that is raised here goes to the peer, and it is closed again."""

    def frame_received(self, frame: Frame) -> None:
        """A frame came in. A `SiftcastError` that is raised here goes to the peer, and the connection is closed."""

    def connection_closed(self, reason: str) -> None:
        """The connection is gone; nothing can be sent any more."""

    def writing_resumed(self) -> None:
        """What was queued has gone out, so there is room again."""


class Outbox:
    """The connections of a loop that have something to write, flushed together once a turn.

    While a read is cut short, and more of it follows, they are flushed when that is done, or after `GATHER_S`.
    """

    __slots__ = ("_before", "_flushed_s", "_marked", "_more_follows", "_scheduled", "_timer", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._marked: list[Connection] = []
        self._before: list[Callable[[], None]] = []
        self._scheduled = False
        self._more_follows = False
        self._flushed_s = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def mark(self, connection: Connection) -> None:
        """Has a connection flushed at the end of this turn."""
        self._marked.append(connection)
        self._schedule()

    def before_flush(self, call: Callable[[], None]) -> None:
        """Has something called once before the next flush, to send what was gathered until then."""
        self._before.append(call)
        self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self.loop.call_soon(self._end_turn)

    def cut_short(self) -> None:
        """A read took all of its turn: the rest of it follows when the others have had theirs (`goes_on`)."""
        self._more_follows = True

    def goes_on(self) -> None:
        """The rest of a read is handled now, or another turn of it."""
        self._more_follows = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self.loop.call_soon(self._end_turn)

    def _end_turn(self) -> None:
        more_follows, self._more_follows = self._more_follows, False
        left_s = self._flushed_s + GATHER_S - monotonic() if more_follows else 0.0
        if left_s > 0:
            self._timer = self.loop.call_later(left_s, self._flush_in_time)
        else:
            self._flush()

    def _flush_in_time(self) -> None:
        self._timer = None
        self._flush()

    def _flush(self) -> None:
        self._flushed_s = monotonic()
        before, self._before = self._before, []
        for call in before:
            call()
        marked, self._marked = self._marked, []
        self._scheduled = False
        if self._before:  # asked for by one of those calls
            self._schedule()
        for connection in marked:
            connection.flush()


class Connection(asyncio.Protocol):
    """One end of a connection."""

    def __init__(
        self,
        outbox: Outbox,
        handle: Callable[[Connection], Handler],
        *,
        frame_bytes_max: int = FRAME_BYTES_MAX,
        queue_bytes_max: int = QUEUE_BYTES_MAX,
        watch: Watch | None = None,
        turn_s: float | None = None,
        on_defect: Callable[[BaseException], None] | None = None,
        on_damage: Callable[[Connection, DamagedFrame], None] | None = None,
    ) -> None:
        self.frame_bytes_max = frame_bytes_max
        self.error: SiftcastError | None = None
        """What was wrong with what the other end sent, if that is why the connection ends."""
        self.reads = 0
        """How often something came in."""
        self.version = 0
        """What both ends speak, once they have said it."""
        self.pieces: list[bytes] = []
        self.blocked = False
        self.closing = False
        self.address = ""
        self.silent_rounds = 0
        self.has_sent = False
        self._outbox = outbox
        self._queue_bytes_max = queue_bytes_max
        self._watch = watch
        self._turn_s = turn_s
        self._on_defect = on_defect
        self._on_damage = on_damage
        self._is_cut_short = False
        self._is_fresh = True
        self._meets_version_1 = False
        self._transport: asyncio.Transport | None = None
        self._partial = bytearray()
        self._needed = 0
        self._paused = False
        self._held = False
        self._reading_paused = False
        self._reason = "closed by the other end"
        self.handler = handle(self)

    # -- what the loop calls -------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=self._queue_bytes_max)
        peer = transport.get_extra_info("peername")
        self.address = f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else str(peer or "")
        if self._watch is not None:
            self._watch.add(self)
        if self.pieces:
            self._outbox.mark(self)
        try:
            self.handler.connection_opened()
        except SiftcastError as error:
            self.fail(error)

    def data_received(self, data: bytes) -> None:
        self.silent_rounds = 0
        self.reads += 1
        if self._partial or self._reading_paused:
            self._partial += data
            self._read_on()
        else:
            self._read_all(data)

    def _read_on(self) -> None:
        """Reads what was kept, if it is enough and somebody wants it."""
        if self._partial and not self._reading_paused and len(self._partial) >= self._needed:
            data = bytes(self._partial)
            self._partial = bytearray()
            if self._is_cut_short:
                self._is_cut_short = False
                self._outbox.goes_on()
            self._read_all(data)

    def _read_all(self, data: bytes) -> None:
        try:
            self._read(data)
        except SiftcastError as error:
            if isinstance(error, DamagedFrame) and self._on_damage is not None:
                self._on_damage(self, error)
            self.fail(error)
        except Exception as error:
            if self._on_defect is None:
                raise
            self._on_defect(error)
            self.fail(ConnectionLost("a defect of this node; its log says more"))

    def _read(self, data: bytes) -> None:
        start, end, needed = 0, len(data), HEADER_BYTES
        view = memoryview(data)
        until = None if self._turn_s is None else monotonic() + self._turn_s
        while end - start >= HEADER_BYTES and not self.closing:
            size, check, head = read_header(data, start)
            if crc32(view[start : start + CHECKED_BYTES]) != head:
                raise self._misread(data[start : start + HEADER_BYTES])
            if size > self.frame_bytes_max:
                raise FrameError(f"a frame of {size:,} bytes, the limit is {self.frame_bytes_max:,}")
            begin = start + HEADER_BYTES
            stop = begin + size
            if stop > end:
                needed += size
                break
            if self._reading_paused:
                break
            body = view[begin:stop]
            if crc32(body) != check:
                raise DamagedFrame(f"a frame of {size:,} bytes was altered between the two ends")
            self._is_fresh = False
            self.handler.frame_received(decode_frame(body))
            start = stop
            if until is not None and start < end and monotonic() > until:
                self._is_cut_short = True
                self.pause_reading()
                self._outbox.cut_short()
                self._outbox.loop.call_soon(self.resume_reading)
        if start < end and not self.closing:
            self._partial = bytearray(view[start:])
            self._needed = needed

    def _misread(self, header: bytes) -> SiftcastError:
        """What is wrong with a header that does not check out."""
        if not self._is_fresh:
            return DamagedFrame("the header of a frame was altered between the two ends")
        if not is_version_1(header):
            return DamagedFrame(
                f"what came first is no frame of version {VERSION}: it was altered between the two ends, or the other "
                "end speaks something else"
            )
        self._meets_version_1 = True
        return VersionError(f"one end speaks version {VERSION}, the other version 1; give both the same siftcast")

    def pause_writing(self) -> None:
        self._paused = self.blocked = True

    def resume_writing(self) -> None:
        self._paused = False
        self.blocked = self._held
        self.handler.writing_resumed()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None and not self.closing:
            self._reason = str(exc) or type(exc).__name__
        self.closing = True
        self._transport = None
        self.pieces.clear()
        if self._watch is not None:
            self._watch.discard(self)
        self.handler.connection_closed(self._reason)

    # -- what others call ----------------------------------------------------------------------------

    def send(self, frame: Frame) -> None:
        """Sends a frame with the next flush."""
        self.send_bytes(encode_frame(frame))

    def send_bytes(self, piece: bytes) -> None:
        """Sends bytes that are one or more whole frames, or a part of one if the rest follows at once."""
        if not self.pieces:
            self._outbox.mark(self)
        self.pieces.append(piece)

    def hold(self, held: bool) -> None:
        """Says whether older events wait elsewhere, so that newer ones must not be sent directly."""
        self._held = held
        self.blocked = held or self._paused

    @property
    def is_full(self) -> bool:
        """Whether the peer does not take what was sent."""
        return self._paused

    def flush(self) -> None:
        """Writes what was gathered."""
        if self.pieces and self._transport is not None:
            data = b"".join(self.pieces)
            self.pieces.clear()
            self.has_sent = True
            if not self._transport.is_closing():  # it may be before this end has heard of it
                self._transport.write(data)

    def pause_reading(self) -> None:
        """Reads nothing more for now; the peer will find its queue full, and silence is not held against it."""
        if self._transport is not None and not self._reading_paused and not self.closing:
            self._reading_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Reads on."""
        if self._transport is not None and self._reading_paused:
            self._reading_paused = False
            self.silent_rounds = 0
            self._transport.resume_reading()
            self._outbox.loop.call_soon(self._read_on)

    def fail(self, error: SiftcastError) -> None:
        """Tells the other end what is wrong, and closes."""
        if not self.closing:
            self.error = error
            failure = Failure(0, error.code, str(error))
            if self._meets_version_1:
                self.send_bytes(framed_for_version_1(encode_body(failure)))
            else:
                self.send(failure)
            self.close(str(error))

    def close(self, reason: str) -> None:
        """Closes once everything is written; a peer that does not read is cut off by the next rounds of the watch."""
        if self.closing:
            return
        self.flush()
        self.closing = True
        self._reason = reason
        if self._transport is not None:
            self._transport.close()

    def abort(self, reason: str) -> None:
        """Cuts the connection now; what was queued is lost."""
        self.closing = True
        self._reason = reason
        if self._transport is not None:
            self._transport.abort()

    def beat(self) -> None:
        """One round of the watch."""
        self.silent_rounds += not self._reading_paused
        if self.silent_rounds > SILENT_ROUNDS_MAX:
            # Why it was closed is the reason, and not that the other end did not read that.
            self.abort(self._reason if self.closing else f"silent for {SILENT_ROUNDS_MAX} heartbeats")
        elif not self.has_sent and not self._paused and not self.closing:
            self.send_bytes(_HEARTBEAT)
        self.has_sent = False

    @property
    def certificate(self) -> Mapping[str, Any]:
        """What the certificate of the other end says, if it was asked for one."""
        found = None if self._transport is None else self._transport.get_extra_info("peercert")
        return found or {}

    @property
    def queued_bytes(self) -> int:
        """What the transport holds because the peer does not read."""
        return self._transport.get_write_buffer_size() if self._transport is not None else 0


class Watch:
    """Goes round all connections of a loop at an interval."""

    def __init__(self, loop: asyncio.AbstractEventLoop, interval_ms: float) -> None:
        self.interval_ms = interval_ms
        self._loop = loop
        self._connections: set[Connection] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, connection: Connection) -> None:
        """Watches a connection."""
        self._connections.add(connection)
        if self._timer is None:
            self._timer = self._loop.call_later(self.interval_ms / 1_000, self._go_round)

    def discard(self, connection: Connection) -> None:
        """Watches a connection no more."""
        self._connections.discard(connection)

    def stop(self) -> None:
        """Goes round no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._connections.clear()

    def _go_round(self) -> None:
        self._timer = None
        for connection in tuple(self._connections):
            connection.beat()
        if self._connections:
            self._timer = self._loop.call_later(self.interval_ms / 1_000, self._go_round)
