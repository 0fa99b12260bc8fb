"""The other backend: py-arkworks-bls12381. It has wheels for all versions of Python that Siftcast runs on.

It has no powers of values, so they are made here, a few bits of the exponent at a time. A point is read by its x with
either y; where that is the wrong one, the point is negated. What was read must write itself as the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add
from typing import Any

import py_arkworks_bls12381

from siftcast.security.hazmat.groups.contract import ORDER, Groups, PointError

# Its types are not ours: elements are opaque outside of a backend.
G1Point: Any = py_arkworks_bls12381.G1Point
G2Point: Any = py_arkworks_bls12381.G2Point
Value: Any = py_arkworks_bls12381.GT
_scalar_of: Any = py_arkworks_bls12381.Scalar.from_le_bytes
_ODD, _COMPRESSED = 0x80, 0x80
_WINDOW_BITS = 4


def _scalar(number: int) -> Any:
    return _scalar_of((number % ORDER).to_bytes(32, "little"))


def _write(point: Any) -> bytes:
    """x, little-endian, with the lowest bit of y in the top one; of the two parts of y in G2, the first."""
    coordinates: bytes = point.to_xy_bytes_le()
    half = len(coordinates) // 2
    last = coordinates[half - 1] | (_ODD if coordinates[half] & 1 else 0)
    return coordinates[: half - 1] + bytes((last,))


def _read(group: Any, name: str, data: bytes) -> Any:
    x = data[:-1] + bytes((data[-1] & ~_ODD,))
    big = bytearray(reversed(x))  # both parts of x in G2, too: the form of RFC 9380 begins with the second
    if big[0] & 0xE0:
        raise PointError(f"the bytes are no point of {name}")
    big[0] |= _COMPRESSED
    try:
        point = group.from_compressed_bytes(bytes(big))
    except ValueError:
        raise PointError(f"the bytes are no point of {name}") from None
    if point == group.identity():
        raise PointError(f"the bytes are the form of zero in {name}")
    if _write(point) != data:
        point = -point
    if _write(point) != data:
        raise PointError(f"the bytes are not the form of a point of {name}")
    return point


class ArkworksGroups(Groups):
    """BLS12-381 by arkworks."""

    def __init__(self) -> None:
        self.generator1, self.generator2 = G1Point(), G2Point()
        self._zero1, self._zero2 = G1Point.identity(), G2Point.identity()
        self._one = Value.pairing(self._zero1, self._zero2)

    def _read1(self, data: bytes) -> Any:
        return _read(G1Point, "G1", data)

    def _read2(self, data: bytes) -> Any:
        return _read(G2Point, "G2", data)

    def write1(self, point: Any) -> bytes:
        return _write(point)

    def write2(self, point: Any) -> bytes:
        return _write(point)

    def write_value(self, value: Any) -> bytes:
        return bytes.fromhex(str(value))

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
        return G1Point.hash_to_curve(message, context)

    def hash2(self, context: bytes, message: bytes) -> Any:
        return G2Point.hash_to_curve(message, context)

    def pair(self, left: Any, right: Any) -> Any:
        return Value.pairing(left, right)

    def pair_all(self, pairs: Sequence[tuple[Any, Any]]) -> Any:
        return Value.multi_pairing([left for left, _ in pairs], [right for _, right in pairs])

    def product(self, left: Any, right: Any) -> Any:
        return left * right

    def power(self, value: Any, scalar: int) -> Any:
        powers = [self._one]
        for _ in range((1 << _WINDOW_BITS) - 1):
            powers.append(powers[-1] * value)
        result = self._one
        scalar %= ORDER
        for shift in range(256 - _WINDOW_BITS, -1, -_WINDOW_BITS):
            for _ in range(_WINDOW_BITS):
                result = result * result
            result = result * powers[scalar >> shift & (1 << _WINDOW_BITS) - 1]
        return result

    def same(self, left: Any, right: Any) -> bool:
        return bool(left == right)
