"""Lengths rounded up to a few classes, because a length can tell what a payload says.

At least 32 bytes; beyond that, a length keeps about as many leading bits as its own length has digits (the scheme
Padmé). That is at most 12 % more, and of a length of n bits an observer learns about log n.
"""

from __future__ import annotations

from siftcast.security.errors import UnopenedError

_LEAST = 32
_LENGTH_BYTES = 4


def padded_length(length: int) -> int:
    """The class of a length."""
    if length <= _LEAST:
        return _LEAST
    exponent = length.bit_length() - 1
    mask = (1 << (exponent - exponent.bit_length())) - 1
    return (length + mask) & ~mask


def pad(payload: bytes) -> bytes:
    """The payload after its length, with zeros behind it."""
    length = len(payload)
    return length.to_bytes(_LENGTH_BYTES, "big") + payload.ljust(padded_length(length), b"\0")


def unpad(padded: bytes) -> bytes:
    """The payload; raises UnopenedError unless the padding is exactly what `pad` adds."""
    end = _LENGTH_BYTES + int.from_bytes(padded[:_LENGTH_BYTES], "big")
    payload = padded[_LENGTH_BYTES:end]
    if len(padded) < end or len(padded) != _LENGTH_BYTES + padded_length(len(payload)) or any(padded[end:]):
        raise UnopenedError("malformed", "the padding of the sealed payload is malformed")
    return payload
