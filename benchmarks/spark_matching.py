"""Matching on Spark beside Spark's own ways: a join, a pandas UDF, and the plain matcher without Spark.

Every contender gets the same events on the same cores in the same session, and its answers are compared first. Spark's
join and the UDF are timed on a sample of events that they can finish and told per event; from the join's time that of
counting the sample is taken off. Ours is timed on many events, because it would otherwise be all start-up. The join
only counts, so it is compared with `match_counts`; lists of ids, written into Spark's no-op sink, stand beside. The
median of three passes counts, after a warm-up on some of the events; a pass over LONG_S seconds is not repeated. W2 has
one million events; ten would take half an hour.

Spark's overhead has two readings. The plain matcher answers with places in a table of ids, Spark takes only strings:
beside `match_batch` itself stands the loop that the workers run, `match_batch` and the ids written out. Both are timed
on one core and divided by the number of cores, which favours them. What is left is Spark's: lists of the same sizes
that are ready-made, sent by workers that match nothing, show what it takes to accept such a result.

E and P ask about columns (`spark_columns`).

Run it alone: `python -m benchmarks.spark_matching [W1] [W3] [W2] [E] [P] [--quick]`. Inside `python -m benchmarks`
everything is held to one thread. The quick sizes show that it works; at these sizes Spark is all start-up.
"""

from __future__ import annotations

import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.boxes import BoxWorkload, make_w1, make_w2, make_w3
from benchmarks.exactness import check_equal
from benchmarks.peers.predicate_loop import call_all
from benchmarks.report import Comparison, Report
from benchmarks.settings import Settings
from benchmarks.spark_columns import drain, measure_equal_keys, measure_payload, through_python, total_matches
from siftcast import Filter, Matcher

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OURS, JOIN, UDF, PLAIN, IDENTITY = "Siftcast on Spark", "Spark join", "pandas UDF", "match_batch", "identity mapInArrow"
COUNTING = "Siftcast on Spark, counting"
WRITTEN, READY = "match_batch, ids as strings", "ready-made lists"
Answer = TypeVar("Answer")
REPEATS = 3
LONG_S = 30.0
FILE_EVENTS = 100_000
READY_BYTES, READY_ROWS_MAX, READY_FILES = 4 * 2**20, 10_000, 5
UDF_FILTERS_MAX = 20_000  # each is a call of a Python function for each event


@dataclass(frozen=True, slots=True)
class Case:
    """A workload, how many events each contender gets, and the goals."""

    name: str
    make: Callable[[int], BoxWorkload]
    events: int
    join_events: int
    join_goal: float
    overhead_goal: float | None
    plain_events: int


def run(settings: Settings, report: Report, names: Sequence[str] = ()) -> None:
    """Measures all workloads, or only those named, in one session."""
    from siftcast import spark as ss

    spark = ss.session("siftcast benchmark")
    report.progress(f"Spark {spark.version}, {spark.sparkContext.master}")
    for case in cases(settings):
        if names and case.name.split()[0] not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            _measure(case, spark, Path(folder), report)
    for name, measure in {"E": measure_equal_keys, "P": measure_payload}.items():
        if not names or name in names:
            with tempfile.TemporaryDirectory() as folder:
                measure(settings, spark, Path(folder), report)


def cases(settings: Settings) -> list[Case]:
    """W1 at 1 %, W3 and W2 at 0.1 %; the quick sizes keep the shape and lose the numbers."""
    million, ten_million = settings.size(1_000_000, 20_000), settings.size(10_000_000, 40_000)
    w1 = lambda events: make_w1(settings.generator(11), 0.01, events=events)  # noqa: E731
    w2 = lambda events: make_w2(settings.generator(12), 0.001, count=million, events=events)  # noqa: E731
    w3 = lambda events: make_w3(settings.generator(13), count=million, events=events)  # noqa: E731
    return [
        Case("W1 1.0%", w1, ten_million, settings.size(20_000, 2_000), 100, None, 100_000),
        Case("W3", w3, ten_million, settings.size(20_000, 2_000), 100, 2, 50_000),
        Case("W2 0.1%", w2, settings.size(1_000_000, 4_000), settings.size(100, 50), 500, 2, 5_000),
    ]


def _measure(case: Case, spark: SparkSession, folder: Path, report: Report) -> None:
    from siftcast import spark as ss
    from siftcast.spark.schemas import lists_type

    workload = case.make(min(case.events, FILE_EVENTS))
    report.progress(f"{case.name}: {len(workload):,} subscriptions, {case.events:,} events")
    events = _write_events(workload, case.events, folder)
    files = sorted(map(str, (folder / "events").iterdir()))
    frame, few_files = spark.read.parquet(*files), spark.read.parquet(*files[:READY_FILES])
    first = spark.read.parquet(files[0])
    sample = spark.createDataFrame(events.slice(0, case.join_events)).repartition(2 * _cores(spark)).cache()
    subscriptions = spark.createDataFrame(workload.filter_table())
    bounds = spark.createDataFrame(workload.subscription_table()).cache()
    report.progress(f"  {sample.count():,} events for the join, {bounds.count():,} rows of bounds")
    compiled = ss.compile_subscriptions(subscriptions)

    ours_pairs = ss.match(sample, compiled).count()
    join_s, join_pairs = _timed(lambda: _join(sample, bounds, workload).count())
    check_equal(f"{case.name}, {JOIN}", join_pairs, ours_pairs)
    empty_s, _ = _timed(lambda: sample.count())

    times = {JOIN: max(join_s - empty_s, 1e-9) / case.join_events * 1e6}
    left_out = {}
    if len(workload) <= UDF_FILTERS_MAX:
        few = sample.limit(min(case.join_events, 200)).repartition(_cores(spark)).cache()
        rows = few.count()
        udf_s, udf_pairs = _timed(lambda: _loop(few, workload))
        check_equal(f"{case.name}, {UDF}", udf_pairs, ss.match(few, compiled).count())
        times[UDF] = udf_s / rows * 1e6
    else:
        left_out[UDF] = f"{len(workload):,} calls of Python functions for each event"
    times[COUNTING] = _sink(ss.match_counts(frame, compiled), ss.match_counts(first, compiled), case.events)
    check_equal(f"{case.name}, {COUNTING}", total_matches(sample, compiled), join_pairs)
    times[OURS] = _sink(ss.match(frame, compiled, "lists"), ss.match(first, compiled, "lists"), case.events)
    times[IDENTITY] = _sink(through_python(frame), through_python(first), case.events)
    times[PLAIN], times[WRITTEN], lists = _plain(workload, events, case.plain_events, _cores(spark))
    ready, ready_events = _ready(lists), min(case.events, FILE_EVENTS * READY_FILES)
    kind = lists_type(frame.schema, "ready")
    times[READY] = _sink(few_files.mapInArrow(ready, kind), first.mapInArrow(ready, kind), ready_events)
    report.compare(Comparison(case.name, ours_pairs / case.join_events, times, left_out))
    _goals(case, times, report)


def _goals(case: Case, times: dict[str, float], report: Report) -> None:
    faster, note = times[JOIN] / times[COUNTING], f"both count; the join on {case.join_events:,} events"
    report.add(f"{case.name}: faster than {JOIN}", faster, "×", "higher", goal=case.join_goal, note=note)
    faster, note = times[JOIN] / times[OURS], "we write lists of ids, the join counts"
    report.add(f"{case.name}: lists, faster than a counting {JOIN}", faster, "×", "higher", note=note)
    if UDF in times:
        report.add(f"{case.name}: faster than {UDF}", times[UDF] / times[OURS], "×", "higher", goal=30)
    note = f"{times[OURS]:.2f} µs an event; {IDENTITY} alone {times[IDENTITY]:.2f} µs"
    for plain in (PLAIN, WRITTEN):
        overhead = times[OURS] / times[plain]
        report.add(f"{case.name}: overhead over {plain}", overhead, "×", "lower", goal=case.overhead_goal, note=note)
        note = f"the same loop without Spark: {times[WRITTEN]:.2f} µs an event"
    note = f"lists that nobody had to match take Spark {times[READY]:.2f} µs an event"
    report.add(f"{case.name}: beside {READY}", times[OURS] / times[READY], "×", "lower", note=note)


# -- the contenders ----------------------------------------------------------------------------------


def _join(events: DataFrame, bounds: DataFrame, workload: BoxWorkload) -> DataFrame:
    """Spark's own join in its best form: the subscriptions broadcast, equality on the symbol where there is one."""
    from pyspark.sql import functions as f

    condition = f.lit(True)
    renamed = bounds.toDF(*(f"s_{name.replace('.', '_')}" for name in bounds.columns))
    for number, name in enumerate(workload.attributes):
        if workload.symbols and number == 0:
            condition &= events[name] == renamed[f"s_{name}"]
            continue
        low, high = renamed[f"s_{name}_min"], renamed[f"s_{name}_max"]
        # Only W2 leaves attributes free; elsewhere a test for null would be held against the join.
        free = workload.name.startswith("W2")
        inside = (events[name] >= low) & (events[name] <= high)
        condition &= (low.isNull() | inside) if free else inside
    return events.join(f.broadcast(renamed), condition)


def _loop(events: DataFrame, workload: BoxWorkload) -> int:
    """A pandas UDF that calls a compiled predicate for each subscription and event."""
    from pyspark.sql import functions as f

    from siftcast.model.predicate import compile_predicate

    texts = [workload.filter_text(row) for row in range(len(workload))]
    cache: dict[str, list[Callable[[object], bool]]] = {}

    @f.pandas_udf("long")  # type: ignore[call-overload]
    def matches(rows):  # type: ignore[no-untyped-def]
        if not cache:
            cache["all"] = [compile_predicate(Filter.parse(text).expression) for text in texts]
        return rows.apply(lambda row: len(call_all(cache["all"], row.to_dict())), axis=1)

    total = events.select(f.sum(matches(f.struct(*events.columns)))).first()
    assert total is not None
    return int(total[0])


def _ready(lists: pa.ListArray) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A worker that gives every event a list which it has at hand."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for start in range(0, batch.num_rows, len(lists)):
                part = batch.slice(start, len(lists))
                columns = [*part.columns, lists.slice(0, part.num_rows)]
                yield pa.RecordBatch.from_arrays(columns, [*part.schema.names, "ready"])

    return run


def _plain(workload: BoxWorkload, events: pa.Table, count: int, cores: int) -> tuple[float, float, pa.ListArray]:
    """µs an event of matching alone and with the ids written out, after a warm-up; and some of the lists."""
    from siftcast.spark.matching import match_batches

    matcher = Matcher.from_arrow(workload.subscription_table())
    batches = events.slice(0, count).combine_chunks().to_batches(max_chunksize=10_000)
    rows = sum(batch.num_rows for batch in batches)

    def write_out() -> pa.ListArray:
        for piece in match_batches(matcher, batches, events.column_names):
            lists = piece.column(piece.num_columns - 1)
        return lists

    lists = write_out()
    found = max(1, lists.nbytes // len(lists))
    plain_s, _ = _timed(lambda: deque(map(matcher.match_batch, batches), maxlen=0))
    written_s, _ = _timed(write_out)
    scale = 1e6 / rows / cores
    return plain_s * scale, written_s * scale, lists.slice(0, max(1, min(READY_ROWS_MAX, READY_BYTES // found)))


# -- the rest ----------------------------------------------------------------------------------------


def _write_events(workload: BoxWorkload, count: int, folder: Path) -> pa.Table:
    """Events as Parquet, the workload's repeated until there are enough, in files that Spark can spread."""
    events = workload.event_table()
    (folder / "events").mkdir()
    written = number = 0
    while written < count:
        part = events.slice(0, min(len(events), count - written))
        pq.write_table(part, folder / "events" / f"part-{number:05}.parquet")
        written, number = written + len(part), number + 1
    return events


def _sink(frame: DataFrame, few: DataFrame, events: int) -> float:
    """µs an event to make a table and throw it away; a few events before start workers and warm the JVM up."""
    drain(few)
    seconds, _ = _timed(lambda: drain(frame))
    return seconds / events * 1e6


def _timed(call: Callable[[], Answer]) -> tuple[float, Answer]:
    seconds: list[float] = []
    while len(seconds) < REPEATS and sum(seconds[:1]) < LONG_S:
        start = perf_counter()
        answer = call()
        seconds.append(perf_counter() - start)
    return median(seconds), answer


def _cores(spark: SparkSession) -> int:
    return int(spark.sparkContext.defaultParallelism)


def main() -> int:
    from rich.console import Console

    from benchmarks.machine import this_machine

    np.seterr(all="raise")
    report = Report(this_machine())
    names = [argument for argument in sys.argv[1:] if argument != "--quick"]
    if unknown := set(names) - {"W1", "W2", "W3", "E", "P"}:
        sys.exit(f"no workload {', '.join(sorted(unknown))}; there are W1, W2, W3, E and P")
    run(Settings(quick="--quick" in sys.argv[1:]), report, names)
    report.print_tables(Console() if sys.stdout.isatty() else Console(width=160))
    return 0


if __name__ == "__main__":
    sys.exit(main())
