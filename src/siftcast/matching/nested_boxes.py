"""Which of many boxes hold a given one, and which lie in it: columns of end points, searched both ways.

A box is a point in 2d dimensions, (low, -high) for each axis, and -inf in both where it does not ask anything (see
`end_points`). One box holds another exactly if its point is below the other's in every dimension:

    2 <= x <= 5                (2, -5)                  holds 3 <= x <= 4, since 2 <= 3 and -5 <= -4
    2 <= x <= 5 AND y = 1      (2, -5, 1, -1)           lies in 2 <= x <= 5, whose point is (2, -5, -inf, -inf)

So holding and being held are the same search with the comparison reversed. A `Pile` is some rows of the table, those
that a question is about. A small pile is searched row by row. A large one is kept in blocks of rows that lie close
together (halved by one dimension after the other, as a k-d tree does), with the least and greatest point of each; a
block is opened only if those two allow it.

Cost: 16 bytes per row and axis, of which there are at most AXES_MAX; bounds on further axes are ignored, so answers
are candidates, never too few. A search of a large pile takes one comparison per block and column, and opens few
blocks. A pile is sorted again when it has grown by a quarter: O(log² n) per row in total. Rejected: the k-d tree of
`kd_tree`, whose search is compiled. A router asks this before its first event, and must not wait for a compiler.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from math import inf
from typing import Any, Literal

import numpy as np

from siftcast.matching.alternatives import Axis, Bounds

AXES_MAX = 64
BLOCK = 128
ORDERED_MIN = 8 * BLOCK  # rows below which looking at all of them is as fast
FEW = 32  # candidates not worth a further column: the caller looks at each of them anyway

Sought = Literal["holding", "held"]
FloatArray = np.ndarray[Any, np.dtype[np.float64]]
Rows = np.ndarray[Any, np.dtype[np.int64]]


class BoxTable:
    """The points of boxes, a row each; rows are only ever appended."""

    __slots__ = ("_columns", "ends", "rows")

    def __init__(self) -> None:
        self._columns: dict[Axis, int] = {}
        self.ends: FloatArray = np.full((2, 16), -inf)  # by column, then row: a search reads one column at a time
        self.rows = 0

    def append(self, bounds: Mapping[Axis, Bounds]) -> int:
        """Adds a box; returns its row."""
        for axis in bounds:
            if axis not in self._columns and len(self._columns) < AXES_MAX:
                self._columns[axis] = 2 * len(self._columns)
        width, height = max(2, 2 * len(self._columns)), self.ends.shape[1]
        if self.rows == height or width > len(self.ends):
            grown: FloatArray = np.full((width, 2 * height if self.rows == height else height), -inf)
            grown[: len(self.ends), :height] = self.ends
            self.ends = grown
        row = self.rows
        for axis, (low, high) in bounds.items():
            column = self._columns.get(axis)
            if column is not None:
                self.ends[column, row], self.ends[column + 1, row] = low, -high
        self.rows += 1
        return row

    def point(self, bounds: Mapping[Axis, Bounds]) -> FloatArray:
        """The point of a box that is sought."""
        point: FloatArray = np.full(len(self.ends), -inf)
        for axis, (low, high) in bounds.items():
            column = self._columns.get(axis)
            if column is not None:
                point[column], point[column + 1] = low, -high
        return point

    def none_is_bounded_as(self, bounds: Mapping[Axis, Bounds]) -> bool:
        """Whether a box is bounded on an axis on which no row is, so that none can lie in it."""
        return len(self._columns) < AXES_MAX and not bounds.keys() <= self._columns.keys()

    def sift(self, sought: Sought, rows: Rows, point: FloatArray) -> Rows:
        """Those of the rows that hold a box or are held by it, and perhaps a few more."""
        if len(rows) <= FEW:
            return rows
        bounded = point > -inf
        columns = np.flatnonzero(bounded).tolist()
        if sought == "holding":  # where the box is not bounded, those that hold it must not be, either
            columns += np.flatnonzero(~bounded).tolist()
        for column in columns:
            ends = self.ends[column, rows]
            rows = rows[ends <= point[column] if sought == "holding" else ends >= point[column]]
            if len(rows) <= FEW:
                break
        return rows


class Pile:
    """Some rows of a table, in ascending order; append to `rows` to add more."""

    __slots__ = ("_blocks", "_greatest", "_least", "_ordered", "rows")

    def __init__(self) -> None:
        self.rows = array("q")
        self._ordered = 0  # so many of them, from the first, are in blocks

    def opened(self, sought: Sought, table: BoxTable, point: FloatArray) -> Rows:
        """The rows of blocks that may hold a box or be held by it, and those in no block yet."""
        self._order(table)
        young: Rows = np.array(self.rows[self._ordered :], np.int64)
        if not self._ordered:
            return young
        if sought == "holding":
            wanted = (self._least <= _column(point, len(self._least))).all(axis=0)
        else:
            wanted = (self._greatest >= _column(point, len(self._greatest))).all(axis=0)
        return np.concatenate([self._blocks[wanted].ravel(), young])

    def _order(self, table: BoxTable) -> None:
        if len(self.rows) - self._ordered <= max(ORDERED_MIN, self._ordered // 4):
            return
        self._ordered = len(self.rows) // BLOCK * BLOCK
        rows: Rows = np.array(self.rows[: self._ordered], np.int64)
        ends = table.ends[:, rows]
        order = np.arange(len(rows))
        _halve(ends, order, 0)
        self._blocks: Rows = rows[order].reshape(-1, BLOCK)
        in_blocks = ends[:, order].reshape(len(ends), -1, BLOCK)
        self._least: FloatArray = in_blocks.min(axis=2)
        self._greatest: FloatArray = in_blocks.max(axis=2)


def _column(point: FloatArray, width: int) -> FloatArray:
    """As many ends of a point as blocks know: axes that came later bound none of their rows."""
    return point[:width, None]


def _halve(ends: FloatArray, order: Rows, column: int) -> None:
    """Puts positions in such an order that blocks lie close together; `column` is the first to halve them by."""
    blocks = len(order) // BLOCK
    if blocks < 2:
        return
    for _ in range(len(ends)):
        places = ends[column, order]
        column = (column + 1) % len(ends)
        if places.min() < places.max():  # a column in which all agree halves nothing
            middle = blocks // 2 * BLOCK
            order[:] = order[np.argpartition(places, middle)]
            _halve(ends, order[:middle], column)
            _halve(ends, order[middle:], column)
            return
