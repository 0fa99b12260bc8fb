"""A client that does not read costs the node a bounded queue, harms nobody else, and meets the policy it was told."""

import asyncio
import socket
from pathlib import Path

import pytest

import siftcast
from siftcast.overlays.wire_events import decode_event
from siftcast.runtimes.live.client.bus import parse_url
from siftcast.runtimes.live.node.node import Node
from siftcast.runtimes.live.storage.spill import Spill
from siftcast.runtimes.live.wire.frames import (
    VERSION,
    Deliver,
    Dropped,
    Failure,
    Frame,
    Hello,
    Subscribe,
    decode_frame,
    encode_frame,
)
from tests.live.asynchronous import on_loop, until
from tests.live.nodes import running, url_of
from tests.live.wire import HEADER_BYTES

EVENTS, SIZE, QUEUE = 3_000, 4_000, 200_000


class Sleeper:
    """A client on a bare socket that reads only when it is told to."""

    def __init__(self, node: Node) -> None:
        self.socket = socket.create_connection(parse_url(url_of(node)))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 262_144)
        self.socket.setblocking(False)
        self.socket.send(encode_frame(Hello(VERSION, "client", "sleeper")) + encode_frame(Subscribe(1, 1, "TRUE")))
        self._data = b""

    async def read(self) -> Frame | None:
        """The next frame; None at the end."""
        loop = asyncio.get_running_loop()
        while True:
            size = int.from_bytes(self._data[:4], "big") + HEADER_BYTES
            if len(self._data) >= max(size, HEADER_BYTES):
                frame, self._data = self._data[HEADER_BYTES:size], self._data[size:]
                return decode_frame(frame)
            chunk = await loop.sock_recv(self.socket, 1 << 20)
            if not chunk:
                return None
            self._data += chunk


async def overwhelm(node: Node) -> Sleeper:
    """A sleeper that was sent far more than fits, while another client got everything."""
    sleeper = Sleeper(node)
    await until(lambda: node.describe()["subscriptions"])
    async with siftcast.connect(url_of(node)) as bus, bus.subscribe("TRUE", buffer=EVENTS + 1) as stream:
        events = ({"n": number, "text": "x" * SIZE} for number in range(EVENTS))
        await bus.publish_many(events, window=20)  # so few under way that one who reads is never slow
        assert [(await anext(stream))["n"] for _ in range(EVENTS)] == list(range(EVENTS))
        assert bus.dropped == 0
    return sleeper


def policy(name: str, more: str = "") -> str:
    return f'data = "data"\n[slow_consumers]\npolicy = "{name}"\nqueue_bytes_max = {QUEUE}\n{more}\n'


@on_loop
async def test_drop_counts_what_it_drops_and_tells_the_client(tmp_path: Path) -> None:
    async with running(policy("drop"), tmp_path) as node:
        sleeper = await overwhelm(node)
        (session,) = (session for session in node.life.sessions.open if session.name == "sleeper")
        assert session.connection.queued_bytes < QUEUE + 600_000
        dropped = session.backlog.dropped
        assert dropped > 0
        got: list[int] = []
        told = 0
        while len(got) + told < EVENTS:
            frame = await sleeper.read()
            if isinstance(frame, Deliver):
                got.append(decode_event(bytes(frame.event))["n"])  # type: ignore[arg-type]
            elif isinstance(frame, Dropped):
                told += frame.count
        assert told == dropped
        assert got == sorted(got)
        sleeper.socket.close()


@on_loop
async def test_disconnect_says_why_and_hangs_up(tmp_path: Path) -> None:
    async with running(policy("disconnect"), tmp_path) as node:
        sleeper = await overwhelm(node)
        last: Frame | None = None
        while (frame := await sleeper.read()) is not None:
            last = frame
        assert isinstance(last, Failure)
        assert last.code == "slow-consumer"
        await until(lambda: not node.life.sessions.describe())
        sleeper.socket.close()


@on_loop
async def test_spill_delivers_everything_in_order_from_disk(tmp_path: Path) -> None:
    async with running(policy("spill"), tmp_path) as node:
        sleeper = await overwhelm(node)
        (session,) = (session for session in node.life.sessions.open if session.name == "sleeper")
        assert session.connection.queued_bytes < QUEUE + 600_000
        assert session.backlog.dropped == 0
        got = []
        while len(got) < EVENTS:
            frame = await sleeper.read()
            if isinstance(frame, Deliver):
                got.append(decode_event(bytes(frame.event))["n"])
        assert got == list(range(EVENTS))
        sleeper.socket.close()


@on_loop
async def test_spill_drops_what_does_not_fit_on_disk(tmp_path: Path) -> None:
    async with running(policy("spill", "spill_bytes_max = 100000"), tmp_path) as node:
        sleeper = await overwhelm(node)
        (session,) = (session for session in node.life.sessions.open if session.name == "sleeper")
        dropped = session.backlog.dropped
        assert dropped > 0
        got, told = 0, 0
        while got + told < EVENTS:
            frame = await sleeper.read()
            got += isinstance(frame, Deliver)
            told += frame.count if isinstance(frame, Dropped) else 0
        assert told == dropped
        sleeper.socket.close()


@pytest.mark.parametrize("take", [1, 10, 33, 1_000])
def test_a_spill_gives_whole_frames_in_order(tmp_path: Path, take: int) -> None:
    spill = Spill(tmp_path, 10_000)
    frames = [encode_frame(Dropped(number)) for number in range(20)]
    for frame in frames[:10]:
        assert spill.put(frame)
    taken = spill.take(take)
    for frame in frames[10:]:
        assert spill.put(frame)
    while len(spill):
        taken += spill.take(take)
    assert taken == b"".join(frames)
    spill.close()


@on_loop
async def test_a_client_that_is_slow_itself_stops_reading_and_loses_nothing() -> None:
    async with (
        running() as node,
        siftcast.connect(url_of(node)) as bus,
        siftcast.connect(url_of(node)) as slow,
        slow.subscribe("TRUE", buffer=10) as stream,
    ):
        await bus.publish_many({"n": number} for number in range(2_000))
        assert [(await anext(stream))["n"] for _ in range(2_000)] == list(range(2_000))
        assert stream.dropped == slow.dropped == 0


@on_loop
async def test_a_consumer_that_publishes_while_its_buffer_is_full_gets_its_answer() -> None:
    async with (
        running() as node,
        siftcast.connect(url_of(node)) as bus,
        siftcast.connect(url_of(node)) as slow,
        slow.subscribe("n >= 0", buffer=5) as stream,
    ):
        await bus.publish_many({"n": number} for number in range(500))
        for _ in range(20):
            await anext(stream)
            assert await slow.publish({"answer": True})
