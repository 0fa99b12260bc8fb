"""Malformed, oversized and deeply nested input: a typed error or the end of the connection, and the node goes on.

Most frames are handed to connections without a socket, which is the same code at a tenth of the cost. Their headers are
mostly right: what is wrong with a frame's checksums is found before anybody looks at the rest (`test_damaged_frames`).
"""

import asyncio
import gc
import os
import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import siftcast
from siftcast.matching import wait_until_prepared
from siftcast.model import Event
from siftcast.overlays.wire_events import encode_event
from siftcast.runtimes.live.client.bus import parse_url
from siftcast.runtimes.live.node.node import Node
from siftcast.runtimes.live.wire import frames
from siftcast.runtimes.live.wire.frames import encode_frame
from tests.live.asynchronous import on_loop
from tests.live.nodes import running, url_of
from tests.live.wire import HEADER_BYTES, enveloped, last_frame, read_frame

FRAMES = 1_000_000 if os.environ.get("HYPOTHESIS_PROFILE") == "soak" else 100_000
SLACK_BYTES = 30_000_000
EVENT = msgspec.Raw(encode_event(Event({"x": 1, "text": "abc", "deep": {"er": [1, 2]}}, "e")))
HELLO = encode_frame(frames.Hello(frames.VERSION, "client", "fuzz"))
SEEDS = [
    HELLO,
    encode_frame(frames.Hello(frames.VERSION, "node", "node", "", "digest")),
    encode_frame(frames.Subscribe(1, 1, "x = 1 AND (y < 2 OR text LIKE 'a%')")),
    encode_frame(frames.Replace(2, 1, "x BETWEEN 1 AND 2")),
    encode_frame(frames.Unsubscribe(3, 1)),
    encode_frame(frames.Publish(4, EVENT)),
    encode_frame(frames.Deliver(EVENT, (1, 2))),
    encode_frame(frames.Heartbeat(5, True)),
    encode_frame(frames.PeerMessage(EVENT)),
    encode_frame(frames.AcknowledgeOffers(1, (2,))),
    encode_frame(frames.Failure(0, "a", "b")),
]


class Transport(asyncio.Transport):
    """Takes everything and keeps only how it ends."""

    def __init__(self) -> None:
        super().__init__({"peername": ("fuzz", 0)})
        self.closed = False
        self.last = b""

    def write(self, data: Any) -> None:
        self.last = bytes(data)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    abort = close


def fuzzed(draw: random.Random) -> bytes:
    """A frame that is probably none."""
    kind = draw.randrange(6)
    data = bytearray(draw.choice(SEEDS))
    if kind == 0:
        return enveloped(draw.randbytes(draw.randrange(60)))
    if kind == 1:
        return draw.randbytes(draw.randrange(1, 40))
    if kind == 2:
        depth = draw.choice([20, 500, 5_000])
        nested = bytes([0x93, 5, 1, 0x95, 0xA1, 0x65, 0x81, 0xA1, 0x61]) + b"\x91" * depth
        return enveloped(nested)
    if kind == 3:
        text = draw.choice(["(" * 200, "NOT " * 200, "x IN (" + "1," * 50, "x = 1 " * 3, "\x00", "x LIKE '%' "])
        return encode_frame(frames.Subscribe(draw.randrange(9), draw.randrange(9), text))
    for _ in range(draw.randrange(1, 4)):
        data[draw.randrange(HEADER_BYTES, len(data))] = draw.randrange(256)
    body = bytes(data[HEADER_BYTES:])
    return enveloped(body) if kind == 4 else enveloped(body)[: draw.randrange(4, len(data) + 1)]


def feed(node: Node, draw: random.Random, count: int) -> Iterator[Transport]:
    """Feeds a node with fuzzed frames, over as many connections as it takes."""
    while count > 0:
        connection, transport = node.accept(), Transport()
        connection.connection_made(transport)
        if draw.random() < 0.9:
            connection.data_received(HELLO)
        while not transport.closed and count > 0 and draw.random() < 0.99:
            connection.data_received(fuzzed(draw))
            count -= 1
        connection.flush()
        connection.connection_lost(None)
        yield transport


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@on_loop
async def test_fuzzed_frames_leave_the_node_serving_and_its_memory_level() -> None:
    wait_until_prepared()  # a node does so in a thread, and they take memory of their own
    draw = random.Random(11)
    async with running() as node:
        sizes = []
        for _ in range(10):
            for transport in feed(node, draw, FRAMES // 10):
                if transport.closed:
                    assert isinstance(last_frame(transport.last), frames.Failure), "whoever is cut off is told why"
            await asyncio.sleep(0)
            gc.collect()
            sizes.append(resident_bytes())
        assert sizes[-1] - sizes[2] < SLACK_BYTES, sizes
        facts = node.describe()
        assert facts["clients"] == 0
        assert facts["subscriptions"] == []
        assert facts["state"]["local"] == 0
        async with siftcast.connect(url_of(node)) as bus, bus.subscribe("x = 1") as stream:
            await bus.publish({"x": 1})
            assert (await anext(stream))["x"] == 1


@on_loop
async def test_fuzzed_bytes_on_sockets_leave_the_node_serving() -> None:
    draw = random.Random(12)
    async with running() as node, siftcast.connect(url_of(node)) as bus, bus.subscribe("x = 1") as stream:
        host, port = parse_url(url_of(node))
        for _ in range(200):
            _, writer = await asyncio.open_connection(host, port)
            writer.write(HELLO * draw.randrange(2) + b"".join(fuzzed(draw) for _ in range(10)))
            await asyncio.sleep(0)
            writer.close()
        await bus.publish({"x": 1})
        assert (await anext(stream))["x"] == 1


BAD: dict[str, tuple[bytes, str]] = {
    "oversized": (enveloped(bytes(2**20 + 1))[:HEADER_BYTES], "frame"),
    "no msgpack": (enveloped(b"\xc1\xc1"), "frame"),
    "unknown kind": (enveloped(b"\x91\x7f"), "frame"),
    "empty": (enveloped(b""), "frame"),
    "no header": (b"\x00\x00\x00\x02\x91\x7f\x00\x00\x00\x00\x00\x00", "damaged-frame"),
    "altered": (enveloped(b"\x91\x7f")[:-1] + b"\x7e", "damaged-frame"),
    "out of turn": (encode_frame(frames.Subscribed(1)), "frame"),
    "very deep": (
        encode_frame(frames.Publish(7, msgspec.Raw(b"\x92\xa1e\x81\xa1a" + b"\x91" * 100_000 + b"\xc0"))),
        "frame",
    ),
    "from a node": (encode_frame(frames.PeerMessage(EVENT)), "frame"),
}


@pytest.mark.parametrize(("data", "code"), BAD.values(), ids=BAD)
@on_loop
async def test_bad_frames_end_the_connection_at_once_with_a_code(data: bytes, code: str) -> None:
    async with running() as node:
        reader, writer = await asyncio.open_connection(*parse_url(url_of(node)))
        writer.write(HELLO)
        await read_frame(reader)
        writer.write(data)
        failure = last_frame(await reader.read())
        assert isinstance(failure, frames.Failure)
        assert (failure.request, failure.code) == (0, code)
        writer.close()


REFUSED: dict[str, tuple[frames.Frame, str]] = {
    "bad filter": (frames.Subscribe(7, 1, "x <"), "filter-syntax"),
    "deep filter": (frames.Subscribe(7, 1, "(" * 1_000 + "x = 1" + ")" * 1_000), "filter-limit"),
    "long filter": (frames.Subscribe(7, 1, "x = 1 OR " * 10_000 + "x = 1"), "filter-limit"),
    "no such subscription": (frames.Unsubscribe(7, 1), "subscription"),
    "negative number": (frames.Subscribe(7, -1, "TRUE"), "subscription"),
    "no event": (frames.Publish(7, msgspec.Raw(b"\xc0")), "event"),
    "names are no strings": (frames.Publish(7, msgspec.Raw(msgspec.msgpack.encode(("e", {1: 2})))), "event"),
    "deep event": (
        frames.Publish(7, msgspec.Raw(b"\x92\xa1e\x81\xa1a" + b"\x91" * 40 + b"\xc0")),
        "event",
    ),
    "durable": (frames.Subscribe(7, 1, "TRUE", "desk"), "durability-unavailable"),
}


@pytest.mark.parametrize(("request_", "code"), REFUSED.values(), ids=REFUSED)
@on_loop
async def test_bad_requests_are_answered_with_a_code_and_the_connection_goes_on(
    request_: frames.Frame, code: str
) -> None:
    async with running() as node:
        reader, writer = await asyncio.open_connection(*parse_url(url_of(node)))

        writer.write(HELLO + encode_frame(request_) + encode_frame(frames.Subscribe(8, 2, "TRUE")))
        assert isinstance(await read_frame(reader), frames.Welcome)
        failure = await read_frame(reader)
        assert isinstance(failure, frames.Failure)
        assert (failure.request, failure.code) == (7, code)
        assert await read_frame(reader) == frames.Subscribed(8)
        writer.close()
