"""Small loops over results that NumPy has no words for: removing repeats, and joining segments' answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from siftcast.matching.contract import Int32Array, Int64Array
from siftcast.matching.tiles.compiling import kernel
from siftcast.matching.tiles.keys import Mask

Codes = tuple[Int32Array, Int64Array]


@kernel
def distinct_codes(codes: Int32Array, offsets: Int64Array, owners: Int32Array, count: int) -> Codes:
    """Each event's owners once: `owners[code]` of its codes, in order of first appearance."""
    stamps = np.full(count, -1, np.int64)
    result = np.empty(len(codes), np.int32)
    bounds = np.zeros(len(offsets), np.int64)
    filled = 0
    for event in range(len(offsets) - 1):
        for index in range(offsets[event], offsets[event + 1]):
            owner = owners[codes[index]]
            if stamps[owner] != event:
                stamps[owner] = event
                result[filled] = owner
                filled += 1
        bounds[event + 1] = filled
    return result[:filled], bounds


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
