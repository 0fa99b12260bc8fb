"""The cells of all axes as one expression: a bit of each axis in turn, round after round.

    axis a   a1 a2 a3         a1 b1 a2 b2 a3          an axis that has no levels left is passed over
    axis b   b1 b2            └ 1 ┘└ 2 ┘└3┘           a round divides the space once in each dimension

Bits are spread by tables, a byte of a cell at a time, rather than one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from siftcast.space.dz.cubes import Cube
from siftcast.space.dz.expression import LENGTH_MAX

BYTE = 8
Words = npt.NDArray[np.uint64]
WORD_BITS = 64


def granted(wanted: Sequence[int], bits: int) -> list[int]:
    """How many levels each axis gets, if there are so many places: one in each round, as long as it wants more."""
    given = [0] * len(wanted)
    left = bits
    while left and any(have < want for have, want in zip(given, wanted, strict=True)):
        for axis, want in enumerate(wanted):
            if left and given[axis] < want:
                given[axis] += 1
                left -= 1
    return given


class Interleaving:
    """Which place of an expression is which level of which axis."""

    def __init__(self, levels: Sequence[int]) -> None:
        self.levels = tuple(levels)
        self.length = sum(levels)
        self.positions: list[list[int]] = [[] for _ in levels]
        self.round_ends: list[int] = []
        position = 0
        for level in range(max(levels, default=0)):
            for axis, count in enumerate(levels):
                if level < count:
                    self.positions[axis].append(position)
                    position += 1
            self.round_ends.append(position)
        self._places = [[1 << (LENGTH_MAX - 1 - at) for at in positions] for positions in self.positions]
        self._tables = [_tables(places) for places in self._places]
        self._masks = [[sum(places[:count]) for count in range(len(places) + 1)] for places in self._places]

    def spread(self, axis: int, cell: int) -> int:
        """The bits of a cell at their places."""
        value = 0
        for table in self._tables[axis]:
            value |= table[cell & 0xFF]
            cell >>= BYTE
        return value

    def mask(self, axis: int, count: int) -> int:
        """The places of an axis's first levels."""
        return self._masks[axis][count]

    @staticmethod
    def prefix(length: int) -> int:
        """The first places."""
        return ((1 << length) - 1) << (LENGTH_MAX - length)

    def gathered(self, axis: int, cube: Cube) -> Cube:
        """The bits of one axis in a cube, and which of them are fixed; the first level is the most significant bit."""
        value = fixed = 0
        for place in self._places[axis]:
            value = value << 1 | bool(cube[0] & place)
            fixed = fixed << 1 | bool(cube[1] & place)
        return value, fixed

    def tables(self, words: int) -> tuple[Words, Words]:
        """The tables for compiled code: [axis, byte, value, word], and the masks: [axis, levels, word]."""
        axes, most = len(self.levels), max(self.levels, default=0)
        spread = np.zeros((axes, max(-(-most // BYTE), 1), 1 << BYTE, words), np.uint64)
        masks = np.zeros((axes, most + 1, words), np.uint64)
        for axis, tables in enumerate(self._tables):
            for byte, table in enumerate(tables):
                spread[axis, byte] = [words_of(value, words) for value in table]
            masks[axis, : self.levels[axis] + 1] = [words_of(mask, words) for mask in self._masks[axis]]
        return spread, masks


def words_of(value: int, words: int) -> list[int]:
    """128 places as words of 64, the first places first."""
    return [value >> (LENGTH_MAX - WORD_BITS * (word + 1)) & (1 << WORD_BITS) - 1 for word in range(words)]


def _tables(places: Sequence[int]) -> list[list[int]]:
    """For each byte of a cell, from the lowest, the places of the bits of each of its values."""
    ascending = list(reversed(places))
    tables = []
    for start in range(0, len(ascending), BYTE):
        table = [0]
        for place in ascending[start : start + BYTE]:
            table += [place | value for value in table]
        tables.append(table + [0] * ((1 << BYTE) - len(table)))
    return tables
