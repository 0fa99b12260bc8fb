"""Waters' hash: W(label) = u′ + the sum of those u_k where bit k of SHA-256(label) is set.

It is no random point: whoever knows the exponents y of the u knows the exponent of W, in G2 as well, where keys are
made of it. That is why it is this hash, and why the exponents and their twins in G2 never leave the key server.

It is affine, so of W(label)^b under one b for enough labels others follow. 128 levels are far from enough: by Odlyzko's
bound, n of them reach another label of 256 bits with probability 2^(n − 257).

Sums are taken a byte at a time from tables: 32 additions in place of 128, for 8,192 points made beforehand.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from siftcast.security.hazmat.encoding import enc
from siftcast.security.hazmat.groups import G1, ORDER, Groups

BITS: Final = 256
_CONTEXT = b"siftcast sealed event 1: H1"


def _bits(label: bytes) -> bytes:
    return hashlib.sha256(enc(_CONTEXT, label)).digest()


def exponent_of(first: int, others: Sequence[int], label: bytes) -> int:
    """The exponent of W(label); for the key server, which alone knows those it is made of."""
    bits = int.from_bytes(_bits(label), "little")
    return (first + sum(each for place, each in enumerate(others) if bits >> place & 1)) % ORDER


class WatersHash:
    """The hash into G1, from its public points."""

    __slots__ = ("_first", "_groups", "_tables")

    def __init__(self, groups: Groups, first: G1, others: Sequence[G1]) -> None:
        self._groups = groups
        self._first = first
        self._tables = [self._table(others[at : at + 8]) for at in range(0, BITS, 8)]

    def _table(self, points: Sequence[G1]) -> list[G1 | None]:
        """For each byte the sum of the points whose bits it has; for zero there is none."""
        table: list[G1 | None] = [None]
        for point in points:
            table += [point if each is None else self._groups.sum1((each, point)) for each in table]
        return table

    def of(self, label: bytes) -> G1:
        """W(label)."""
        chosen = (table[byte] for table, byte in zip(self._tables, _bits(label), strict=True))
        return self._groups.sum1((self._first, *(each for each in chosen if each is not None)))
