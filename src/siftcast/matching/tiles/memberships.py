"""Settles candidates whose rows demand that a key lies in a set (see `sets`), by position, in compiled loops.

The ends of all sets of a dimension cut its line of keys into *cells*; within a cell no set begins or ends. Each set
has a bit for each cell, and the bits are kept by blocks of 64 cells, one word a set:

    keys    ──────┼────┼──────────┼───┼─────
    cells     0     1       2       3    4   …         block 0    block 1
    set 0         ██████          █████        0b01010…  word 0   word 2
    set 1              ███████████             0b00100…  word 1   word 3

An event's cell is found once, and all its candidates look into the same block, whose words are neighbours in the order
of positions: 1 ns a candidate. (With the words of a set together instead, each candidate is a cache miss: 5 ns.)

Where sets are much sparser than their dimension (a hundred of a billion numbers), bits would take more space than
intervals do, eight bytes each; such a set is searched instead, which takes 20 to 50 ns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from siftcast.matching.contract import Int32Array, Int64Array
from siftcast.matching.tiles.combining import Codes
from siftcast.matching.tiles.compiling import kernel
from siftcast.matching.tiles.sets import KeySets

Words = np.ndarray[tuple[int, int], np.dtype[np.uint64]]
_NOBODY = -1


@dataclass(frozen=True, slots=True)
class Membership:
    """The sets of one dimension, whose keys are in column `column`, ready to be asked.

    Position p demands the set numbered `set_of[p]`, or none. Those with bits are numbered first: set s has word
    `words[block, s]`. The others are searched, and `searched` has their numbers in `sets`.
    """

    column: int
    set_of: Int32Array
    sets: KeySets
    cuts: Int64Array
    words: Words
    searched: Int32Array

    @classmethod
    def of(cls, sets: KeySets, column: int, order: Int32Array) -> Membership:
        """The sets of a dimension, where `order` gives the row of each position."""
        by_row = np.full(len(order), _NOBODY, np.int32)
        by_row[sets.rows] = sets.sets
        demanded = by_row[order]
        cuts = _cuts(sets)
        blocks = len(cuts) // 64 + 1
        has_bits = np.diff(sets.begins) >= blocks
        distinct, firsts = np.unique(demanded[demanded != _NOBODY], return_index=True)
        by_position = distinct[np.argsort(firsts)]
        with_bits, searched = by_position[has_bits[by_position]], by_position[~has_bits[by_position]]
        numbers = np.full(len(has_bits) + 1, _NOBODY, np.int32)  # the last serves those who demand nothing
        numbers[np.concatenate([with_bits, searched])] = np.arange(len(by_position), dtype=np.int32)
        words = np.zeros((blocks if len(with_bits) else 1, len(with_bits)), np.uint64)
        if len(with_bits):
            _fill(with_bits, sets.begins, sets.lows, sets.highs, cuts, sets.highs is sets.lows, words)
        else:
            cuts = cuts[:0].copy()
        return cls(column, numbers[demanded], sets, cuts, words, searched)

    @property
    def nbytes(self) -> int:
        """Bytes beside those of the sets themselves."""
        return self.set_of.nbytes + self.cuts.nbytes + self.words.nbytes + self.searched.nbytes

    def keep_members(self, positions: Int32Array, offsets: Int64Array, keys: Int64Array) -> Codes:
        """The hits whose sets hold the key of their event; `keys` has a row for each event."""
        sets = self.sets
        bits = (self.cuts, sets.highs is sets.lows, self.words)
        intervals = (self.searched, sets.begins, sets.lows, sets.highs)
        return _keep_members(positions, offsets, keys, self.column, self.set_of, bits, intervals)


def _cuts(sets: KeySets) -> Int64Array:
    """Where cells begin; where sets are made of single keys, these are all cells that any of them has."""
    if sets.highs is sets.lows:
        return np.unique(sets.lows)
    # No key exceeds the greatest one, so a set that reaches it has no end there; adding one would overflow.
    ends = sets.highs[sets.highs < np.iinfo(np.int64).max] + 1
    return np.unique(np.concatenate([sets.lows, ends]))


@kernel
def _fill(
    chosen: Int32Array,
    begins: Int64Array,
    lows: Int64Array,
    highs: Int64Array,
    cuts: Int64Array,
    points: bool,
    words: Words,
) -> None:
    for number in range(len(chosen)):
        for interval in range(begins[chosen[number]], begins[chosen[number] + 1]):
            first = _cell(cuts, lows[interval], points)
            last = first if points else _cell(cuts, highs[interval], points)
            for cell in range(first, last + 1):
                words[cell >> 6, number] |= np.uint64(1) << np.uint64(cell & 63)


@kernel
def _cell(cuts: Int64Array, key: int, points: bool) -> Any:
    """The cell of a key; where cells are single keys, one past the last for any other."""
    place = np.searchsorted(cuts, key, side="right")
    if not points:
        return place
    return place - 1 if place > 0 and cuts[place - 1] == key else len(cuts)


@kernel
def _keep_members(
    positions: Int32Array,
    offsets: Int64Array,
    keys: Int64Array,
    column: int,
    set_of: Int32Array,
    bits: Any,
    intervals: Any,
) -> Codes:
    cuts, points, words = bits
    searched, begins, lows, highs = intervals
    with_bits = words.shape[1]
    kept = np.empty(len(positions), np.int32)
    bounds = np.zeros(len(offsets), np.int64)
    filled = 0
    for event in range(len(offsets) - 1):
        key = keys[event, column]
        cell = _cell(cuts, key, points)
        block, bit = words[cell >> 6], np.uint64(cell & 63)
        for index in range(offsets[event], offsets[event + 1]):
            position = positions[index]
            number = set_of[position]
            # Written before it is known to stay, so that the loop has no branch to guess wrong.
            kept[filled] = position
            if number < 0:
                filled += 1
            elif number < with_bits:
                filled += int((block[number] >> bit) & np.uint64(1))
            else:
                # The row's interval is the set's hull and has the key, so some interval begins at or before it.
                begin, end = begins[searched[number - with_bits]], begins[searched[number - with_bits] + 1]
                after = np.searchsorted(lows[begin:end], key, side="right")
                filled += int(highs[begin + after - 1] >= key)
        bounds[event + 1] = filled
    return kept[:filled], bounds
