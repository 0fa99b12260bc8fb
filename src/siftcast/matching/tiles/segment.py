"""A segment: an immutable index over rows, with a bitmap of those that are still alive.

Two kinds differ in what a hit means. In a *plain* segment each row is a whole filter, so a position is an answer. In
a *general* one a filter may own several rows and may need to be asked itself, so positions are turned into owners,
repeats are dropped, and undecided owners are verified on the event.

A code, as a segment answers with them, is an index into its `slots`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from siftcast.matching.contract import Attributes, Int32Array, Int64Array
from siftcast.matching.event_rows import event_columns
from siftcast.matching.tiles.columns import KeyColumns
from siftcast.matching.tiles.combining import Codes, append_codes, distinct_owners, keep_codes
from siftcast.matching.tiles.event_keys import EventKeys
from siftcast.matching.tiles.index import MISSING, Bitmap, TileIndex, first_bits
from siftcast.matching.tiles.kernels import exists_event, match_event, scratch_bytes
from siftcast.matching.tiles.keys import Mask, Path
from siftcast.matching.tiles.listings import Listing
from siftcast.matching.tiles.memberships import Membership
from siftcast.matching.tiles.residues import answers_for
from siftcast.matching.tiles.rows import RowSet
from siftcast.model import Filter
from siftcast.model.like import LikePattern
from siftcast.model.values import lookup, normalise

ANSWERS_MAX = 1 << 25
CANDIDATES_MAX = 1 << 20  # about so many are settled at a time
FIRST_PIECE = 64  # events of a batch that show how many candidates an event has
Answer = np.ndarray[tuple[int], np.dtype[np.uint8]]


class Segment(ABC):
    """Rows, their index, and which of them live; the shared part."""

    def __init__(self, rows: RowSet, index: TileIndex | None = None) -> None:
        self.rows = rows
        self.index = rows.build_index() if index is None else index
        self.live = len(rows)
        self._alive: Bitmap | None = None
        self._sought = self.index.all_alive
        self._sought_at = np.array([self._sought.ctypes.data], np.int64)  # kernels look here for the bitmap

    @property
    @abstractmethod
    def slots(self) -> Int32Array:
        """The slot behind each code."""

    find: Callable[[Attributes], Sequence[int] | Int32Array]
    """The slots of the filters that an event satisfies, in memory of their own."""

    exists: Callable[[Attributes], bool]
    """Whether an event satisfies any filter."""

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

    @abstractmethod
    def remove(self, code: int) -> None:
        """Forgets the filter behind a code."""

    @cached_property
    def selectivities(self) -> Mapping[str, float]:
        """For each attribute the share of events that the rows naming it are expected to let through, on average."""
        return {
            ".".join(dimension[0]): round(float(part.shares(part.lows, part.highs).mean()), 6)
            for dimension, part in self.rows.entries.items()
        }

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
        self._alive = _aligned_copy(bits)
        self._seek(self._alive)
        self.live = live

    def live_rows(self) -> RowSet:
        """The rows that still live, for a merge."""
        if self._alive is None:
            return self.rows
        keep = np.empty(len(self.rows), bool)
        keep[self.index.order] = self._live_positions()
        return self.rows.select(keep)

    @abstractmethod
    def live_codes(self) -> Int32Array:
        """The codes of filters that still live."""

    def _live_positions(self) -> Mask:
        if self._alive is None:
            return np.ones(len(self.rows), bool)
        return np.unpackbits(self._alive.view(np.uint8), bitorder="little")[: len(self.rows)].astype(bool)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.index.nbytes + self.slots.nbytes

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
        index = self.index.address
        return EventKeys(
            list(self.rows.entries),
            self.rows.ranks,
            index=index,
            alive=int(self._sought_at.ctypes.data),
            names=int(names.ctypes.data),
            scratch_bytes=scratch_bytes(index),
        )

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


class GeneralSegment(Segment):
    """Several rows a filter, some of them only candidates: codes are numbers of owners.

    `undecided` maps the slots of filters that may have to be asked to the filters; the engine shares it.
    """

    def __init__(self, rows: RowSet, undecided: Mapping[int, Filter], index: TileIndex | None = None) -> None:
        super().__init__(rows, index)
        owners, numbers = np.unique(rows.slots[self.index.order], return_inverse=True)
        self._slots: Int32Array = owners.astype(np.int32)
        self._owner_of: Int32Array = numbers.astype(np.int32)
        self._by_owner: Int64Array = np.argsort(self._owner_of, kind="stable")
        self._starts: Int64Array = np.searchsorted(self._owner_of[self._by_owner], np.arange(len(owners) + 1))
        self._numbers: Int32Array = np.arange(len(rows), dtype=np.int32)
        self._event_keys = self._reader(self._numbers)
        self._positions_of = self._event_keys.asker(match_event)
        self.find, self.exists = self._find, self._exists
        self._demands = rows.residues.ordered(self.index.order)
        self._memberships = [
            Membership.of(rows.sets[dimension], column, self.index.order)
            for column, dimension in enumerate(rows.entries)
            if dimension in rows.sets
        ]
        self._listings: list[Listing | None] = []
        self._hidden = np.zeros_like(self._sought)
        self._list_rows()
        self._owns_one = len(owners) == len(rows)
        self._any_doubtful = bool(self._demands.doubtful.any())
        self._undecided = undecided
        self.verified = 0

    def _list_rows(self) -> None:
        """Takes the rows that are better found by their lists out of the index' sight."""
        free, hidden = np.ones(len(self.rows), bool), np.zeros(len(self.rows), bool)
        for membership in self._memberships:
            listing = Listing.of(membership, self.rows, self.index.order, free)
            self._listings.append(listing)
            free &= membership.set_of == len(membership.sets.begins) - 1
            if listing is not None:
                hidden[listing.positions] = True
        if hidden.any():
            self._hidden.view(np.uint8)[: (len(hidden) + 7) // 8] = np.packbits(hidden, bitorder="little")
            self._seek(self.index.all_alive)

    def _seek(self, living: Bitmap) -> None:
        super()._seek(_aligned_copy(living & ~self._hidden) if self._hidden.any() else living)

    @property
    def slots(self) -> Int32Array:
        return self._slots

    @property
    def listed(self) -> int:
        return sum(len(listing.positions) for listing in self._listings if listing is not None)

    @property
    def nbytes(self) -> int:
        derived = [*self._memberships, *self._listings]
        return super().nbytes + self._hidden.nbytes + sum(part.nbytes for part in derived if part is not None)

    def _find(self, event: Attributes) -> Sequence[int] | Int32Array:
        slots, doubts = self._candidates(event)
        if not doubts.any():
            return slots
        self.verified += int(doubts.sum())
        undecided, found = self._undecided, zip(slots.tolist(), doubts.tolist(), strict=True)
        return [slot for slot, doubt in found if not doubt or undecided[slot].matches(event)]

    def _exists(self, event: Attributes) -> bool:
        slots, doubts = self._candidates(event)
        undecided = self._undecided
        return not doubts.all() or any(undecided[slot].matches(event) for slot in slots.tolist())

    def _candidates(self, event: Attributes) -> tuple[Int32Array, Mask]:
        """The slots of the filters that an event may satisfy, and which of them must be asked."""
        positions, offsets = self._members(event) if self._memberships else _alone(self._positions_of(event))
        if len(positions) == 0:
            return positions, np.zeros(0, bool)
        if self._demands.table:
            positions, offsets = self._satisfied(positions, offsets, _EventStrings(event))
        codes, _, doubts = self._owners(positions, offsets)
        return self._slots[codes], doubts

    def _members(self, event: Attributes) -> Codes:
        """The positions that match an event, long lists of values included."""
        question = self._event_keys.take(event)
        hits = self._settled(_alone(match_event(question.address)), question.keys.reshape(1, -1))
        self._event_keys.give_back(question)
        return hits

    def _settled(self, hits: Codes, keys: Int64Array) -> Codes:
        """The hits of the index with those that are found by their lists, and without those that their lists refuse."""
        alive = self.index.all_alive if self._alive is None else self._alive
        for membership, listing in zip(self._memberships, self._listings, strict=True):
            cells = membership.cells_of(keys)
            hits = membership.keep_members(hits, keys, cells)
            if listing is not None:  # its rows have no set that was asked before
                hits = listing.add_listed(hits, keys, cells, alive)
        return hits

    def find_batch(self, events: KeyColumns, table: pa.Table) -> Codes:
        positions, offsets = self._batch_positions(self._batch_keys(events))
        if self._demands.table:
            positions, offsets = self._satisfied(positions, offsets, events)
        codes, offsets, doubts = self._owners(positions, offsets)
        return self._verified(codes, offsets, doubts, table) if doubts.any() else (codes, offsets)

    def _batch_positions(self, keys: Int64Array) -> Codes:
        if not self._memberships:
            return self.index.match(keys, self._sought)
        # Candidates may be many times the matches, so a batch is cut into pieces that keep them in the cache.
        parts: list[Codes] = []
        start, step = 0, FIRST_PIECE
        while start < len(keys) or not parts:
            piece = keys[start : start + step]
            hits = self.index.match(piece, self._sought)
            start, step = start + step, max(1, CANDIDATES_MAX * step // max(len(hits[0]), 1))
            parts.append(self._settled(hits, piece))
        return append_codes(parts)

    def live_codes(self) -> Int32Array:
        return np.unique(self._owner_of[self._live_positions()])

    def remove(self, code: int) -> None:
        for position in self._by_owner[self._starts[code] : self._starts[code + 1]].tolist():
            self._kill(position)
        self.live -= int(self._starts[code + 1] - self._starts[code])

    def _owners(self, positions: Int32Array, offsets: Int64Array) -> tuple[Int32Array, Int64Array, Mask]:
        doubtful = self._demands.doubtful
        if self._owns_one:
            doubts = doubtful[positions] if self._any_doubtful else np.zeros(len(positions), bool)
            return self._owner_of[positions], offsets, doubts
        return distinct_owners(positions, offsets, self._owner_of, doubtful, len(self._slots))

    def _satisfied(self, positions: Int32Array, offsets: Int64Array, events: KeyColumns | _EventStrings) -> Codes:
        """The hits whose strings match the patterns their rows demand."""
        demands = self._demands
        needed = demands.needed(positions)
        rows = np.zeros(len(demands.table), np.int32)
        rows[needed] = np.arange(len(needed), dtype=np.int32)
        parts: list[Codes] = []
        # Answers take a byte for each test and event; a long batch is therefore cut into pieces.
        step = max(1, ANSWERS_MAX // max(len(needed), 1))
        for start in range(0, len(offsets) - 1, step):
            stop = min(start + step, len(offsets) - 1)
            answers = np.empty((len(needed), stop - start), np.uint8)
            for row, test in enumerate(needed.tolist()):
                path, pattern = demands.table[test]
                answers[row] = events.answers(path, pattern, start, stop)
            first, last = offsets[start], offsets[stop]
            piece = offsets[start : stop + 1] - first
            parts.append(demands.keep_satisfied(positions[first:last], piece, answers, rows))
        return append_codes(parts) if parts else (positions, offsets)

    def _verified(self, codes: Int32Array, offsets: Int64Array, doubts: Mask, table: pa.Table) -> Codes:
        """Asks the filters themselves where doubt remains."""
        doubtful = np.flatnonzero(doubts)
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


def _alone(positions: Int32Array) -> Codes:
    """The positions of a single event as those of a batch."""
    return positions, np.array([0, len(positions)], np.int64)


class _EventStrings:
    """One event as `KeyColumns` would show it to tests of patterns."""

    __slots__ = ("_event",)

    def __init__(self, event: Attributes) -> None:
        self._event = event

    def answers(self, path: Path, pattern: LikePattern, start: int, stop: int) -> Answer:
        return answers_for(pattern, [normalise(lookup(self._event, ".".join(path), path))])


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
                self._columns = event_columns(self._table)
            self._row = {name: cells[event] for name, cells in self._columns.items()}
            self._event = event
        return self._row


def _aligned_copy(bits: Bitmap) -> Bitmap:
    copy = first_bits(0, len(bits) * 64)
    copy[:] = bits
    return copy
