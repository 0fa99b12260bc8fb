"""Bytes that are altered on the way are noticed before anybody acts on them, and never leave a reader waiting."""

import asyncio
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import Event
from siftcast.overlays.wire_events import encode_event
from siftcast.runtimes.live.errors import DamagedFrame, FrameError
from siftcast.runtimes.live.storage.spill import Spill
from siftcast.runtimes.live.wire.frames import (
    AcknowledgeOffers,
    Deliver,
    Dropped,
    Failure,
    Frame,
    Heartbeat,
    PeerMessage,
    Publish,
    encode_frame,
)
from tests.live.test_connection import joined
from tests.live.wire import HEADER_BYTES, last_frame

EVENT = msgspec.Raw(encode_event(Event({"symbol": "IBM", "price": 88.5}, "e")))
FRAME_BYTES_MAX = 4_096
sent_frames = st.lists(
    st.builds(Dropped, st.integers(0, 2**40))
    | st.builds(Publish, st.integers(0, 2**32 - 1), st.just(EVENT), st.booleans())
    | st.builds(AcknowledgeOffers, st.integers(0, 9), st.lists(st.integers(0, 2**20)).map(tuple))
    | st.builds(PeerMessage, st.binary(max_size=300).map(lambda data: msgspec.Raw(msgspec.msgpack.encode(data)))),
    min_size=1,
    max_size=6,
)


class Reading:
    """A reader, and whatever comes out of it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.damaged: list[DamagedFrame] = []
        self.connection, self._listener, self.transport = joined(
            loop, frame_bytes_max=FRAME_BYTES_MAX, on_damage=lambda _, error: self.damaged.append(error)
        )

    def read(self, data: bytes, piece: int) -> None:
        for start in range(0, len(data), piece):
            self.connection.data_received(data[start : start + piece])

    @property
    def got(self) -> list[bytes]:
        """The frames that came out, as bytes."""
        return [encode_frame(frame) for frame in self._listener.frames]

    @property
    def is_ended(self) -> bool:
        return self.transport.closed


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def flipped(data: bytes, *bits: int) -> bytes:
    changed = bytearray(data)
    for bit in bits:
        changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def check_damage(loop: asyncio.AbstractEventLoop, whole: list[bytes], bits: tuple[int, ...], piece: int) -> None:
    """Flipped bits end the connection at the first frame they are in, which is told to both ends."""
    reading = Reading(loop)
    reading.read(flipped(b"".join(whole), *bits), piece)
    end, intact = 0, 0
    while end + len(whole[intact]) <= min(bits) // 8:
        end += len(whole[intact])
        intact += 1
    assert reading.got == whole[:intact]
    assert reading.is_ended
    assert [error.code for error in reading.damaged] == ["damaged-frame"]
    told = last_frame(reading.transport.written[-1])
    assert isinstance(told, Failure)
    assert (told.request, told.code) == (0, "damaged-frame")


def test_every_flipped_bit_of_a_stream_is_noticed_in_the_frame_it_is_in(loop: asyncio.AbstractEventLoop) -> None:
    whole = [encode_frame(frame) for frame in (Heartbeat(7), Deliver(EVENT, (1,)), Dropped(3))]
    for bit in range(8 * sum(map(len, whole))):
        check_damage(loop, whole, (bit,), 1_000)


def test_every_two_flipped_bits_of_a_frame_are_noticed(loop: asyncio.AbstractEventLoop) -> None:
    whole = [encode_frame(Dropped(3)), encode_frame(Heartbeat())]
    for bits in combinations(range(8 * len(whole[0])), 2):
        check_damage(loop, whole, bits, 1_000)


@given(sent_frames, st.data(), st.integers(1, 200))
def test_flipped_bits_are_noticed_however_the_bytes_arrive(sent: list[Frame], draw: Any, piece: int) -> None:
    whole = [encode_frame(frame) for frame in sent]
    last = 8 * sum(map(len, whole)) - 1
    bits = draw.draw(st.sets(st.integers(0, last), min_size=1, max_size=2))
    with asyncio.Runner() as runner:
        check_damage(runner.get_loop(), whole, tuple(bits), piece)


def test_a_flipped_length_is_noticed_before_the_bytes_it_speaks_of_are_waited_for(
    loop: asyncio.AbstractEventLoop,
) -> None:
    header = encode_frame(Dropped(3))[:HEADER_BYTES]
    for bit in range(32):
        reading = Reading(loop)
        reading.read(flipped(header, bit), HEADER_BYTES)
        assert reading.is_ended, f"bit {bit}"
        assert len(reading.damaged) == 1


@given(sent_frames, st.data(), st.integers(1, 200))
def test_bytes_too_many_or_too_few_are_noticed_once_a_frame_more_has_come(
    sent: list[Frame], draw: Any, piece: int
) -> None:
    """What is put in or cut out shifts everything after it; at most one frame is read before that is noticed."""
    whole = [encode_frame(frame) for frame in sent]
    data = b"".join(whole)
    at = draw.draw(st.integers(0, len(data) - 1))
    end, intact = 0, 0
    while end + len(whole[intact]) <= at:
        end += len(whole[intact])
        intact += 1
    if draw.draw(st.booleans()):
        more = draw.draw(st.binary(min_size=1, max_size=40))
        shifted = data[:at] + more + data[at:]
    else:
        room = len(whole[intact]) - (at - end)
        cut = draw.draw(st.integers(1, min(room, len(whole[intact]) - 1)))
        shifted = data[:at] + data[at + cut :]
    with asyncio.Runner() as runner:
        reading = Reading(runner.get_loop())
        reading.read(shifted + encode_frame(Heartbeat()) * (FRAME_BYTES_MAX // HEADER_BYTES), piece)
        assert reading.got == whole[: len(reading.got)]
        assert len(reading.got) >= intact
        assert reading.is_ended
        assert isinstance(reading.connection.error, FrameError)


@given(sent_frames, st.data(), st.integers(1, 200))
def test_a_stream_that_ends_early_gives_what_was_whole_and_nothing_else(
    sent: list[Frame], draw: Any, piece: int
) -> None:
    whole = [encode_frame(frame) for frame in sent]
    data = b"".join(whole)
    end = draw.draw(st.integers(0, len(data) - 1))
    with asyncio.Runner() as runner:
        reading = Reading(runner.get_loop())
        reading.read(data[:end], piece)
        reading.connection.connection_lost(None)
        assert reading.got == whole[: len(reading.got)]
        assert sum(map(len, reading.got)) <= end < sum(map(len, whole[: len(reading.got) + 1]))
        assert not reading.damaged


def test_nothing_is_read_behind_a_damaged_frame(loop: asyncio.AbstractEventLoop) -> None:
    reading = Reading(loop)
    good = encode_frame(Dropped(3))
    reading.read(good + flipped(good, 8 * len(good) - 1) + good, 1_000)
    reading.read(good, 1_000)
    assert reading.got == [good]


def test_a_spilled_frame_that_the_disk_altered_is_noticed_by_whoever_reads_it(
    loop: asyncio.AbstractEventLoop, tmp_path: Any
) -> None:
    whole = [encode_frame(Dropped(number)) for number in range(9)]
    for bit in range(8 * len(whole[4])):
        spill = Spill(tmp_path, 10_000)
        assert spill.put(b"".join(whole[:4]) + flipped(whole[4], bit) + b"".join(whole[5:]))
        reading = Reading(loop)
        while len(spill):
            reading.read(spill.take(20), 1_000)
        spill.close()
        assert reading.got == whole[:4]
        assert reading.is_ended
