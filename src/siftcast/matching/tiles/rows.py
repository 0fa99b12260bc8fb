"""Rows on their way into an index, and out of one again when segments are merged.

A row is one box of one filter: the slot of the filter, and an interval on some dimensions. `RowSet` keeps the
intervals by dimension, in keys, with the strings whose ranks the keys of a string dimension are. Where a row demands
a set of keys, its interval there is the set's hull.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from siftcast.matching.contract import Int32Array, Int64Array
from siftcast.matching.tiles.boxes import Box
from siftcast.matching.tiles.index import TileIndex
from siftcast.matching.tiles.keys import KEY_MAX, KEY_MIN, Dimension, Mask, Path, StringRanks, move_ranks
from siftcast.matching.tiles.plans import Columns
from siftcast.matching.tiles.residues import Residues, merge_residues
from siftcast.matching.tiles.sets import KeySets, SetBuilder, merge_sets
from siftcast.model import EngineError
from siftcast.model.like import LikePattern
from siftcast.model.values import Kind

SAMPLE = 1_000  # ends of intervals that stand for the keys of events
KNOWN_MIN = 8  # distinct ends from which they say something about keys
UNKNOWN_SHARE = 0.1  # of events that an interval holds about which nothing is known

Shares = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class DimensionEntries:
    """The intervals of one dimension: row `rows[i]` allows keys from `lows[i]` to `highs[i]`."""

    rows: Int32Array
    lows: Int64Array
    highs: Int64Array

    def shares(self, lows: Int64Array, highs: Int64Array) -> Shares:
        """What share of events some intervals are expected to hold, if their keys are like the ends of all of these.

        An open end is not a key, and where there are only a few distinct ones, they say nothing.
        """
        ends = np.concatenate([self.lows, self.highs])
        ends = ends[(ends > KEY_MIN) & (ends < KEY_MAX)]
        sample = np.sort(ends[:: max(len(ends) // SAMPLE, 1)])
        if len(np.unique(sample)) < KNOWN_MIN:
            return np.full(len(lows), UNKNOWN_SHARE)
        inside = np.searchsorted(sample, highs, side="right") - np.searchsorted(sample, lows)
        return np.asarray(np.maximum(inside, 1) / len(sample))


@dataclass(frozen=True, slots=True)
class RowSet:
    """Rows by number: whose they are, and what they allow; `ranks` serve the string dimensions."""

    slots: Int32Array
    entries: dict[Dimension, DimensionEntries]
    ranks: dict[Dimension, StringRanks]
    residues: Residues
    sets: dict[Dimension, KeySets]

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def nbytes(self) -> int:
        own = self.slots.nbytes + self.residues.nbytes + sum(sets.nbytes for sets in self.sets.values())
        own += sum(rank.nbytes for rank in self.ranks.values())
        return own + sum(e.rows.nbytes + e.lows.nbytes + e.highs.nbytes for e in self.entries.values())

    def build_index(self) -> TileIndex:
        """An index over these rows; its dimensions are numbered as `entries` lists them."""
        parts = list(self.entries.values())
        numbers = [np.full(len(part.rows), number, np.int32) for number, part in enumerate(parts)]
        return TileIndex.build(
            rows=len(self.slots),
            dims=len(parts),
            row=_concatenated([part.rows for part in parts], np.int32),
            dim=_concatenated(numbers, np.int32),
            low=_concatenated([part.lows for part in parts], np.int64),
            high=_concatenated([part.highs for part in parts], np.int64),
        )

    def split(self, dims_max: int) -> Iterator[RowSet]:
        """The rows in parts of at most so many dimensions, those of a slot together; nothing if there are none."""
        if len(self.entries) <= dims_max:
            if len(self):
                yield self
            return
        keep = self.slots < np.median(self.slots)
        if not keep.any():
            raise EngineError(f"a filter of {len(self.entries):,} attributes is more than an index can have")
        yield from self.select(keep).split(dims_max)
        yield from self.select(~keep).split(dims_max)

    def select(self, keep: Mask) -> RowSet:
        """Only the rows marked in `keep`, renumbered."""
        numbers = (np.cumsum(keep) - 1).astype(np.int32)
        entries: dict[Dimension, DimensionEntries] = {}
        for dimension, part in self.entries.items():
            chosen = keep[part.rows]
            if chosen.any():
                rows = numbers[part.rows[chosen]]
                entries[dimension] = DimensionEntries(rows, part.lows[chosen], part.highs[chosen])
        ranks = {dimension: rank for dimension, rank in self.ranks.items() if dimension in entries}
        sets = {dimension: part.select(keep) for dimension, part in self.sets.items() if keep[part.rows].any()}
        for dimension, rank in ranks.items():
            own, demanded = entries[dimension], sets.get(dimension)
            ends = [own.lows, own.highs] + ([] if demanded is None else [demanded.lows, demanded.highs])
            fewer = rank.without_unused(ends)
            if fewer is not rank:
                ranks[dimension] = fewer
                lows, highs = move_ranks(own.lows, own.highs, rank.strings, fewer)
                entries[dimension] = DimensionEntries(own.rows, lows, highs)
                if demanded is not None:
                    sets[dimension] = demanded.moved(0, rank.strings, fewer)
        return RowSet(self.slots[keep], entries, ranks, self.residues.select(keep), sets)


def merge_rows(parts: Sequence[RowSet]) -> RowSet:
    """All rows of several parts, in order."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0] + [len(rows) for rows in parts])
    dimensions = dict.fromkeys(dimension for rows in parts for dimension in rows.entries)
    ranks: dict[Dimension, StringRanks] = {}
    entries: dict[Dimension, DimensionEntries] = {}
    sets: dict[Dimension, KeySets] = {}
    for dimension in dimensions:
        holders = [(int(start), rows) for start, rows in zip(starts, parts, strict=False) if dimension in rows.entries]
        if dimension[1] is Kind.STRING:
            strings = {string for _, rows in holders for string in rows.ranks[dimension].strings}
            ranks[dimension] = StringRanks(sorted(strings))
        moved = [_moved(rows, dimension, start, ranks.get(dimension)) for start, rows in holders]
        entries[dimension] = DimensionEntries(
            np.concatenate([part.rows for part in moved]),
            np.concatenate([part.lows for part in moved]),
            np.concatenate([part.highs for part in moved]),
        )
        demanding = [(start, rows) for start, rows in holders if dimension in rows.sets]
        if demanding:
            sets[dimension] = merge_sets([_moved_sets(rows, dimension, start, ranks) for start, rows in demanding])
    residues = merge_residues([rows.residues for rows in parts], starts[:-1].tolist())
    return RowSet(np.concatenate([rows.slots for rows in parts]), _numbers_first(entries), ranks, residues, sets)


def _numbers_first(entries: dict[Dimension, DimensionEntries]) -> dict[Dimension, DimensionEntries]:
    """The order in which `event_keys` wants the dimensions of a segment."""
    return dict(sorted(entries.items(), key=lambda item: item[0][1] is not Kind.NUMBER))


def _moved(rows: RowSet, dimension: Dimension, start: int, ranks: StringRanks | None) -> DimensionEntries:
    part = rows.entries[dimension]
    lows, highs = part.lows, part.highs
    if ranks is not None:
        lows, highs = move_ranks(lows, highs, rows.ranks[dimension].strings, ranks)
    return DimensionEntries(part.rows + np.int32(start), lows, highs)


def _moved_sets(rows: RowSet, dimension: Dimension, start: int, ranks: dict[Dimension, StringRanks]) -> KeySets:
    old = rows.ranks[dimension].strings if dimension in rows.ranks else ()
    return rows.sets[dimension].moved(start, old, ranks.get(dimension))


class RowBuilder:
    """Collects rows, one box or one set of columns at a time."""

    __slots__ = ("_columns", "_demands", "_doubtful", "_sets", "_sides", "_slots", "_tests", "rows")

    def __init__(self) -> None:
        self.rows = 0
        self._slots: list[Int32Array | list[int]] = []
        self._sides: dict[Dimension, tuple[list[int], list[int | str], list[int | str | None]]] = {}
        self._columns: dict[Dimension, list[tuple[int, Columns]]] = {}
        self._sets: dict[Dimension, SetBuilder] = {}
        self._doubtful: list[int] = []
        self._demands: list[tuple[int, int, bool]] = []
        self._tests: dict[tuple[Path, str], tuple[int, LikePattern]] = {}

    def add_box(self, slot: int, box: Box) -> None:
        """Adds one row."""
        for dimension, low, high in box.sides:
            rows, lows, highs = self._sides.setdefault(dimension, ([], [], []))
            rows.append(self.rows)
            lows.append(low)
            highs.append(high)
        for path, pattern, wanted in box.demands:
            number, _ = self._tests.setdefault((path, pattern.source), (len(self._tests), pattern))
            self._demands.append((self.rows, number, wanted))
        for dimension, intervals in box.sets:
            self._sets.setdefault(dimension, SetBuilder()).add(self.rows, intervals)
        if box.doubtful:
            self._doubtful.append(self.rows)
        last = self._slots[-1] if self._slots else None
        if isinstance(last, list):
            last.append(slot)
        else:
            self._slots.append([slot])
        self.rows += 1

    def add_columns(self, slots: Sequence[int] | Int32Array, columns: Sequence[Columns]) -> None:
        """Adds a row for each slot, with the intervals that the columns hold in the same order."""
        for column in columns:
            self._columns.setdefault(column.dimension, []).append((self.rows, column))
        self._slots.append(np.asarray(slots, np.int32))
        self.rows += len(slots)

    def finish(self) -> RowSet:
        """The rows collected; the builder is spent."""
        entries: dict[Dimension, DimensionEntries] = {}
        ranks: dict[Dimension, StringRanks] = {}
        sets: dict[Dimension, KeySets] = {}
        for dimension in {**self._sides, **self._columns, **self._sets}:
            rows, lows, highs = self._gathered(dimension)
            demanded = self._sets.get(dimension)
            if dimension[1] is Kind.STRING:
                mentioned = set(lows) | {string for string in highs if string is not None}
                mentioned |= set() if demanded is None else demanded.strings()
                rank = ranks[dimension] = StringRanks(sorted(mentioned))
                lows, highs = (
                    [rank.low_key(low) for low in lows],
                    [rank.high_key(low, high) for low, high in zip(lows, highs, strict=True)],
                )
            lows, highs = np.asarray(lows, np.int64), np.asarray(highs, np.int64)
            if demanded is not None:
                part = sets[dimension] = demanded.finish(ranks.get(dimension))
                hull_lows, hull_highs = part.hulls()
                rows, lows = np.concatenate([rows, part.rows]), np.concatenate([lows, hull_lows])
                highs = np.concatenate([highs, hull_highs])
            entries[dimension] = DimensionEntries(rows, lows, highs)
        slots = _concatenated([np.asarray(part, np.int32) for part in self._slots], np.int32)
        return RowSet(slots, _numbers_first(entries), ranks, self._residues(), sets)

    def _residues(self) -> Residues:
        doubtful = np.zeros(self.rows, bool)
        doubtful[self._doubtful] = True
        demands = np.array(self._demands, np.int32).reshape(-1, 3)
        table = tuple((path, pattern) for (path, _), (_, pattern) in self._tests.items())
        return Residues(doubtful, demands[:, 0], demands[:, 1], demands[:, 2].astype(np.uint8), table)

    def _gathered(self, dimension: Dimension) -> tuple[Int32Array, Any, Any]:
        rows, lows, highs = self._sides.get(dimension, ([], [], []))
        columns = self._columns.get(dimension, [])
        all_rows = [np.array(rows, np.int32)]
        for start, column in columns:
            chosen = np.arange(len(column.lows), dtype=np.int32) if column.rows is None else column.rows
            all_rows.append(chosen + np.int32(start))
        if dimension[1] is Kind.STRING:
            for _, column in columns:
                lows = [*lows, *column.lows]
                highs = [*highs, *column.highs]
            return np.concatenate(all_rows), lows, highs
        all_lows = np.concatenate([np.array(lows, np.int64), *(column.lows for _, column in columns)])
        all_highs = np.concatenate([np.array(highs, np.int64), *(column.highs for _, column in columns)])
        return np.concatenate(all_rows), all_lows, all_highs


def _concatenated(parts: Sequence[np.ndarray], kind: type) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0, kind)
