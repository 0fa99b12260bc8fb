"""The plan of sharded matching, from tables: sampling, choosing, measuring.

    1  a sample of subscriptions, parsed in the driver       SAMPLE rows, whatever the size of the table
    2  a sample of the values that those are about           SAMPLE rows
    3  the choice (`planning.shard_choice`)
    4  all subscriptions, parsed once in the workers         counts per zone, and the rows that are not subscriptions
    5  ids that occur twice                                  Spark's own aggregate
    6  copies for zones where most events are                `planning.shard_copies`, for the slots that Spark has now

A sample is drawn by sorting on random numbers with a fixed seed and taking the first: one pass, no count needed, and
rows from everywhere, which a plain limit() does not give. Step 4 makes the parts of the plan exact, so that no shard is
larger than planned because a sample misled; and it refuses bad filters before anything is matched, as `match` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql import types as t

from siftcast.model import ArgumentError, DataError, Filter, Schema, SiftcastError, SubscriptionError
from siftcast.planning.shard_choice import AxisName, choose_shards
from siftcast.planning.shard_copies import deal_events
from siftcast.space.shard_axes import CutValue
from siftcast.space.shard_plan import Placement, ShardPlan
from siftcast.spark.compiled import check_subscriptions
from siftcast.spark.dead_letters import NOT_UTF8, table_texts
from siftcast.spark.errors import first_reasons
from siftcast.spark.filter_check import FilterCheck, read_filter
from siftcast.spark.places import placed, placed_column, text_column
from siftcast.spark.session import is_connect
from siftcast.spark.shard_events import value_column
from siftcast.spark.shard_layout import is_whole
from siftcast.spark.workers import check_workers, map_batches

SAMPLE = 10_000
SHARD_SUBSCRIPTIONS = 200_000  # with which a worker needs about 400 MiB in all
SHARDS_MIN = 4
_SHOWN = 3
_IDLE, _REJECTED = -1, -2
_MEASURED = "zone int, amount long, reason string, source string"

Batches = Iterator[pa.RecordBatch]


def shard_plan(
    events: DataFrame,
    subscriptions: DataFrame,
    *,
    shards: int | None = None,
    id_column: str = "id",
    filter_column: str = "filter",
    schema: Schema | None = None,
    strict: bool = True,
) -> ShardPlan:
    """How to cut subscriptions into about so many shards, for events like these; `explain()` says why.

    Without a number, there are enough for about 200,000 subscriptions each. Raises DataError if a subscription cannot
    be used, as `match` does.
    """
    if shards is not None and not is_whole(shards):
        raise ArgumentError(f"shards must be a whole number, not {shards!r}")
    if shards is not None and shards < 1:
        raise DataError(f"there must be at least one shard, not {shards}")
    plain = subscription_columns(subscriptions, id_column, filter_column)
    check_workers(plain.sparkSession)
    total = plain.count()
    check = FilterCheck.of(schema, events if strict else None)
    filters = sample_filters(plain, check)
    wanted = shards or max(SHARDS_MIN, -(-total // SHARD_SUBSCRIPTIONS))
    drawn, count = sample_events(events, filters)
    plan = measured(choose_shards(filters, drawn, total=total, shards=wanted), plain, check)
    return deal_events(plan, events=count, slots=slots_of(plain.sparkSession))


def slots_of(spark: SparkSession) -> int:
    """How many tasks Spark would run at once."""
    if not is_connect(spark):
        return spark.sparkContext.defaultParallelism
    # A client of Spark Connect has no SparkContext to ask, but a range has as many partitions.
    return spark.range(SAMPLE).select(fn.spark_partition_id()).distinct().count()


def subscription_columns(subscriptions: DataFrame, id_column: str, filter_column: str) -> DataFrame:
    """id, filter and dialect as strings; raises DataError where the table has none."""
    check_subscriptions(subscriptions, id_column, filter_column)
    names = subscriptions.columns
    if not isinstance(subscriptions.schema[filter_column].dataType, t.StringType):
        kind = subscriptions.schema[filter_column].dataType.simpleString()
        raise DataError(f"the column '{filter_column}' must hold the texts of filters, not {kind}")
    dialect = placed_column(names, "dialect") if "dialect" in names else fn.lit(None)
    return placed(subscriptions).select(
        text_column(names, id_column).alias("id"),
        placed_column(names, filter_column).alias("filter"),
        dialect.cast("string").alias("dialect"),
    )


# -- samples -----------------------------------------------------------------------------------------


def sample_filters(plain: DataFrame, check: FilterCheck) -> list[Filter]:
    """Some of the good filters."""
    drawn = plain.orderBy(fn.rand(0)).limit(SAMPLE).toArrow()
    filters: list[Filter] = []
    for row in rows_of(drawn):
        try:
            filters.append(read_row(row, check))
        except SiftcastError:
            continue  # counted and reported when all are measured
    return filters


def sample_events(events: DataFrame, filters: list[Filter]) -> tuple[dict[AxisName, list[CutValue | None]], int]:
    """Values of some events, for each attribute that filters name and that can be cut; and how many events there are.

    They are counted on the way, in the same pass; not at all where there is nothing to cut.
    """
    names = dict.fromkeys(name for filter_ in filters for name in filter_.attributes)
    found = {name: value for name in names if (value := value_column(events.schema, name)) is not None}
    if not found:
        return {}, 0
    columns = [value.alias(f"value{index}") for index, (value, _) in enumerate(found.values())]
    counted = Observation()
    values = placed(events).select(*columns).observe(counted, fn.count(fn.lit(1)).alias("events"))
    drawn = values.orderBy(fn.rand(0)).limit(SAMPLE).toArrow()
    samples = {(name, kind): drawn.column(index).to_pylist() for index, (name, (_, kind)) in enumerate(found.items())}
    return samples, counted.get["events"]


# -- all of them -------------------------------------------------------------------------------------


def measured(plan: ShardPlan, plain: DataFrame, check: FilterCheck) -> ShardPlan:
    """The plan with the sizes of these subscriptions; raises DataError if one of them cannot be used."""
    rows = map_batches(plain, _measure(replace(plan, reason=""), check), _MEASURED).collect()
    amounts: dict[int, int] = {}
    letters = []
    for row in rows:
        if row["reason"] is None:
            amounts[row["zone"]] = amounts.get(row["zone"], 0) + row["amount"]
        else:
            letters.append((row["reason"], row["source"]))
    total = sum(row["amount"] for row in rows if row["zone"] is None and row["reason"] is None)
    rejected = amounts.get(_REJECTED, 0)
    usable = map_batches(plain, _usable(check), plain.schema) if rejected else plain  # each row is counted once
    repeated = usable.groupBy("id").count().where("count > 1 AND id <> ''")
    twice = repeated.agg(fn.sum(fn.col("count") - 1), fn.min("id")).first()
    if twice is not None and twice[0]:
        rejected += twice[0]
        letters.append(
            (f"the id '{twice[1]}' is taken by an earlier row", msgspec.json.encode({"id": twice[1]}).decode())
        )
    if rejected:
        reasons = first_reasons([f"{source[:200]}\n    {reason}" for reason, source in letters], rejected)
        raise DataError(f"{rejected:,} of {total:,} subscriptions cannot be used:\n{reasons}")
    zones = [amounts.get(zone, 0) for zone in range(plan.first_zones[-1] + 1)]
    return plan.sized(zones, amounts.get(_IDLE, 0), total)


class Row(NamedTuple):
    """A row of subscriptions; not readable if one of its texts is not UTF-8."""

    id: str | None
    text: str | None
    dialect: str | None
    readable: bool


def rows_of(table: pa.Table) -> Iterator[Row]:
    """The rows of a table of id, filter and dialect."""
    texts, readable = table_texts(table)
    return map(Row, *(column.to_pylist() for column in texts.columns), readable)


def read_row(row: Row, check: FilterCheck) -> Filter:
    """The filter of a row that is a subscription; raises what is wrong with it."""
    if not row.readable:
        raise SubscriptionError(NOT_UTF8)
    return read_filter(row.id, row.text, row.dialect, check)


def _usable(check: FilterCheck) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        for batch in batches:
            rows = rows_of(pa.Table.from_batches([batch]))
            yield batch.filter(pa.array([_is_usable(row, check) for row in rows], pa.bool_()))

    return run


def _is_usable(row: Row, check: FilterCheck) -> bool:
    try:
        read_row(row, check)
    except SiftcastError:
        return False
    return True


@dataclass
class _Tally:
    """What a task has seen: subscriptions by zone, and some of the rows that are not subscriptions."""

    zones: dict[int, int]
    letters: list[tuple[str, str]]
    rows: int = 0

    def count(self, zone: int) -> None:
        self.zones[zone] = self.zones.get(zone, 0) + 1

    def batch(self) -> pa.RecordBatch:
        rows: list[tuple[int | None, int, str | None, str | None]] = [(None, self.rows, None, None)]
        rows += [(zone, amount, None, None) for zone, amount in self.zones.items()]
        rows += [(_REJECTED, 0, reason, source) for reason, source in self.letters]
        kinds = (pa.int32(), pa.int64(), pa.string(), pa.string())
        columns = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
        return pa.RecordBatch.from_arrays(columns, ["zone", "amount", "reason", "source"])


def _measure(plan: ShardPlan, check: FilterCheck) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        placement = Placement(plan)
        tally = _Tally({}, [])
        for batch in batches:
            tally.rows += batch.num_rows
            for row in rows_of(pa.Table.from_batches([batch])):
                try:
                    zones = placement.zones(read_row(row, check))
                except SiftcastError as error:
                    tally.count(_REJECTED)
                    if len(tally.letters) < _SHOWN:
                        shown = {"id": row.id, "filter": row.text} | ({"dialect": row.dialect} if row.dialect else {})
                        tally.letters.append((str(error), msgspec.json.encode(shown).decode()))
                    continue
                for zone in zones or (_IDLE,):
                    tally.count(zone)
        if tally.rows:
            yield tally.batch()

    return run
