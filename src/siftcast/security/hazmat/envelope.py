"""The bytes of a sealed payload: a head that everybody reads, and what only the group reads.

    head      "\\xf5SFT" version(1) group(1+n) epoch(4) salt(32) commitment(32)
    inside    publisher(1+n) run(16) number(8) signature(64) depth(1) sides(2) path(32 × depth) length(4) payload zeros

The head is followed by the inside, encrypted, and a tag of 16 bytes. The head and all of the event that is in the clear
are associated data. The magic is no UTF-8 and no beginning of a common format, so that a plain payload is seldom taken
for a sealed one; one that is, is not handed out to those who want sealed ones, which is no loss.

What a publisher signs (`signed_part`) names group, epoch, publisher, run, number, the clear part and the payload, but
not the key: a member who encrypts again what a publisher said has made a replay of it, and no more.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

import msgspec

from siftcast.security.errors import UnopenedError
from siftcast.security.hazmat.derivation import COMMITMENT_BYTES, SALT_BYTES, TAG_BYTES
from siftcast.security.hazmat.encoding import Reader, enc
from siftcast.security.hazmat.hash_tree import Proof
from siftcast.security.hazmat.padding import pad, unpad

MAGIC: Final = b"\xf5SFT"
VERSION: Final = 1
RUN_BYTES, NUMBER_BYTES, EPOCH_BYTES = 16, 8, 4
_HEAD = Struct(f">I{SALT_BYTES}s{COMMITMENT_BYTES}s")
_EVENT = Struct(f">{RUN_BYTES}sQ")
_LEAF_CONTEXT = b"siftcast sealed payload 1: event"


class Head(msgspec.Struct, frozen=True, gc=False):
    """What everybody reads."""

    group: bytes
    epoch: int
    salt: bytes
    commitment: bytes


class Inside(msgspec.Struct, frozen=True, gc=False):
    """What the group reads."""

    __repr__ = object.__repr__  # the payload is not for logs

    publisher: bytes
    run: bytes
    number: int
    proof: Proof
    payload: bytes


def is_sealed(payload: bytes) -> bool:
    """Whether a payload says that it is sealed."""
    return payload.startswith(MAGIC)


def head_start(group: bytes, epoch: int) -> bytes:
    """The head as far as it is the same for all messages of an epoch."""
    return b"".join((MAGIC, bytes((VERSION, len(group))), group, epoch.to_bytes(EPOCH_BYTES, "big")))


def read_head(sealed: bytes) -> tuple[Head, int]:
    """The head, and where it ends; raises UnopenedError."""
    if not sealed.startswith(MAGIC):
        raise UnopenedError("plain", "the payload is not sealed")
    reader = Reader(sealed, len(MAGIC))
    if (version := reader.number(1)) != VERSION:
        raise UnopenedError("malformed", f"the payload is sealed in version {version}, and this is version {VERSION}")
    head = Head(reader.name(), *reader.unpack(_HEAD))
    if len(sealed) < reader.place + TAG_BYTES:
        raise UnopenedError("malformed", "the sealed payload is cut short")
    return head, reader.place


def inside_start(publisher: bytes, run: bytes) -> bytes:
    """The inside as far as it is the same for all messages of a run."""
    return bytes((len(publisher),)) + publisher + run


def write_inside(start: bytes, number: int, proof: bytes, payload: bytes) -> bytes:
    """What is encrypted."""
    return b"".join((start, number.to_bytes(NUMBER_BYTES, "big"), proof, pad(payload)))


def read_inside(inside: bytes) -> Inside:
    """What was encrypted; raises UnopenedError unless it is exactly what `write_inside` makes."""
    reader = Reader(inside)
    publisher, (run, number) = reader.name(), reader.unpack(_EVENT)
    return Inside(publisher, run, number, Proof.read(reader), unpad(reader.rest()))


def signed_start(group: bytes, epoch: int, publisher: bytes, run: bytes) -> bytes:
    """What is signed, as far as it is the same for all messages of a run and an epoch."""
    return enc(_LEAF_CONTEXT, group, epoch.to_bytes(EPOCH_BYTES, "big"), publisher, run)


def signed_part(start: bytes, number: int, clear_digest: bytes, payload: bytes) -> bytes:
    """All that a publisher vouches for."""
    return start + enc(number.to_bytes(NUMBER_BYTES, "big"), clear_digest, payload)
