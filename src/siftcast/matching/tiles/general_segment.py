"""A segment whose rows need not be whole filters: several may have one owner, and some are only candidates.

Hits become owners, repeats are dropped, and undecided owners are verified on the event:

    index, lists ─▶ positions ─▶ sets of keys ─▶ patterns ─▶ owners ─▶ filters that must be asked
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from siftcast.matching.contract import Attributes, Int32Array, Int64Array
from siftcast.matching.event_rows import event_columns, named_columns
from siftcast.matching.tiles.columns import KeyColumns
from siftcast.matching.tiles.combining import Codes, append_codes, distinct_owners, keep_codes
from siftcast.matching.tiles.index import Bitmap, TileIndex
from siftcast.matching.tiles.kernels import match_event
from siftcast.matching.tiles.keys import Mask, Path
from siftcast.matching.tiles.listings import EntriesByRow, Listing
from siftcast.matching.tiles.memberships import Membership
from siftcast.matching.tiles.residues import answers_for
from siftcast.matching.tiles.rows import RowSet
from siftcast.matching.tiles.segment import IndexedSegment, aligned_copy
from siftcast.model import Filter
from siftcast.model.like import LikePattern
from siftcast.model.values import lookup, normalise

ANSWERS_MAX = 1 << 25
CANDIDATES_MAX = 1 << 20  # about so many are settled at a time
FIRST_PIECE = 64  # events of a batch that show how many candidates an event has
Answer = np.ndarray[tuple[int], np.dtype[np.uint8]]


class GeneralSegment(IndexedSegment):
    """Several rows per filter, some of them only candidates: codes are numbers of owners.

    `undecided` maps the slots of filters that may have to be evaluated to the filters; the engine shares it. Another
    thread may remove some of them at any time.
    """

    kind = "general"

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
        entries = EntriesByRow.of(self.rows) if self._memberships else None
        for membership in self._memberships:
            assert entries is not None
            listing = Listing.of(membership, entries, self.index.order, free)
            self._listings.append(listing)
            free &= membership.set_of == len(membership.sets.begins) - 1
            if listing is not None:
                hidden[listing.positions] = True
        if hidden.any():
            self._hidden.view(np.uint8)[: (len(hidden) + 7) // 8] = np.packbits(hidden, bitorder="little")
            self._seek(self.index.all_alive)

    def _seek(self, living: Bitmap) -> None:
        super()._seek(aligned_copy(living & ~self._hidden) if self._hidden.any() else living)

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
        return [slot for slot, doubt in found if not doubt or is_matched(undecided.get(slot), event)]

    def _exists(self, event: Attributes) -> bool:
        slots, doubts = self._candidates(event)
        undecided = self._undecided
        return not doubts.all() or any(is_matched(undecided.get(slot), event) for slot in slots.tolist())

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
        slots = self._slots[codes[doubtful]].tolist()
        asked = {slot: self._undecided.get(slot) for slot in set(slots)}
        rows = _RowReader(named_columns(table, [filter_ for filter_ in asked.values() if filter_ is not None]))
        for place, event, slot in zip(doubtful.tolist(), events.tolist(), slots, strict=True):
            if not is_matched(asked[slot], rows.row(event)):
                keep[place] = False
        return keep_codes(codes, offsets, keep)


def is_matched(filter_: Filter | None, event: Attributes) -> bool:
    """Whether an event satisfies a filter; one that was removed while somebody looked for it, none does."""
    return filter_ is not None and filter_.matches(event)


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
