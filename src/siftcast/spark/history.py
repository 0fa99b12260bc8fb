"""The last k events that each subscription matched: what clustering reads (thesis, chapter 3).

Pairs of events and subscriptions can outnumber both tables by far, so they are never all kept. Each task matches its
batches and holds, for every subscription, the k newest so far; whenever it has gathered enough new pairs it sorts and
throws the rest away. What the tasks send is at most k rows each for a subscription, and Spark ranks those once more.

Newest is by a column of the events. Events that tie there are ordered by a hash of all their columns, so that the
answer does not depend on how the table is cut into tasks. Cost: one match of every event; memory in a task
O(subscriptions · k + pairs gathered).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as fn
from pyspark.sql import types as t

from siftcast.model import DataError, Schema
from siftcast.spark.compiled import Shipment, compile_subscriptions

ORDER_COLUMNS = ("event_id", "time", "timestamp")
_PAIRS_GATHERED = 1_000_000
_ROWS_MATCHED = 8_192
_ORDER, _TIE = "siftcast_order", "siftcast_tie"

Batches = Iterator[pa.RecordBatch]


def match_history(
    events: DataFrame,
    subscriptions: DataFrame,
    last: int = 20,
    *,
    order_by: str | None = None,
    schema: Schema | None = None,
    engine: str = "auto",
) -> DataFrame:
    """For each subscription (`subscription_id`) its last `last` matching `events`, newest first, as structs.

    `order_by` names the column by which events are new or old (a number, text, date or time; nulls are oldest); without
    it `event_id`, `time` or `timestamp` is taken. A subscription that matched nothing has an empty array. Raises
    DataError if a subscription cannot be used.
    """
    if last < 1:
        raise DataError(f"a history holds at least one event, not {last}")
    order = _order_column(events, order_by)
    compiled = compile_subscriptions(subscriptions, schema=schema, engine=engine)
    compiled.check()
    kind = events.schema[order].dataType
    newest = fn.col(f"`{order}`")
    if isinstance(kind, t.FloatType | t.DoubleType):
        newest = fn.when(~fn.isnan(newest), newest)
    tie = fn.xxhash64(fn.to_json(fn.struct("*"))) if events.columns else fn.lit(0)
    keyed = events.withColumns({_ORDER: newest, _TIE: tie})
    form = t.StructType(
        [
            t.StructField("subscription_id", t.StringType()),
            t.StructField(_ORDER, kind),
            t.StructField(_TIE, t.LongType()),
            t.StructField("event", events.schema),
        ]
    )
    found = keyed.mapInArrow(_task(compiled.shipment, last, _PAIRS_GATHERED), form)
    by_age = [fn.col(_ORDER).desc_nulls_last(), fn.col(_TIE).desc()]
    ranked = found.withColumn("rank", fn.row_number().over(Window.partitionBy("subscription_id").orderBy(*by_age)))
    kept = ranked.where(fn.col("rank") <= last)
    # By rank alone: a struct with a map in it has no order of its own.
    gathered = fn.array_sort(fn.collect_list(fn.struct("rank", "event")), lambda one, two: one["rank"] - two["rank"])
    lists = kept.groupBy("subscription_id").agg(fn.transform(gathered, lambda each: each["event"]).alias("events"))
    everyone = subscriptions.select(fn.col("id").cast("string").alias("subscription_id"))
    none = fn.array().cast(t.ArrayType(events.schema))
    return everyone.join(lists, "subscription_id", "left").select(
        "subscription_id", fn.coalesce("events", none).alias("events")
    )


def _order_column(events: DataFrame, order_by: str | None) -> str:
    if order_by is None:
        order_by = next((name for name in ORDER_COLUMNS if name in events.columns), None)
        if order_by is None:
            raise DataError(
                f"order_by must name the column that says which events are newer; the events have "
                f"{', '.join(events.columns)}"
            )
    if order_by not in events.columns:
        raise DataError(
            f"the events have no column '{order_by}' to be ordered by; they have {', '.join(events.columns)}"
        )
    if not isinstance(events.schema[order_by].dataType, t.AtomicType):
        raise DataError(f"events cannot be ordered by '{order_by}': it is no number, text, date or time")
    return order_by


def _task(shipment: Shipment, last: int, most: int) -> Callable[[Batches], Batches]:
    def newest(batches: Batches) -> Batches:
        matcher = shipment.load()
        gathered: list[pa.Table] = []  # the first is what was kept the last time, if any
        new = 0
        for batch in batches:
            for start in range(0, batch.num_rows, _ROWS_MATCHED):
                rows = pa.Table.from_batches([batch.slice(start, _ROWS_MATCHED)])
                matched = matcher.match_batch(rows.drop_columns([_ORDER, _TIE]))
                gathered.append(_newest_pairs(_pairs(matched, rows), last))
                new += gathered[-1].num_rows
                if new >= most:
                    gathered, new = [_newest_pairs(pa.concat_tables(gathered), last)], 0
        if gathered:
            yield from _newest_pairs(pa.concat_tables(gathered), last).to_batches(max_chunksize=_ROWS_MATCHED)

    return newest


def _pairs(lists: pa.ChunkedArray, rows: pa.Table) -> pa.Table:
    """A row for each match: subscription, order, tie, and the event as a struct."""
    combined = _one(lists)
    parents = pc.list_parent_indices(combined)
    names = [name for name in rows.column_names if name not in (_ORDER, _TIE)]
    events = pa.StructArray.from_arrays(
        [_one(rows[name]) for name in names], fields=[rows.schema.field(name) for name in names]
    )
    columns = {
        "subscription_id": pc.list_flatten(combined).dictionary_decode(),
        _ORDER: _one(rows[_ORDER]).take(parents),
        _TIE: _one(rows[_TIE]).take(parents),
        "event": events.take(parents),
    }
    return pa.table(columns)


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _newest_pairs(pairs: pa.Table, last: int) -> pa.Table:
    """At most `last` rows for each subscription, the newest."""
    keys = [("subscription_id", "ascending"), (_ORDER, "descending"), (_TIE, "descending")]
    order = pc.sort_indices(pairs.drop_columns(["event"]), sort_keys=keys)  # nulls and NaN come last
    codes = _one(pairs["subscription_id"]).dictionary_encode().indices.to_numpy()[order.to_numpy()]
    begins = np.flatnonzero(np.diff(codes, prepend=-1))
    rank = np.arange(len(codes)) - np.repeat(begins, np.diff(begins, append=len(codes)))
    return pairs.take(order.filter(pa.array(rank < last)))
