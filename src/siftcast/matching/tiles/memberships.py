"""Settles candidates whose rows demand that a key lies in a set (see `sets`), by position, in compiled loops.

The ends of all sets of a dimension cut its line of keys into *cells*; within a cell no set begins or ends. A set allows
some cells and refuses the others; whichever are fewer are its exceptions, and each cell lists the sets it is one for:

    keys    ──────┼────┼──────────┼───┼─────
    cells     0     1       2       3    4            cell 1: set 0, set 1
    IN            ██████          █████               cell 2: set 1           set 0 refuses by default
    NOT IN  ██████                ██████████          cell 3: set 0           set 1 allows by default

For an event, the exceptions of its cell are inverted in an array of answers, one byte per set; then each candidate
looks up its set's answer, which takes 1.5 to 3 ns however long the list was. Sets of many long intervals may have
more exceptions than is worth listing; they are searched, which takes 20 to 50 ns.

Rejected: a search for every set (10,000 candidates: 400 µs); one bit per set and cell (as fast where sets are dense,
but a hundred of a billion numbers have too many cells for it).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from siftcast.matching.compiling import kernel
from siftcast.matching.contract import Int32Array, Int64Array
from siftcast.matching.tiles.arrays import numbers
from siftcast.matching.tiles.combining import Codes
from siftcast.matching.tiles.keys import Mask
from siftcast.matching.tiles.sets import KeySets

Answers = np.ndarray[tuple[int], np.dtype[np.uint8]]
_REFUSES, _ALLOWS, _SEARCHED = 0, 1, 2  # by default


@dataclass(frozen=True, slots=True)
class Membership:
    """The sets of one dimension, whose keys are in column `column`, ready to be asked.

    Position p demands set `set_of[p]`; where it demands none, that is one past the last, which always allows. Set s
    answers `defaults[s]` except in the cells that list it: cell c lists `listed[listed_from[c]:listed_from[c + 1]]`.
    """

    column: int
    set_of: Int32Array
    sets: KeySets
    cuts: Int64Array
    defaults: Answers
    listed_from: Int64Array
    listed: Int32Array

    @classmethod
    def of(cls, sets: KeySets, column: int, order: Int32Array) -> Membership:
        """The sets of a dimension, where `order` gives the row of each position."""
        count = len(sets.begins) - 1
        by_row = np.full(len(order), count, np.int32)
        by_row[sets.rows] = sets.sets
        points = sets.highs is sets.lows
        cuts = _cuts(sets)
        if points:
            firsts = lasts = np.searchsorted(cuts, sets.lows)
            defaults = np.full(count, _REFUSES, np.uint8)
        else:
            firsts = np.searchsorted(cuts, sets.lows, side="right")
            lasts = np.searchsorted(cuts, sets.highs, side="right")
            defaults = _defaults(sets.begins, firsts, lasts)
        listed_from = np.zeros(len(cuts) + 2, np.int64)
        _list_exceptions(sets.begins, firsts, lasts, defaults, listed_from[1:], np.empty(0, np.int32))
        np.cumsum(listed_from, out=listed_from)
        listed = np.empty(int(listed_from[-1]), np.int32)
        _list_exceptions(sets.begins, firsts, lasts, defaults, listed_from[:-1].copy(), listed)
        return cls(column, by_row[order], sets, cuts, np.append(defaults, np.uint8(_ALLOWS)), listed_from, listed)

    @property
    def points(self) -> bool:
        """Whether all sets are made of single keys."""
        return self.sets.highs is self.sets.lows

    @property
    def refuses(self) -> Mask:
        """Which sets refuse but in the cells that list them; in the end, whoever demands none."""
        return np.asarray(self.defaults == _REFUSES)

    def rows_by_cell(self, rows: Int64Array) -> Int64Array:
        """How many rows each cell has whose sets are listed there, if each set has this many."""
        totals = np.concatenate([np.zeros(1, np.int64), np.cumsum(rows[self.listed])])
        by_cell: Int64Array = np.diff(totals[self.listed_from])
        return by_cell

    @property
    def nbytes(self) -> int:
        """Bytes beside those of the sets themselves."""
        own = (self.set_of, self.cuts, self.defaults, self.listed_from, self.listed)
        return sum(array.nbytes for array in own)

    def cells_of(self, keys: Int64Array) -> Int64Array:
        """The cell of each event; `keys` has a row for each."""
        return _cells_of(self.cuts, keys, self.column, self.points)

    def keep_members(self, hits: Codes, keys: Int64Array, cells: Int64Array) -> Codes:
        """The hits whose sets hold the key of their event; `cells` are those of the keys."""
        sets = self.sets
        lists, intervals = (self.listed_from, self.listed), (sets.begins, sets.lows, sets.highs)
        answers = self.defaults.copy()
        return _keep_members(*hits, keys, self.column, cells, self.set_of, answers, lists, intervals)


def _cuts(sets: KeySets) -> Int64Array:
    """Where cells begin; where sets are made of single keys, these are all cells that any of them has."""
    if sets.highs is sets.lows:
        return np.unique(sets.lows)
    # No key exceeds the greatest one, so a set that reaches it has no end there; adding one would overflow.
    ends = sets.highs[sets.highs < np.iinfo(np.int64).max] + 1
    return np.unique(np.concatenate([sets.lows, ends]))


def _defaults(begins: Int64Array, firsts: Int64Array, lasts: Int64Array) -> Answers:
    """What each set says most of the time within its hull; searched where exceptions outnumber its intervals."""
    sizes = np.diff(begins)
    # Intervals of a set may share a cell where keys cannot tell their ends apart; counting it twice does no harm.
    allowed = np.add.reduceat(lasts - firsts + 1, begins[:-1])
    refused = lasts[begins[1:] - 1] - firsts[begins[:-1]] + 1 - allowed
    defaults = np.where(refused < allowed, _ALLOWS, _REFUSES).astype(np.uint8)
    defaults[np.minimum(allowed, np.maximum(refused, 0)) > 2 * sizes] = _SEARCHED
    return defaults


@kernel
def _list_exceptions(
    begins: Int64Array, firsts: Int64Array, lasts: Int64Array, defaults: Answers, at: Int64Array, listed: Int32Array
) -> None:
    """Appends each set to the cells where it is an exception; without room for them it only counts, in `at`."""
    for number in range(len(begins) - 1):
        reached = firsts[begins[number]]
        for interval in range(begins[number], begins[number + 1]):
            start, stop = max(firsts[interval], reached), lasts[interval] + 1
            if defaults[number] == _ALLOWS:
                start, stop = reached, firsts[interval]
            elif defaults[number] == _SEARCHED:
                stop = start
            for cell in range(start, stop):
                if len(listed):
                    listed[at[cell]] = number
                at[cell] += 1
            reached = lasts[interval] + 1


@kernel
def _cells_of(cuts: Int64Array, keys: Int64Array, column: int, points: bool) -> Int64Array:
    """Where cells are single keys, any other key has the cell past the last."""
    cells = np.empty(len(keys), np.int64)
    for event in range(len(keys)):
        key = keys[event, column]
        place = np.searchsorted(cuts, key, side="right")
        if points:
            place = place - 1 if place > 0 and cuts[place - 1] == key else len(cuts)
        cells[event] = place
    return cells


@kernel
def _keep_members(
    positions: Int32Array,
    offsets: Int64Array,
    keys: Int64Array,
    column: int,
    cells: Int64Array,
    set_of: Int32Array,
    answers: Answers,
    lists: Any,
    intervals: Any,
) -> Codes:
    listed_from, listed = lists
    begins, lows, highs = intervals
    kept = np.empty(len(positions), np.int32)
    bounds = numbers(len(offsets), 0)
    filled = 0
    for event in range(len(offsets) - 1):
        bounds[event + 1] = filled
        if offsets[event] == offsets[event + 1]:
            continue
        key = keys[event, column]
        exceptions = listed[listed_from[cells[event]] : listed_from[cells[event] + 1]]
        for number in exceptions:
            answers[number] ^= 1
        for index in range(offsets[event], offsets[event + 1]):
            position = positions[index]
            # Unsigned, because a signed index is first tested for counting from the end.
            number = set_of[np.uint32(position)]
            answer = answers[np.uint32(number)]
            # Written before it is known to stay, so that the loop has no branch to guess wrong.
            kept[np.uint64(filled)] = position
            if answer != _SEARCHED:
                filled += int(answer)
            else:
                # The row's interval is the set's hull and has the key, so some interval begins at or before it.
                after = np.searchsorted(lows[begins[number] : begins[number + 1]], key, side="right")
                filled += int(highs[begins[number] + after - 1] >= key)
        for number in exceptions:
            answers[number] ^= 1
        bounds[event + 1] = filled
    return kept[:filled], bounds
