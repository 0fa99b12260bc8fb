"""Packing of ordered rows into facets, loose entries and the summary.

A facet holds what one tile knows about one dimension; a line of it has a bit for each of the tile's 512 rows, and rows
without the dimension have theirs set in every line. Tiles are of two kinds.

Filtered, for rows that rarely match. A key's code is the number of the dimension's quantile edges (at most 255) at or
below it, found once per event. A facet is a map from codes to lines, and codes at which few intervals begin or end
share a line. All entries of the tile are loose, too: a row that is left is tested by its fine codes, and by its
intervals only if a key has the same fine code as an end of one (see ``loose``).

Exact, for rows that often match. Seen along the keys, a row's bit is set from ``low`` up to the change point
``high + 1`` where it is cleared again. Every eighth change point or so becomes an edge, so that at most seven
distinct ones lie strictly inside the bucket between two edges::

    key  ----|---+--+-----+---|--+---|---->        | edge    + change point inside a bucket
    bucket 0 |       1        |  2   | 3

    bucket = line    512 bits: rows that match some key of the bucket
             values    8 int64: change points strictly inside, in no order that matters; unused: INT64_MIN
             positions 8 uint16: whose bit each one is; the eighth is a mask of the values that open

For a key in the bucket, row r of the line is wrong exactly if an opening value exceeds the key or a closing
value does not, so ``(values <= key) XOR mask`` tells which bits to clear. Bucket 0 is below every low; a
MISSING key falls there and needs no line of its own. The block is ``edges | lines | values | positions``. The edges
are those of the tile: sorted tiles are narrow in their leading dimensions, and index-wide ones would leave hundreds
of change points inside one bucket. An equality on one value costs three buckets, however many rows share it.

A facet costs a visit the same time however few rows it has, so dimensions that fewer than ``FACET_ENTRIES_MIN`` rows of
a tile constrain get none and are loose. A tile's facets follow each other and can be fetched ahead as one range. An
entry takes 20 bytes as a loose one, and about 20 in a filter or 40 in an exact facet; a row's record takes 32.

The summary is the same idea one level up: for each code of a dimension, a bitmap of tiles that may match.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from siftcast.matching.compiling import kernel

from .facets import (
    CLOSES,
    LINE_WORDS,
    count_edges,
    distribute,
    fill_facets,
    fill_filters,
    list_members,
    map_codes,
    put_edge,
)
from .fine_codes import Cells, cells_of
from .lines import TILE_ROWS
from .loose import pack_loose
from .ordering import KEY_MAX, Entries, EntryCodes, Int64Array
from .placement import Placement, aligned, locate
from .visits import (
    CODE_GROUP,
    GROUP,
    MAP_LINES,
    PIVOTS,
    SHIFT_LINES,
    TESTS_AT_ONCE,
)

FACET_ENTRIES_MIN = 16
# Rows that a visit is expected to leave, for each facet, from which a tile is exact. Measured: filters win up to 0.73
# (a million rows with 20 dimensions at a match rate of 1 %), exact tiles from 1.8 on (the same at 5 %); 2.6 is the
# value of 10,000 rows with 5 dimensions at 1 %.
EXACT_ROWS_MIN = 1.2


def pack(entries: Entries, codes: EntryCodes, order: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
    """All arrays of an index but the order."""
    tiles = -(-entries.rows // TILE_ROWS)
    position = np.empty(entries.rows, np.int32)
    position[order] = np.arange(entries.rows, dtype=np.int32)
    tile, place = np.empty(len(entries.row), np.int32), np.empty(len(entries.row), np.uint16)
    counts = np.zeros((tiles, entries.dims), np.int64)
    locate(position, entries.row, entries.dim, tile, place, counts)
    cells = cells_of(entries, codes)
    summary, spans = pack_summary(entries, codes, cells, tile, counts)
    exact = choose_exact(entries, codes, tile, place, counts, spans)
    facet_cells = np.flatnonzero(counts.ravel() >= FACET_ENTRIES_MIN)
    number = np.full(tiles * entries.dims, -1, np.int32)
    number[facet_cells] = np.arange(len(facet_cells))
    facet = number[tile.astype(np.int64) * entries.dims + entries.dim]
    placed = Placement(tiles, tile, place, counts, facet, facet_cells, exact)
    facets = pack_facets(entries, codes, placed)
    loose, most = pack_loose(entries, codes, placed, cells)
    facets["tile_table"][:-1, 1] = np.minimum(most, TESTS_AT_ONCE)
    return {**summary, **facets, **loose}


def choose_exact(
    entries: Entries,
    codes: EntryCodes,
    tile: NDArray[np.int32],
    place: NDArray[np.uint16],
    counts: Int64Array,
    spans: NDArray[np.float32],
) -> NDArray[np.bool_]:
    """Which tiles are exact: those where a visit leaves many rows, so that tests would cost more than clearing."""
    tiles = len(counts)
    if tiles == 0:
        return np.zeros(0, bool)
    sizes = np.array([len(edges) + 1 for edges in codes.edges], np.float32)
    share = np.zeros(tiles * TILE_ROWS, np.float32)
    share[: entries.rows] = 1
    multiply_shares(entries.dim, tile, place, codes.low, codes.high, sizes, spans, share)
    left = share.reshape(tiles, TILE_ROWS).sum(axis=1)
    facets = (counts >= FACET_ENTRIES_MIN).sum(axis=1)
    exact = np.asarray(left > EXACT_ROWS_MIN * facets)
    # A batch against an index without filters takes a way that is faster where matches abound.
    return np.ones(tiles, bool) if exact.mean() > 1 / 2 else exact


@kernel
def multiply_shares(dim: Any, tile: Any, place: Any, low: Any, high: Any, sizes: Any, spans: Any, share: Any) -> None:
    """The chance of each row to match an event that visits its tile, if dimensions were independent."""
    for i in range(len(dim)):
        width = np.float32(high[i]) - np.float32(low[i]) + np.float32(1)
        share[np.int64(tile[i]) * TILE_ROWS + place[i]] *= width / (sizes[dim[i]] * spans[tile[i], dim[i]])


def pack_facets(entries: Entries, codes: EntryCodes, placed: Placement) -> dict[str, NDArray[Any]]:
    """Facets of all tiles in one array of cache lines, with a table that tells where each one is."""
    facets = len(placed.facet_cells)
    exact = placed.exact[placed.facet_cells // max(entries.dims, 1)]
    values, owners, begin = sort_change_points(entries, placed)
    edges = count_edges(values, begin)
    edge_lines = np.where(edges <= PIVOTS, 2, 2 + -(-edges // GROUP))
    exact_size = edge_lines + 2 * (edges + 1) + (edges + 1 + 3) // 4
    members, member_begin = group_members(placed, exact)
    maps = np.zeros((facets, 256), np.uint8)
    filter_lines = map_codes(members, member_begin, codes.low, codes.high, maps)
    size = np.where(exact, exact_size, MAP_LINES + filter_lines)
    table = np.zeros((facets + 1, 4), np.int32)
    table[:facets, 0] = placed.facet_cells % max(entries.dims, 1)
    table[:facets, 1] = np.where(exact, edges, filter_lines)
    table[1:, 2] = np.cumsum(size)
    table[:facets, 3] = np.where(exact, edge_lines, MAP_LINES)
    data = aligned((int(size.sum()) + 1) * LINE_WORDS)
    fill_facets(table, values, owners, begin, data, data.view(np.uint16))
    fill_filters(table, members, member_begin, codes.low, codes.high, placed.place, maps, data, data.view(np.uint8))
    tile_table = np.zeros((placed.tiles + 1, 4), np.int32)
    tile_table[:, 0] = np.searchsorted(placed.facet_cells, np.arange(placed.tiles + 1) * entries.dims)
    tile_table[:-1, 2] = placed.exact
    return {"tile_table": tile_table, "facet_table": table, "facets": data}


def group_members(placed: Placement, exact: NDArray[np.bool_]) -> tuple[Int64Array, Int64Array]:
    """Entries of each filter, filter after filter, and where each one begins; exact facets have none."""
    begin = np.zeros(len(exact) + 1, np.int64)
    count = placed.counts.ravel()[placed.facet_cells]
    np.cumsum(np.where(exact, 0, count), out=begin[1:])
    members = np.empty(int(begin[-1]), np.int64)
    list_members(placed.facet, exact, begin[:-1].copy(), members)
    return members, begin


def sort_change_points(entries: Entries, placed: Placement) -> tuple[Int64Array, NDArray[np.uint16], Int64Array]:
    """Change points of each exact facet, ascending, with the place (and CLOSES) of the row whose bit changes."""
    packed = (placed.facet >= 0) & placed.exact[placed.tile]
    closing = packed & (entries.high < KEY_MAX)
    values = np.concatenate([entries.low[packed], entries.high[closing] + 1])
    owners = np.concatenate([placed.place[packed], placed.place[closing] | CLOSES])
    facet = np.concatenate([placed.facet[packed], placed.facet[closing]])
    begin = np.zeros(len(placed.facet_cells) + 1, np.int64)
    np.cumsum(np.bincount(facet, minlength=len(placed.facet_cells)), out=begin[1:])
    # One fast sort by value and a stable distribution beat a sort of each facet.
    sorted_values, sorted_owners = np.empty_like(values), np.empty_like(owners)
    distribute(np.argsort(values), values, owners, facet, begin[:-1].copy(), sorted_values, sorted_owners)
    return sorted_values, sorted_owners, begin


def pack_summary(
    entries: Entries, codes: EntryCodes, cells: Cells, tile: NDArray[np.int32], counts: Int64Array
) -> tuple[dict[str, NDArray[Any]], NDArray[np.float32]]:
    """Shifts and edges of each dimension, bitmaps of tiles for each code where that can rule out a tile, and the
    share of each dimension's codes that a tile covers."""
    tiles = len(counts)
    tile_lines = -(-tiles // TILE_ROWS)
    tile_rows = np.full(tiles, TILE_ROWS)
    tile_rows[-1:] = entries.rows - TILE_ROWS * (tiles - 1)
    # One row without the dimension makes a tile immune to it.
    full = counts == tile_rows[:, None]
    spans = np.ones((tiles, entries.dims), np.float32)
    used = np.flatnonzero(np.diff(entries.begin))
    summarised = full.any(axis=0)
    used = used[np.argsort(~summarised[used], kind="stable")]
    table = np.zeros((len(used), 4), np.int64)
    blocks, at = [], 0
    for number, dim in enumerate(used):
        count = len(codes.edges[dim])
        edge_lines = 2 if count <= PIVOTS else 2 + -(-count // CODE_GROUP) * CODE_GROUP // LINE_WORDS
        head = SHIFT_LINES + edge_lines
        lines = head + (count + 1) * tile_lines * int(summarised[dim])
        block = np.zeros(lines * LINE_WORDS, np.int64)
        edge_at = SHIFT_LINES * LINE_WORDS
        block[:edge_at] = cells.shifts[dim].view(np.int64)
        block[edge_at : head * LINE_WORDS] = KEY_MAX
        put_edges(block, edge_at, codes.edges[dim])
        if summarised[dim]:
            part = slice(entries.begin[dim], entries.begin[dim + 1])
            bits = block[head * LINE_WORDS :].reshape(count + 1, tile_lines * LINE_WORDS)
            spans[:, dim] = mark_codes(tile[part], codes.low[part], codes.high[part], full[:, dim].copy(), bits)
        table[number] = dim, count, at + SHIFT_LINES, at + head
        blocks.append(block)
        at += lines
    data = aligned(at * LINE_WORDS)
    if blocks:
        np.concatenate(blocks, out=data)
    shape = np.array([entries.rows, entries.dims, int(summarised.sum())], np.int64)
    return {"shape": shape, "code_table": table, "summary": data}, spans


@kernel
def put_edges(block: Any, at: int, edges: Any) -> None:
    """Store the edges of a dimension."""
    for number in range(len(edges)):
        put_edge(block, at, len(edges), number, edges[number], CODE_GROUP)


@kernel
def mark_codes(tile: Any, low: Any, high: Any, full: Any, bits: Any) -> Any:
    """Set the bit of each tile for the codes that one of its intervals covers, or for all if the tile is not full.

    Returns the share of codes that each tile has.
    """
    count = bits.shape[0]
    spans = np.empty(len(full), np.float32)
    change = np.zeros((len(full), count + 1), np.int16)
    for i in range(len(tile)):
        change[tile[i], low[i]] += 1
        change[tile[i], np.int64(high[i]) + 1] -= 1
    for number in range(len(full)):
        bit = np.int64(1) << np.int64(number & 63)
        covered, open_now = 0, 0
        for code in range(count):
            open_now += change[number, code]
            if open_now > 0 or not full[number]:
                bits[code, number >> 6] |= bit
                covered += 1
        spans[number] = covered / count
    return spans
