"""A backend that counts the pairings of the one below it. Costs are stated in pairings, and tests hold us to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from siftcast.security.hazmat.groups.contract import G1, G2, GT, Groups


class CountedGroups(Groups):
    """Counts; all else is done by the backend it is given."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self.generator1, self.generator2 = groups.generator1, groups.generator2
        self.pairings = 0

    def pair(self, left: G1, right: G2) -> GT:
        self.pairings += 1
        return self._groups.pair(left, right)

    def pair_all(self, pairs: Sequence[tuple[G1, G2]]) -> GT:
        self.pairings += len(pairs)
        return self._groups.pair_all(pairs)

    def _read1(self, data: bytes) -> G1:
        return self._groups.read1(data)

    def _read2(self, data: bytes) -> G2:
        return self._groups.read2(data)

    def write1(self, point: G1) -> bytes:
        return self._groups.write1(point)

    def write2(self, point: G2) -> bytes:
        return self._groups.write2(point)

    def write_value(self, value: GT) -> bytes:
        return self._groups.write_value(value)

    def sum1(self, points: Iterable[G1]) -> G1:
        return self._groups.sum1(points)

    def sum2(self, points: Iterable[G2]) -> G2:
        return self._groups.sum2(points)

    def times1(self, point: G1, scalar: int) -> G1:
        return self._groups.times1(point, scalar)

    def times2(self, point: G2, scalar: int) -> G2:
        return self._groups.times2(point, scalar)

    def minus2(self, point: G2) -> G2:
        return self._groups.minus2(point)

    def hash1(self, context: bytes, message: bytes) -> G1:
        return self._groups.hash1(context, message)

    def hash2(self, context: bytes, message: bytes) -> G2:
        return self._groups.hash2(context, message)

    def product(self, left: GT, right: GT) -> GT:
        return self._groups.product(left, right)

    def power(self, value: GT, scalar: int) -> GT:
        return self._groups.power(value, scalar)

    def same(self, left: GT, right: GT) -> bool:
        return self._groups.same(left, right)
