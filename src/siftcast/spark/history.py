"""The last k events that each subscription matched: what clustering reads (thesis, chapter 3).

Pairs of events and subscriptions can outnumber both tables by far, so they are never all kept. Each task matches its
batches and holds, for every subscription, the k newest so far; whenever it has gathered enough new pairs, it sorts
them and drops the rest. Each task sends at most k rows per subscription, and Spark ranks those once more. Until then
a subscription is its number in the matcher: ids are texts, which take gigabytes where much matches.

Newest is by a column of the events. Events that tie there are ordered by a hash of all their columns, so that the
answer does not depend on how the table is cut into tasks. Cost: one match of every event; memory in a task
O(subscriptions · k + pairs gathered).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn
from pyspark.sql import types as t

from siftcast.model import DataError, Schema
from siftcast.model.columns import did_you_mean
from siftcast.spark.compiled import CompiledSubscriptions, Shipment, compiled_for
from siftcast.spark.matched_numbers import MatchedRows, match_numbers, ranks_within, subscription_ids
from siftcast.spark.places import placed, placed_column, text_column
from siftcast.spark.schemas import check_columns, check_frame
from siftcast.spark.workers import map_batches

ORDER_COLUMNS = ("event_id", "time", "timestamp")
_PAIRS_GATHERED = 1_000_000
_ROWS_SENT = 8_192
_ORDER, _TIE = "siftcast_order", "siftcast_tie"

Batches = Iterator[pa.RecordBatch]


def match_history(
    events: DataFrame,
    subscriptions: DataFrame,
    last: int = 20,
    *,
    order_by: str | None = None,
    schema: Schema | None = None,
    strict: bool = True,
    engine: str = "auto",
) -> DataFrame:
    """For each subscription (`subscription_id`) its last `last` matching `events`, newest first, as structs.

    `order_by` names the column by which events are new or old (a number, text, date or time; nulls are oldest); without
    it `event_id`, `time` or `timestamp` is taken. A subscription that matched nothing has an empty array. Raises
    DataError if a subscription cannot be used, as `match` does.
    """
    if last < 1:
        raise DataError(f"a history holds at least one event, not {last}")
    check_frame(events, "events")
    check_columns(events.columns)
    if isinstance(subscriptions, CompiledSubscriptions):
        raise DataError("histories need the table of the subscriptions, not compiled ones")
    newness, kind = newness_column(events, order_by)
    compiled = compiled_for(events, subscriptions, strict=strict, schema=schema, engine=engine)
    names = events.columns
    unnamed = placed(events)
    keyed = unnamed.withColumns({_ORDER: newness, _TIE: fn.xxhash64(fn.to_json(fn.struct("*")))})
    form = t.StructType(
        [
            t.StructField("subscription_id", t.StringType()),
            t.StructField(_ORDER, kind),
            t.StructField(_TIE, t.LongType()),
            t.StructField("event", unnamed.schema),
        ]
    )
    found = map_batches(keyed, _task(compiled.shipment, names, last, _PAIRS_GATHERED), form)
    by_age = [fn.col(_ORDER).desc_nulls_last(), fn.col(_TIE).desc()]
    ranked = found.withColumn("rank", fn.row_number().over(Window.partitionBy("subscription_id").orderBy(*by_age)))
    kept = ranked.where(fn.col("rank") <= last)
    # By rank alone: a struct with a map in it has no order of its own.
    gathered = fn.array_sort(fn.collect_list(fn.struct("rank", "event")), lambda one, two: one["rank"] - two["rank"])
    lists = kept.groupBy("subscription_id").agg(fn.transform(gathered, lambda each: each["event"]).alias("events"))
    everyone = placed(subscriptions).select(text_column(subscriptions.columns, "id").alias("subscription_id"))
    named = t.ArrayType(events.schema)
    return everyone.join(lists, "subscription_id", "left").select(
        "subscription_id", fn.coalesce(fn.col("events").cast(named), fn.array().cast(named)).alias("events")
    )


def order_column(events: DataFrame, order_by: str | None) -> str:
    """The column that says which events are newer; raises DataError where there is none that can."""
    if order_by is None:
        order_by = next((name for name in ORDER_COLUMNS if name in events.columns), None)
    if order_by is None:
        names = ", ".join(events.columns) or "none"
        raise DataError(f"order_by must name the column that says which events are newer; the events have {names}")
    if order_by not in events.columns:
        hint = did_you_mean(order_by, events.columns)
        raise DataError(f"the events have no column '{order_by}' to be ordered by{hint}")
    if not isinstance(events.schema[order_by].dataType, t.AtomicType):
        raise DataError(f"events cannot be ordered by '{order_by}': it is no number, text, date or time")
    return order_by


def newness_column(events: DataFrame, order_by: str | None) -> tuple[Column, t.DataType]:
    """What says how new placed events are, greatest for the newest and null for the oldest, and its type."""
    order = order_column(events, order_by)
    kind, column = events.schema[order].dataType, placed_column(events.columns, order)
    return (fn.when(~fn.isnan(column), column) if isinstance(kind, t.FloatType | t.DoubleType) else column), kind


def gather_newest(tables: Iterable[pa.Table], newest: Callable[[pa.Table], pa.Table], rows_max: int) -> pa.Table | None:
    """The newest of all rows, without keeping many more of them than that; None if there are no tables."""
    gathered: list[pa.Table] = []  # the first is what was kept the last time, if any
    new = 0
    for table in tables:
        gathered.append(table)
        new += table.num_rows
        if new >= rows_max:
            gathered, new = [newest(pa.concat_tables(gathered))], 0
    return newest(pa.concat_tables(gathered)) if gathered else None


def _task(shipment: Shipment, names: list[str], last: int, most: int) -> Callable[[Batches], Batches]:
    def newest(batches: Batches) -> Batches:
        matcher = shipment.load()
        found = match_numbers(matcher, batches, names, extra=2)
        pairs = (_newest_of_batch(each, last) for each in found)
        kept = gather_newest(pairs, lambda each: _newest_pairs(each, last), most)
        if kept is not None:
            ids = subscription_ids(matcher)
            for batch in kept.to_batches(max_chunksize=_ROWS_SENT):
                named = ids.take(batch.column(_SUBSCRIPTION))
                yield pa.RecordBatch.from_arrays([named, *batch.columns[1:]], ["subscription_id", *_COLUMNS[1:]])

    return newest


_SUBSCRIPTION = "subscription"
_COLUMNS = [_SUBSCRIPTION, _ORDER, _TIE, "event"]


def _newest_of_batch(found: MatchedRows, last: int) -> pa.Table:
    """A row for each match that may count: subscription, order, tie, and the event as a struct."""
    columns = found.events.columns
    rows = pa.array(found.rows)
    keys = [pa.array(found.subscriptions, pa.int32()), *(column.take(rows) for column in columns[-2:])]
    kept = _newest(pa.table(keys, _COLUMNS[:-1]), last)
    events = pa.StructArray.from_arrays(columns[:-2], fields=list(found.events.schema)[:-2])
    return pa.table([*(key.take(kept) for key in keys), events.take(rows.take(kept))], _COLUMNS)


def _newest_pairs(pairs: pa.Table, last: int) -> pa.Table:
    """At most `last` rows for each subscription, the newest."""
    return pairs.take(_newest(pairs.drop_columns(["event"]), last))


def _newest(keys: pa.Table, last: int) -> pa.Array:
    """Which rows those are."""
    by_age = [(_SUBSCRIPTION, "ascending"), (_ORDER, "descending"), (_TIE, "descending")]
    order = pc.sort_indices(keys, sort_keys=by_age)  # nulls come last
    subscriptions = keys[_SUBSCRIPTION].to_numpy()[order.to_numpy()]
    return order.filter(pa.array(ranks_within(subscriptions) < last))
