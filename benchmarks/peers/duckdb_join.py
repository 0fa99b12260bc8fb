"""DuckDB: events joined with subscriptions on the range conditions, counted and listed for each event.

One thread, as everybody here. Tables are in memory before the clock starts. A free bound is the extreme integer, not
NULL, which spares the join an OR for every condition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.boxes import BoxWorkload, symbol_column
from benchmarks.exactness import Rows
from benchmarks.peers.contract import Peer


class DuckDBJoin(Peer):
    """`events JOIN subscriptions ON … GROUP BY event`."""

    name = "DuckDB join"

    def __init__(self, workload: BoxWorkload) -> None:
        self._connection = duckdb.connect(":memory:", config={"threads": 1})
        columns: dict[str, Any] = {"id": np.arange(len(workload), dtype=np.int32)}
        events: dict[str, Any] = {"event": np.arange(len(workload.events), dtype=np.int32)}
        conditions = []
        for number, name in enumerate(workload.attributes):
            if workload.symbols and number == 0:
                columns[name] = symbol_column(workload.lows[0])
                events[name] = symbol_column(workload.events[:, 0])
                conditions.append(f"e.{name} = s.{name}")
                continue
            columns[f"{name}_min"], columns[f"{name}_max"] = workload.lows[number], workload.highs[number]
            events[name] = workload.events[:, number]
            conditions.append(f"e.{name} BETWEEN s.{name}_min AND s.{name}_max")
        self._load("subscriptions", pa.table(columns))
        self._load("all_events", pa.table(events))
        self._query = (
            "SELECT e.event, count(*) AS matches, list(s.id) AS ids FROM events e JOIN subscriptions s ON "
            f"{' AND '.join(conditions)} GROUP BY e.event"
        )
        self._asked = 0

    def _load(self, name: str, table: pa.Table) -> None:
        self._connection.register("incoming", table)
        self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM incoming")
        self._connection.unregister("incoming")

    def ask(self, count: int) -> Callable[[], pa.Table]:
        self._connection.execute(
            f"CREATE OR REPLACE TABLE events AS SELECT * FROM all_events WHERE event < {int(count)}"
        )
        self._asked = count
        return lambda: self._connection.sql(self._query).to_arrow_table()

    def rows(self, answer: pa.Table) -> list[Rows]:
        found: list[Rows] = [np.zeros(0, np.int64)] * self._asked
        for event, ids in zip(answer["event"].to_pylist(), answer["ids"].to_pylist(), strict=True):
            found[event] = np.array(ids, np.int64)
        return found
