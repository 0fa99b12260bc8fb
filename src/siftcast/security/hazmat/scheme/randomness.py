"""Randomness that is hedged: a keyed hash of what the machine gives and of what it is for.

If a machine's randomness repeats (a copied virtual machine, a bad source), different messages still have different
scalars. Two signatures with one t, or two events with one b, would give keys away.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable

from siftcast.security.hazmat.encoding import enc
from siftcast.security.hazmat.groups import ORDER
from siftcast.security.hazmat.hidden import Hidden

Randomness = Callable[[int], bytes]
_RANDOM_BYTES = 32
_CONTEXT = b"siftcast hedged randomness 1"


class HedgedStream(Hidden):
    """Bytes and scalars for one message."""

    __slots__ = ("_count", "_key")

    def __init__(self, secret: bytes, random: Randomness, purpose: bytes) -> None:
        self._key = hmac.digest(secret, enc(_CONTEXT, random(_RANDOM_BYTES), purpose), "sha512")
        self._count = 0

    def _block(self) -> bytes:
        self._count += 1
        return hmac.digest(self._key, self._count.to_bytes(8, "big"), "sha512")

    def take(self, length: int) -> bytes:
        """Bytes, at most 64."""
        return self._block()[:length]

    def scalar(self) -> int:
        """A scalar, and never zero."""
        return scalar_of(self._block())


def scalar_of(block: bytes) -> int:
    """64 uniform bytes as a scalar from 1 on; the bias is below 2^-250."""
    return int.from_bytes(block, "big") % (ORDER - 1) + 1


def expand(secret: bytes, *purpose: bytes) -> bytes:
    """64 bytes derived from a secret, for one purpose: HKDF-Expand with SHA-512, one block."""
    return hmac.digest(secret, enc(b"siftcast derivation 1", *purpose) + b"\x01", hashlib.sha512)
