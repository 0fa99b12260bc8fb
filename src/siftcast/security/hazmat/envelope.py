"""The bytes of a sealed payload: a head that everybody reads, and an inside that only the group reads.

    head      "\\xf5SFT" version(1) group(1+n) epoch(4) salt(16) commitment(32) place(2)
    inside    publisher(1+n) run(8) number(8) signature(64) depth(1) sides(2) path(32 × depth) length(4) payload zeros

The head is followed by the inside, encrypted, and a tag of 16 bytes. The head and all of the event that is in the clear
are associated data. The magic is no UTF-8 and no beginning of a common format, so that a plain payload is seldom taken
for a sealed one; one that is, is not handed out to those who want sealed ones, which is no loss.

What a publisher signs (`leaf_of`) is group, epoch, publisher, run, number, the clear part and the payload, but not the
key: a member who encrypts again what a publisher said has made a replay of it, and no more. Each part of it says where
it ends, and the payload is last, so no two events have the same bytes to be signed.
"""

from __future__ import annotations

import hashlib
from struct import Struct
from typing import Final

import msgspec

from siftcast.security.errors import UnopenedError
from siftcast.security.hazmat.derivation import COMMITMENT_BYTES, SALT_BYTES, TAG_BYTES
from siftcast.security.hazmat.hash_tree import DEPTH_PLACE, HASH_BYTES, LEAF, PROOF_BYTES_MIN
from siftcast.security.hazmat.padding import pad, unpad

MAGIC: Final = b"\xf5SFT"
VERSION: Final = 1
RUN_BYTES = 8
_PREFIX = MAGIC + bytes((VERSION,))
_GROUP_AT = len(_PREFIX) + 1
_HEAD = Struct(f">I{SALT_BYTES}s{COMMITMENT_BYTES}s")
PLACE_BYTES = 2
_EVENT = Struct(f">{RUN_BYTES}sQ")
_LENGTH = Struct(">I").pack
_LEAF_CONTEXT = LEAF + b"siftcast sealed payload 1: event"


class Head(msgspec.Struct, frozen=True, gc=False):
    """What everybody reads, as far as it is the same for all events of a batch."""

    scope: bytes
    """The bytes of version, group and epoch."""
    group: bytes
    epoch: int
    salt: bytes
    commitment: bytes


class Inside(msgspec.Struct, frozen=True, gc=False):
    """What the group reads; `who` are the bytes of publisher, run and number."""

    who: bytes
    publisher: bytes
    run: bytes
    number: int
    proof: bytes
    payload: bytes

    __repr__ = object.__repr__  # the payload is not for logs


def is_sealed(payload: bytes) -> bool:
    """Whether a payload says that it is sealed."""
    return payload.startswith(MAGIC)


def scope_of(group: bytes, epoch: int) -> bytes:
    """The head after the magic, as far as it is the same for all events of an epoch."""
    return bytes((VERSION, len(group))) + group + epoch.to_bytes(4, "big")


def write_head(scope: bytes, salt: bytes, commitment: bytes) -> bytes:
    """The head but for the place in the batch."""
    return b"".join((MAGIC, scope, salt, commitment))


def write_place(place: int) -> bytes:
    """The end of the head."""
    return place.to_bytes(PLACE_BYTES, "big")


def split_head(sealed: bytes) -> tuple[bytes, int, int]:
    """The head as far as a batch shares it, the place in the batch, and where the head ends; raises UnopenedError."""
    if not sealed.startswith(_PREFIX):
        if not is_sealed(sealed):
            raise UnopenedError("plain", "the payload is not sealed")
        raise UnopenedError("malformed", f"the payload is not sealed in version {VERSION}, which this one reads")
    shared = _GROUP_AT + sealed[_GROUP_AT - 1] + _HEAD.size if len(sealed) >= _GROUP_AT else len(sealed)
    end = shared + PLACE_BYTES
    if len(sealed) < end + TAG_BYTES:
        raise UnopenedError("malformed", "the sealed payload is cut short")
    return sealed[:shared], int.from_bytes(sealed[shared:end], "big"), end


def read_head(shared: bytes) -> Head:
    """What the head of a batch says."""
    start = len(shared) - _HEAD.size
    return Head(shared[len(MAGIC) : start + 4], shared[_GROUP_AT:start], *_HEAD.unpack_from(shared, start))


def who_of(publisher: bytes, run: bytes, number: int) -> bytes:
    """What the inside begins with."""
    return bytes((len(publisher),)) + publisher + _EVENT.pack(run, number)


def write_inside(who: bytes, proof: bytes, payload: bytes) -> bytes:
    """What is encrypted."""
    return b"".join((who, proof, pad(payload)))


def read_inside(inside: bytes) -> Inside:
    """What was encrypted; raises UnopenedError unless it is exactly what `write_inside` makes."""
    start = 1 + inside[0] if inside else 0
    end = start + _EVENT.size
    if not inside or len(inside) < end + PROOF_BYTES_MIN:
        raise UnopenedError("malformed", "the inside of the sealed payload is cut short")
    run, number = _EVENT.unpack_from(inside, start)
    stop = end + PROOF_BYTES_MIN + HASH_BYTES * inside[end + DEPTH_PLACE]
    if len(inside) < stop:
        raise UnopenedError("malformed", "the path to the signature is cut short")
    return Inside(inside[:end], inside[1:start], run, number, inside[end:stop], unpad(inside[stop:]))


def leaf_of(scope: bytes, who: bytes, clear: bytes, payload: bytes) -> bytes:
    """The hash of all that a publisher vouches for."""
    return hashlib.sha256(b"".join((_LEAF_CONTEXT, scope, who, _LENGTH(len(clear)), clear, payload))).digest()
