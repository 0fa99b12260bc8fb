"""The order of rows in a tile index: rows that match the same events become neighbours.

A tile is skipped as a whole when none of its rows can match, so the order decides how many tiles an event
visits. Dimensions are ranked: selective equality first, then the most common, then the narrowest. A row is
described by its first dimensions in that rank, a and b; rows are sorted by ::

    [dimension and key of a leading equality]   a   b   cell of a   cell of b

A cell is a range of quantiles of the intervals' middles. A group (a, b) that fills R tiles is cut into
sqrt(R) x sqrt(R) cells, so that each tile is about one cell and an event visits about
(width + 1/sqrt(R))^2 of the group. Rows whose b is shared by less than four tiles could not prune by it; all
such rows of one a form a lump that is cut by a alone.

Common dimensions come first because naming them costs little: most rows share them, so few groups arise and
much of the order is left for cells. Measured on a million rows with 3 to 5 of 20 Zipf-chosen dimensions,
rarest first makes an event visit 790 tiles with 8 slots each, most common first 430 tiles with 18, most of
which are small; the latter takes about four fifths of the time. A third level helps neither.

Cost: about eight sorts of the rows and one of the entries. Rejected: a k-d tree (equal in pruning for two
dimensions, slower to build); a fixed number of cells (a tile would cover several, or a cell several tiles).
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
LEVELS = 2  # Dimensions that name a group.
GROUP_ROWS_MIN = 4 * TILE_ROWS
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
    if len(entries.row) == 0:
        return np.arange(entries.rows, dtype=np.int32)
    rank, leading = rank_dims(entries, buckets)
    cell = entries.row * entries.dims + rank[entries.dim]
    by_rank = np.argsort(cell)
    if (np.diff(cell[by_rank]) == 0).any():
        raise ValueError("a row has two intervals on one dimension; intersect them first")
    count = np.bincount(entries.row, minlength=entries.rows)
    start = np.cumsum(count) - count
    sizes = np.array([len(edges) + 1 for edges in buckets.edges], np.int64)
    # The middle's quantile, in 1024ths.
    middle = buckets.middle.astype(np.int64) * 1024 // sizes[entries.dim]

    def nth(number: Int64Array) -> tuple[NDArray[np.bool_], Int64Array]:
        """Whether a row has a dimension of that number in the rank, and its entry (or any)."""
        has = count > number
        return has, by_rank[np.where(has, start + number, 0)]

    zero = np.zeros(entries.rows, np.int64)
    has, entry = nth(zero)
    equal = has & (rank[entries.dim[entry]] < leading)
    groups = zero
    if leading:
        groups = split(groups, np.where(equal, rank[entries.dim[entry]], entries.dims))
        groups = split(groups, np.where(equal, entries.low[entry], 0))
    shared = zero  # How many dimensions all rows of a group have in common.
    for level in range(LEVELS):
        has, entry = nth(level + equal)
        dim = np.where(has & (shared == level), rank[entries.dim[entry]], entries.dims)
        # Rows whose dimension here is shared by few others form one lump of the group.
        pairs = split(groups, dim)
        large = (np.bincount(pairs)[pairs] >= GROUP_ROWS_MIN) & (dim < entries.dims)
        groups = split(groups, np.where(large, dim, entries.dims))
        shared = shared + large
    fine = zero
    for level in range(LEVELS):
        has, entry = nth(level + equal)
        cut = level < shared
        in_tiles = np.bincount(groups)[groups] / TILE_ROWS
        cuts = np.ceil(in_tiles ** (1 / np.maximum(shared - level, 1))).astype(np.int64)
        fine = np.where(cut, middle[entry], fine)
        groups = split(groups, np.where(cut, middle[entry] * cuts // 1024, 0))
    return np.lexsort((fine, groups)).astype(np.int32)


def split(groups: Int64Array, keys: Int64Array) -> Int64Array:
    """Number the distinct pairs of group and key, in their order."""
    least, greatest = int(keys.min()), int(keys.max())
    span = greatest - least + 1
    if span * (int(groups.max()) + 1) < 1 << 62:
        pairs = groups * span + (keys - least)
        order = np.argsort(pairs)
        ordered = pairs[order]
        changes = np.concatenate([[0], ordered[1:] != ordered[:-1]])
    else:
        order = np.lexsort((keys, groups))
        changes = np.zeros(len(order), np.int64)
        for column in (groups[order], keys[order]):
            changes[1:] |= column[1:] != column[:-1]
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(changes)
    return numbers


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
    rank[np.lexsort((width, -count, ~points))] = np.arange(entries.dims)
    return rank, int(points.sum())
