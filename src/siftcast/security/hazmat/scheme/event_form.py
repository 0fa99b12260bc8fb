"""The bytes of an event that is sealed whole: a header that everybody reads, and an inside that keys open.

    header     "\\xf5SFE" version(1) digest(32) epoch(4) id(16) CT2(48) dimensions(1) part …
    part       levels(1) CT(48) then for each level, the root first: CTⱼ(48) tag(16)
    event      header commitment(32) ciphertext
    inside     advertisement(16) run(8) number(8) S1(96) S2(48) S3(48) level(1) … values payload padding

Numbers of dimensions and levels are those of the schema, which the digest stands for, so that all headers under one
schema have one length. A reader refuses whatever is not exactly that, and does so before any pairing. `level` says how
long the publisher's credential is in each dimension; which it is follows from the values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple

from siftcast.security.errors import UnopenedError
from siftcast.security.hazmat.derivation import COMMITMENT_BYTES, TAG_BYTES
from siftcast.security.hazmat.groups import G1_BYTES, G2_BYTES
from siftcast.security.hazmat.scheme.scope import AID_BYTES

MAGIC: Final = b"\xf5SFE"
VERSION: Final = 1
ID_BYTES, SEARCH_BYTES = 16, 16
_HEAD = Struct(f">4sB32sI{ID_BYTES}s{G1_BYTES}sB")
_PART = Struct(f">B{G1_BYTES}s")
_LEVEL = Struct(f">{G1_BYTES}s{SEARCH_BYTES}s")
_INSIDE = Struct(f">{AID_BYTES}s8sQ{G2_BYTES}s{G1_BYTES}s{G1_BYTES}s")
_HASH_CONTEXT = b"siftcast sealed event 1: header"


class Part(NamedTuple):
    """One dimension of a header: CT, and CTⱼ and the tag of each level."""

    point: bytes
    levels: list[tuple[bytes, bytes]]


class SealedEvent(NamedTuple):
    """An event as everybody sees it."""

    header: bytes
    digest: bytes
    epoch: int
    id: bytes
    binding: bytes
    parts: list[Part]
    commitment: bytes
    ciphertext: bytes


class Signature(NamedTuple):
    """S1, S2, S3, as bytes."""

    first: bytes
    second: bytes
    third: bytes


class EventInside(NamedTuple):
    """What keys open, but for the signature's check."""

    aid: bytes
    run: bytes
    number: int
    signature: Signature
    levels: bytes
    body: bytes


def write_header(digest: bytes, epoch: int, id: bytes, binding: bytes, parts: Sequence[Part]) -> bytes:
    """The header."""
    rows = [_HEAD.pack(MAGIC, VERSION, digest, epoch, id, binding, len(parts))]
    for part in parts:
        rows.append(_PART.pack(len(part.levels), part.point))
        rows += [_LEVEL.pack(*level) for level in part.levels]
    return b"".join(rows)


def header_hash(header: bytes) -> bytes:
    """What stands for a header in keys and signatures."""
    return hashlib.sha256(_HASH_CONTEXT + header).digest()


def is_whole_sealed(data: bytes) -> bool:
    """Whether bytes say that they are an event that is sealed whole."""
    return data.startswith(MAGIC)


def read_event(data: bytes) -> SealedEvent:
    """The parts of an event; raises UnopenedError for what is none."""
    if not is_whole_sealed(data):
        raise UnopenedError("plain", "the event is not sealed")
    if len(data) < _HEAD.size:
        raise UnopenedError("malformed", "the sealed event is cut short")
    _, version, digest, epoch, id, binding, dimensions = _HEAD.unpack_from(data)
    if version != VERSION:
        raise UnopenedError("malformed", f"the event is not sealed in version {VERSION}, which this one reads")
    at, parts = _HEAD.size, []
    for _ in range(dimensions):
        part, at = _read_part(data, at)
        parts.append(part)
    end = at + COMMITMENT_BYTES
    if len(data) < end + TAG_BYTES:
        raise UnopenedError("malformed", "the sealed event is cut short")
    return SealedEvent(data[:at], digest, epoch, id, binding, parts, data[at:end], data[end:])


def _read_part(data: bytes, at: int) -> tuple[Part, int]:
    if len(data) < at + _PART.size:
        raise UnopenedError("malformed", "the sealed event is cut short")
    levels, point = _PART.unpack_from(data, at)
    start = at + _PART.size
    end = start + levels * _LEVEL.size
    if len(data) < end:
        raise UnopenedError("malformed", "the sealed event is cut short")
    found = [(element, tag) for element, tag in _LEVEL.iter_unpack(data[start:end])]
    return Part(point, found), end


def write_inside(inside: EventInside) -> bytes:
    """What is encrypted."""
    who = _INSIDE.pack(inside.aid, inside.run, inside.number, *inside.signature)
    return who + inside.levels + inside.body


def read_inside(data: bytes, dimensions: int) -> EventInside:
    """What was encrypted; raises UnopenedError."""
    end = _INSIDE.size + dimensions
    if len(data) < end:
        raise UnopenedError("malformed", "the inside of the sealed event is cut short")
    aid, run, number, first, second, third = _INSIDE.unpack_from(data)
    return EventInside(aid, run, number, Signature(first, second, third), data[_INSIDE.size : end], data[end:])
