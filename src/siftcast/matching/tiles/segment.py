"""A segment: an immutable index over rows, with a bitmap of those that are still alive.

Two kinds differ in what a hit means. In a *plain* segment each row is a whole filter, so a position is an answer. In
a *general* one a filter may own several rows and may need to be asked itself, so positions are turned into owners,
repeats are dropped, and undecided owners are verified on the event.

A code, as a segment answers with them, is an index into its `slots`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from siftcast.matching.contract import Attributes, Int32Array, Int64Array
from siftcast.matching.tiles.columns import KeyColumns
from siftcast.matching.tiles.combining import Codes, distinct_codes, keep_codes
from siftcast.matching.tiles.event_keys import EventKeys
from siftcast.matching.tiles.index import MISSING, TileIndex, first_bits
from siftcast.matching.tiles.rows import RowSet
from siftcast.model import Filter


class Segment(ABC):
    """Rows, their index, and which of them live; the shared part."""

    def __init__(self, rows: RowSet, index: TileIndex | None = None) -> None:
        self.rows = rows
        self.index = rows.build_index() if index is None else index
        self.live = len(rows)
        self._alive: np.ndarray[tuple[int], np.dtype[np.uint64]] | None = None
        self._event_keys = EventKeys(list(rows.entries), rows.ranks)

    @property
    @abstractmethod
    def slots(self) -> Int32Array:
        """The slot behind each code."""

    @abstractmethod
    def find(self, event: Attributes) -> Sequence[int] | Int32Array:
        """The slots of the filters that an event satisfies."""

    def exists(self, event: Attributes) -> bool:
        """Whether an event satisfies any filter."""
        held = self._event_keys.take(event)
        found = self.index.exists(held[0], self._alive)
        self._event_keys.give_back(held)
        return found

    @abstractmethod
    def find_batch(self, events: KeyColumns, table: pa.Table) -> Codes:
        """The codes of the filters that each event of a batch satisfies, and the events' offsets in them."""

    @abstractmethod
    def remove(self, code: int) -> None:
        """Forgets the filter behind a code."""

    @property
    def alive(self) -> np.ndarray[tuple[int], np.dtype[np.uint64]] | None:
        """A bit for each position, or None while all live."""
        return self._alive

    def restore_alive(self, bits: np.ndarray[tuple[int], np.dtype[np.uint64]], live: int) -> None:
        """Takes over the state of a saved segment."""
        self._alive = _aligned_copy(bits)
        self.live = live

    def live_rows(self) -> RowSet:
        """The rows that still live, for a merge."""
        if self._alive is None:
            return self.rows
        positions = np.unpackbits(self._alive.view(np.uint8), bitorder="little")[: len(self.rows)].astype(bool)
        keep = np.empty(len(self.rows), bool)
        keep[self.index.order] = positions
        return self.rows.select(keep)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.index.nbytes + self.slots.nbytes

    def _kill(self, position: int) -> None:
        if self._alive is None:
            self._alive = first_bits(len(self.rows), self.index.tiles * 512)
        word, bit = position >> 6, position & 63
        self._alive[word] &= ~np.uint64(1 << bit)

    def _positions(self, event: Attributes) -> Int32Array:
        held = self._event_keys.take(event)
        positions = self.index.match_one(held[0], self._alive)
        self._event_keys.give_back(held)
        return positions

    def _batch_keys(self, events: KeyColumns) -> Int64Array:
        keys = np.empty((events.rows, self.index.dims), np.int64)
        for number, dimension in enumerate(self.rows.entries):
            column = events.keys(dimension, self.rows.ranks.get(dimension))
            keys[:, number] = MISSING if column is None else column
        return keys


class PlainSegment(Segment):
    """One row a filter: positions are codes."""

    def __init__(self, rows: RowSet, index: TileIndex | None = None) -> None:
        super().__init__(rows, index)
        self._slots: Int32Array = rows.slots[self.index.order]

    @property
    def slots(self) -> Int32Array:
        return self._slots

    def find(self, event: Attributes) -> Int32Array:
        return self._slots[self._positions(event)]

    def find_batch(self, events: KeyColumns, table: pa.Table) -> Codes:
        return self.index.match(self._batch_keys(events), self._alive)

    def remove(self, code: int) -> None:
        self._kill(code)
        self.live -= 1


class GeneralSegment(Segment):
    """Several rows a filter, some of them only candidates: codes are numbers of owners.

    `undecided` maps the slots of filters that must be verified to the filters; the engine shares it.
    """

    def __init__(self, rows: RowSet, undecided: Mapping[int, Filter], index: TileIndex | None = None) -> None:
        super().__init__(rows, index)
        owners, numbers = np.unique(rows.slots[self.index.order], return_inverse=True)
        self._slots: Int32Array = owners.astype(np.int32)
        self._owner_of: Int32Array = numbers.astype(np.int32)
        self._by_owner: Int64Array = np.argsort(self._owner_of, kind="stable")
        self._starts: Int64Array = np.searchsorted(self._owner_of[self._by_owner], np.arange(len(owners) + 1))
        self._undecided = undecided
        self._must_verify = np.array([slot in undecided for slot in owners.tolist()], bool)
        self._verifies = bool(self._must_verify.any())
        self.verified = 0

    @property
    def slots(self) -> Int32Array:
        return self._slots

    def find(self, event: Attributes) -> list[int]:
        positions = self._positions(event)
        found: list[int] = self._slots[np.unique(self._owner_of[positions])].tolist() if len(positions) else []
        if not self._verifies:
            return found
        undecided = self._undecided
        self.verified += sum(slot in undecided for slot in found)
        return [slot for slot in found if slot not in undecided or undecided[slot].matches(event)]

    def exists(self, event: Attributes) -> bool:
        if self._verifies:
            return len(self.find(event)) > 0
        return super().exists(event)

    def find_batch(self, events: KeyColumns, table: pa.Table) -> Codes:
        positions, offsets = self.index.match(self._batch_keys(events), self._alive)
        codes, offsets = distinct_codes(positions, offsets, self._owner_of, len(self._slots))
        return self._verified(codes, offsets, table) if self._verifies else (codes, offsets)

    def remove(self, code: int) -> None:
        for position in self._by_owner[self._starts[code] : self._starts[code + 1]].tolist():
            self._kill(position)
        self.live -= int(self._starts[code + 1] - self._starts[code])

    def _verified(self, codes: Int32Array, offsets: Int64Array, table: pa.Table) -> Codes:
        doubtful = np.flatnonzero(self._must_verify[codes])
        if len(doubtful) == 0:
            return codes, offsets
        self.verified += len(doubtful)
        keep = np.ones(len(codes), bool)
        events = np.searchsorted(offsets, doubtful, side="right") - 1
        rows = _RowReader(table)
        slots = self._slots[codes[doubtful]].tolist()
        undecided = self._undecided
        for place, event, slot in zip(doubtful.tolist(), events.tolist(), slots, strict=True):
            if not undecided[slot].matches(rows.row(event)):
                keep[place] = False
        return keep_codes(codes, offsets, keep)


class _RowReader:
    """Rows of a table as dicts, made only for the events somebody asks about; asked in ascending order."""

    __slots__ = ("_columns", "_event", "_row", "_table")

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._columns: dict[str, list[object]] | None = None
        self._event = -1
        self._row: dict[str, object] = {}

    def row(self, event: int) -> dict[str, object]:
        if event != self._event:
            if self._columns is None:
                self._columns = self._table.to_pydict()
            self._row = {name: cells[event] for name, cells in self._columns.items()}
            self._event = event
        return self._row


def _aligned_copy(bits: np.ndarray[Any, np.dtype[np.uint64]]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    copy = first_bits(0, len(bits) * 64)
    copy[:] = bits
    return copy
