"""How many subscriptions each event satisfies, without naming them.

Ids make a result of `match` large: an event that satisfies a thousand subscriptions brings as many strings.
A count is eight bytes, so this runs at the speed of `Matcher.count_batch`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import LongType

from siftcast.matching import Matcher
from siftcast.model import Schema
from siftcast.spark.compiled import CompiledSubscriptions, compiled_for
from siftcast.spark.matching import answer_column, clear_errors, once
from siftcast.spark.places import placed
from siftcast.spark.schemas import check_columns, check_frame

MATCHED_COUNT = "matched_count"


def match_counts(
    events: DataFrame,
    subscriptions: DataFrame | CompiledSubscriptions,
    *,
    id_column: str = "id",
    filter_column: str = "filter",
    schema: Schema | None = None,
    strict: bool = True,
    engine: str = "auto",
) -> DataFrame:
    """The columns of the events and `matched_count`, the number of subscriptions that each event satisfies.

    Subscriptions are read at once, events when the result is used. Raises DataError if a subscription cannot be used,
    as `match` does.
    """
    check_frame(events, "events")
    check_columns(events.columns, MATCHED_COUNT)
    compiled = compiled_for(
        events,
        subscriptions,
        strict=strict,
        id_column=id_column,
        filter_column=filter_column,
        schema=schema,
        engine=engine,
    )
    count = answer_column(events, compiled.shipment, count_matches, LongType())
    return (
        placed(events)
        .select("*", once(count, f.lit(0).cast("long")).alias(MATCHED_COUNT))
        .toDF(*events.columns, MATCHED_COUNT)
    )


def count_matches(matcher: Matcher, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Array]:
    """For each row how many subscriptions it satisfies."""
    for batch in batches:
        with clear_errors():
            counts = matcher.count_batch(batch)
        yield counts
