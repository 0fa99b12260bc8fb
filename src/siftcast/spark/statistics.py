"""What the data looks like: small tables about attributes and cells of the content space, from tables of any size.

Four passes, each a Spark job whose result fits on the driver whatever the size of the data:

    1  events          counts, nulls, distinct, least and greatest of every attribute (Spark's own aggregates)
    2  events          quantiles of the axes that have too many values for a cell each (a Greenwald–Khanna sketch),
                       and, where there are several axes, a sample of points that places the joint cells
    3  events          how many lie in each cell, and how much they weigh
    4  subscriptions   how many touch each cell, and how much of it they want

Passes 3 and 4 run the counting of `planning.cells` on Arrow batches: each task adds up one vector and sends its
non-zero entries, which Spark sums. Nothing is collected but such sums and the sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn
from pyspark.sql import types as t

from siftcast.model import Columns, DataError, Schema
from siftcast.model.columns import did_you_mean
from siftcast.model.schema import checked_schema
from siftcast.planning import Cells, CellTable, axis_edges, grid_size, joint_cells, places_of
from siftcast.planning.cells import JOINT_CELLS, QUANTILE_CELLS, VALUES_MAX, Floats
from siftcast.planning.statistics_tables import attribute_table, cell_table, statistics_text
from siftcast.planning.zone_choice import subspace
from siftcast.space import ContentSpace
from siftcast.spark.measured_filters import check_filters, filter_columns, read_filters, with_ids
from siftcast.spark.schema_check import check_declared
from siftcast.spark.schemas import check_frame
from siftcast.spark.workers import check_workers, map_batches

SAMPLE_POINTS = 20_000
_BATCH_FILTERS = 1_024
_DISTINCT_ERROR = 0.02
_REJECTED, _NAMING = -1, -2  # entries besides those of cells; from the latter down, one for each attribute

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class Statistics:
    """Tables about events and subscriptions; `str()` shows them.

    `attributes` has a row for each attribute of the schema, `cells` one for each cell: of every axis, and joint ones
    (`attribute` is null) where there are several axes. `table` holds the same counts for planning. `rejected` counts
    subscriptions that cannot be parsed, do not fit the schema or have no id of their own (of one id, any counts); they
    are in no other figure. `first_rejected` says which was the first of them, and why.
    """

    attributes: DataFrame
    cells: DataFrame
    events: int
    subscriptions: int
    rejected: int
    table: CellTable = field(repr=False)
    first_rejected: str | None = None

    def __str__(self) -> str:
        return statistics_text(
            self.attributes.toArrow(),
            self.events,
            self.subscriptions,
            self.rejected,
            self.table,
            first_rejected=self.first_rejected,
        )


def statistics(
    events: DataFrame,
    subscriptions: DataFrame,
    schema: Schema,
    *,
    weight: str | None = None,
    attributes: Sequence[str] | None = None,
    values_max: int = VALUES_MAX,
    joint_max: int = JOINT_CELLS,
    strict: bool = True,
) -> Statistics:
    """Measures events (columns named as the schema's attributes) and subscriptions ([id,] filter[, dialect]).

    `weight` names a column with the cost of an event, 1 if not given. `attributes` limits the axes that get cells;
    an axis of more than `values_max` values gets quantile cells; there are at most `joint_max` joint cells. Raises
    DataError, unless `strict` is off, if the events lack an attribute of the schema or have it of another type.
    """
    check_frame(events, "events")
    check_filters(subscriptions)
    checked_schema(schema)
    if strict:
        check_declared(Columns.of(events), schema)
    for option, value in (("values_max", values_max), ("joint_max", joint_max)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise DataError(f"{option} must be a whole number of at least 1, not {value!r}")
    _check_weights(events, weight)
    space = ContentSpace(schema) if attributes is None else subspace(schema, attributes)
    check_workers(events.sparkSession)
    summary = _summarise(events, schema, weight)
    if summary["bad_weights"]:
        raise DataError(f"{summary['bad_weights']:,} events have no number of at least 0 in '{weight}', their weight")
    points = _points(events, space, weight)
    cells = _lay_cells(points, space, summary["events"], values_max, joint_max)
    counted, _ = _summed(points, _count_events(cells))
    named, nameless, first_nameless = with_ids(subscriptions)
    wanted, first_refused = _summed(filter_columns(named), _count_interests(cells, schema))
    rejected = int(wanted.pop(_REJECTED, 0.0)) + nameless
    naming = {each.name: int(wanted.pop(_NAMING - index, 0.0)) for index, each in enumerate(schema)}
    table = CellTable.of(cells, _vector(counted, cells.event_entries), _vector(wanted, cells.interest_entries))
    session = events.sparkSession
    return Statistics(
        session.createDataFrame(attribute_table(schema, summary, table, naming)),
        session.createDataFrame(cell_table(table)),
        summary["events"],
        table.subscriptions,
        rejected,
        table,
        first_refused or first_nameless,
    )


def _check_weights(events: DataFrame, weight: str | None) -> None:
    """Raises DataError where there is no column of numbers to take weights from."""
    if weight is None:
        return
    if weight not in events.columns:
        hint = did_you_mean(weight, events.columns)
        raise DataError(f"the table of events has no column '{weight}' to take weights from{hint}")
    kind = events.schema[weight].dataType
    if not isinstance(kind, t.NumericType):
        raise DataError(f"weights must be numbers, but the column '{weight}' is {kind.simpleString()}")


# -- columns -----------------------------------------------------------------------------------------


def event_column(frame: DataFrame, name: str) -> tuple[Column, t.DataType]:
    """The column of an attribute, flat or nested, and its type; a null of no type where the table has none."""
    if name in frame.columns:
        return fn.col(f"`{name}`"), frame.schema[name].dataType
    kind: t.DataType = frame.schema
    column: Column | None = None
    for part in name.split("."):
        if not isinstance(kind, t.StructType) or part not in kind.names:
            return fn.lit(None).cast("double"), t.NullType()
        kind = kind[part].dataType
        column = fn.col(f"`{part}`") if column is None else column.getField(part)
    assert column is not None
    return column, kind


def _summarise(events: DataFrame, schema: Schema, weight: str | None) -> dict[str, Any]:
    """One row of aggregates; NaN counts as the null that it means here."""
    cost = fn.lit(1.0) if weight is None else fn.col(f"`{weight}`").cast("double")
    has_weight = fn.coalesce((cost >= 0) & (cost < float("inf")), fn.lit(False))  # NaN is above infinity
    measures = [fn.count(fn.lit(1)).alias("events"), fn.count_if(~has_weight).alias("bad_weights")]
    for index, attribute in enumerate(schema):
        column, kind = event_column(events, attribute.name)
        if isinstance(kind, t.FloatType | t.DoubleType):
            column = fn.when(~fn.isnan(column), column)
        ordered = column if isinstance(kind, t.AtomicType) else fn.lit(None).cast("string")
        measures += [
            fn.count(column).alias(f"present{index}"),
            fn.approx_count_distinct(ordered, _DISTINCT_ERROR).alias(f"distinct{index}"),
            fn.min(ordered).cast("string").alias(f"least{index}"),
            fn.max(ordered).cast("string").alias(f"most{index}"),
        ]
    row = events.agg(*measures).first()
    assert row is not None
    return row.asDict()


# -- cells -------------------------------------------------------------------------------------------


def _points(events: DataFrame, space: ContentSpace, weight: str | None) -> DataFrame:
    """The events as points: a double for each axis, null where it has no place there, and the weight."""
    axes = space.axes
    names = [f"axis{index}" for index in range(len(axes))]
    columns = [event_column(events, axis.attribute.name)[0].alias(name) for axis, name in zip(axes, names, strict=True)]
    cost = fn.lit(1.0) if weight is None else fn.col(f"`{weight}`").cast("double")

    def locate(batches: Batches) -> Batches:
        for batch in batches:
            places = [
                pa.array(places_of(axis, batch.column(index)), from_pandas=True) for index, axis in enumerate(axes)
            ]
            yield pa.RecordBatch.from_arrays([*places, batch.column(len(axes))], [*names, "weight"])

    form = ", ".join(f"{name} double" for name in (*names, "weight"))
    return map_batches(events.select(*columns, cost.alias("weight")), locate, form)


def _lay_cells(points: DataFrame, space: ContentSpace, count: int, values_max: int, joint_max: int) -> Cells:
    sizes = [grid_size(axis) for axis in space.axes]
    wide = [index for index, size in enumerate(sizes) if size is None or size > values_max]
    shares = [step / QUANTILE_CELLS for step in range(1, QUANTILE_CELLS)]
    quantiles: dict[int, list[float]] = {}
    if wide:
        found = points.agg(*(fn.percentile_approx(f"axis{index}", shares, 10_000) for index in wide)).first()
        assert found is not None
        quantiles = {index: found[position] or [] for position, index in enumerate(wide)}
    edges = tuple(
        axis_edges(axis, quantiles.get(index, ()), values_max=values_max) for index, axis in enumerate(space.axes)
    )
    if len(edges) == 1:
        return Cells(space, edges)
    fraction = min(1.0, SAMPLE_POINTS / max(count, 1))
    sample = points.drop("weight").sample(fraction=fraction, seed=0).toArrow()
    drawn = np.column_stack([column.to_numpy() for column in sample.columns]).astype(np.float64)
    return Cells(space, edges, joint_cells(space, edges, drawn, most=joint_max))


# -- counting ----------------------------------------------------------------------------------------


def _count_events(cells: Cells) -> Callable[[Batches], Batches]:
    def count(batches: Batches) -> Batches:
        total: Floats | None = None
        for batch in batches:
            *places, weight = (column.to_numpy(zero_copy_only=False).astype(np.float64) for column in batch.columns)
            vector = cells.count_events(np.column_stack(places), weight)
            total = vector if total is None else total + vector
        if total is not None:
            yield _entries(total)

    return count


def _count_interests(cells: Cells, schema: Schema) -> Callable[[Batches], Batches]:
    def count(batches: Batches) -> Batches:
        total: Floats | None = None
        rejected = 0
        first: str | None = None
        naming = dict.fromkeys(schema.names, 0)
        for batch in batches:
            for start in range(0, batch.num_rows, _BATCH_FILTERS):
                filters, refused, first_refused = read_filters(batch.slice(start, _BATCH_FILTERS), schema)
                rejected += refused
                first = first or first_refused
                for filter_ in filters:
                    for name in filter_.attributes:
                        naming[name] += 1
                vector = cells.count_interests(filters)
                total = vector if total is None else total + vector
        if total is not None:
            yield _entries(total, rejected, list(naming.values()), first)

    return count


def _entries(
    vector: Floats, rejected: int = 0, naming: Sequence[int] = (), first_refused: str | None = None
) -> pa.RecordBatch:
    """The sums of a task, and the first row that it refused."""
    places = np.flatnonzero(vector)
    index = np.concatenate((places, [_REJECTED], _NAMING - np.arange(len(naming))))
    value = np.concatenate((vector[places], [float(rejected)], np.asarray(naming, np.float64)))
    reasons = [first_refused if entry == _REJECTED else None for entry in index.tolist()]
    return pa.RecordBatch.from_arrays(
        [pa.array(index.astype(np.int64)), pa.array(value), pa.array(reasons, pa.string())],
        ["entry", "amount", "reason"],
    )


def _summed(frame: DataFrame, count: Callable[[Batches], Batches]) -> tuple[dict[int, float], str | None]:
    """The sums of all tasks by entry, and the first row that was refused."""
    parts = map_batches(frame, count, "entry long, amount double, reason string")
    task = fn.when(fn.col("reason").isNotNull(), fn.spark_partition_id())
    kept = parts.withColumn("task", task).groupBy("entry")
    total = kept.agg(fn.sum("amount").alias("amount"), fn.min_by("reason", "task").alias("reason")).toArrow()
    amounts = dict(zip(total["entry"].to_pylist(), total["amount"].to_pylist(), strict=True))
    return amounts, next(filter(None, total["reason"].to_pylist()), None)


def _vector(entries: dict[int, float], size: int) -> Floats:
    vector = np.zeros(size)
    for entry, amount in entries.items():
        if entry >= 0:
            vector[entry] = amount
    return vector
