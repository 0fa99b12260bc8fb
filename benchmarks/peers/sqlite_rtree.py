"""SQLite's R*Tree module: one virtual table of boxes, one query an event."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import numpy as np

from benchmarks.boxes import BoxWorkload
from benchmarks.exactness import Rows
from benchmarks.peers.contract import LeftOut, Peer

DIMENSIONS_MAX = 5  # SQLite's own limit
ROWS_MAX = 50_000  # it inserts row by row


class SQLiteRTree(Peer):
    """Boxes of 32-bit integers, so that nothing is rounded; a symbol is its number."""

    name = "SQLite R*Tree"

    def __init__(self, workload: BoxWorkload) -> None:
        dimensions = len(workload.attributes)
        if dimensions > DIMENSIONS_MAX:
            raise LeftOut(f"its boxes have at most {DIMENSIONS_MAX} dimensions")
        if len(workload) > ROWS_MAX:
            raise LeftOut(f"inserting {len(workload):,} boxes one by one takes too long")
        self._events = workload.events
        self._connection = sqlite3.connect(":memory:")
        ends = [f"low{number}, high{number}" for number in range(dimensions)]
        try:
            self._connection.execute(f"CREATE VIRTUAL TABLE boxes USING rtree_i32(id, {', '.join(ends)})")
        except sqlite3.OperationalError as error:
            raise LeftOut(f"this SQLite has none: {error}") from error
        columns = [np.arange(len(workload))]
        for low, high in zip(workload.lows, workload.highs, strict=True):
            columns += [low, high]
        marks = ", ".join("?" * len(columns))
        boxes = zip(*(column.tolist() for column in columns), strict=True)
        with self._connection:
            self._connection.executemany(f"INSERT INTO boxes VALUES ({marks})", boxes)
        tests = (f"low{number} <= ?{number + 1} AND high{number} >= ?{number + 1}" for number in range(dimensions))
        self._query = f"SELECT id FROM boxes WHERE {' AND '.join(tests)}"

    def ask(self, count: int) -> Callable[[], list[list[tuple[int]]]]:
        events = self._events[:count].tolist()
        execute = self._connection.execute
        return lambda: [execute(self._query, event).fetchall() for event in events]

    def rows(self, answer: list[list[tuple[int]]]) -> list[Rows]:
        return [np.array([id for (id,) in found], np.int64) for found in answer]
