"""The fast backend: pymcl, with hashing and products of pairings by arkworks.

What pymcl 1.0 leaves open is closed here: `deserialize` refuses points outside of the group of prime order, but takes
zero, and bytes behind the point; so a point is taken only if it is not zero and writes itself as the bytes that were
read. Its `hash` is not that of RFC 9380. Its own random scalars are not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add
from typing import Any

import py_arkworks_bls12381
import pymcl

from siftcast.security.hazmat.groups.contract import G1, G2, ORDER, Groups, PointError

_COORDINATE_BYTES = 48
_G1Point: Any = py_arkworks_bls12381.G1Point
_G2Point: Any = py_arkworks_bls12381.G2Point
_pair_all: Any = py_arkworks_bls12381.GT.multi_pairing
_read_scalar = pymcl.Fr.deserialize


def _scalar(number: int) -> Any:
    return _read_scalar((number % ORDER).to_bytes(32, "little"))


def _read(group: Any, name: str, data: bytes) -> Any:
    try:
        point = group.deserialize(data)
    except ValueError:
        raise PointError(f"the bytes are no point of {name}") from None
    if point.is_zero() or point.serialize() != data:
        raise PointError(f"the bytes are not the form of a point of {name}, or are that of zero")
    return point


def _moved(group: Any, coordinates: bytes) -> Any:
    """A point of arkworks as one of pymcl; the constructor checks that it is on the curve and in the group."""
    numbers = (
        int.from_bytes(coordinates[at : at + _COORDINATE_BYTES], "big")
        for at in range(0, len(coordinates), _COORDINATE_BYTES)
    )
    return group("1 " + " ".join(map(str, numbers)), 10)


def _moved_back(group: Any, point: Any) -> Any:
    """A point of pymcl as one of arkworks; it was checked when it was made."""
    if point.is_zero():
        return group.identity()
    numbers = str(point).split()[1:]
    return group.from_xy_bytes_unchecked_be(b"".join(int(each).to_bytes(_COORDINATE_BYTES, "big") for each in numbers))


class MclGroups(Groups):
    """BLS12-381 by pymcl."""

    def __init__(self) -> None:
        assert int(pymcl.r) == ORDER  # the library can be built for other curves
        self.generator1, self.generator2 = G1(pymcl.g1), G2(pymcl.g2)

    def _read1(self, data: bytes) -> Any:
        return _read(pymcl.G1, "G1", data)

    def _read2(self, data: bytes) -> Any:
        return _read(pymcl.G2, "G2", data)

    def write1(self, point: Any) -> bytes:
        return bytes(point.serialize())

    def write2(self, point: Any) -> bytes:
        return bytes(point.serialize())

    def write_value(self, value: Any) -> bytes:
        return bytes(value.serialize())

    def sum1(self, points: Iterable[Any]) -> Any:
        return reduce(add, points)

    def sum2(self, points: Iterable[Any]) -> Any:
        return reduce(add, points)

    def times1(self, point: Any, scalar: int) -> Any:
        return point * _scalar(scalar)

    def times2(self, point: Any, scalar: int) -> Any:
        return point * _scalar(scalar)

    def minus2(self, point: Any) -> Any:
        return -point

    def hash1(self, context: bytes, message: bytes) -> Any:
        return _moved(pymcl.G1, _G1Point.hash_to_curve(message, context).to_xy_bytes_be())

    def hash2(self, context: bytes, message: bytes) -> Any:
        return _moved(pymcl.G2, _G2Point.hash_to_curve(message, context).to_xy_bytes_be())

    def pair(self, left: Any, right: Any) -> Any:
        return pymcl.pairing(left, right)

    def pair_all(self, pairs: Sequence[tuple[Any, Any]]) -> Any:
        """By arkworks, which does the last step of several pairings once: 9 of them take three quarters of the time."""
        lefts = [_moved_back(_G1Point, left) for left, _ in pairs]
        rights = [_moved_back(_G2Point, right) for _, right in pairs]
        return pymcl.GT.deserialize(bytes.fromhex(str(_pair_all(lefts, rights))))

    def product(self, left: Any, right: Any) -> Any:
        return left * right

    def power(self, value: Any, scalar: int) -> Any:
        return value ** _scalar(scalar)

    def same(self, left: Any, right: Any) -> bool:
        return bool(left == right)
