"""Two questions about columns on Spark: one that decides alone, and one that nobody asks for.

**E, an equality key.** Each subscription names one account, so that Spark's own equi-join has little left to compare.
Both count the matches of one pass over the events; ours compiles the subscriptions first, and without that it is timed
again. The join has its subscriptions as columns, ready to be hashed; ours reads their texts.

**P, a payload.** Events with a kilobyte that no filter names, counted beside the same events without it, and beside a
`mapInArrow` that hands all columns through Python unchanged: what the payload costs is what Spark takes to read it.

Answers are compared in the same run. The least of three passes counts, after a warm-up on a tenth of the events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.exactness import check_equal
from benchmarks.report import Report
from benchmarks.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PASSES = 3
FILES = 8
PAYLOAD_BYTES = 1_000


def measure_equal_keys(settings: Settings, spark: SparkSession, folder: Path, report: Report) -> None:
    """E: beside Spark's own equi-join."""
    from siftcast import spark as ss

    rng = settings.generator(17)
    count, rows = settings.size(1_000_000, 5_000), settings.size(4_000_000, 20_000)
    report.progress(f"E: {count:,} subscriptions with a key of their own, {rows:,} events")
    accounts = np.array([f"a{number:07}" for number in range(count)])
    floors = rng.integers(0, 100, count)
    texts = [f"account = '{account}' AND amount > {floor}" for account, floor in zip(accounts, floors, strict=True)]
    ids = [f"s{number}" for number in range(count)]
    wanted = _stored(spark, folder / "filters", pa.table({"id": ids, "filter": texts}))
    bounds = _stored(spark, folder / "bounds", pa.table({"id": ids, "key": accounts, "floor": floors}))
    drawn = rng.integers(0, count, rows)
    events = pa.table({"account": accounts[drawn], "amount": rng.uniform(0, 200, rows)})
    frame, few = _stored(spark, folder / "events", events), _stored(spark, folder / "few", events.slice(0, rows // 10))

    def join(table: DataFrame) -> int:
        return table.join(bounds, (table["account"] == bounds["key"]) & (table["amount"] > bounds["floor"])).count()

    compiled = ss.compile_subscriptions(wanted)
    check_equal("E, join and ours on some events", join(few), total_matches(few, compiled))
    join_s, pairs = _least(lambda: join(frame))
    whole_s, counted = _least(lambda: total_matches(frame, wanted))
    check_equal("E, join and ours", pairs, counted)
    ready_s, _ = _least(lambda: total_matches(frame, compiled))
    note = f"join {join_s:.1f} s, ours {whole_s:.1f} s with compiling and {ready_s:.1f} s without"
    report.add("E: one pass with compiling, beside Spark's equi-join", whole_s / join_s, "×", "lower", note=note)
    report.add("E: one pass of compiled ones, beside Spark's equi-join", ready_s / join_s, "×", "lower", note=note)


def measure_payload(settings: Settings, spark: SparkSession, folder: Path, report: Report) -> None:
    """P: with and without a column that nobody asks for."""
    from siftcast import spark as ss

    rng = settings.generator(18)
    rows = settings.size(400_000, 4_000)
    report.progress(f"P: {rows:,} events with {PAYLOAD_BYTES:,} bytes that no filter names")
    texts = [f"x > {low:.4f} AND y < {high:.4f}" for low, high in rng.random((1_000, 2))]
    rules = spark.createDataFrame(pa.table({"id": [str(number) for number in range(1_000)], "filter": texts}))
    payload = pa.array([rng.bytes(PAYLOAD_BYTES) for _ in range(rows)], pa.binary())
    events = pa.table({"x": rng.random(rows), "y": rng.random(rows), "payload": payload})
    frame, few = _stored(spark, folder / "wide", events), _stored(spark, folder / "few", events.slice(0, rows // 10))
    compiled = ss.compile_subscriptions(rules, events=frame)

    without = total_matches(few.drop("payload"), compiled)
    check_equal("P, with and without the payload", total_matches(few, compiled), without)
    times = {}
    for name, made in {
        "kept": lambda table: ss.match_counts(table, compiled),
        "dropped": lambda table: ss.match_counts(table, compiled).drop("payload"),
        "read": lambda table: table,
        "through": through_python,
    }.items():
        drain(made(few))
        times[name], _ = _least(lambda made=made: drain(made(frame)))  # type: ignore[misc]
    scale = 1e6 / rows
    note = f"read {times['read'] * scale:.2f} µs an event, through Python {times['through'] * scale:.2f}, " + (
        f"matched with it {times['kept'] * scale:.2f}, without {times['dropped'] * scale:.2f}"
    )
    report.add("P: payload through Python, beside matched", times["through"] / times["kept"], "×", "higher", note=note)
    report.add("P: kept beside dropped behind the match", times["kept"] / times["dropped"], "×", "lower", note=note)


def total_matches(events: DataFrame, subscriptions: Any) -> int:
    """How many pairs of an event and a subscription match."""
    from siftcast import spark as ss

    found = ss.match_counts(events, subscriptions).agg({"matched_count": "sum"}).first()
    return 0 if found is None or found[0] is None else int(found[0])


def _stored(spark: SparkSession, folder: Path, table: pa.Table) -> DataFrame:
    folder.mkdir()
    step = -(-table.num_rows // FILES)
    for number, start in enumerate(range(0, table.num_rows, step)):
        pq.write_table(table.slice(start, step), folder / f"part-{number}.parquet")
    return spark.read.parquet(str(folder))


def through_python(frame: DataFrame) -> DataFrame:
    """All columns handed through Python unchanged."""

    def hand_on(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    return frame.mapInArrow(hand_on, frame.schema)


def drain(frame: DataFrame) -> None:
    """Has a table made, and thrown away."""
    frame.write.format("noop").mode("overwrite").save()


def _least(call: Callable[[], Any]) -> tuple[float, Any]:
    times = []
    for _ in range(PASSES):
        start = perf_counter()
        answer = call()
        times.append(perf_counter() - start)
    return min(times), answer
