"""A segment whose kernels are still being compiled: an event is compared with all rows at once, by NumPy.

It answers exactly as the index will, in time linear in the rows: about 10 ns per interval, 0.05 s for a million
subscriptions of five ranges. It serves only the first seconds on a machine. A batch of any size waits for the index
instead, and what is added meanwhile gets a segment of its own, so nothing here is ever merged.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping

import numpy as np

from siftcast.matching.contract import Attributes, Int32Array, Int64Array
from siftcast.matching.tiles.event_keys import value_key
from siftcast.matching.tiles.general_segment import GeneralSegment, is_matched
from siftcast.matching.tiles.index import TileIndex
from siftcast.matching.tiles.keys import Dimension, Mask
from siftcast.matching.tiles.rows import RowSet
from siftcast.matching.tiles.segment import IndexedSegment, PlainSegment, Segment
from siftcast.model import Filter
from siftcast.model.values import lookup, normalise


class WaitingSegment(Segment):
    """Rows without an index; a code is the number of a row, or that of an owner where a filter may own several."""

    kind = "waiting"

    def __init__(
        self, rows: RowSet, undecided: Mapping[int, Filter], *, is_plain: bool, index: TileIndex | None = None
    ) -> None:
        """A saved segment has its index already, which waits for nothing but the kernels that read it."""
        super().__init__(rows)
        self._index = index
        self.is_plain = is_plain
        self._undecided = undecided
        self.find, self.exists = self._find, self._exists
        if is_plain:
            self._owners, self._owner_of = rows.slots, np.arange(len(rows), dtype=np.int32)
        else:
            owners, numbers = np.unique(rows.slots, return_inverse=True)
            self._owners, self._owner_of = owners.astype(np.int32), numbers.astype(np.int32)
        self._alive: Mask = np.ones(len(rows), bool)
        self._sets = {
            dimension: dict(zip(part.rows.tolist(), part.sets.tolist(), strict=True))
            for dimension, part in rows.sets.items()
        }

    @property
    def slots(self) -> Int32Array:
        return self._owners

    def _find(self, event: Attributes) -> list[int]:
        """The slots of the filters that an event satisfies."""
        held = np.flatnonzero(self._within(event)).astype(np.int64)
        if self.is_plain:
            slots: list[int] = self.rows.slots[held].tolist()
            return slots
        certain: dict[int, bool] = {}
        doubtful = self.rows.residues.doubtful
        for row in self._satisfied(held, event).tolist():
            slot = int(self.rows.slots[row])
            certain[slot] = certain.get(slot, False) or not doubtful[row]
        return [slot for slot, sure in certain.items() if sure or is_matched(self._undecided.get(slot), event)]

    def _exists(self, event: Attributes) -> bool:
        """Whether an event satisfies any filter."""
        return bool(self._find(event))

    def _within(self, event: Attributes) -> Mask:
        """The living rows whose intervals and sets hold the event."""
        held = self._alive.copy()
        for dimension, part in self.rows.entries.items():
            key = self._key(event, dimension)
            if key is None:
                held[part.rows] = False
            else:
                held[part.rows[(part.lows > key) | (part.highs < key)]] = False
                self._keep_members(held, dimension, key)
        return held

    def _key(self, event: Attributes, dimension: Dimension) -> int | None:
        key = value_key(event, dimension)
        return self.rows.ranks[dimension].key(key) if isinstance(key, str) else key

    def _keep_members(self, held: Mask, dimension: Dimension, key: int) -> None:
        """Drops the rows that demand a set on a dimension in which the key is not."""
        sets = self.rows.sets.get(dimension)
        if sets is None:
            return
        demanding, answers = sets.rows[held[sets.rows]], dict[int, bool]()
        for row in demanding.tolist():
            number = self._sets[dimension][row]
            if number not in answers:
                begin, end = int(sets.begins[number]), int(sets.begins[number + 1])
                at = bisect_right(sets.lows, key, begin, end) - 1
                answers[number] = at >= begin and key <= sets.highs[at]
            held[row] = answers[number]

    def _satisfied(self, held: Int64Array, event: Attributes) -> Int64Array:
        """The rows among these whose strings match the patterns they demand."""
        residues = self.rows.residues
        concerned = np.flatnonzero(np.isin(residues.rows, held))
        failed: set[int] = set()
        answers: dict[int, bool | None] = {}
        for demand in concerned.tolist():
            test = int(residues.tests[demand])
            if test not in answers:
                path, pattern = residues.table[test]
                text = normalise(lookup(event, ".".join(path), path))
                answers[test] = pattern.matches(text) if type(text) is str else None
            if answers[test] is not bool(residues.wanted[demand]):
                failed.add(int(residues.rows[demand]))
        return held[~np.isin(held, list(failed))] if failed else held

    # -- changes -------------------------------------------------------------------------------------

    def remove(self, code: int) -> None:
        rows = np.flatnonzero(self._owner_of == code)
        self._alive[rows] = False
        self.live -= len(rows)

    def restore_alive(self, alive: Mask) -> None:
        """Takes over which rows of a saved segment live."""
        self._alive = alive
        self.live = int(alive.sum())

    def live_codes(self) -> Int32Array:
        return np.unique(self._owner_of[self._alive])

    def live_rows(self) -> RowSet:
        return self.rows if self._alive.all() else self.rows.select(self._alive)

    def indexed(self) -> tuple[IndexedSegment | None, Callable[[IndexedSegment], None]]:
        """The same rows with an index, and a function that takes out of it what was removed while it was built."""
        then = self._alive.copy() if self._index is None else np.ones_like(self._alive)
        rows = self.rows if then.all() else self.rows.select(then)

        def catch_up(made: IndexedSegment) -> None:
            gone = np.unique(self.rows.slots[then & ~self._alive])
            for code in np.flatnonzero(np.isin(made.slots, gone)).tolist():
                made.remove(code)

        if not len(rows):
            return None, catch_up
        if self.is_plain:
            return PlainSegment(rows, self._index), catch_up
        return GeneralSegment(rows, self._undecided, self._index), catch_up
