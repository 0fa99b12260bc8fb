"""The bytes around a frame: how long it is, and proof that it is what was sent.

    0        4        8        12
    │ size   │ check  │ head   │ body …        all big-endian; `size` is that of the body
             │        └ CRC-32 of the eight bytes before it
             └ CRC-32 of the body

TCP's own checksum has 16 bits, and boxes on the way compute it again; over many links and days bits flip unnoticed. A
flipped length would be worst: the reader would wait for bytes that never come. So the header has a checksum of its own
and is checked before the body is waited for, and the body before it is decoded. A CRC-32 (that of zlib, PNG and
Ethernet) finds every change of one or two bits in frames of up to 512 MiB, every change within 32 bits, and of all
others all but one in four billion. It is against accidents: whoever wants to alter something can compute a checksum as
well, and only encryption (`tls`) keeps them out.

A CRC is linear: bodies that differ only at their end have checksums that differ by a number which does not depend on
what comes before the end. A delivery ends with the number of its subscription, so the header of an event's delivery is
made once (`header_number`), and for each subscription it is an XOR with a number known beforehand (`difference_of`).

Version 1 had only four bytes of length. A first frame of version 1 is recognised, so that either end can be told.

Cost: 0.3 µs to write a frame of 200 bytes, as much to read one, and 0.05 µs a delivery.
"""

from __future__ import annotations

import re
from struct import Struct
from typing import Final
from zlib import crc32

from siftcast.runtimes.live.errors import DamagedFrame

HEADER_BYTES: Final = 12
CHECKED_BYTES: Final = 8
"""What of the header the header's own checksum is about: size and check."""
read_header = Struct(">III").unpack_from
"""Size, check and head at a place in some bytes; whoever reads them looks first whether `head` is right."""
_pack = Struct(">II").pack
_from_bytes = int.from_bytes
# A Hello or a Failure about the connection, as frames of version 1 that come first: a length below 65,536, an array
# that begins with the kind, then version 1 and the role, or request 0 and a code.
_VERSION_1: Final = re.compile(
    rb"\0\0..(?:[\x93-\x96]\x01\x01(?:\xa4node|\xa6clie)|\x94\x03\0[\xa4-\xbf][a-z-]{4})", re.DOTALL
)


def framed(body: bytes) -> bytes:
    """A body with its header."""
    front = _pack(len(body), crc32(body))
    return b"".join((front, crc32(front).to_bytes(4, "big"), body))


def header_number(size: int, check: int) -> int:
    """A header as a number of 96 bits, to be altered by `difference_of`."""
    front = _pack(size, check)
    return _from_bytes(front, "big") << 32 | crc32(front)


def difference_of(tail: bytes) -> int:
    """By what the header of a body that ends so differs from that of one that ends in as many zeros (XOR)."""
    check = crc32(tail) ^ crc32(bytes(len(tail)))
    return header_number(0, check) ^ header_number(0, 0)


def size_in(header: bytes) -> int:
    """The size in a header; raises DamagedFrame unless it is sound."""
    size: int
    size, _, head = read_header(header)
    if crc32(header[:CHECKED_BYTES]) != head:
        raise DamagedFrame("the header of a frame was altered")
    return size


def is_version_1(header: bytes) -> bool:
    """Whether what came instead of a connection's first header is from somebody who speaks version 1."""
    return _VERSION_1.match(header) is not None


def framed_for_version_1(body: bytes) -> bytes:
    """A body as version 1 framed it, to tell its speakers why they are not understood."""
    return len(body).to_bytes(4, "big") + body
