"""Algorithm 4 for many boxes at once, compiled: the expressions that `mapping` finds for each of them.

A box is one range of cells on every axis. Its parts are few (θ ≤ 64), so they lie in small tables that every box uses
again: where a part begins and ends on each axis, how often it can be halved there, which division is next. A part that
is divided keeps its lower half and appends the upper one, and a word that has a bit for each division on its way orders
the parts as the first expression bits would. Expressions are words of 64 places: one where the space has no more, else two.

The first call on a machine compiles for some ten seconds; the machine code is kept on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

from siftcast.space.dz.axes import LEVELS_MAX, DzAxis, GridAxis
from siftcast.space.dz.dz_set import DzSet
from siftcast.space.dz.expression import LENGTH_MAX
from siftcast.space.dz.interleaving import WORD_BITS, Interleaving, Words

THETA_BATCH_MAX = 64
_GRID_VALUES_MAX = 65_536
_EXACT = 2**53

F = TypeVar("F", bound=Callable[..., Any])
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
        _map_boxes(
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
        first, end = below(lows), below(highs)
        low, high = (first << axis.inner) // axis.count, (end << axis.inner) // axis.count
        previous = (np.maximum(end - 1, 0) << axis.inner) // axis.count
        return low, high + ((end > 0) & (previous == high))
    pairs = [axis.cells_of_places(low, high) for low, high in zip(lows.tolist(), highs.tolist(), strict=True)]
    found = np.array(pairs, np.int64).reshape(len(lows), 2)
    return found[:, 0], found[:, 1]


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
        return found + (passed[at] & (grid[at] == places))

    return count_below


# -- compiled ----------------------------------------------------------------------------------------


def _kernel(function: F) -> F:
    """Compiled once and kept on disk, where some folder can be written; other threads run meanwhile."""
    try:
        return cast(F, numba.njit(cache=True, nogil=True, boundscheck=False)(function))
    except RuntimeError:
        return cast(F, numba.njit(nogil=True, boundscheck=False)(function))


@_kernel
def _bit_length(number: int) -> int:
    length = 0
    for step in (32, 16, 8, 4, 2, 1):
        if number >> step:
            number >>= step
            length += step
    return length + (1 if number else 0)


@_kernel
def _look(part, axes, wildcards, levels, positions, shared, filled, position, divided):  # type: ignore[no-untyped-def]
    """Which division of a part is next: its place in `position` and its axis in `divided`, -1 for none."""
    first, chosen, end, fills_all = 1 << 30, -1, 0, True
    for axis in range(axes):
        halvings = shared[part, axis]
        fixed = levels[axis] - halvings
        if fixed:
            end = max(end, positions[axis, fixed - 1] + 1)
        fills = filled[part, axis]
        fills_all = fills_all and fills
        if halvings and not (wildcards and fills) and positions[axis, fixed] < first:
            first, chosen = positions[axis, fixed], axis
    if chosen < 0 or (fills_all and (wildcards or end <= first)):
        position[part], divided[part] = end, -1
    else:
        position[part], divided[part] = first, chosen


@_kernel
def _measure(part, axis, low, high, shared, filled):  # type: ignore[no-untyped-def]
    """How often the cells of a part can still be halved on an axis, and whether they fill what is halved."""
    start, end = low[part, axis], high[part, axis]
    halvings = _bit_length(start ^ (end - 1))
    shared[part, axis] = halvings
    filled[part, axis] = end - start == 1 << halvings


@_kernel
def _last_place(bits):  # type: ignore[no-untyped-def]
    """Which of 64 places is the last that is set, the first being the most significant bit."""
    lowest = bits & (~bits + np.uint64(1))
    return 64 - _bit_length(np.int64(lowest >> np.uint64(1))) - 1 if lowest > np.uint64(1) else 63


@_kernel
def _pair_place(values, fixed, box, one, other, words, wildcards):  # type: ignore[no-untyped-def]
    """The only place in which two expressions of one form differ, if they are siblings; else -1."""
    place, end = -1, -1
    for word in range(words):
        form = fixed[box, one, word]
        if form != fixed[box, other, word]:
            return -1
        bits = values[box, one, word] ^ values[box, other, word]
        if bits:
            if place >= 0 or bits & (bits - np.uint64(1)):
                return -1
            place = 64 * word + _last_place(bits)
        if form and not wildcards:
            end = 64 * word + _last_place(form)
    return place if wildcards or place == end else -1


@_kernel
def _merge(values, fixed, box, count, words, wildcards, pairs, alive):  # type: ignore[no-untyped-def]
    """As `cubes.merged`: siblings become one, the last places first, until there are none."""
    left = 0
    for one in range(count):
        alive[one] = True
        for other in range(one + 1, count):
            pairs[one, other] = _pair_place(values, fixed, box, one, other, words, wildcards)
            left += pairs[one, other] >= 0
    if not left:
        return count
    passed, merges = 1 << 30, 0
    while True:
        place = -1
        for one in range(count):
            if alive[one]:
                for other in range(one + 1, count):
                    if alive[other] and place < pairs[one, other] < passed:
                        place = pairs[one, other]
        if place < 0:
            if not merges:
                break
            passed, merges = 1 << 30, 0
            continue
        word, bit = place // 64, np.uint64(1) << np.uint64(63 - place % 64)
        for one in range(count):
            if alive[one]:
                for other in range(one + 1, count):
                    if alive[other] and pairs[one, other] == place:
                        values[box, one, word] &= ~bit
                        fixed[box, one, word] &= ~bit
                        alive[other] = False
                        # No pair has this place any more: the new form lacks it.
                        for each in range(count):
                            if alive[each] and each != one:
                                found = _pair_place(values, fixed, box, one, each, words, wildcards)
                                pairs[min(one, each), max(one, each)] = found
                        break
        passed, merges = place, merges + 1
    kept = 0
    for one in range(count):
        if alive[one]:
            if kept < one:
                for word in range(words):
                    values[box, kept, word] = values[box, one, word]
                    fixed[box, kept, word] = fixed[box, one, word]
            kept += 1
    return kept


@_kernel
def _map_boxes(lows, highs, theta, wildcards, levels, positions, spread, masks, values, fixed, counts, exact):  # type: ignore[no-untyped-def]
    axes, words = lows.shape[1], values.shape[2]
    low, high = np.empty((theta, axes), np.int64), np.empty((theta, axes), np.int64)
    shared, filled = np.empty((theta, axes), np.int64), np.empty((theta, axes), np.bool_)
    position, divided = np.empty(theta, np.int64), np.empty(theta, np.int64)
    depth, way = np.empty(theta, np.int64), np.empty(theta, np.uint64)
    pairs, alive = np.empty((theta, theta), np.int64), np.empty(theta, np.bool_)
    for box in range(lows.shape[0]):
        empty = False
        for axis in range(axes):
            low[0, axis], high[0, axis] = lows[box, axis], highs[box, axis]
            if lows[box, axis] >= highs[box, axis]:
                empty = True
                break
            _measure(0, axis, low, high, shared, filled)
        if empty:
            continue
        way[0], depth[0] = 0, 0
        _look(0, axes, wildcards, levels, positions, shared, filled, position, divided)
        parts = 1
        while True:
            best = -1
            for part in range(parts):
                if divided[part] >= 0 and (
                    best < 0
                    or position[part] < position[best]
                    or (position[part] == position[best] and way[part] < way[best])
                ):
                    best = part
            if best < 0:
                break
            if parts + 1 > theta:
                exact[box] = False
                break
            axis = divided[best]
            halvings = shared[best, axis]
            middle = ((low[best, axis] >> halvings) << halvings) + (1 << (halvings - 1))
            for each in range(axes):
                low[parts, each], high[parts, each] = low[best, each], high[best, each]
                shared[parts, each], filled[parts, each] = shared[best, each], filled[best, each]
            high[best, axis] = middle
            low[parts, axis] = middle
            depth[best] += 1
            depth[parts] = depth[best]
            way[parts] = way[best] | np.uint64(1) << np.uint64(64 - depth[best])
            for half in (best, parts):
                _measure(half, axis, low, high, shared, filled)
                _look(half, axes, wildcards, levels, positions, shared, filled, position, divided)
            parts += 1
        for part in range(parts):
            for word in range(words):
                value, mask = np.uint64(0), np.uint64(0)
                for axis in range(axes):
                    halvings = shared[part, axis]
                    cell = (low[part, axis] >> halvings) << halvings
                    byte = 0
                    while cell:
                        value |= spread[axis, byte, cell & 0xFF, word]
                        cell >>= 8
                        byte += 1
                    mask |= masks[axis, levels[axis] - halvings, word]
                if not wildcards:
                    ones = min(max(position[part] - 64 * word, 0), 64)
                    mask = ~np.uint64(0) << np.uint64(64 - ones) if ones else np.uint64(0)
                values[box, part, word] = value & mask
                fixed[box, part, word] = mask
        counts[box] = _merge(values, fixed, box, parts, words, wildcards, pairs, alive)
