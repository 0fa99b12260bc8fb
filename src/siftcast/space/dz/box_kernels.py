"""The repaired Algorithm 4 for boxes, compiled: what `mapping` does, for one product at a time and without its objects.

The parts of a box are few (θ ≤ 64), so they lie in small tables that every box uses again: where a part begins and ends
on each axis, how often it can be halved there, which division is next. A part that is divided keeps its lower half and
appends the upper one. A word with a bit for each division on the way to a part orders the parts as their expressions
would. Siblings are merged in the order of `cubes.merged`; all pairs are compared once, then only what has changed.

The first call on a machine compiles for some seconds; the machine code is kept on disk. These kernels are declared here
and not by `matching.compiling`, because this room must not know that one, and no matcher has to wait for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

F = TypeVar("F", bound=Callable[..., Any])
Cells = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]
_NOWHERE = 1 << 30


def _kernel(function: F) -> F:
    """Compiled once and kept on disk, where some folder can be written; other threads run meanwhile."""
    try:
        return cast(F, numba.njit(cache=True, nogil=True, boundscheck=False)(function))
    except RuntimeError:
        return cast(F, numba.njit(nogil=True, boundscheck=False)(function))


@_kernel
def _bit_length(number: Any) -> int:
    length = 0
    for step in (32, 16, 8, 4, 2, 1):
        if number >> step:
            number >>= step
            length += step
    return length + (1 if number else 0)


@_kernel
def _last_place(bits: Any) -> int:
    """Which of 64 places is the last that is set, the first being the most significant bit."""
    lowest = bits & (~bits + np.uint64(1))
    return 64 - _bit_length(np.int64(lowest >> np.uint64(1))) - 1 if lowest > np.uint64(1) else 63


@_kernel
def _pair_place(values: Words, fixed: Words, box: int, one: int, other: int, words: int, wildcards: bool) -> int:
    """The only place in which two expressions of one form differ, if they are siblings; else -1."""
    found = -1
    for word in range(words):
        if fixed[box, one, word] != fixed[box, other, word]:
            return -1
        bits = values[box, one, word] ^ values[box, other, word]
        if bits:
            if found >= 0 or bits & (bits - np.uint64(1)):
                return -1
            found = word
    if found < 0:
        return -1
    place = 64 * found + _last_place(values[box, one, found] ^ values[box, other, found])
    if not wildcards:
        for word in range(words - 1, -1, -1):
            if fixed[box, one, word]:
                return place if place == 64 * word + _last_place(fixed[box, one, word]) else -1
    return place


@_kernel
def _merge(
    values: Words, fixed: Words, box: int, count: int, words: int, wildcards: bool, pairs: Cells, alive: Flags
) -> int:
    """As `cubes.merged`: siblings become one, the last places first, until there are none.

    `pairs` has a row for each pair of siblings: the two, and their place, which is -1 when one of them has changed.
    """
    listed = 0
    for one in range(count):
        alive[one] = True
        for other in range(one + 1, count):
            place = _pair_place(values, fixed, box, one, other, words, wildcards)
            if place >= 0:
                pairs[listed, 0], pairs[listed, 1], pairs[listed, 2] = one, other, place
                listed += 1
    if not listed:
        return count
    passed, merges = _NOWHERE, 0
    while True:
        place = -1
        for pair in range(listed):
            if place < pairs[pair, 2] < passed:
                place = pairs[pair, 2]
        if place < 0:
            if not merges:
                break
            passed, merges = _NOWHERE, 0
            continue
        word, bit = place // 64, np.uint64(1) << np.uint64(63 - place % 64)
        # Pairs that come to the list meanwhile are of another place: what is merged has none there any more.
        for pair in range(listed):
            if pairs[pair, 2] != place:
                continue
            one, other = pairs[pair, 0], pairs[pair, 1]
            values[box, one, word] &= ~bit
            fixed[box, one, word] &= ~bit
            alive[other] = False
            for each in range(listed):
                if pairs[each, 0] in (one, other) or pairs[each, 1] in (one, other):
                    pairs[each, 2] = -1
            for each in range(count):
                if alive[each] and each != one:
                    found = _pair_place(values, fixed, box, one, each, words, wildcards)
                    if found >= 0:
                        pairs[listed, 0], pairs[listed, 1], pairs[listed, 2] = one, each, found
                        listed += 1
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
def map_boxes(
    lows: Cells,
    highs: Cells,
    theta: int,
    wildcards: bool,
    levels: Cells,
    positions: Cells,
    spread: Words,
    masks: Words,
    values: Words,
    fixed: Words,
    counts: Cells,
    exact: Flags,
) -> None:
    """Fills in the expressions of boxes: [box, expression, word] of their bits, and of which are fixed."""
    axes, words = lows.shape[1], values.shape[2]
    low, high = np.empty((theta, axes), np.int64), np.empty((theta, axes), np.int64)
    shared, filled = np.empty((theta, axes), np.int64), np.empty((theta, axes), np.bool_)
    turns = np.empty((theta, axes), np.int64)  # where an axis is divided next
    position, divided = np.empty(theta, np.int64), np.empty(theta, np.int64)
    depth, way = np.empty(theta, np.int64), np.empty(theta, np.uint64)
    pairs, alive = np.empty((2 * theta * theta, 3), np.int64), np.empty(theta, np.bool_)
    for box in range(lows.shape[0]):
        empty = False
        for axis in range(axes):
            low[0, axis], high[0, axis] = lows[box, axis], highs[box, axis]
            empty = empty or lows[box, axis] >= highs[box, axis]
        if empty:
            continue
        way[0], depth[0] = 0, 0
        parts, one, other, first_axis, last_axis = 1, 0, 0, 0, axes - 1
        while True:
            # What is new: the box at first, then both halves of the part that was divided, on one axis.
            for part in range(one, other + 1, max(other - one, 1)):
                for axis in range(first_axis, last_axis + 1):
                    start, end = low[part, axis], high[part, axis]
                    halvings = _bit_length(start ^ (end - 1))
                    fills = end - start == 1 << halvings
                    shared[part, axis], filled[part, axis] = halvings, fills
                    has_turn = halvings > 0 and not (wildcards and fills)
                    turns[part, axis] = positions[axis, levels[axis] - halvings] if has_turn else _NOWHERE
                first, chosen = _NOWHERE, -1
                for axis in range(axes):
                    if turns[part, axis] < first:
                        first, chosen = turns[part, axis], axis
                if not wildcards:
                    fills_all = True
                    for axis in range(axes):
                        fills_all = fills_all and filled[part, axis]
                    if fills_all:  # as where nothing is left to divide: a single cell is filled
                        fixed_end = 0
                        for axis in range(axes):
                            fixed_levels = levels[axis] - shared[part, axis]
                            if fixed_levels:
                                fixed_end = max(fixed_end, positions[axis, fixed_levels - 1] + 1)
                        if fixed_end <= first:
                            first, chosen = fixed_end, -1
                position[part], divided[part] = first, chosen
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
                turns[parts, each] = turns[best, each]
            high[best, axis] = middle
            low[parts, axis] = middle
            depth[best] += 1
            depth[parts] = depth[best]
            way[parts] = way[best] | np.uint64(1) << np.uint64(64 - depth[best])
            one, other, first_axis, last_axis = best, parts, axis, axis
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
