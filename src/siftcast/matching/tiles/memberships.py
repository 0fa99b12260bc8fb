"""Settles candidates whose rows demand that a key lies in a set (see `sets`), by position, in compiled loops.

The ends of all sets of a dimension cut its line of keys into *cells*; within a cell no set begins or ends:

    keys   ──────┼────┼──────────┼───┼─────      cell 2 of 4 is asked of every candidate
    cell     0     1       2       3    4
    set 0        ██████          █████           0b101, first cell 1
    set 1             ███████████                0b1, first cell 2

So an event's cell is found once, and each candidate costs the look at one bit. Where sets are much sparser than their
dimension (a hundred of a billion numbers), bits would take more space than the intervals do, eight bytes each;
such a set is searched instead. With a bit a candidate costs about 5 ns, with a search about 50.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from siftcast.matching.contract import Int32Array, Int64Array
from siftcast.matching.tiles.combining import Codes
from siftcast.matching.tiles.compiling import kernel
from siftcast.matching.tiles.sets import KeySets

Words = np.ndarray[tuple[int], np.dtype[np.uint64]]
_NOBODY, _SEARCHED = -1, -1


@dataclass(frozen=True, slots=True)
class Membership:
    """The sets of one dimension, whose keys are in column `column`, ready to be asked.

    Position p demands set `set_of[p]`, or none. The bits of set s start at word `words_at[s]`, with that of cell
    `firsts[s]`; a set without bits is searched.
    """

    column: int
    set_of: Int32Array
    sets: KeySets
    cuts: Int64Array
    firsts: Int32Array
    words_at: Int64Array
    words: Words

    @classmethod
    def of(cls, sets: KeySets, column: int, order: Int32Array) -> Membership:
        """The sets of a dimension, where `order` gives the row of each position."""
        by_row = np.full(len(order), _NOBODY, np.int32)
        by_row[sets.rows] = sets.sets
        # No key exceeds the greatest one, so a set that reaches it has no end there; adding one would overflow.
        ends = sets.highs[sets.highs < np.iinfo(np.int64).max] + 1
        cuts = np.unique(np.concatenate([sets.lows, ends]))
        begins = sets.begins
        firsts = np.searchsorted(cuts, sets.lows[begins[:-1]], side="right")
        lasts = np.searchsorted(cuts, sets.highs[begins[1:] - 1], side="right")
        sizes = (lasts - firsts) // 64 + 1
        fitting = sizes <= np.diff(begins)
        filled = np.cumsum(np.where(fitting, sizes, 0))
        words_at = np.where(fitting, filled - sizes, _SEARCHED)
        words = np.zeros(int(filled[-1]), np.uint64)
        if fitting.any():
            _fill(begins, sets.lows, sets.highs, cuts, firsts, words_at, words)
        else:
            cuts = cuts[:0]
        return cls(column, by_row[order], sets, cuts, firsts.astype(np.int32), words_at, words)

    @property
    def nbytes(self) -> int:
        """Bytes beside those of the sets themselves."""
        own = (self.set_of, self.cuts, self.firsts, self.words_at, self.words)
        return sum(array.nbytes for array in own)

    def keep_members(self, positions: Int32Array, offsets: Int64Array, keys: Int64Array) -> Codes:
        """The hits whose sets hold the key of their event; `keys` has a row for each event."""
        sets = self.sets
        intervals = (sets.begins, sets.lows, sets.highs)
        bits = (self.cuts, self.firsts, self.words_at, self.words)
        return _keep_members(positions, offsets, keys, self.column, self.set_of, intervals, bits)


@kernel
def _fill(
    begins: Int64Array,
    lows: Int64Array,
    highs: Int64Array,
    cuts: Int64Array,
    firsts: Int64Array,
    words_at: Int64Array,
    words: Words,
) -> None:
    for number in range(len(begins) - 1):
        start = words_at[number]
        if start < 0:
            continue
        for interval in range(begins[number], begins[number + 1]):
            first = np.searchsorted(cuts, lows[interval], side="right")
            last = first
            if highs[interval] > lows[interval]:
                last = np.searchsorted(cuts, highs[interval], side="right")
            for cell in range(first - firsts[number], last - firsts[number] + 1):
                words[start + (cell >> 6)] |= np.uint64(1) << np.uint64(cell & 63)


@kernel
def _keep_members(
    positions: Int32Array,
    offsets: Int64Array,
    keys: Int64Array,
    column: int,
    set_of: Int32Array,
    intervals: Any,
    bits: Any,
) -> Codes:
    begins, lows, highs = intervals
    cuts, firsts, words_at, words = bits
    kept = np.empty(len(positions), np.int32)
    bounds = np.zeros(len(offsets), np.int64)
    filled = 0
    for event in range(len(offsets) - 1):
        key = keys[event, column]
        cell = np.searchsorted(cuts, key, side="right")
        for index in range(offsets[event], offsets[event + 1]):
            position = positions[index]
            number = set_of[position]
            # Written before it is known to stay, so that the loop has no branch to guess wrong.
            kept[filled] = position
            if number < 0:
                filled += 1
            elif words_at[number] >= 0:
                # The row's interval is the set's hull and has the key, so the set has a bit for the cell.
                bit = cell - firsts[number]
                word = words[words_at[number] + (bit >> 6)]
                filled += int((word >> np.uint64(bit & 63)) & np.uint64(1))
            else:
                after = np.searchsorted(lows[begins[number] : begins[number + 1]], key, side="right")
                filled += int(highs[begins[number] + after - 1] >= key)
        bounds[event + 1] = filled
    return kept[:filled], bounds
