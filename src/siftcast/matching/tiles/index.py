"""TileIndex: rows of closed intervals, matched 512 at a time.

A row is a conjunction of intervals over some of the dimensions, at most one interval each. Rows are sorted so
that similar ones are neighbours (``ordering``), cut into tiles of 512 and packed into bitmaps (``packing``);
``kernels`` matches events against them::

    event keys --> summary: a bitmap of tiles per (dimension, code), ANDed --> tiles to visit
                   tile:    a line of 512 rows per (dimension, code or bucket), ANDed --> rows that may match
                            minus the rows whose own intervals exclude a key --> match

Invariants: results are exact and positions ascend; an index never changes, so any number of threads may
match at once (removal is the caller's ``alive`` bitmap, addition another index); positions are numbers in
tile order and ``order`` maps them to rows.

Cost: an event pays one AND per summarised dimension for 512 tiles, then 1 to 2 ns per facet of each visited tile if
the tile is filtered and 5 to 10 ns if it is exact, and 4 to 8 ns per row that a filtered tile leaves to be tested.
What limits it now: on a million sparse rows the index streams through the cache once per block of 1024 events, 110 MB
of it, which hides behind the visits (430 per event) as long as the next tile is fetched line by line between them.
About 1590 rows are tested for 970 matches; fewer than 6 ends per filter line would save tests but add to the stream.

Rejected: one bitmap of all rows per bucket (reads N/8 bytes per dimension and event, though most tiles are
hopeless); testing rows in every tile (where many rows are left, that is twice as slow as clearing bits).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import kernels, packing, visits
from .lines import LINE_BYTES, TILE_ROWS
from .ordering import MISSING, Int64Array, IntArray, code_entries, group_entries, order_rows
from .placement import aligned

DIMS_MAX = (1 << 16) - 1  # A brief holds a dimension in 16 bits.
PAIRS_MAX = 1 << 20  # Pairs of an event and a tile in one block; bounds the scratch space to 80 MB.

Bitmap = NDArray[np.uint64]
Positions = NDArray[np.int32]
_NO_POSITIONS: Positions = np.empty(0, np.int32)


class TileIndex:
    """An immutable index over conjunctions of intervals; see the module for how it works."""

    __slots__ = (
        "_address", "_arrays", "_descriptor", "_hits_expected", "_lists_hits", "_row_bits", "_scratch", "dims", "order",
        "rows", "tiles",
    )  # fmt: skip

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Adopt the arrays of ``arrays()``; use ``build`` to make an index from intervals."""
        shape = arrays["shape"]
        self.rows, self.dims = int(shape[0]), int(shape[1])
        self.tiles = -(-self.rows // TILE_ROWS)
        self.order: Positions = arrays["order"]
        self._arrays = arrays
        self._row_bits = first_bits(self.rows, self.tiles * TILE_ROWS)
        # Where some tile is filtered, a batch lists hits; where all are exact, it keeps a line for each visit.
        self._lists_hits = bool((arrays["tile_table"][:-1, 2] == 0).any())
        self._descriptor, self._address = self._describe_parts()
        self._scratch: list[tuple[Int64Array, Positions, Int64Array]] = []
        self._hits_expected = 0.0

    @classmethod
    def build(
        cls, *, rows: int, dims: int, row: IntArray, dim: IntArray, low: Int64Array, high: Int64Array
    ) -> TileIndex:
        """Index the entries ``low[i] <= key of dim[i] <= high[i]`` of rows ``row[i]``, in any order."""
        check_entries(rows=rows, dims=dims, row=row, dim=dim, low=low, high=high)
        entries = group_entries(rows=rows, dims=dims, row=row, dim=dim, low=low, high=high)
        codes = code_entries(entries)
        order = order_rows(entries, codes)
        return cls({"order": order, **packing.pack(entries, codes, order)})

    def match(self, keys: Int64Array, alive: Bitmap | None = None) -> tuple[Positions, Int64Array]:
        """Positions that match each event, ascending, event after event, and the events' offsets in them."""
        pairs = self._pairs(len(keys))
        scratch, hits, runs = self._take_scratch(pairs)
        bits = self._row_bits if alive is None else alive
        result: tuple[Positions, Int64Array]
        if self._lists_hits:
            *found, hits, runs = kernels.match_hits(
                self._address, keys, bits, scratch, hits, runs, self._room(len(keys))
            )
            result = tuple(found)
        else:
            result = kernels.match_pairs(self._address, keys, bits, scratch, pairs, self._room(len(keys)), True)
        self._hits_expected = len(result[0]) / max(len(keys), 1)
        self._scratch.append((scratch, hits, runs))
        return result

    def count(self, keys: Int64Array, alive: Bitmap | None = None) -> Int64Array:
        """How many positions match each event."""
        if self._lists_hits:
            return np.diff(self.match(keys, alive)[1])
        pairs = self._pairs(len(keys))
        spaces = self._take_scratch(pairs)
        bits = self._row_bits if alive is None else alive
        _, offsets = kernels.match_pairs(self._address, keys, bits, spaces[0], pairs, _NO_POSITIONS, False)
        self._scratch.append(spaces)
        counts: Int64Array = np.diff(offsets)
        return counts

    def _pairs(self, events: int) -> int:
        return max(min(PAIRS_MAX, min(events, visits.BLOCK_EVENTS) * self.tiles), self.tiles)

    def _take_scratch(self, pairs: int) -> tuple[Int64Array, Positions, Int64Array]:
        """Spaces to be put back on the stack, which serves threads without a lock: pop and append are atomic."""
        try:
            scratch, hits, runs = self._scratch.pop()
        except IndexError:
            scratch, hits, runs = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int64)
        needed = self._scratch_words(pairs)
        return (scratch if scratch.size >= needed else np.empty(needed, np.int64)), hits, runs

    def warm_up(self) -> None:
        """Has both ways of matching a batch compiled or loaded, whichever of them this index takes."""
        way, nothing = self._lists_hits, np.empty((0, self.dims), np.int64)
        for self._lists_hits in (not way, way):
            self.match(nothing)
            self.count(nothing)

    def _room(self, events: int) -> Positions:
        """Space for about as many hits as the last batch had.

        Made by NumPy, which asks for huge pages: touching fresh small ones can take longer than matching.
        """
        return np.empty(int(events * self._hits_expected * 1.1) + 64, np.int32)

    @property
    def lists_hits(self) -> bool:
        """Whether a batch is matched by listing hits: then counting them saves nothing."""
        return self._lists_hits

    @property
    def address(self) -> int:
        """What ``kernels.match_event`` and ``exists_event`` want; valid as long as the index lives."""
        return self._address

    @property
    def all_alive(self) -> Bitmap:
        """The bitmap in which every row lives."""
        return self._row_bits

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, without scratch space."""
        return sum(array.nbytes for array in self._arrays.values()) + self._row_bits.nbytes

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that are the index, to be stored; treat them as read-only."""
        return dict(self._arrays)

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> TileIndex:
        """The index again, without a rebuild; copies only what does not start at a cache line."""
        adopted = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        for name in ("facets", "summary", "records"):
            array = adopted[name]
            if array.ctypes.data % LINE_BYTES:
                adopted[name] = aligned(array.nbytes // 8).view(array.dtype).reshape(array.shape)
                adopted[name][:] = array
        return cls(adopted)

    def _describe_parts(self) -> tuple[Int64Array, int]:
        """The cells that kernels read, and their address."""
        arrays = self._arrays
        facets = int(np.diff(arrays["tile_table"][:, 0]).max(initial=0))
        parts = np.zeros(visits.PARTS, np.int64)
        tile_lines = -(-self.tiles // TILE_ROWS)
        tile_bits = first_bits(self.tiles, tile_lines * TILE_ROWS)
        self._arrays = {**arrays, "tile_bits": tile_bits}
        parts[visits.PART_TILES] = self.tiles
        parts[visits.PART_TILE_LINES] = tile_lines
        parts[visits.PART_DIMS] = self.dims
        parts[visits.PART_SUMMARIES] = arrays["shape"][2]
        # Codes serve summaries, filters and loose entries; where the latter are absent, so are filters.
        parts[visits.PART_CODED] = len(arrays["code_table"]) if len(arrays["loose"]) else arrays["shape"][2]
        parts[visits.PART_VISIT_BYTES] = (visits.visit_bytes(facets) + 63) & ~63
        for cell, name in (
            (visits.PART_CODE_TABLE, "code_table"),
            (visits.PART_SUMMARY, "summary"),
            (visits.PART_TILE_TABLE, "tile_table"),
            (visits.PART_FACET_TABLE, "facet_table"),
            (visits.PART_FACETS, "facets"),
            (visits.PART_LOOSE_BITS, "loose_bits"),
            (visits.PART_LOOSE_BEGIN, "loose_begin"),
            (visits.PART_LOOSE, "loose"),
            (visits.PART_BRIEFS, "briefs"),
            (visits.PART_RECORDS, "records"),
        ):
            # Zero tells a kernel that there is none.
            parts[cell] = arrays[name].ctypes.data if arrays[name].size else 0
        parts[visits.PART_TILE_BITS] = tile_bits.ctypes.data
        parts[visits.PART_ROW_BITS] = self._row_bits.ctypes.data
        return parts, int(parts.ctypes.data)

    @property
    def event_bytes(self) -> int:
        """The scratch space that a question about one event must bring."""
        visit, summaries = int(self._descriptor[visits.PART_VISIT_BYTES]), int(self._arrays["shape"][2])
        return kernels.event_bytes(visit, self.dims, summaries, self.tiles)

    def _scratch_words(self, pairs: int) -> int:
        visit, summaries = int(self._descriptor[visits.PART_VISIT_BYTES]), int(self._arrays["shape"][2])
        if self._lists_hits:
            return kernels.hits_bytes(visit, self.dims, summaries, self.tiles) // 8 + 1
        return kernels.pairs_bytes(visit, self.dims, summaries, self.tiles, pairs) // 8 + 1


def first_bits(count: int, size: int) -> Bitmap:
    """A bitmap of ``size`` bits, a multiple of 512, whose first ``count`` are set; starts at a cache line."""
    bits = aligned(size // 64).view(np.uint64)
    bits[: count // 64] = np.iinfo(np.uint64).max
    if count % 64:
        bits[count // 64] = (1 << count % 64) - 1
    return bits


def check_entries(*, rows: int, dims: int, row: IntArray, dim: IntArray, low: Int64Array, high: Int64Array) -> None:
    """Refuse entries that the index would silently misread."""
    if not len(row) == len(dim) == len(low) == len(high):
        raise ValueError("row, dim, low and high must have the same length")
    if not (0 <= rows < 1 << 31 and 0 <= dims <= DIMS_MAX):
        raise ValueError(f"an index must have 0 to 2**31 - 1 rows and 0 to {DIMS_MAX} dims, not {rows} and {dims}")
    if len(row) == 0:
        return
    if row.min() < 0 or row.max() >= rows or dim.min() < 0 or dim.max() >= dims:
        raise ValueError(f"entries name rows or dimensions outside {rows} rows and {dims} dimensions")
    if low.min() == MISSING or (low > high).any():
        raise ValueError("an interval must satisfy MISSING < low <= high")
