"""Algorithm 4 for many boxes at once, compiled: the expressions that `mapping` finds for each of them.

A box is one range of cells on every axis. Its expressions are words of 64 places: one where the space has no more, else
two. `box_kernels` does the work; here places of boxes become cells, by arrays where these can tell exactly what single
boxes are told: on grids whose values are whole numbers, or few. Other axes are asked range by range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from siftcast.space.dz.axes import LEVELS_MAX, DzAxis, GridAxis
from siftcast.space.dz.box_kernels import map_boxes
from siftcast.space.dz.dz_set import DzSet
from siftcast.space.dz.expression import LENGTH_MAX, Dz
from siftcast.space.dz.interleaving import WORD_BITS, Interleaving, Words, words_of

THETA_BATCH_MAX = 64
_GRID_VALUES_MAX = 65_536
_EXACT = 2**53

Cells = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DzBatch:
    """The expressions of many boxes: `counts[i]` of them, as words of `values` and `fixed` with the first place first.

    `exact` says of each box whether they hold no more than its cells. What lies behind the count of a row is undefined.
    """

    values: Words
    fixed: Words
    counts: npt.NDArray[np.int64]
    exact: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.counts)

    def holding(self, dz: Dz) -> npt.NDArray[np.bool_]:
        """Which boxes have one expression that covers this one, as for the cell of an event."""
        words = self.values.shape[2]
        value, fixed = (np.array(words_of(part, words), np.uint64) for part in dz.cube)
        missed = np.logical_or.reduce(self.fixed & (~fixed | (self.values ^ value)), axis=2)
        is_row = np.arange(missed.shape[1]) < self.counts[:, None]
        found: npt.NDArray[np.bool_] = np.logical_or.reduce(~missed & is_row, axis=1)
        return found

    def set_at(self, row: int) -> DzSet:
        """The expressions of one box as a set."""
        count = int(self.counts[row])
        values, fixed = self.values[row, :count].tolist(), self.fixed[row, :count].tolist()
        return DzSet.of_tidy_cubes(
            ((_number(value), _number(mask)) for value, mask in zip(values, fixed, strict=True)),
            exact=bool(self.exact[row]),
        )


def _number(words: Sequence[int]) -> int:
    return sum(word << (LENGTH_MAX - WORD_BITS * (index + 1)) for index, word in enumerate(words))


class BoxReader:
    """Maps boxes of cells under one division of the space."""

    def __init__(self, interleaving: Interleaving) -> None:
        self.words = 1 if interleaving.length <= WORD_BITS else 2
        self._levels = np.array(interleaving.levels, np.int64)
        self._positions = np.zeros((len(interleaving.levels), max(interleaving.levels, default=0) + 1), np.int64)
        for axis, positions in enumerate(interleaving.positions):
            self._positions[axis, : len(positions)] = positions
        self._spread, self._masks = interleaving.tables(self.words)

    def read(self, lows: Cells, highs: Cells, theta: int, wildcards: bool) -> DzBatch:
        """The expressions of boxes, whose cells are [box, axis]."""
        count = len(lows)
        batch = DzBatch(
            np.empty((count, theta, self.words), np.uint64),
            np.empty((count, theta, self.words), np.uint64),
            np.zeros(count, np.int64),
            np.ones(count, np.bool_),
        )
        map_boxes(
            np.ascontiguousarray(lows),
            np.ascontiguousarray(highs),
            theta,
            wildcards,
            self._levels,
            self._positions,
            self._spread,
            self._masks,
            batch.values,
            batch.fixed,
            batch.counts,
            batch.exact,
        )
        return batch


# -- places as cells ---------------------------------------------------------------------------------


def cells_of_columns(axis: DzAxis, lows: npt.NDArray[Any], highs: npt.NDArray[Any]) -> tuple[Cells, Cells]:
    """The cells of many ranges of places; the same as one by one."""
    if isinstance(axis, GridAxis) and (below := _counting(axis)) is not None:
        return _borders(axis, below(lows))[0], _borders(axis, below(highs))[1]
    pairs = [axis.cells_of_places(low, high) for low, high in zip(lows.tolist(), highs.tolist(), strict=True)]
    found = np.array(pairs, np.int64).reshape(len(lows), 2)
    return found[:, 0], found[:, 1]


def _borders(axis: GridAxis, index: Cells) -> tuple[Cells, Cells]:
    """As `GridAxis` does it for one."""
    low = (index << axis.inner) // axis.count
    high = np.where(index > 0, (np.maximum(index - 1, 0) << axis.inner) // axis.count + 1, 0)
    paired = high + (high & 1)
    is_gap = low > high
    return np.where(is_gap, paired, low), np.where(is_gap, paired, high)


def _counting(axis: GridAxis) -> Callable[[npt.NDArray[Any]], Cells] | None:
    """How many values of a grid lie below each place, where arrays can tell exactly; else None."""
    if axis.inner + axis.count.bit_length() > LEVELS_MAX:
        return None
    scale = axis.attribute.scale
    origin = scale.origin if scale.step is not None else Fraction(axis.base)
    if scale.step in (None, 1) and origin.denominator == 1 and abs(origin) + axis.count < _EXACT:
        first, end = int(origin), int(origin) + axis.count
        return lambda places: np.ceil(np.clip(places, first, end)).astype(np.int64) - first
    if axis.count > _GRID_VALUES_MAX:
        return None
    exact = [scale.origin + index * cast(Fraction, scale.step) for index in range(axis.count)]
    grid = np.array([float(value) for value in exact])
    # A place is read as the decimal it prints as; where that is not the value, it lies before or after it.
    passed = np.array([value < Fraction(repr(number)) for value, number in zip(exact, grid.tolist(), strict=True)])

    def count_below(places: npt.NDArray[Any]) -> Cells:
        found = np.searchsorted(grid, places)
        at = np.minimum(found, axis.count - 1)
        count: Cells = found + (passed[at] & (grid[at] == places))
        return count

    return count_below
