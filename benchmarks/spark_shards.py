"""Sharded matching on Spark: how time grows with events and with subscriptions, and 5,000,000 subscriptions at once.

    python -m benchmarks.spark_shards --growth     two tables; about a minute on two idle cores
    python -m benchmarks.spark_shards --skew       copies of hot shards, on even and on skewed data; about a minute
    python -m benchmarks.spark_shards --large      5,000,000 subscriptions within 16 GiB; about 3 minutes

Not part of `make bench`, because of the time and the memory. The clock is the wall clock: Spark works in many
processes. Memory is the sum of the resident memory of this process, the JVM and all workers, looked at twice a second;
pages that they share count each time, so the figure is an upper bound.

Subscriptions are made by Spark from their number, so that none exists in the driver: 85 % want a symbol and a band of
prices, 10 % a narrow band of any symbol's, and 5 % join two attributes by OR, which no cut can separate. Some symbols
are more popular than others, up to a hundredth of all. An event matches about 18 of 5,000,000.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from benchmarks.exactness import WrongResult
from benchmarks.processes import cpu_s_of, family_of, memory_of
from siftcast import spark as ss
from siftcast.spark.places import placed
from siftcast.spark.shard_events import event_shards
from siftcast.spark.shard_layout import ShardLayout, dealing_number

GIB = 2**30
SYMBOLS = 10_000
SKEW_EVENTS = 1_000_000
RUNS = 3  # the least of which counts
_LOOKED_S = 0.5

_RANDOM = "(pmod(xxhash64(id, {0}), 1000000007) / 1000000007)"
_SYMBOL = f"format_string('S%05d', cast({SYMBOLS} * pow({_RANDOM}, 2) as int))"
_PRICE = "round(1000 * " + _RANDOM + ", 2)"


def make_events(spark: SparkSession, count: int, hot: float = 0.0) -> DataFrame:
    """Quotes: a symbol, a price, a volume; a share of them is about one hot symbol."""
    volume = f"cast(1000000 * {_RANDOM.format(13)} as long)"
    symbol = f"if({_RANDOM.format(14)} < {hot}, 'S05000', {_SYMBOL.format(11)})"
    return spark.range(count).selectExpr(
        "id AS number", f"{symbol} AS symbol", f"{_PRICE.format(12)} AS price", f"{volume} AS volume"
    )


def make_subscriptions(spark: SparkSession, count: int) -> DataFrame:
    """Filters of three forms, numbered from 0."""
    symbol, price = _SYMBOL.format(21), _PRICE.format(22)
    text = f"""CASE
        WHEN id % 20 < 17
        THEN format_string("symbol = '%s' AND price BETWEEN %.2f AND %.2f", {symbol}, {price}, {price} + 5)
        WHEN id % 20 < 19 THEN format_string("price BETWEEN %.2f AND %.2f", {price}, {price} + 0.01)
        ELSE format_string("symbol = '%s' AND price < 3 OR volume = %d", {symbol}, cast({price} * 1000 as long)) END"""
    return spark.range(count).selectExpr("concat('s', id) AS id", f"{text} AS filter")


class MemoryWatch:
    """The most memory that this process and its descendants have held together."""

    def __init__(self) -> None:
        self.peak_bytes = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(_LOOKED_S):
            held = sum(memory_of(process, "VmRSS") or 0 for process in family_of(os.getpid()))
            self.peak_bytes = max(self.peak_bytes, held)


def run(spark: SparkSession, folder: Path, events: int, subscriptions: int) -> list[object]:
    """One row: sizes, seconds to plan, seconds to match, pairs, shards and copies."""
    wanted, published = (folder / f"{name}" for name in (f"subscriptions{subscriptions}", f"events{events}"))
    if not wanted.exists():
        make_subscriptions(spark, subscriptions).write.parquet(str(wanted))
    if not published.exists():
        make_events(spark, events).write.parquet(str(published))
    table, rows = spark.read.parquet(str(wanted)), spark.read.parquet(str(published))
    start = perf_counter()
    plan = ss.shard_plan(rows, table)
    planned = perf_counter()
    found = ss.match_sharded(rows, table, plan=plan).count()
    done = perf_counter()
    sys.stderr.write(plan.explain() + "\n")
    return [events, subscriptions, planned - start, done - planned, found, plan.shards, plan.copies]


def make_symbol_subscriptions(spark: SparkSession, count: int) -> DataFrame:
    """Filters that only a cut by symbol separates, so that a plan cannot go round a hot one."""
    text = f"""format_string("symbol = '%s' AND price < %.2f", {_SYMBOL.format(21)}, 500 + {_PRICE.format(22)} / 2)"""
    return spark.range(count).selectExpr("concat('s', id) AS id", f"{text} AS filter")


def largest_task(rows: DataFrame, plan: ss.ShardPlan) -> float:
    """The share of all copies of events that goes to the partition with most of them."""
    layout = ShardLayout.of(plan)
    dealt = placed(rows).withColumn("deal", dealing_number(rows.schema))
    sent = dealt.select(fn.explode(event_shards(rows.schema, plan, layout, fn.col("deal"))).alias("partition"))
    counts = [int(row["copies"]) for row in sent.groupBy("partition").agg(fn.count("*").alias("copies")).collect()]
    return max(counts) / sum(counts)


def compare_copies(spark: SparkSession, folder: Path, events: int, subscriptions: int, hot: float) -> list[object]:
    """One row: copies, the largest task's share of the events, processor and wall time; without copies and with."""
    wanted, published = folder / "by-symbol", folder / f"events{events}-{hot}"
    if not wanted.exists():
        make_symbol_subscriptions(spark, subscriptions).write.parquet(str(wanted))
    make_events(spark, events, hot).repartition(8).write.parquet(str(published))
    table, rows = spark.read.parquet(str(wanted)), spark.read.parquet(str(published))
    chosen = ss.shard_plan(rows, table)
    sys.stderr.write(chosen.explain() + "\n")
    plans = [replace(chosen, replicas=()), chosen]
    seconds: list[list[float]] = [[], []]
    cpu_s: list[list[float]] = [[], []]
    found: set[int] = set()
    for _ in range(RUNS):
        for which, plan in enumerate(plans):
            start, before_s = perf_counter(), cpu_s_of_all()
            found.add(ss.match_sharded(rows, table, plan=plan).count())
            seconds[which].append(perf_counter() - start)
            cpu_s[which].append(cpu_s_of_all() - before_s)
    if len(found) != 1:
        raise WrongResult(f"copies give other pairs: {found}")
    copies = max(chosen.replicas or (1,))
    largest = [largest_task(rows, plan) for plan in plans]
    return [f"{hot:.0%}", events, copies, *largest, *map(min, cpu_s), *map(min, seconds), *found]


def cpu_s_of_all() -> float:
    """The processor time of this process, the JVM and the workers."""
    return sum(map(cpu_s_of, family_of(os.getpid())))


def check(spark: SparkSession, count: int = 20_000) -> None:
    """Raises WrongResult unless shards give the pairs that one matcher gives."""
    events, subscriptions = make_events(spark, count), make_subscriptions(spark, count)
    whole, sharded = ss.match(events, subscriptions), ss.match_sharded(events, subscriptions, shards=6)
    if whole.exceptAll(sharded).count() or whole.count() != sharded.count():
        raise WrongResult("shards give other pairs than one matcher")


def show(rows: list[list[object]]) -> None:
    """A table for a terminal and for Markdown alike."""
    sys.stdout.write("| events | subscriptions | plan (s) | match (s) | pairs | shards | copies of an event |\n")
    sys.stdout.write("|---:|---:|---:|---:|---:|---:|---:|\n")
    for row in rows:
        sys.stdout.write("| {:,} | {:,} | {:.1f} | {:.1f} | {:,} | {} | {:.2f} |\n".format(*row))
    sys.stdout.flush()


def show_copies(rows: list[list[object]]) -> None:
    """Without copies and with them, side by side."""
    sys.stdout.write(
        "| about one symbol | events | copies, at most | largest task, one each | dealt | CPU (s), one each | dealt "
        "| wall (s), one each | dealt | pairs |\n"
    )
    sys.stdout.write("|---:" * 10 + "|\n")
    for row in rows:
        sys.stdout.write(
            "| {} | {:,} | {} | {:.0%} | {:.0%} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:,} |\n".format(*row)
        )
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_shards", description=__doc__.split("\n")[0])
    parser.add_argument("--growth", action="store_true", help="time against events and subscriptions, about 5 minutes")
    parser.add_argument("--skew", action="store_true", help="without copies of hot shards and with them")
    parser.add_argument("--large", action="store_true", help="one large run with its memory, about 10 minutes")
    parser.add_argument("--subscriptions", type=int, default=5_000_000, help="of the large run (default: 5,000,000)")
    parser.add_argument("--events", type=int, default=200_000, help="of the large run (default: 200,000)")
    options = parser.parse_args()
    if not (options.growth or options.skew or options.large):
        parser.print_help()
        return 0
    spark = ss.session("siftcast shards")
    with tempfile.TemporaryDirectory(prefix="siftcast-shards-") as name:
        folder = Path(name)
        if options.growth:
            check(spark)  # the JVM and the kernels get warm by it
            show([run(spark, folder, 100_000, count) for count in (50_000, 100_000, 200_000, 400_000)])
            show([run(spark, folder, count, 100_000) for count in (50_000, 100_000, 200_000, 400_000, 800_000)])
        if options.skew:
            check(spark)
            show_copies([compare_copies(spark, folder, SKEW_EVENTS, 20_000, hot) for hot in (0.0, 0.8)])
        if options.large:
            with MemoryWatch() as memory:
                row = run(spark, folder, options.events, options.subscriptions)
            show([row])
            sys.stdout.write(f"most memory, driver, JVM and workers together: {memory.peak_bytes / GIB:.1f} GiB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
