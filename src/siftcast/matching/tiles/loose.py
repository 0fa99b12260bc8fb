"""Loose entries: the tests for the rows that are left in a tile.

Three forms of one entry, from fast to exact. A row's *record* holds the fine codes (see ``fine_codes``) of up to
RECORD_LANES of its entries and is compared in a few instructions; a *brief* holds dimension and codes of one
entry, for more dimensions than a record can name; its *interval* settles the doubts that codes leave.

    record   8 uint8: dimensions    6 uint16: low ends    6 uint16: inverted high ends

A lane without an entry names the neutral code that every event has, which lies inside. A row with more entries than
lanes has a lane in which the neutral code is always in doubt.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from siftcast.matching.compiling import kernel
from siftcast.matching.tiles.arrays import numbers

from .fine_codes import Cells, fine_ends
from .lines import RECORD_LANES, TILE_ROWS
from .ordering import Entries, EntryCodes, Int64Array
from .placement import Placement, aligned
from .visits import NEUTRAL_CODE, RECORD_BYTES, RECORD_DIMS_MAX, TESTS_AT_ONCE

RECORD_SHORTS = RECORD_BYTES // 2


def pack_loose(
    entries: Entries, codes: EntryCodes, placed: Placement, cells: Cells
) -> tuple[dict[str, NDArray[Any]], Int64Array]:
    """Entries that are tested row by row, by position, and the most that a row of each tile has."""
    count = np.zeros(placed.tiles * TILE_ROWS, np.int32)
    tile, place, facet, exact = placed.tile, placed.place, placed.facet, placed.exact
    count_loose(tile, place, facet, exact, count)
    most = count.reshape(placed.tiles, TILE_ROWS).max(axis=1, initial=0)
    total = int(count.sum())
    # Spare briefs, because kernels read some without asking how many there are.
    intervals, briefs = np.zeros((total, 2), np.int64), np.zeros(total + TESTS_AT_ONCE, np.uint32)
    begin, bits, records = np.zeros(0, np.int32), np.zeros(0, np.uint64), np.zeros(0, np.uint16)
    if total:
        begin = np.zeros(len(count) + 1, np.int32)
        np.cumsum(count, out=begin[1:])
        bits = np.packbits(count > 0, bitorder="little").view(np.uint64)
        fill_loose(
            tile, place, facet, exact, entries.low, entries.high, entries.dim, codes.low, codes.high,
            begin[:-1].copy(), intervals, briefs,
        )  # fmt: skip
        # In exact tiles rows are tested too rarely to be worth a record each.
        if not placed.exact.all() and entries.dims <= RECORD_DIMS_MAX:
            # One more, because a line of the last is read to its end.
            records = aligned((len(count) + 1) * RECORD_BYTES // 8).view(np.uint16)
            table = records.reshape(-1, RECORD_SHORTS)
            octets = records.view(np.uint8).reshape(-1, RECORD_BYTES)
            octets[:, :RECORD_LANES] = entries.dims
            ends = fine_ends(entries, codes, cells)
            fill_records(tile, place, facet, exact, entries.dim, ends, count, table, octets)
    return {"loose_begin": begin, "loose_bits": bits, "loose": intervals, "briefs": briefs, "records": records}, most


@kernel
def count_loose(tile: Any, place: Any, facet: Any, exact: Any, count: Any) -> None:
    """Number of loose entries of each position."""
    for i in range(len(tile)):
        if facet[i] < 0 or not exact[tile[i]]:
            count[np.int64(tile[i]) * TILE_ROWS + place[i]] += 1


@kernel
def fill_loose(
    tile: Any,
    place: Any,
    facet: Any,
    exact: Any,
    low: Any,
    high: Any,
    dim: Any,
    low_code: Any,
    high_code: Any,
    at: Any,
    intervals: Any,
    briefs: Any,
) -> None:
    """Write low and width, and dimension and codes, of each loose entry."""
    for i in range(len(tile)):
        if facet[i] < 0 or not exact[tile[i]]:
            position = np.int64(tile[i]) * TILE_ROWS + place[i]
            # The width may wrap around; as an unsigned number it is right.
            intervals[at[position], 0], intervals[at[position], 1] = low[i], high[i] - low[i]
            briefs[at[position]] = dim[i] << 16 | np.int64(high_code[i]) << 8 | np.int64(low_code[i])
            at[position] += 1


@kernel
def fill_records(
    tile: Any, place: Any, facet: Any, exact: Any, dim: Any, ends: Any, count: Any, table: Any, octets: Any
) -> None:
    """Write the ends of each row's loose entries lane by lane; octets are the bytes of the table."""
    filled = numbers(len(table), 0)
    for i in range(len(tile)):
        if facet[i] < 0 or not exact[tile[i]]:
            position = np.int64(tile[i]) * TILE_ROWS + place[i]
            lane = np.int64(filled[position])
            if lane == RECORD_LANES - 1 and count[position] > RECORD_LANES:
                table[position, 4 + lane] = NEUTRAL_CODE
            elif lane < RECORD_LANES:
                octets[position, lane] = dim[i]
                table[position, 4 + lane] = ends[i, 0]
                table[position, 4 + RECORD_LANES + lane] = 0xFFFF - ends[i, 1]
                filled[position] = lane + 1
