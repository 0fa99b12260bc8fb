"""The fast backend: pymcl, with hashing by arkworks.

What pymcl 1.0 leaves open is closed here: `deserialize` refuses points outside of the group of prime order, but takes
zero, and bytes behind the point; so a point is taken only if it is not zero and writes itself as the bytes that were
read. Its `hash` is not that of RFC 9380. Its own random scalars are not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add, mul
from typing import Any

import py_arkworks_bls12381
import pymcl

from siftcast.security.hazmat.groups.contract import G1, G2, ORDER, Groups, PointError

_COORDINATE_BYTES = 48
_hash1: Any = py_arkworks_bls12381.G1Point.hash_to_curve
_hash2: Any = py_arkworks_bls12381.G2Point.hash_to_curve
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
        return _moved(pymcl.G1, _hash1(message, context).to_xy_bytes_be())

    def hash2(self, context: bytes, message: bytes) -> Any:
        return _moved(pymcl.G2, _hash2(message, context).to_xy_bytes_be())

    def pair(self, left: Any, right: Any) -> Any:
        return pymcl.pairing(left, right)

    def pair_all(self, pairs: Sequence[tuple[Any, Any]]) -> Any:
        return reduce(mul, (pymcl.pairing(left, right) for left, right in pairs))

    def product(self, left: Any, right: Any) -> Any:
        return left * right

    def power(self, value: Any, scalar: int) -> Any:
        return value ** _scalar(scalar)

    def same(self, left: Any, right: Any) -> bool:
        return bool(left == right)
