"""The types of the tables that go in and come out, and the checks at the door."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from siftcast.files import Rejection
from siftcast.model import DataError, Schema

Output = Literal["pairs", "lists"]
SUBSCRIPTION_ID = "subscription_id"
MATCHED = "matched"
RESULT_COLUMN: dict[str, str] = {"pairs": SUBSCRIPTION_ID, "lists": MATCHED}

IDS_TYPE = ArrayType(StringType(), containsNull=False)
SUBSCRIPTIONS = StructType([StructField(name, StringType()) for name in ("id", "filter", "dialect", "subscriber")])
DEAD_LETTERS = StructType([StructField(name, StringType(), nullable=False) for name in Rejection.__struct_fields__])

_TYPES: dict[str, DataType] = {
    "int": LongType(),
    "float": DoubleType(),
    "string": StringType(),
    "bool": BooleanType(),
    "timestamp": TimestampType(),
}


def check_output(output: str) -> None:
    """Raises DataError unless the form of the output is one there is."""
    if output not in RESULT_COLUMN:
        raise DataError(f"output must be 'pairs' or 'lists', not {output!r}")


def check_event_columns(names: Sequence[str], output: str) -> None:
    """Raises DataError where the result could not be told from the columns of the events.

    Upper and lower case count as equal, because Spark takes them so and would call the column ambiguous later.
    """
    check_output(output)
    check_columns(names, RESULT_COLUMN[output])


def check_frame(rows: object, what: str) -> None:
    """Raises DataError for rows that are read but not yet sorted into good and bad ones, or are no table at all."""
    if isinstance(rows, DataFrame):
        return
    hint = f"; its {what} are `.good`" if hasattr(rows, "good") else ""
    raise DataError(f"the {what} must be a Spark DataFrame, not {type(rows).__name__}{hint}")


def check_columns(names: Sequence[str], added: str | None = None) -> None:
    """Raises DataError where two columns of the events, or one of them and an added one, have the same name."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(f"two columns of the events are named '{repeated[0]}'; rename one of them")
    if not names:
        raise DataError("the events have no columns")
    taken = next((name for name in names if name.lower() == added), None)
    if taken is not None:
        raise DataError(
            f"the events have a column '{taken}', which is the name of the result; "
            f"rename it first: events.withColumnRenamed('{taken}', …)"
        )


def lists_type(events: StructType, name: str = MATCHED) -> StructType:
    """Event columns and, under a name, the ids of all matching subscriptions, in any order."""
    matched = StructField(name, IDS_TYPE, nullable=False)
    return StructType([*events.fields, matched])


def spark_type(schema: Schema) -> StructType:
    """A schema as Spark's; dotted names become nested structs, as filters reach into them."""
    tree: dict[str, object] = {}
    for attribute in schema.attributes:
        *parents, leaf = attribute.name.split(".")
        place = tree
        for parent in parents:
            inner = place.setdefault(parent, {})
            if not isinstance(inner, dict):
                raise DataError(f"'{attribute.name}' lies inside '{parent}', which is an attribute itself")
            place = inner
        if leaf in place:
            raise DataError(f"'{attribute.name}' is both an attribute and holds others")
        place[leaf] = _TYPES[attribute.type]
    return _struct(tree)


def _struct(tree: dict[str, object]) -> StructType:
    fields = []
    for name, item in tree.items():
        kind = _struct(item) if isinstance(item, dict) else item
        assert isinstance(kind, DataType)
        fields.append(StructField(name, kind))
    return StructType(fields)
