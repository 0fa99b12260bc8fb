"""Small loops over results that NumPy has no function for: removing repeats, and joining segments' answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from siftcast.matching.compiling import kernel
from siftcast.matching.contract import Int32Array, Int64Array
from siftcast.matching.tiles.arrays import numbers
from siftcast.matching.tiles.keys import Mask

Codes = tuple[Int32Array, Int64Array]


@kernel
def distinct_owners(
    positions: Int32Array, offsets: Int64Array, owners: Int32Array, doubtful: Mask, count: int
) -> tuple[Int32Array, Int64Array, Mask]:
    """Each event's owners once, in order of first appearance, and which of them no hit leaves beyond doubt."""
    places = numbers(count, -1)
    result = np.empty(len(positions), np.int32)
    doubts = np.empty(len(positions), np.bool_)
    bounds = numbers(len(offsets), 0)
    filled = 0
    for event in range(len(offsets) - 1):
        for index in range(offsets[event], offsets[event + 1]):
            position = positions[index]
            owner = owners[position]
            place = places[owner]
            if place < bounds[event]:  # not yet seen with this event
                places[owner] = filled
                result[filled] = owner
                doubts[filled] = doubtful[position]
                filled += 1
            elif not doubtful[position]:
                doubts[place] = False
        bounds[event + 1] = filled
    return result[:filled], bounds, doubts[:filled]


@kernel
def _interleave(
    codes: Int32Array, begins: Int64Array, shifts: Int32Array, lasts: Int64Array, result: Int32Array
) -> None:
    parts, events = begins.shape
    filled = 0
    for event in range(events):
        for part in range(parts):
            for index in range(begins[part, event], lasts[part, event]):
                result[filled] = codes[index] + shifts[part]
                filled += 1


def join_codes(parts: Sequence[Codes], sizes: Sequence[int]) -> Codes:
    """The answers of several segments event by event; a segment's codes are shifted past those before it."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0] + [len(codes) for codes, _ in parts])[:-1]
    begins = np.stack([offsets[:-1] + start for (_, offsets), start in zip(parts, starts, strict=True)])
    lasts = np.stack([offsets[1:] + start for (_, offsets), start in zip(parts, starts, strict=True)])
    shifts = np.cumsum([0, *sizes])[:-1].astype(np.int32)
    offsets = np.sum([offsets for _, offsets in parts], axis=0)
    result = np.empty(int(offsets[-1]), np.int32)
    _interleave(np.concatenate([codes for codes, _ in parts]), begins, shifts, lasts, result)
    return result, offsets


def keep_codes(codes: Int32Array, offsets: Int64Array, keep: Mask) -> Codes:
    """Only the codes marked in `keep`."""
    totals = np.concatenate([[0], np.cumsum(keep)])
    return codes[keep], totals[offsets]


def append_codes(parts: Sequence[Codes]) -> Codes:
    """The answers to consecutive pieces of a batch as one."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0] + [len(codes) for codes, _ in parts])
    offsets = [offsets[1:] + start for (_, offsets), start in zip(parts, starts, strict=False)]
    return np.concatenate([codes for codes, _ in parts]), np.concatenate([np.zeros(1, np.int64), *offsets])
