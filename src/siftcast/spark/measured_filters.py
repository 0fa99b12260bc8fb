"""Subscriptions as statistics take them: those that can be used, how many cannot, and why the first cannot.

As in `match_with_rejects`, rows that are not subscriptions do not keep the others from being measured. They are
counted, and in no other figure, and one of them is named, so that a person knows where to look.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from siftcast.model import DataError, Filter, FilterError, Schema
from siftcast.model.columns import did_you_mean
from siftcast.spark.dead_letters import NOT_UTF8, table_texts
from siftcast.spark.schemas import check_frame


class ReadFilters(NamedTuple):
    """The good filters of some rows, how many rows have none, and what is wrong with the first of those."""

    good: list[Filter]
    refused: int
    first_refused: str | None


class NamedRows(NamedTuple):
    """The rows with an id of their own, how many have none, and what is wrong with one of those."""

    rows: DataFrame
    nameless: int
    first_nameless: str | None


def check_filters(subscriptions: DataFrame) -> None:
    """Raises DataError unless this is a table with a column of filters."""
    check_frame(subscriptions, "subscriptions")
    if "filter" not in subscriptions.columns:
        hint = did_you_mean("filter", subscriptions.columns)
        raise DataError(f"the table of subscriptions has no column 'filter'{hint}")


def with_ids(subscriptions: DataFrame) -> NamedRows:
    """One row for each id; `match` refuses the others."""
    if "id" not in subscriptions.columns:
        return NamedRows(subscriptions, 0, None)
    named = subscriptions.where(fn.col("id").cast("string") != "")
    repeated = fn.min(fn.when(fn.col("count") > 1, fn.col("id").cast("string")))
    ids = named.groupBy("id").count()
    found = ids.agg(fn.count(fn.lit(1)), fn.coalesce(fn.sum("count"), fn.lit(0)), repeated).first()
    assert found is not None
    different, all_named, twice = found
    total = subscriptions.count()
    once = named if different == all_named else named.dropDuplicates(["id"])
    reason = "a subscription needs an id" if all_named < total else f"the id '{twice}' is taken by an earlier row"
    return NamedRows(once, total - different, reason if different < total else None)


def filter_columns(subscriptions: DataFrame) -> DataFrame:
    """filter, dialect and id as strings."""
    others = [
        (fn.col(name) if name in subscriptions.columns else fn.lit(None)).cast("string").alias(name)
        for name in ("dialect", "id")
    ]
    return subscriptions.select(fn.col("filter").cast("string"), *others)


def read_filters(batch: pa.RecordBatch, schema: Schema) -> ReadFilters:
    """Reads a batch of `filter_columns`."""
    filters: list[Filter] = []
    first: str | None = None
    texts, readable = table_texts(pa.Table.from_batches([batch]))
    for text, dialect, id, fine in zip(*(column.to_pylist() for column in texts.columns), readable, strict=True):
        try:
            if not fine or text is None:
                raise FilterError("the filter is null" if fine else NOT_UTF8)
            filter_ = Filter.parse(text, dialect or "sql")
            filter_.check(schema)
        except FilterError as error:
            if first is None:
                said = str(error).partition("\n")[0]  # what follows is the filter and a mark under it
                first = f"'{id}': {said}" if id else said
            continue
        filters.append(filter_)
    return ReadFilters(filters, batch.num_rows - len(filters), first)
