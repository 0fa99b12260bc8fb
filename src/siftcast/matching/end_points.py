"""The boxes of many filters as points: the table that `counting` and `kd_tree` index.

A range on an axis has two end points. Written as (low, -high), both must stay *below* what the event offers, so
a box over d axes is a point in 2d dimensions, and an event asks for all points that it dominates:

    2 <= x <= 5  is the row    (2, -5)                    row <= query in every column: the event is in the box
    x = 3        is the query  (3, -3)                    2 <= 3 and -5 <= -3

A missing bound or value needs no special case: a row that does not constrain an axis holds -inf in both its columns,
and so does the query of an event without a value there. Rows that ask nothing are then satisfied, and rows that ask
anything (their ends are finite) are not.

Invariants. A row belongs to one slot; a filter of several alternatives has several rows. Filters wait unsplit
until `absorb`. Removal marks rows as dead, and they stay where they are until `keep` drops them: positions of
rows change in `keep` alone. The table knows at most AXES_MAX axes: bounds on further ones are dropped and their
boxes verified, so the table has no more than 4 KiB per row, whatever attributes filters name.

Cost: 16 bytes per row and axis, all axes for each row. Rejected: sparse rows, which suit filters that each name a
few of very many attributes; there neither published matcher is a good choice, and both read dense rows faster.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any

import numpy as np

from siftcast.matching.alternatives import Axis, Box, boxes_of, place_of
from siftcast.matching.contract import Attributes, Int32Array
from siftcast.model import Filter
from siftcast.model.normal_form import Path
from siftcast.model.values import Kind, lookup

AXES_MAX = 256

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
BoolArray = np.ndarray[Any, np.dtype[np.bool_]]
Rows = np.ndarray[Any, np.dtype[np.int64]]


class EndPoints:
    """A growing table of rows, and what must be known to turn rows back into slots."""

    def __init__(self) -> None:
        self.filters: dict[int, Filter] = {}
        self.verifications = 0
        self._waiting: dict[int, Filter] = {}
        self._rows_of: dict[int, list[int]] = {}
        self._columns: dict[Axis, int] = {}
        self._readers: dict[Path, tuple[str, dict[Kind | None, int]]] = {}
        self.rows = 0
        self.dead = 0
        self._ends: FloatArray = np.full((16, 1), -inf)
        self._slots: Int32Array = np.zeros(16, np.int32)
        self._alive: BoolArray = np.zeros(16, np.bool_)
        self._decided: BoolArray = np.zeros(16, np.bool_)
        self._single: BoolArray = np.zeros(16, np.bool_)  # the only row of its slot, and decided

    # -- filters ---------------------------------------------------------------------------------------

    def add(self, slot: int, filter_: Filter) -> None:
        """Takes a filter under a free slot; its rows are made by the next `absorb`."""
        self.filters[slot] = self._waiting[slot] = filter_

    def remove(self, slot: int) -> None:
        """Removes the filter of a slot; its rows die."""
        del self.filters[slot]
        if self._waiting.pop(slot, None) is None:
            rows = self._rows_of.pop(slot)
            self._alive[rows] = False
            self.dead += len(rows)

    def absorb(self) -> None:
        """Makes rows of the filters that wait."""
        if not self._waiting:
            return
        split = [(slot, boxes_of(filter_)) for slot, filter_ in self._waiting.items()]
        self._waiting = {}
        for _, boxes in split:
            self._register(axis for box in boxes for axis in box.bounds)
        self._reserve(self.rows + sum(len(boxes) for _, boxes in split))
        for slot, boxes in split:
            self._rows_of[slot] = list(range(self.rows, self.rows + len(boxes)))
            for box in boxes:
                self._append(slot, box, len(boxes) == 1)

    def keep(self, rows: Rows) -> None:
        """Reorders the table to these rows, in this order; they are all that live."""
        count = len(rows)
        for name in ("_ends", "_slots", "_alive", "_decided", "_single"):
            column = getattr(self, name)
            column[:count] = column[rows]
        self.rows, self.dead = count, 0
        positions: dict[int, list[int]] = {slot: [] for slot in self._rows_of}
        for row, slot in enumerate(self._slots[:count].tolist()):
            positions[slot].append(row)
        self._rows_of = positions

    def _register(self, axes: Iterable[Axis]) -> None:
        for axis in axes:
            if axis not in self._columns and len(self._columns) < AXES_MAX:
                path, kind = axis
                column = self._columns[axis] = 2 * len(self._columns)
                self._readers.setdefault(path, (".".join(path), {}))[1][kind] = column

    def _reserve(self, rows: int) -> None:
        width = max(1, 2 * len(self._columns))
        height = len(self._slots)
        if rows > height:
            height = max(rows, 2 * height)
            for name in ("_slots", "_alive", "_decided", "_single"):
                column = getattr(self, name)
                setattr(self, name, np.concatenate([column, np.zeros(height - len(column), column.dtype)]))
        if self._ends.shape != (height, width):
            grown: FloatArray = np.full((height, width), -inf)
            grown[: self.rows, : self._ends.shape[1]] = self._ends[: self.rows]
            self._ends = grown

    def _append(self, slot: int, box: Box, alone: bool) -> None:
        row = self.rows
        decided = box.decided
        ends = self._ends[row]
        ends[:] = -inf
        for axis, (low, high) in box.bounds.items():
            column = self._columns.get(axis)
            if column is None:
                decided = False
            else:
                ends[column : column + 2] = low, -high
        self._slots[row], self._alive[row] = slot, True
        self._decided[row], self._single[row] = decided, decided and alone
        self.rows += 1

    # -- what engines read -----------------------------------------------------------------------------

    @property
    def ends(self) -> FloatArray:
        """Row by row the end points, (low, -high) for each axis; the rows beyond `rows` mean nothing."""
        return self._ends

    @property
    def alive(self) -> BoolArray:
        """For each row whether its filter is still there."""
        return self._alive

    @property
    def axes(self) -> int:
        """How many axes the table knows."""
        return len(self._columns)

    def live_rows(self) -> Rows:
        """The rows of filters that are still there, ascending."""
        return np.flatnonzero(self._alive[: self.rows])

    def query(self, event: Attributes) -> FloatArray:
        """The point of an event: it lies in exactly the boxes whose rows it dominates."""
        point = [-inf] * self._ends.shape[1]
        for path, (name, columns) in self._readers.items():
            value = event.get(name) if len(path) == 1 else lookup(event, name, path)
            place = place_of(value)
            if place is not None:
                column = columns.get(place[0])
                if column is not None:
                    point[column], point[column + 1] = place[1], -place[1]
            presence = columns.get(None)
            if presence is not None:
                here = 0.0 if value is None else 1.0
                point[presence], point[presence + 1] = here, -here
        return np.array(point)

    def matching(self, batches: Iterable[Rows], event: Attributes, limit: int | None) -> list[int]:
        """The slots behind dominated rows, each once, up to `limit`; takes no more batches than it needs.

        What a row does not decide is verified on the event, once for each slot.
        """
        most = len(self.filters) if limit is None else limit
        found: list[int] = []
        judged: set[int] = set()
        for rows in batches:
            single = self._single[rows]
            found += self._slots[rows[single][: most - len(found)]].tolist()
            rest = rows[~single]
            for slot, decided in zip(self._slots[rest].tolist(), self._decided[rest].tolist(), strict=True):
                if len(found) >= most:
                    break
                if slot not in judged:
                    judged.add(slot)
                    if decided or self._verify(slot, event):
                        found.append(slot)
            if len(found) >= most:
                break
        return found

    def _verify(self, slot: int, event: Attributes) -> bool:
        self.verifications += 1
        return self.filters[slot].matches(event)
