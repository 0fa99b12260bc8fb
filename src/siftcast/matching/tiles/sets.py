"""Sets of keys that rows demand: what is left of a long IN or NOT IN once its intervals are joined into one.

`value IN (100 numbers)` would be a hundred rows of an index. Instead it is one row, whose interval spans them all, and
a set that an event's key must lie in. A set is a list of closed intervals of keys in ascending order. Rows of one
filter share a set, and so do filters with the same list.

A set may allow too much where keys cannot decide (numbers at or beyond 2^53); its row is then doubtful as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from siftcast.matching.contract import Int32Array, Int64Array
from siftcast.matching.tiles.keys import Mask, StringRanks, move_ranks

# The intervals of a set in the terms of its dimension: keys, or (start, end) strings as `string_range` has them.
Intervals = tuple[tuple[int | str, int | str | None], ...]


@dataclass(frozen=True, slots=True)
class KeySets:
    """The sets of one dimension: row `rows[i]` demands set `sets[i]`, and no row more than one.

    Set s is made of the intervals `lows[j]` to `highs[j]` for j from `begins[s]` to `begins[s + 1]`, exclusive. Where
    all are single keys, as with IN, `highs` is the very array `lows`.
    """

    rows: Int32Array
    sets: Int32Array
    begins: Int64Array
    lows: Int64Array
    highs: Int64Array

    @property
    def nbytes(self) -> int:
        own = self.rows.nbytes + self.sets.nbytes + self.begins.nbytes + self.lows.nbytes
        return own if self.highs is self.lows else own + self.highs.nbytes

    def hulls(self) -> tuple[Int64Array, Int64Array]:
        """For each demand the lowest and the highest key that its set allows."""
        return self.lows[self.begins[self.sets]], self.highs[self.begins[self.sets + 1] - 1]

    def select(self, keep: Mask) -> KeySets:
        """Only the rows marked in `keep`, renumbered; sets nobody demands any more are dropped."""
        numbers = (np.cumsum(keep) - 1).astype(np.int32)
        chosen = keep[self.rows]
        used, sets = np.unique(self.sets[chosen], return_inverse=True)
        sizes = np.diff(self.begins)
        wanted = np.zeros(len(sizes), bool)
        wanted[used] = True
        inside = np.repeat(wanted, sizes)
        lows = self.lows[inside]
        return KeySets(
            numbers[self.rows[chosen]],
            sets.astype(np.int32),
            _offsets(sizes[used]),
            lows,
            lows if self.highs is self.lows else self.highs[inside],
        )

    def moved(self, start: int, old: Sequence[str], ranks: StringRanks | None) -> KeySets:
        """The same with rows numbered from `start`, and with keys of other ranks if there are `ranks`."""
        lows, highs = self.lows, self.highs
        if ranks is not None:
            lows, highs = move_ranks(lows, highs, old, ranks)
        return KeySets(self.rows + np.int32(start), self.sets, self.begins, lows, _shared(lows, highs))


def merge_sets(parts: Sequence[KeySets]) -> KeySets:
    """The sets of several parts, whose rows and keys agree already."""
    if len(parts) == 1:
        return parts[0]
    firsts = np.cumsum([0] + [len(part.begins) - 1 for part in parts])
    lows = np.concatenate([part.lows for part in parts])
    points = all(part.highs is part.lows for part in parts)
    return KeySets(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.sets + np.int32(first) for part, first in zip(parts, firsts, strict=False)]),
        _offsets(np.concatenate([np.diff(part.begins) for part in parts])),
        lows,
        lows if points else np.concatenate([part.highs for part in parts]),
    )


class SetBuilder:
    """Collects the sets of one dimension, each distinct one once."""

    __slots__ = ("_numbers", "_rows", "_sets", "_sizes")

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}  # by bytes of keys, or by intervals of strings
        self._sizes: list[int] = []
        self._rows: list[int] = []
        self._sets: list[int] = []

    def add(self, row: int, intervals: Intervals) -> None:
        """Lets a row demand a set."""
        # Integers wait as packed bytes: as Python's they would take ten times the space while a million are loaded.
        packed = intervals if isinstance(intervals[0][0], str) else np.array(intervals, np.int64).tobytes()
        number = self._numbers.setdefault(packed, len(self._numbers))
        if number == len(self._sizes):
            self._sizes.append(len(intervals))
        self._rows.append(row)
        self._sets.append(number)

    def strings(self) -> set[str]:
        """All strings that the intervals of a string dimension mention."""
        return {end for intervals in self._numbers for pair in intervals for end in pair if end is not None}

    def finish(self, ranks: StringRanks | None) -> KeySets:
        """The sets, with strings as the given ranks."""
        if ranks is None:
            pairs = np.frombuffer(b"".join(self._numbers), np.int64).reshape(-1, 2)
            lows, highs = pairs[:, 0].copy(), pairs[:, 1].copy()
        else:
            flat = [pair for intervals in self._numbers for pair in intervals]
            lows = np.array([ranks.low_key(low) for low, _ in flat], np.int64)
            highs = np.array([ranks.high_key(low, high) for low, high in flat], np.int64)
        rows, sets = np.array(self._rows, np.int32), np.array(self._sets, np.int32)
        return KeySets(rows, sets, _offsets(np.array(self._sizes, np.int64)), lows, _shared(lows, highs))


def _shared(lows: Int64Array, highs: Int64Array) -> Int64Array:
    return lows if np.array_equal(lows, highs) else highs


def _offsets(sizes: Int64Array) -> Int64Array:
    offsets: Int64Array = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    return offsets
