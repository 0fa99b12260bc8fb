"""Matching beyond one worker's memory: subscriptions in shards, events sent to theirs.

    subscriptions ─▶ mapInArrow(parse, place) ─▶ (shard, 0, subscription) ─┐
                                                                           ├─▶ a sorted partition per shard ▶ mapInArrow
    events ────────▶ place, explode ───────────▶ (shard, 1, event) ────────┘     subscriptions first: build a matcher,
                                                                                 then events: match batch after batch

This is a cogroup, made of a union, a shuffle and a sort, as Spark's own is. `cogroup().applyInArrow` itself hands a
group over as two whole tables and wants its result as a third, so its memory grows with the events: a worker with one
shard of 160,000 subscriptions held 423 MiB at 300,000 events and 1,047 MiB at 3,000,000. Here events stream past, and
it held 401 MiB both times: one matcher and one batch. Also rejected: saved matchers in a shared folder, which a
cluster need not have and which nobody would clean up.

**Pairs** need nothing more: an event meets a subscription once (`space.shard_plan` has the proof).

**Lists** of an event that goes to several shards are put together again, by a number given to each event before it is
copied. Spark may run a task again when a machine is lost; rows may then come in another order, and numbers by order
would silently join the matches of two events. So besides its place the number has 64 random bits, drawn again each
time a task runs: copies of different runs never join, the copy that carries the event is missed, and the query fails
instead of giving a wrong answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn
from pyspark.sql import types as t

from siftcast.matching import Matcher
from siftcast.model import ArgumentError, DataError, Schema, SiftcastError
from siftcast.space.shard_plan import Placement, ShardPlan
from siftcast.spark.filter_check import FilterCheck, read_filter
from siftcast.spark.matching import IDS, shape
from siftcast.spark.places import place_names, placed
from siftcast.spark.schemas import Output, check_event_columns, check_frame, lists_type
from siftcast.spark.shard_events import event_shards
from siftcast.spark.shard_layout import ShardLayout, check_plan, dealing_number
from siftcast.spark.shard_planning import Batches, measured, shard_plan, subscription_columns
from siftcast.spark.shard_worker import ShardWorker
from siftcast.spark.workers import map_batches

_SUBSCRIPTION = "struct<id: string, filter: string, dialect: string>"
_LOST = "a task ran twice and numbered its events anew, so their matches cannot be put together; run the query again"


def match_sharded(
    events: DataFrame,
    subscriptions: DataFrame,
    output: Output = "pairs",
    *,
    shards: int | None = None,
    plan: ShardPlan | None = None,
    id_column: str = "id",
    filter_column: str = "filter",
    schema: Schema | None = None,
    strict: bool = True,
    engine: str = "auto",
) -> DataFrame:
    """The subscriptions that each event satisfies, as `match` gives them, without any one worker holding all.

    Subscriptions are read at once to check and count them, and again, like the events, whenever the result is used. A
    plan made before (`shard_plan`) saves choosing the zones. Raises DataError if a subscription cannot be used, as
    `match` does.
    """
    check_frame(events, "events")
    check_event_columns(events.columns, output)
    Matcher(engine, schema)  # the workers' engine, refused here if there is none of that name
    if events.isStreaming:
        raise DataError("a stream cannot be matched in shards; use match() or match_stream()")
    if plan is not None:
        check_plan(plan)
        if shards is not None:
            raise ArgumentError("shards and plan are given, and a plan says how many shards there are; leave one out")
    plain = subscription_columns(subscriptions, id_column, filter_column)
    check = FilterCheck.of(schema, events if strict else None)
    if plan is None:
        plan = shard_plan(
            events,
            subscriptions,
            shards=shards,
            id_column=id_column,
            filter_column=filter_column,
            schema=schema,
            strict=strict,
        )
    else:
        plan = measured(plan, plain, check)
    merging = output == "lists" and max(plan.parts[-1] + len(plan.axes), *plan.parts) > 1
    layout = ShardLayout.of(plan)
    copies = _event_rows(events, plan, layout, every=output == "lists", merging=merging)
    rows = _subscription_rows(plain, plan, layout, check).unionByName(copies, allowMissingColumns=True)
    spread = rows.repartitionById(
        max(1, layout.count), "shard"
    )  # a hash leaves some partitions with two shards, others with none
    lists = lists_type(placed(events).schema, IDS)
    form = _partial_type(lists) if merging else lists
    worker = ShardWorker(tuple(events.columns), engine, schema, every=output == "lists", merging=merging)
    found = map_batches(spread.sortWithinPartitions("shard", "side"), worker.run, form)
    return shape(_merge(found) if merging else found, events.columns, output)


# -- the two sides -----------------------------------------------------------------------------------


def _subscription_rows(plain: DataFrame, plan: ShardPlan, layout: ShardLayout, check: FilterCheck) -> DataFrame:
    place = _place(replace(plan, reason=""), layout.homes(), check)
    dealt = map_batches(plain, place, "shard int, id string, filter string, dialect string")
    subscription = fn.struct("id", "filter", "dialect").cast(_SUBSCRIPTION)
    return dealt.select("shard", fn.lit(0).alias("side"), subscription.alias("subscription"))


def _place(plan: ShardPlan, homes: Sequence[Sequence[int]], check: FilterCheck) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        placement = Placement(plan)
        for batch in batches:
            rows: list[int] = []
            shards: list[int] = []
            for row, (id, text, dialect) in enumerate(
                zip(*(column.to_pylist() for column in batch.columns), strict=True)
            ):
                try:
                    shards_of = placement.shards(id, read_filter(id, text, dialect, check))
                except (SiftcastError, LookupError) as error:
                    raise DataError(
                        f"the subscriptions have changed since they were counted; '{id}': {error}"
                    ) from None
                for shard in shards_of:
                    rows += [row] * len(homes[shard])
                    shards += homes[shard]
            taken = batch.take(pa.array(rows, pa.int64()))
            yield pa.RecordBatch.from_arrays(
                [pa.array(shards, pa.int32()), *taken.columns], ["shard", "id", "filter", "dialect"]
            )

    return run


def _event_rows(events: DataFrame, plan: ShardPlan, layout: ShardLayout, *, every: bool, merging: bool) -> DataFrame:
    """An event once for each of its shards, the first of which is its main copy; with `every`, at least once."""
    event = fn.struct(*place_names(len(events.columns)))
    numbers = [fn.monotonically_increasing_id().alias("row"), _random_bits().alias("run")] if merging else []
    rows, deal = placed(events), fn.lit(0)
    if layout.is_dealt:
        rows, deal = rows.withColumn("deal", dealing_number(events.schema)), fn.col("deal")
    shards = event_shards(events.schema, plan, layout, deal)
    sent = rows.select(event.alias("event"), shards.alias("shards"), *numbers)
    if every:
        # No subscription of a zone is true for an event without that zone: any shard may pass it on.
        nowhere = fn.array(fn.lit(0).cast("int"))
        sent = sent.withColumn("shards", fn.when(fn.size("shards") > 0, fn.col("shards")).otherwise(nowhere))
    kept = ["event", "row", "run"] if merging else ["event"]
    copies = sent.select(*kept, fn.posexplode("shards").alias("position", "shard"))
    main = (fn.col("position") == 0).alias("main")
    return copies.select("shard", fn.lit(1).alias("side"), *kept, main)


def _random_bits() -> Column:
    """Other bits each time it is computed; Spark's own rand() and uuid() repeat themselves when a task runs again."""
    return fn.xxhash64(fn.reflect(fn.lit("java.util.UUID"), fn.lit("randomUUID")))


# -- lists put together ------------------------------------------------------------------------------


def _partial_type(lists: t.StructType) -> t.StructType:
    """What each shard says about an event: its number, the event itself in one of them, and the ids found there."""
    numbers = [t.StructField("row", t.LongType()), t.StructField("run", t.LongType())]
    return t.StructType([*numbers, t.StructField("event", t.StructType(lists.fields[:-1])), lists.fields[-1]])


def _merge(found: DataFrame) -> DataFrame:
    """The ids of all copies of an event in one list; its columns are those of the main copy."""
    whole = found.groupBy("row", "run").agg(
        fn.first("event", ignorenulls=True).alias("event"), fn.flatten(fn.collect_list(IDS)).alias(IDS)
    )
    checked = whole.where(fn.assert_true(fn.col("event").isNotNull(), fn.lit(_LOST)).isNull())
    return checked.select("event.*", IDS)
