"""The recent matches of every subscription as bare numbers: what clusters are made from (thesis, 3.2).

`match_history` returns the events themselves; clustering only asks which of them two subscriptions have in common. So a
match is three numbers here: the subscription's, the event's and how new it is. An event's number is a hash of all its
columns, which makes it the same in every task; events that agree in all columns count as one.

Each task keeps the newest matches of every subscription, as `history` does, and Spark ranks what the tasks send once
more. Nothing is quadratic: there are at most `recent` rows per subscription, 24 bytes each, which the driver collects.
Cost: one match of every event; memory in a task O(subscriptions · recent + pairs gathered).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as fn
from pyspark.sql import types as t

from siftcast.model import DataError
from siftcast.spark.attributes import attribute_columns
from siftcast.spark.compiled import CompiledSubscriptions, Shipment
from siftcast.spark.history import gather_newest, newness_column
from siftcast.spark.matched_numbers import Integers, MatchedRows, match_numbers, ranks_within
from siftcast.spark.places import placed, under_places
from siftcast.spark.workers import map_batches

_PAIRS_GATHERED = 4_000_000
_BATCH_ROWS = 65_536
_ORDER, _EVENT = "siftcast_order", "siftcast_event"

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class RecentMatches:
    """Pairs of subscription and event, both as numbers; a larger position is a newer event."""

    subscriptions: Integers
    events: Integers
    positions: Integers

    def __len__(self) -> int:
        return len(self.subscriptions)


def recent_matches(
    events: DataFrame, subscriptions: CompiledSubscriptions, recent: int, *, order_by: str | None = None
) -> RecentMatches:
    """The last `recent` matches of every subscription; `order_by` says by which column an event is new."""
    if recent < 1:
        raise DataError(f"a subscription keeps at least one recent match, not {recent}")
    newness, kind = newness_column(events, order_by)
    chosen = attribute_columns(events.schema, subscriptions.shipment.attributes)
    hashed = fn.xxhash64(fn.to_json(fn.struct("*")))
    keyed = placed(events).select(*under_places(chosen.values()), newness.alias(_ORDER), hashed.alias(_EVENT))
    form = t.StructType(
        [
            t.StructField("subscription", t.IntegerType()),
            t.StructField(_ORDER, kind),
            t.StructField(_EVENT, t.LongType()),
        ]
    )
    found = map_batches(keyed, _task(subscriptions.shipment, list(chosen), recent, _PAIRS_GATHERED), form)
    by_age = [fn.col(_ORDER).desc_nulls_last(), fn.col(_EVENT).desc()]
    once = found.dropDuplicates(["subscription", _EVENT])
    ranked = once.withColumn("rank", fn.row_number().over(Window.partitionBy("subscription").orderBy(*by_age)))
    return _numbered(ranked.where(fn.col("rank") <= recent).drop("rank").toArrow())


def _task(shipment: Shipment, names: list[str], recent: int, most: int) -> Callable[[Batches], Batches]:
    def newest(batches: Batches) -> Batches:
        found = match_numbers(shipment.load(), batches, names, extra=2)
        kept = gather_newest(map(pairs_of, found), lambda pairs: _newest(pairs, recent), most)
        if kept is not None:
            yield from kept.to_batches(max_chunksize=_BATCH_ROWS)

    def pairs_of(found: MatchedRows) -> pa.Table:
        keys = found.events.select([len(names), len(names) + 1]).take(pa.array(found.rows))
        return pa.table([pa.array(found.subscriptions, pa.int32()), *keys.columns], _COLUMNS)

    return newest


_COLUMNS = ["subscription", _ORDER, _EVENT]


def _newest(pairs: pa.Table, recent: int) -> pa.Table:
    """At most `recent` different events for each subscription, the newest."""
    keys = [("subscription", "ascending"), (_ORDER, "descending"), (_EVENT, "descending")]
    ordered = pairs.take(pc.sort_indices(pairs, sort_keys=keys))  # nulls come last
    who, what = (ordered[name].to_numpy() for name in ("subscription", _EVENT))
    # The hash covers the order too, so equal events lie beside each other.
    again = (who[1:] == who[:-1]) & (what[1:] == what[:-1])
    kept = np.flatnonzero(np.concatenate([[True], ~again])[: len(who)])
    return ordered.take(pa.array(kept[ranks_within(who[kept]) < recent]))


def _numbered(pairs: pa.Table) -> RecentMatches:
    """Orders of any type as positions from 0."""
    events = pairs.select([_ORDER, _EVENT]).group_by(_EVENT).aggregate([(_ORDER, "max")])
    newest_first = [(f"{_ORDER}_max", "descending"), (_EVENT, "descending")]
    order = pc.sort_indices(events, sort_keys=newest_first).to_numpy()[::-1]  # nulls, which are oldest, come first
    known = events[_EVENT].to_numpy()[order]
    by_number = np.argsort(known, kind="stable")
    numbers = pairs[_EVENT].to_numpy()
    positions = by_number[np.searchsorted(known, numbers, sorter=by_number)]
    return RecentMatches(pairs["subscription"].to_numpy().astype(np.int64), numbers, positions.astype(np.int64))
