"""Fine codes: 16 bits for a key, so that codes alone tell nearly always whether a row matches.

The upper byte is the code: the number of the dimension's edges at or below the key. The lower one cuts the range
between two edges into up to 255 steps of a power of two::

    key ---|-------------------|-----      | edge
           |.:.:.:.:.:.:.:.:.:.|           step = 2 ** shift, the least that fits; the last one takes the rest

Being monotonous, fine codes are exact unless a key has the same one as an end of an interval. An end that coincides
with the end of a step leaves no doubt even then; it is stored as the neighbouring step, which lies outside. So are open
ends, and popular values, which are edges themselves.

Rejected: quantiles for the lower byte (a search in megabytes of edges per key of an event).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siftcast.matching.compiling import kernel, piece

from .ordering import EDGES_MAX, KEY_MAX, MISSING, Entries, EntryCodes, Int64Array
from .visits import SUB_MAX


@dataclass(frozen=True, slots=True)
class Cells:
    """By dimension and code: the least key of the code, and the shift that tells the steps."""

    starts: Int64Array
    lasts: Int64Array  # The greatest key of the code.
    shifts: NDArray[np.uint8]


def cells_of(entries: Entries, codes: EntryCodes) -> Cells:
    """The cells between the edges of every dimension."""
    shape = (entries.dims, EDGES_MAX + 1)
    starts, lasts = np.full(shape, MISSING, np.int64), np.full(shape, KEY_MAX, np.int64)
    shifts = np.zeros(shape, np.uint8)
    for dim, edges in enumerate(codes.edges):
        part = slice(entries.begin[dim], entries.begin[dim + 1])
        if len(edges):
            starts[dim, 1 : len(edges) + 1] = edges
            lasts[dim, : len(edges)] = edges - 1
            highs = entries.high[part]
            # Beyond the last edge keys have no end; steps are laid out up to the greatest end of an interval.
            top = max(int(entries.low[part].max()), int(highs[highs < KEY_MAX].max(initial=MISSING)))
            tops = np.append(lasts[dim, 1 : len(edges)], max(top, int(edges[-1])))
            spans = [int(top) - int(start) for top, start in zip(tops, edges, strict=True)]
            shifts[dim, 1 : len(edges) + 1] = [max(span.bit_length() - 8, 0) for span in spans]
    return Cells(starts, lasts, shifts)


@piece
def low_fine(key: Any, start: Any, code: Any, shift: Any) -> Any:
    """The fine code at which a key is at or above a low end, but in doubt; below it, the key is outside."""
    offset = np.uint64(np.int64(key) - np.int64(start))
    steps = min(offset >> np.uint64(shift), np.uint64(SUB_MAX))
    fine = np.int64(code) << 8 | np.int64(steps)
    return fine - 1 if steps << np.uint64(shift) == offset else fine


@piece
def high_fine(key: Any, start: Any, last: Any, code: Any, shift: Any) -> Any:
    """Likewise for a high end."""
    offset, end = np.uint64(np.int64(key) - np.int64(start)), np.uint64(np.int64(last) - np.int64(start))
    steps = min(offset >> np.uint64(shift), np.uint64(SUB_MAX))
    if steps < np.uint64(SUB_MAX):
        end = min(end, ((steps + np.uint64(1)) << np.uint64(shift)) - np.uint64(1))
    fine = np.int64(code) << 8 | np.int64(steps)
    return fine + 1 if offset == end else fine


@kernel
def fill_ends(
    dim: Any, low: Any, high: Any, low_code: Any, high_code: Any, starts: Any, lasts: Any, shifts: Any, ends: Any
) -> None:
    """Write the fine codes of the ends of each entry."""
    for i in range(len(dim)):
        d, first, last = dim[i], np.int64(low_code[i]), np.int64(high_code[i])
        ends[i, 0] = low_fine(low[i], starts[d, first], first, np.int64(shifts[d, first]))
        ends[i, 1] = high_fine(high[i], starts[d, last], lasts[d, last], last, np.int64(shifts[d, last]))


def fine_ends(entries: Entries, codes: EntryCodes, cells: Cells) -> NDArray[np.uint16]:
    """The fine codes of both ends of each entry, moved by one where they leave no doubt."""
    ends = np.zeros((len(entries.dim), 2), np.uint16)
    fill_ends(
        entries.dim, entries.low, entries.high, codes.low, codes.high, cells.starts, cells.lasts, cells.shifts, ends
    )
    return ends
