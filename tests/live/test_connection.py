"""Connections cut a stream of bytes into frames however it arrives, write once a turn, and end when nobody is there."""

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from siftcast.runtimes.live.wire.connection import SILENT_ROUNDS_MAX, Connection, Outbox, Watch
from siftcast.runtimes.live.wire.frames import Describe, Dropped, Failure, Frame, Subscribe, encode_frame
from tests.live.asynchronous import on_loop, until
from tests.live.wire import HEADER_BYTES, enveloped, last_frame


class Transport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True


class Listener:
    """Keeps what comes in."""

    name = "listener"

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.reason = ""

    def connection_opened(self) -> None:
        pass

    def frame_received(self, frame: Frame) -> None:
        self.frames.append(frame)

    def connection_closed(self, reason: str) -> None:
        self.reason = reason

    def writing_resumed(self) -> None:
        pass


def joined(loop: asyncio.AbstractEventLoop, **options: Any) -> tuple[Connection, Listener, Transport]:
    listener, transport = Listener(), Transport()
    connection = Connection(Outbox(loop), lambda _: listener, **options)
    connection.connection_made(transport)
    return connection, listener, transport


frames = st.lists(
    st.builds(Dropped, st.integers(0, 2**40)) | st.builds(Subscribe, st.integers(0, 9), st.integers(0, 9), st.text()),
    max_size=8,
)


@given(frames, st.lists(st.integers(1, 40), max_size=60))
def test_frames_are_the_same_however_the_bytes_arrive(sent: list[Frame], cuts: list[int]) -> None:
    loop = asyncio.new_event_loop()
    try:
        connection, listener, _ = joined(loop)
        data = b"".join(encode_frame(frame) for frame in sent)
        for cut in cuts:
            connection.data_received(data[:cut])
            data = data[cut:]
        connection.data_received(data)
        assert listener.frames == sent
        assert not connection.closing
    finally:
        loop.close()


@on_loop
async def test_what_is_sent_in_one_turn_is_one_write() -> None:
    connection, _, transport = joined(asyncio.get_running_loop())
    for number in range(100):
        connection.send(Describe(number))
    assert transport.written == []
    await until(lambda: transport.written)
    assert transport.written == [b"".join(encode_frame(Describe(number)) for number in range(100))]


@on_loop
async def test_a_frame_beyond_the_limit_is_told_and_ends_the_connection_before_it_is_read() -> None:
    connection, listener, transport = joined(asyncio.get_running_loop(), frame_bytes_max=1_000)
    connection.data_received(enveloped(bytes(1_001))[:HEADER_BYTES])
    assert transport.closed
    assert listener.frames == []
    failure = last_frame(b"".join(transport.written))
    assert isinstance(failure, Failure)
    assert (failure.request, failure.code) == (0, "frame")
    connection.data_received(b"x" * 1_001)
    assert listener.frames == []


@on_loop
async def test_a_silent_peer_is_cut_off_and_a_talking_one_is_not() -> None:
    loop = asyncio.get_running_loop()
    silent, _, cut = joined(loop)
    talking, listener, kept = joined(loop)
    rounds = 0
    while not cut.closed:
        talking.data_received(encode_frame(Describe(rounds)))
        rounds += 1
        await asyncio.sleep(0)
        silent.beat()
        talking.beat()
    assert rounds == SILENT_ROUNDS_MAX + 1
    assert not kept.closed
    assert len(listener.frames) == rounds


@on_loop
async def test_the_watch_goes_round_until_nobody_is_left() -> None:
    watch = Watch(asyncio.get_running_loop(), 1.0)
    connection, listener, transport = joined(asyncio.get_running_loop(), watch=watch)
    await until(lambda: transport.closed)
    connection.connection_lost(None)
    assert "silent" in listener.reason
    watch.stop()


@on_loop
async def test_an_idle_connection_shows_that_it_is_there() -> None:
    loop = asyncio.get_running_loop()
    connection, _, transport = joined(loop)
    connection.beat()
    await until(lambda: transport.written)
    assert len(transport.written) == 1
