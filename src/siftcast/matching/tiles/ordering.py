"""The order of rows in a tile index: rows that match the same events become neighbours.

A tile is skipped as a whole when none of its rows can match, so the order decides how many tiles an event
visits. Dimensions are ranked: selective equality first, then the rarest, then the narrowest. A row is
described by its first dimensions in that rank, a, b, c; rows are sorted by ::

    [dimension and key of a leading equality]  a  b  cell of a  cell of b (snaking)  c  cell of c

A cell is a part of the quantile buckets of the intervals' midpoints. A group (a, b) that fills R tiles is
cut into sqrt(R) x sqrt(R) cells, so that each tile is about one cell and an event visits about
(width + 1/sqrt(R))^2 of the tiles. A group smaller than a tile could not prune by b in any case; all such
groups of one a are lumped together and cut by a alone. Every second row of cells runs backwards, so a tile
across two cells still covers neighbouring ones.

Cost: three sorts of the rows and one of the entries. Rejected: a k-d tree (equal in pruning for the two
leading dimensions, slower and longer to build); a fixed number of cells (many tiles would cover several
cells, or a cell several tiles).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .kernels import TILE_ROWS

IntArray = NDArray[np.integer]
Int64Array = NDArray[np.int64]

EDGES_MAX = 128
SAMPLE_MAX = 1 << 16
KEY_MAX = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Entries:
    """Constraints grouped by dimension; ``begin[d]:begin[d + 1]`` are those of dimension d."""

    rows: int
    dims: int
    begin: Int64Array
    row: Int64Array
    dim: Int64Array
    low: Int64Array
    high: Int64Array


@dataclass(frozen=True, slots=True)
class Buckets:
    """Quantile edges of each dimension and the buckets of each entry's ends and middle."""

    edges: list[Int64Array]
    low: NDArray[np.int16]
    high: NDArray[np.int16]
    middle: NDArray[np.int16]


def group_entries(
    *, rows: int, dims: int, row: IntArray, dim: IntArray, low: IntArray, high: IntArray
) -> Entries:
    """Entries in the order of their dimension."""
    narrow = dim.astype(np.uint16) if dims < 1 << 16 else dim  # NumPy sorts 16-bit integers by radix.
    by_dim = np.argsort(narrow, kind="stable")
    begin = np.zeros(dims + 1, np.int64)
    np.cumsum(np.bincount(dim, minlength=dims), out=begin[1:])
    columns = (column.astype(np.int64, copy=False)[by_dim] for column in (row, dim, low, high))
    return Entries(rows, dims, begin, *columns)


def bucket_entries(entries: Entries) -> Buckets:
    """Cut each dimension at quantiles of the keys where an interval opens or has just closed."""
    count = len(entries.dim)
    edges: list[Int64Array] = []
    low, high, middle = (np.zeros(count, np.int16) for _ in range(3))
    for dim in range(entries.dims):
        part = slice(entries.begin[dim], entries.begin[dim + 1])
        lows, highs = entries.low[part], entries.high[part]
        cuts = quantile_edges(lows, highs)
        edges.append(cuts)
        low[part] = np.searchsorted(cuts, lows, side="right")
        high[part] = np.searchsorted(cuts, highs, side="right")
        # Halving first keeps the sum inside int64; the odd half is irrelevant to a middle.
        middle[part] = np.searchsorted(cuts, lows // 2 + highs // 2, side="right")
    return Buckets(edges, low, high, middle)


def quantile_edges(lows: Int64Array, highs: Int64Array) -> Int64Array:
    """At most EDGES_MAX distinct sorted keys; the first is the least low, so MISSING is below all."""
    if len(lows) == 0:
        return np.zeros(0, np.int64)
    stride = -(-len(lows) // SAMPLE_MAX)
    closing = highs[::stride]
    points = np.sort(np.concatenate([lows[::stride], closing[closing < KEY_MAX] + 1]))
    at = np.arange(1, EDGES_MAX) * len(points) // EDGES_MAX
    return np.unique(np.concatenate([[lows.min()], points[at]]))


def order_rows(entries: Entries, buckets: Buckets) -> NDArray[np.int32]:
    """Row numbers in tile order."""
    rank, leading = rank_dims(entries, buckets)
    cell = entries.row * entries.dims + rank[entries.dim]
    by_rank = np.argsort(cell)
    if (np.diff(cell[by_rank]) == 0).any():
        raise ValueError("a row has two intervals on one dimension; intersect them first")
    count = np.bincount(entries.row, minlength=entries.rows)
    start = np.cumsum(count) - count
    none = entries.dims  # Stands for "no such dimension" and sorts after all of them.

    def nth(number: NDArray[np.int64]) -> tuple[Int64Array, Int64Array]:
        """The row's dimension at a rank (as rank) and its entry there, or (none, 0)."""
        has = count > number
        entry = np.where(has, by_rank[np.where(has, start + number, 0)], 0) if len(by_rank) else start * 0
        dims = rank[entries.dim[entry]] if len(by_rank) else np.full(entries.rows, none)
        return np.where(has, dims, none), entry

    zero = np.zeros(entries.rows, np.int64)
    first, first_entry = nth(zero)
    equal = first < leading
    prefix_dim = np.where(equal, first, none)
    prefix_key = np.where(equal, entries.low[first_entry], 0) if len(by_rank) else zero
    shift = equal.astype(np.int64)
    (a, a_entry), (b, b_entry), (c, c_entry) = (nth(shift + number) for number in range(3))

    prefix = (prefix_key, prefix_dim) if leading else ()
    in_tiles = group_sizes((b, a, *prefix)) / TILE_ROWS
    small = in_tiles < 1.5
    lump = np.where(small, none + 1, b)
    in_tiles = np.where(small, group_sizes((lump, a, *prefix)) / TILE_ROWS, in_tiles)
    both = ~small & (b < none)
    cuts = np.ceil(np.where(both, np.sqrt(in_tiles), in_tiles)).astype(np.int64)

    by_rank_dim = np.argsort(rank)
    sizes = np.array([len(buckets.edges[dim]) + 1 for dim in by_rank_dim] + [1], np.int64)
    middle = buckets.middle.astype(np.int64) if len(by_rank) else np.zeros(1, np.int64)
    cell_a = middle[a_entry] * cuts // sizes[a]
    cell_b = middle[b_entry] * cuts // sizes[b]
    cell_b = np.where(cell_a & 1, -cell_b, cell_b)
    order = np.lexsort((middle[c_entry], c, b, cell_b, cell_a, lump, a, *prefix))
    return order.astype(np.int32)


def rank_dims(entries: Entries, buckets: Buckets) -> tuple[Int64Array, int]:
    """Rank of each dimension, and how many of the first are selective equalities."""
    count = np.diff(entries.begin)
    width = np.ones(entries.dims)
    points = np.zeros(entries.dims, bool)
    for dim in np.flatnonzero(count):
        part = slice(entries.begin[dim], entries.begin[dim + 1])
        spanned = buckets.high[part].astype(np.int64) - buckets.low[part] + 1
        width[dim] = spanned.mean() / (len(buckets.edges[dim]) + 1)
        # Two in three leaves room for a few ranges on an attribute that is meant for equality.
        points[dim] = (entries.low[part] == entries.high[part]).mean() > 2 / 3 and width[dim] < 1 / 16
    rank = np.empty(entries.dims, np.int64)
    rank[np.lexsort((width, count, ~points))] = np.arange(entries.dims)
    return rank, int(points.sum())


def group_sizes(keys: tuple[Int64Array, ...]) -> Int64Array:
    """For each row, the number of rows with the same keys."""
    order = np.lexsort(keys)
    if len(order) == 0:
        return order
    changes = np.zeros(len(order), bool)
    changes[0] = True
    for key in keys:
        ordered = key[order]
        changes[1:] |= ordered[1:] != ordered[:-1]
    group = np.cumsum(changes) - 1
    sizes = np.empty(len(order), np.int64)
    sizes[order] = np.bincount(group)[group]
    return sizes
