"""Columns under their places: c0, c1, … instead of their names, on the way through Spark and Python.

Spark takes a dot in a name for a path, and upper and lower case for equal; PySpark hands columns to `mapInArrow` by
name; and a user's column may have the name of one of ours. Places have none of these problems.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn


def place_names(count: int) -> list[str]:
    """The names of so many columns."""
    return [f"c{place}" for place in range(count)]


def placed(rows: DataFrame) -> DataFrame:
    """The same columns under their places."""
    return rows.toDF(*place_names(len(rows.columns)))


def under_places(columns: Iterable[Column]) -> list[Column]:
    """Columns of any kind, to be selected under the names of their places."""
    return [column.alias(f"c{place}") for place, column in enumerate(columns)]


def placed_column(names: Sequence[str], name: str) -> Column:
    """A column of `placed` rows by the name that it had."""
    return fn.col(f"c{names.index(name)}")


def text_column(names: Sequence[str], id_column: str) -> Column:
    """The ids of `placed` subscriptions as texts, always made by Spark: Arrow writes some numbers otherwise."""
    return placed_column(names, id_column).cast("string")
