"""The wire as somebody else would read and write it, from its description alone: to hold ours against."""

import asyncio
import struct
import zlib

from siftcast.runtimes.live.wire.frames import Frame, decode_frame

HEADER_BYTES = 12


def enveloped(body: bytes) -> bytes:
    """A body as a frame of version 2, whatever it says."""
    front = struct.pack(">II", len(body), zlib.crc32(body))
    return front + struct.pack(">I", zlib.crc32(front)) + body


def bodies_in(data: bytes) -> tuple[list[bytes], bytes]:
    """The bodies of the whole frames that bytes begin with, and what is left."""
    found = []
    while len(data) >= HEADER_BYTES:
        size, check, head = struct.unpack(">III", data[:HEADER_BYTES])
        assert zlib.crc32(data[:8]) == head
        if len(data) < HEADER_BYTES + size:
            break
        body, data = data[HEADER_BYTES : HEADER_BYTES + size], data[HEADER_BYTES + size :]
        assert zlib.crc32(body) == check
        found.append(body)
    return found, data


def frames_in(data: bytes) -> list[Frame]:
    """The frames in bytes that hold nothing else."""
    bodies, rest = bodies_in(data)
    assert not rest
    return [decode_frame(body) for body in bodies]


def last_frame(data: bytes) -> Frame:
    """The last of the frames in bytes that hold nothing else."""
    return frames_in(data)[-1]


async def read_frame(reader: asyncio.StreamReader) -> Frame:
    """The next frame of a stream."""
    header = await reader.readexactly(HEADER_BYTES)
    (size,) = struct.unpack(">I", header[:4])
    return last_frame(header + await reader.readexactly(size))
