"""The order of rows in a tile index: rows that match the same events become neighbours.

A tile is skipped as a whole when none of its rows can match, so the order decides how many tiles an event
visits. Dimensions are ranked: selective equality first, then the most common (or the rarest, see below), then the
narrowest. A row is
described by its first dimensions in that rank, a and b; rows are sorted by ::

    [dimension and key of a leading equality]   a   b   cell of a   cell of b

A cell is a range of quantiles of the intervals' middles. A group (a, b) that fills R tiles is cut into
sqrt(R) x sqrt(R) cells, so that each tile is about one cell and an event visits about
(width + 1/sqrt(R))^2 of the group. Rows whose b is shared by less than four tiles could not prune by it; all
such rows of one a form a lump that is cut by a alone.

Common dimensions come first because naming them costs little: most rows share them, so few groups arise and
much of the order is left for cells. Measured on a million rows with 3 to 5 of 20 Zipf-chosen dimensions, an
event visits 370 tiles with 17 facets each, compared with 810 with 9 when the rarest come first. A third level (980
tiles with 8) does not help. With 200 dimensions the opposite holds: common groups would hold a few rows of each rare
dimension, which no facet filters, so the rarest come first (about a third of the time).

Cost: a counting sort of the entries and one sort of the rows (one more for leading equalities). Rejected: a k-d
tree (equal in pruning for two dimensions, slower to build); a fixed number of cells (a tile would cover several, or a
cell several tiles).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siftcast.matching.compiling import kernel, piece
from siftcast.matching.tiles.arrays import numbers

from .lines import TILE_ROWS

IntArray = NDArray[np.integer]
Int64Array = NDArray[np.int64]

EDGES_MAX = 255  # So that a code, the number of edges at or below a key, fits into a byte.
SAMPLE_MAX = 1 << 16
LEVELS = 2  # Dimensions that name a group.
GROUP_ROWS_MIN = 4 * TILE_ROWS
THIN_SHARE = 1 / 20  # Of the rows of a tile: about what gives a dimension a facet.
KEY_MAX = np.iinfo(np.int64).max
MISSING = int(np.iinfo(np.int64).min)  # The key of an event without a value.


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
class EntryCodes:
    """Quantile edges of each dimension, and the codes of each entry's ends and middle.

    The code of a key is the number of edges at or below it.
    """

    edges: list[Int64Array]
    low: NDArray[np.uint8]
    high: NDArray[np.uint8]
    middle: NDArray[np.uint8]


def group_entries(*, rows: int, dims: int, row: IntArray, dim: IntArray, low: IntArray, high: IntArray) -> Entries:
    """Entries in the order of their dimension."""
    begin = np.zeros(dims + 1, np.int64)
    np.cumsum(np.bincount(dim, minlength=dims), out=begin[1:])
    columns = [np.empty(len(row), np.int64) for _ in range(4)]
    scatter_entries(begin[:-1].copy(), row, dim, low, high, *columns)
    return Entries(rows, dims, begin, *columns)


@kernel
def scatter_entries(
    at: Any, row: Any, dim: Any, low: Any, high: Any, rows: Any, dims: Any, lows: Any, highs: Any
) -> None:
    """Copy each entry to the next place of its dimension."""
    for i in range(len(row)):
        place = at[dim[i]]
        at[dim[i]] = place + 1
        rows[place], dims[place], lows[place], highs[place] = row[i], dim[i], low[i], high[i]


def code_entries(entries: Entries) -> EntryCodes:
    """Cut each dimension at quantiles of the keys where an interval opens or has just closed."""
    count = len(entries.dim)
    edges: list[Int64Array] = []
    low, high, middle = (np.zeros(count, np.uint8) for _ in range(3))
    for dim in range(entries.dims):
        part = slice(entries.begin[dim], entries.begin[dim + 1])
        cuts = quantile_edges(entries.low[part], entries.high[part])
        edges.append(cuts)
        code_ends(cuts, entries.low[part], entries.high[part], low[part], high[part], middle[part])
    return EntryCodes(edges, low, high, middle)


@kernel
def code_ends(edges: Any, lows: Any, highs: Any, low: Any, high: Any, middle: Any) -> None:
    """Code the ends and middles of intervals."""
    for i in range(len(lows)):
        low[i] = code_of(edges, lows[i])
        high[i] = code_of(edges, highs[i])
        # Halving first keeps the sum inside int64; the odd half is irrelevant to a middle.
        middle[i] = code_of(edges, (lows[i] >> 1) + (highs[i] >> 1))


@piece
def code_of(edges: Any, key: int) -> int:
    """Number of edges at or below key; a binary search without branches."""
    first, count = 0, len(edges)
    while count > 0:
        half = (count + 1) >> 1
        first += half * (edges[first + half - 1] <= key)
        count -= half
    return first


def quantile_edges(lows: Int64Array, highs: Int64Array) -> Int64Array:
    """At most EDGES_MAX distinct sorted keys; the first is the least low, so MISSING is below all."""
    if len(lows) == 0:
        return np.zeros(0, np.int64)
    stride = -(-len(lows) // SAMPLE_MAX)
    closing = highs[::stride]
    points = np.sort(np.concatenate([lows[::stride], closing[closing < KEY_MAX] + 1]))
    at = np.arange(1, EDGES_MAX) * len(points) // EDGES_MAX
    return np.unique(np.concatenate([[lows.min()], points[at]]))


def order_rows(entries: Entries, codes: EntryCodes) -> NDArray[np.int32]:
    """Row numbers in tile order."""
    if len(entries.row) == 0:
        return np.arange(entries.rows, dtype=np.int32)
    rank, leading = rank_dims(entries, codes)
    count = np.bincount(entries.row, minlength=entries.rows)
    start = np.cumsum(count) - count
    by_rank = np.empty(len(entries.row), np.int64)
    if not list_by_rank(entries.begin, entries.row, np.argsort(rank), start.copy(), by_rank):
        raise ValueError("a row has two intervals on one dimension; intersect them first")
    sizes = np.array([len(edges) + 1 for edges in codes.edges], np.int64)
    dims = entries.dims

    def nth(number: Int64Array) -> tuple[NDArray[np.bool_], Int64Array]:
        """Whether a row has a dimension of that number in the rank, and its entry (or any)."""
        has = count > number
        return has, by_rank[np.where(has, start + number, 0)]

    zero = np.zeros(entries.rows, np.int64)
    groups, equal = zero, zero > 0
    if leading:
        has, entry = nth(zero)
        equal = has & (rank[entries.dim[entry]] < leading)
        groups = split(groups, np.where(equal, rank[entries.dim[entry]], dims))
        groups = split(groups, np.where(equal, entries.low[entry], 0))
    shared = zero  # How many dimensions all rows of a group have in common.
    levels = [nth(level + equal) for level in range(LEVELS)]
    for level, (has, entry) in enumerate(levels):
        dim = np.where(has & (shared == level), rank[entries.dim[entry]], dims)
        # Rows whose dimension here is shared by few others form one lump of the group.
        pairs = split(groups, dim)
        large = (np.bincount(pairs)[pairs] >= GROUP_ROWS_MIN) & (dim < dims)
        groups = split(groups, np.where(large, dim, dims))
        shared = shared + large
    fine = zero
    for level, (_, entry) in enumerate(levels):
        cut = level < shared
        cuts = np.ceil((np.bincount(groups) / TILE_ROWS)[groups] ** (1 / np.maximum(shared - level, 1))).astype(
            np.int64
        )
        # The middle's quantile, in 1024ths.
        middle = codes.middle[entry].astype(np.int64) * 1024 // sizes[entries.dim[entry]]
        fine = np.where(cut, middle, fine)
        groups = split(groups, np.where(cut, middle * cuts // 1024, 0))
    return np.argsort(groups * 1024 + fine, kind="stable").astype(np.int32)


@kernel
def list_by_rank(begin: Any, row: Any, dims_by_rank: Any, at: Any, by_rank: Any) -> bool:
    """List the entries of each row by the rank of their dimensions; False if a row has two on one dimension."""
    last = numbers(len(at), -1)
    for dim in dims_by_rank:
        for i in range(begin[dim], begin[dim + 1]):
            number = row[i]
            if last[number] == dim:
                return False
            last[number] = dim
            by_rank[at[number]] = i
            at[number] += 1
    return True


def split(groups: Int64Array, keys: Int64Array) -> Int64Array:
    """Number the distinct pairs of group and key, in their order."""
    least, greatest = int(keys.min()), int(keys.max())
    span = greatest - least + 1
    cells = span * (int(groups.max()) + 1)
    if cells <= max(4 * len(keys), 1 << 16):
        pairs = groups * span + (keys - least)
        present = np.zeros(cells, np.int64)
        present[pairs] = 1
        numbers: Int64Array = (np.cumsum(present) - 1)[pairs]
        return numbers
    if cells < 1 << 62:
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


def rank_dims(entries: Entries, codes: EntryCodes) -> tuple[Int64Array, int]:
    """Rank of each dimension, and how many of the first are selective equalities."""
    count = np.diff(entries.begin)
    width = np.ones(entries.dims)
    points = np.zeros(entries.dims, bool)
    for dim in np.flatnonzero(count):
        part = slice(entries.begin[dim], entries.begin[dim + 1])
        spanned = codes.high[part].astype(np.int64) - codes.low[part] + 1
        width[dim] = spanned.mean() / (len(codes.edges[dim]) + 1)
        # Two in three leaves room for a few ranges on an attribute that is meant for equality.
        points[dim] = (entries.low[part] == entries.high[part]).mean() > 2 / 3 and width[dim] < 1 / 16
    rank = np.empty(entries.dims, np.int64)
    # Where most entries are on dimensions too rare for a facet in a mixed tile, those must name the groups instead.
    thin = count[count < THIN_SHARE * entries.rows].sum() > len(entries.row) / 4
    rank[np.lexsort((width, count if thin else -count, ~points))] = np.arange(entries.dims)
    return rank, int(points.sum())
