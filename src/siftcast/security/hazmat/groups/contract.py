"""What a backend for BLS12-381 can do.

    G1          points of 48 bytes: all that is in an event
    G2          points of 96 bytes: all that is in a key
    GT          values of pairings; they are hashed and never sent, because a value from others can hardly be checked

Groups are written additively and GT multiplicatively, scalars are integers. Elements are opaque: only the backend that
made them can use them. The types are there to keep points of one group from being passed as those of the other.

A point as bytes is its x coordinate, little-endian (for G2: both halves), and in the top bit whether y is odd. This is
the native form of the fast backend. The form that others use (big-endian, which of the two y is larger) would cost a
conversion for each of a hundred points in an event. Of each point there is one form, and `read1` and `read2` refuse all
others, points outside of the group of prime order, and zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Final, NewType

from siftcast.security.errors import SealError

ORDER: Final = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
"""How many elements each of the groups has; a prime."""
G1_BYTES: Final = 48
G2_BYTES: Final = 96

G1 = NewType("G1", object)
G2 = NewType("G2", object)
GT = NewType("GT", object)


class PointError(SealError):
    """Bytes that are no point of the group, or not in the one form that each point has."""


class Groups(ABC):
    """A backend."""

    generator1: G1
    generator2: G2

    # -- bytes ---------------------------------------------------------------------------------------

    def read1(self, data: bytes) -> G1:
        """The point of G1 with this form; raises PointError."""
        if len(data) != G1_BYTES:
            raise PointError(f"a point of G1 has {G1_BYTES} bytes, not {len(data)}")
        return self._read1(bytes(data))

    def read2(self, data: bytes) -> G2:
        """The point of G2 with this form; raises PointError."""
        if len(data) != G2_BYTES:
            raise PointError(f"a point of G2 has {G2_BYTES} bytes, not {len(data)}")
        return self._read2(bytes(data))

    @abstractmethod
    def _read1(self, data: bytes) -> G1:
        """The same, of as many bytes as it has to be."""

    @abstractmethod
    def _read2(self, data: bytes) -> G2:
        """The same, of as many bytes as it has to be."""

    @abstractmethod
    def write1(self, point: G1) -> bytes:
        """The form of a point."""

    @abstractmethod
    def write2(self, point: G2) -> bytes:
        """The form of a point."""

    @abstractmethod
    def write_value(self, value: GT) -> bytes:
        """What to hash of a value: twelve numbers, of which there is one form."""

    # -- in the groups -------------------------------------------------------------------------------

    @abstractmethod
    def sum1(self, points: Iterable[G1]) -> G1:
        """All of them added."""

    @abstractmethod
    def sum2(self, points: Iterable[G2]) -> G2:
        """All of them added."""

    @abstractmethod
    def times1(self, point: G1, scalar: int) -> G1:
        """A point a number of times."""

    @abstractmethod
    def times2(self, point: G2, scalar: int) -> G2:
        """A point a number of times."""

    @abstractmethod
    def minus2(self, point: G2) -> G2:
        """What adds up with a point to zero; in G2, because it is keys that are kept so."""

    @abstractmethod
    def hash1(self, context: bytes, message: bytes) -> G1:
        """RFC 9380, BLS12381G1_XMD:SHA-256_SSWU_RO_; `context` is its domain separation tag."""

    @abstractmethod
    def hash2(self, context: bytes, message: bytes) -> G2:
        """RFC 9380, BLS12381G2_XMD:SHA-256_SSWU_RO_; `context` is its domain separation tag."""

    # -- pairings ------------------------------------------------------------------------------------

    @abstractmethod
    def pair(self, left: G1, right: G2) -> GT:
        """The pairing of two points."""

    @abstractmethod
    def pair_all(self, pairs: Sequence[tuple[G1, G2]]) -> GT:
        """The product of the pairings; what divides has a point that is negated."""

    @abstractmethod
    def product(self, left: GT, right: GT) -> GT:
        """Two values multiplied."""

    @abstractmethod
    def power(self, value: GT, scalar: int) -> GT:
        """A value multiplied by itself."""

    @abstractmethod
    def same(self, left: GT, right: GT) -> bool:
        """Whether two values are the same."""
