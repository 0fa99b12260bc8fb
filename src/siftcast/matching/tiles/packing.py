"""Packing of ordered rows into slots, loose entries and the summary.

A slot holds what one tile knows about one dimension. Seen along the keys of that dimension, a row's bit is
set from ``low`` up to the change point ``high + 1`` where it is cleared again. Every eighth change point or
so becomes an edge, so that at most seven distinct ones lie strictly inside the bucket between two edges::

    key  ----|---+--+-----+---|--+---|---->        | edge    + change point inside a bucket
    bucket 0 |       1        |  2   | 3

    bucket = line    512 bits: rows that match some key of the bucket (rows without this dimension: 1)
             values    8 int64: change points strictly inside, in no order that matters; unused: INT64_MIN
             positions 8 uint16: whose bit each one is; the eighth is a mask of the values that open

For a key in the bucket, row r of the line is wrong exactly if an opening value exceeds the key or a closing
value does not, so ``(values <= key) XOR mask`` tells which bits to clear. Bucket 0 is below every low; a
MISSING key falls there and needs no line of its own. A slot's memory is one block ``edges | lines | values |
positions``, a tile's slots follow each other, and the whole tile can be fetched ahead as one range.

The edges are those of the tile, not of the whole index: sorted tiles are narrow in their leading
dimensions, and index-wide edges would leave hundreds of change points inside one bucket. An equality on one
value costs three buckets, however many rows share it.

A slot costs a visit the same time however few rows it has, so dimensions that fewer than ``SLOT_ENTRIES_MIN``
rows of a tile constrain stay loose: their entries are tested for the rows that survive the slots. A slot
takes about 40 bytes an entry, a loose entry 20, whatever the number of dimensions.

The summary is the same idea a level up: for each bucket of a dimension, a bitmap of tiles that may match.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .kernels import LINE_BYTES, PIVOTS, TILE_ROWS, kernel
from .ordering import KEY_MAX, Buckets, Entries, Int64Array

SLOT_ENTRIES_MIN = 24
LINE_WORDS = LINE_BYTES // 8
INSIDE_MAX = 7
CLOSES = np.uint16(1 << 15)
KEY_MIN = np.iinfo(np.int64).min


def aligned(words: int) -> Int64Array:
    """Zeroed int64 array that starts at a cache line."""
    space = np.zeros(words + LINE_WORDS, np.int64)
    skip = -space.ctypes.data % LINE_BYTES // 8
    return space[skip : skip + words]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where each entry went: its tile, its place in the tile and the number of its (tile, dim) slot or -1."""

    tiles: int
    tile: Int64Array
    place: NDArray[np.uint16]
    slot: NDArray[np.int32]
    counts: Int64Array  # Entries of each (tile, dim), flattened.
    slot_cells: Int64Array  # The (tile, dim) of each slot, flattened, ascending.


def place_entries(entries: Entries, order: NDArray[np.int32]) -> Placement:
    """Decide which dimensions of a tile get a slot."""
    tiles = -(-entries.rows // TILE_ROWS)
    position = np.empty(entries.rows, np.int64)
    position[order] = np.arange(entries.rows)
    at = position[entries.row]
    tile = at // TILE_ROWS
    cell = tile * entries.dims + entries.dim
    counts = np.bincount(cell, minlength=tiles * entries.dims)
    slot_cells = np.flatnonzero(counts >= SLOT_ENTRIES_MIN)
    number = np.full(len(counts), -1, np.int32)
    number[slot_cells] = np.arange(len(slot_cells))
    return Placement(tiles, tile, (at % TILE_ROWS).astype(np.uint16), number[cell], counts, slot_cells)


def pack_slots(entries: Entries, placed: Placement) -> dict[str, NDArray[Any]]:
    """Slots of all tiles in one array of cache lines, with a table that tells where each one is."""
    values, owners, begin = sort_change_points(entries, placed)
    slots = len(placed.slot_cells)
    edges = count_edges(values, begin)
    edge_lines = np.where(edges <= PIVOTS, 2, 2 + (edges + 7) // 8)
    size = edge_lines + 2 * (edges + 1) + (edges + 1 + 3) // 4
    table = np.zeros((slots + 1, 4), np.int32)
    table[:slots, 0] = placed.slot_cells % entries.dims
    table[:slots, 1] = edges
    table[1:, 2] = np.cumsum(size)
    table[:slots, 3] = edge_lines
    data = aligned((int(size.sum()) + 1) * LINE_WORDS)
    fill_slots(table, values, owners, begin, data, data.view(np.uint16))
    of_tile = np.searchsorted(placed.slot_cells, np.arange(placed.tiles + 1) * entries.dims)
    return {"slot_begin": of_tile.astype(np.int32), "slot_table": table, "slots": data}


def sort_change_points(
    entries: Entries, placed: Placement
) -> tuple[Int64Array, NDArray[np.uint16], Int64Array]:
    """Change points of each slot, ascending, with the place (and CLOSES) of the row whose bit changes."""
    packed = placed.slot >= 0
    closing = packed & (entries.high < KEY_MAX)
    values = np.concatenate([entries.low[packed], entries.high[closing] + 1])
    owners = np.concatenate([placed.place[packed], placed.place[closing] | CLOSES])
    slot = np.concatenate([placed.slot[packed], placed.slot[closing]])
    begin = np.zeros(len(placed.slot_cells) + 1, np.int64)
    np.cumsum(np.bincount(slot, minlength=len(placed.slot_cells)), out=begin[1:])
    # One fast sort by value and a stable distribution beat a sort of each slot.
    sorted_values, sorted_owners = np.empty_like(values), np.empty_like(owners)
    distribute(np.argsort(values), values, owners, slot, begin[:-1].copy(), sorted_values, sorted_owners)
    return sorted_values, sorted_owners, begin


@kernel
def distribute(
    order: Any, values: Any, owners: Any, slot: Any, at: Any, values_out: Any, owners_out: Any
) -> None:
    """Append each change point, taken in the given order, to its slot."""
    for i in order:
        place = at[slot[i]]
        values_out[place] = values[i]
        owners_out[place] = owners[i]
        at[slot[i]] = place + 1


@kernel
def next_edge(values: Any, edge: int, end: int) -> int:
    """Index of the edge after the one at index edge: equal values are no more inside, seven others may be."""
    after = edge + 1
    while after < end and values[after] == values[edge]:
        after += 1
    return min(after + INSIDE_MAX, end)


@kernel
def count_edges(values: Any, begin: Any) -> Any:
    """Number of edges of each slot."""
    counts = np.zeros(len(begin) - 1, np.int64)
    for slot in range(len(counts)):
        at = begin[slot]
        while at < begin[slot + 1]:
            counts[slot] += 1
            at = next_edge(values, at, begin[slot + 1])
    return counts


@kernel
def fill_slots(table: Any, values: Any, owners: Any, begin: Any, data: Any, shorts: Any) -> None:
    """Write edges, lines, values and positions of every slot."""
    state = np.zeros(LINE_WORDS, np.int64)
    one = np.int64(1)
    for slot in range(len(begin) - 1):
        end, edges = begin[slot + 1], np.int64(table[slot, 1])
        edge_at = np.int64(table[slot, 2]) * LINE_WORDS
        edge_end = edge_at + np.int64(table[slot, 3]) * LINE_WORDS
        data[edge_at:edge_end] = KEY_MAX
        line_at, value_at = edge_end, edge_end + (edges + 1) * LINE_WORDS
        place_at = 4 * (value_at + (edges + 1) * LINE_WORDS)
        data[value_at : value_at + (edges + 1) * LINE_WORDS] = KEY_MIN
        state[:] = -1
        for i in range(begin[slot], end):
            if owners[i] < CLOSES:
                state[owners[i] >> 6] &= ~(one << np.int64(owners[i] & 63))
        data[line_at : line_at + LINE_WORDS] = state
        shorts[place_at + INSIDE_MAX] = 0xFF
        at = applied = begin[slot]
        for bucket in range(1, edges + 1):
            put_edge(data, edge_at, edges, bucket - 1, values[at])
            while applied < end and values[applied] <= values[at]:
                place = np.int64(owners[applied] & ~CLOSES)
                bit = one << (place & 63)
                if owners[applied] < CLOSES:
                    state[place >> 6] |= bit
                else:
                    state[place >> 6] &= ~bit
                applied += 1
            at = next_edge(values, at, end)
            line = line_at + bucket * LINE_WORDS
            data[line : line + LINE_WORDS] = state
            opens = 0xFF
            inside = applied
            while inside < end and (at == end or values[inside] < values[at]):
                lane, place = inside - applied, np.int64(owners[inside] & ~CLOSES)
                data[value_at + bucket * LINE_WORDS + lane] = values[inside]
                shorts[place_at + bucket * 8 + lane] = place
                if owners[inside] < CLOSES:
                    data[line + (place >> 6)] |= one << (place & 63)
                else:
                    opens &= ~(1 << lane)
                inside += 1
            shorts[place_at + bucket * 8 + INSIDE_MAX] = opens


@kernel
def put_edge(data: Any, block: int, edges: int, number: int, value: int) -> None:
    """Store an edge where find_bucket looks for it: in the block, or in a group that starts in the block."""
    if edges <= PIVOTS:
        data[block + number] = value
    else:
        data[block + PIVOTS + number] = value
        if number % 8 == 0:
            data[block + number // 8] = value


def pack_loose(entries: Entries, placed: Placement) -> dict[str, NDArray[Any]]:
    """Entries without a slot, by position, and a bitmap of the positions that have some."""
    loose = np.flatnonzero(placed.slot < 0)
    position = placed.tile[loose] * TILE_ROWS + placed.place[loose]
    order = np.argsort(position, kind="stable")
    loose = loose[order]
    begin = np.zeros(placed.tiles * TILE_ROWS + 1 if len(loose) else 0, np.int32)
    bits = np.zeros(0, np.uint64)
    if len(loose):
        count = np.bincount(position, minlength=placed.tiles * TILE_ROWS)
        np.cumsum(count, out=begin[1:])
        bits = np.packbits(count > 0, bitorder="little").view(np.uint64)
    # Two spare entries, because a kernel reads two without asking how many there are.
    records = np.zeros((len(loose) + 2, 3), np.int64)
    records[:-2] = np.stack([entries.low[loose], entries.high[loose], 8 * entries.dim[loose]], axis=1)
    return {"loose_begin": begin, "loose_bits": bits, "loose": records}


def pack_summary(entries: Entries, buckets: Buckets, placed: Placement) -> dict[str, NDArray[Any]]:
    """Bitmaps of tiles for each bucket of each dimension that can rule out a tile."""
    tile_lines = -(-placed.tiles // TILE_ROWS)
    tile_rows = np.full(placed.tiles, TILE_ROWS)
    tile_rows[-1:] = entries.rows - TILE_ROWS * (placed.tiles - 1)
    # One row without the dimension makes a tile immune to it.
    full = placed.counts.reshape(placed.tiles, entries.dims) == tile_rows[:, None]
    table, blocks, at = [], [], 0
    for dim in np.flatnonzero(full.any(axis=0)):
        part = slice(entries.begin[dim], entries.begin[dim + 1])
        count = len(buckets.edges[dim])
        width = count + 2
        base = placed.tile[part] * width
        size = placed.tiles * width
        opened = np.bincount(base + buckets.low[part], minlength=size)
        closed = np.bincount(base + buckets.high[part] + 1, minlength=size)
        may = np.cumsum((opened - closed).reshape(placed.tiles, width), axis=1)[:, : count + 1] > 0
        may |= ~full[:, dim, None]
        edge_lines = 2 if count <= PIVOTS else 2 + (count + 7) // 8
        block = np.zeros((edge_lines + (count + 1) * tile_lines) * LINE_WORDS, np.int64)
        block[: edge_lines * LINE_WORDS] = KEY_MAX
        for number, edge in enumerate(buckets.edges[dim]):
            put_edge(block, 0, count, number, edge)
        padded = np.zeros((count + 1, tile_lines * TILE_ROWS), bool)
        padded[:, : placed.tiles] = may.T
        block[edge_lines * LINE_WORDS :] = np.packbits(padded, bitorder="little").view(np.int64)
        table.append((dim, count, at))
        blocks.append(block)
        at += len(block) // LINE_WORDS
    data = aligned(at * LINE_WORDS)
    if blocks:
        np.concatenate(blocks, out=data)
    return {"summary_table": np.array(table, np.int64).reshape(-1, 3), "summary": data}
