"""Zones for Kyra, for shards and for anything else that divides the content: statistics, then planning.

Spark measures (`statistics`), `planning` decides on the driver from what fits there, and the answer is a plain
`Partition` that knows nothing of Spark: it can be saved as JSON, shipped to brokers, broadcast to tasks.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from siftcast.model import DataError, Filter, Schema
from siftcast.planning import ALPHA, choose_zones
from siftcast.space import Partition
from siftcast.spark.measured_filters import filter_columns, read_filters
from siftcast.spark.statistics import Statistics, statistics

SAMPLE_FILTERS = 2_000


def partition(
    events: DataFrame,
    subscriptions: DataFrame,
    schema: Schema,
    *,
    zones: int,
    alpha: float = ALPHA,
    attributes: Sequence[str] | None = None,
    weight: str | None = None,
    measured: Statistics | None = None,
    strict: bool = True,
) -> Partition:
    """Cuts the content space into contiguous zones of balanced load, Σ popularity^α · volume · weight.

    Cuts one attribute, or several where that is better; `attributes` limits the choice. There may be fewer zones than
    asked for if the attributes have fewer values. `explain()` of the result says why it is as it is, and which
    subscriptions could not be used. Statistics that were measured before can be handed over; their attributes and
    weights then count. Raises DataError, unless `strict` is off, if the events do not have what the schema declares.
    """
    if not isinstance(zones, int) or zones < 1:
        raise DataError(f"there must be at least one zone, and a whole number of them, not {zones}")
    if not 0 <= alpha < float("inf"):
        raise DataError(f"alpha must be a number of at least 0, not {alpha}")
    known = measured or statistics(events, subscriptions, schema, weight=weight, attributes=attributes, strict=strict)
    sample = sample_filters(subscriptions, schema, known.subscriptions + known.rejected)
    found = choose_zones(known.table, zones, alpha=alpha, sample=sample)
    if not known.rejected:
        return found
    left_out = f"Left out: {known.rejected:,} of {known.subscriptions + known.rejected:,} subscriptions, which cannot "
    left_out += f"be used; the first is {known.first_rejected}"
    return Partition(found.space, found.cuts, loads=found.loads, reason=f"{found.reason}\n{left_out}")


def sample_filters(subscriptions: DataFrame, schema: Schema, count: int) -> list[Filter]:
    """Some of the good filters, drawn with a fixed seed, on which spans are judged."""
    fraction = min(1.0, 1.2 * SAMPLE_FILTERS / max(count, 1))
    drawn = filter_columns(subscriptions).where(fn.col("filter").isNotNull())
    table = (drawn if fraction == 1.0 else drawn.sample(fraction=fraction, seed=0)).limit(SAMPLE_FILTERS).toArrow()
    return [filter_ for batch in table.to_batches() for filter_ in read_filters(batch, schema).good]
