"""A segment: an immutable index over rows, with a bitmap of those that are still alive.

Two kinds differ in what a hit means. In a *plain* segment each row is a whole filter, so a position is an answer. In
a *general* one (`general_segment`) a filter may own several rows and may have to be evaluated. A third kind has no
index yet (`waiting_segment`).

A code, as a segment answers with them, is an index into its `slots`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from siftcast.matching.contract import Attributes, Int32Array, Int64Array
from siftcast.matching.tiles.columns import KeyColumns
from siftcast.matching.tiles.combining import Codes
from siftcast.matching.tiles.event_keys import EventKeys
from siftcast.matching.tiles.index import Bitmap, TileIndex, first_bits
from siftcast.matching.tiles.kernels import exists_event, match_event
from siftcast.matching.tiles.keys import Mask
from siftcast.matching.tiles.ordering import MISSING
from siftcast.matching.tiles.rows import RowSet


class Segment(ABC):
    """Rows, and which of them live; what the engine asks of every kind."""

    kind: ClassVar[str]  # as `stats` names it

    def __init__(self, rows: RowSet) -> None:
        self.rows = rows
        self.live = len(rows)

    @property
    @abstractmethod
    def slots(self) -> Int32Array:
        """The slot behind each code."""

    find: Callable[[Attributes], Sequence[int] | Int32Array]
    """The slots of the filters that an event satisfies, in memory of their own."""

    exists: Callable[[Attributes], bool]
    """Whether an event satisfies any filter."""

    @abstractmethod
    def remove(self, code: int) -> None:
        """Forgets the filter behind a code."""

    @abstractmethod
    def live_codes(self) -> Int32Array:
        """The codes of filters that still live."""

    @abstractmethod
    def live_rows(self) -> RowSet:
        """The rows that still live, for a merge."""

    @cached_property
    def selectivities(self) -> Mapping[str, float]:
        """For each attribute the share of events that the rows naming it are expected to let through, on average."""
        return {
            ".".join(dimension[0]): round(float(part.shares(part.lows, part.highs).mean()), 6)
            for dimension, part in self.rows.entries.items()
        }

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.slots.nbytes

    def facts(self) -> dict[str, object]:
        """What the segment holds, for people and dashboards."""
        return {
            "kind": self.kind,
            "rows": self.live,
            "dead": len(self.rows) - self.live,
            "dimensions": [".".join(path) for path, _ in self.rows.entries],
            "selectivities": dict(self.selectivities),
        }


class IndexedSegment(Segment):
    """A segment with its index; the shared part of plain and general ones."""

    def __init__(self, rows: RowSet, index: TileIndex | None = None) -> None:
        super().__init__(rows)
        self.index = rows.build_index() if index is None else index
        self._alive: Bitmap | None = None
        self._sought = self.index.all_alive
        self._sought_at = np.array([self._sought.ctypes.data], np.int64)  # kernels look here for the bitmap

    @abstractmethod
    def find_batch(self, events: KeyColumns, table: pa.Table) -> Codes:
        """The codes of the filters that each event of a batch satisfies, and the events' offsets in them."""

    @property
    def lists_to_count(self) -> bool:
        """Whether counting matches takes a list of them."""
        return True

    def count_batch(self, events: KeyColumns, table: pa.Table) -> Int64Array:
        """How many filters each event of a batch satisfies."""
        return np.diff(self.find_batch(events, table)[1])

    @property
    def listed(self) -> int:
        """How many rows are found by lists of keys instead of by the index."""
        return 0

    @property
    def alive(self) -> Bitmap | None:
        """A bit for each position, or None while all live."""
        return self._alive

    def restore_alive(self, bits: Bitmap, live: int) -> None:
        """Takes over the state of a saved segment."""
        self._alive = aligned_copy(bits)
        self._seek(self._alive)
        self.live = live

    def live_rows(self) -> RowSet:
        if self._alive is None:
            return self.rows
        keep = np.empty(len(self.rows), bool)
        keep[self.index.order] = self._live_positions()
        return self.rows.select(keep)

    def _live_positions(self) -> Mask:
        if self._alive is None:
            return np.ones(len(self.rows), bool)
        return np.unpackbits(self._alive.view(np.uint8), bitorder="little")[: len(self.rows)].astype(bool)

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.index.nbytes

    def facts(self) -> dict[str, object]:
        return {**super().facts(), "tiles": self.index.tiles, "listed": self.listed}

    def _kill(self, position: int) -> None:
        if self._alive is None:
            self._alive = first_bits(len(self.rows), self.index.tiles * 512)
            self._seek(self._alive)
        word, others = position >> 6, ~np.uint64(1 << (position & 63))
        self._alive[word] &= others
        self._sought[word] &= others

    def _seek(self, living: Bitmap) -> None:
        """Lets the index look for these positions from now on."""
        self._sought = living
        self._sought_at[0] = living.ctypes.data

    def _reader(self, names: Int32Array) -> EventKeys:
        """Reads events into questions about the rows, answered with `names` of positions, which must live on."""
        return EventKeys(
            list(self.rows.entries),
            self.rows.ranks,
            index=self.index.address,
            alive=int(self._sought_at.ctypes.data),
            names=int(names.ctypes.data),
            scratch_bytes=self.index.event_bytes,
        )

    def _batch_keys(self, events: KeyColumns) -> Int64Array:
        keys = np.empty((events.rows, self.index.dims), np.int64)
        for number, dimension in enumerate(self.rows.entries):
            column = events.keys(dimension, self.rows.ranks.get(dimension))
            keys[:, number] = MISSING if column is None else column
        return keys


class PlainSegment(IndexedSegment):
    """One row per filter: positions are codes."""

    kind = "plain"

    def __init__(self, rows: RowSet, index: TileIndex | None = None) -> None:
        super().__init__(rows, index)
        self._slots: Int32Array = np.ascontiguousarray(rows.slots[self.index.order], np.int32)
        reader = self._reader(self._slots)
        self.find = reader.asker(match_event)
        self.exists = reader.asker(exists_event)

    @property
    def slots(self) -> Int32Array:
        return self._slots

    def find_batch(self, events: KeyColumns, table: pa.Table) -> Codes:
        return self.index.match(self._batch_keys(events), self._sought)

    @property
    def lists_to_count(self) -> bool:
        return self.index.lists_hits

    def count_batch(self, events: KeyColumns, table: pa.Table) -> Int64Array:
        return self.index.count(self._batch_keys(events), self._sought)

    def live_codes(self) -> Int32Array:
        return np.flatnonzero(self._live_positions()).astype(np.int32)

    def remove(self, code: int) -> None:
        self._kill(code)
        self.live -= 1


def aligned_copy(bits: Bitmap) -> Bitmap:
    """The same bits in memory of their own that starts at a cache line, as kernels want it."""
    copy = first_bits(0, len(bits) * 64)
    copy[:] = bits
    return copy
