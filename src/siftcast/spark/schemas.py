"""The types of the tables that go in and come out, and the checks at the door."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from pyspark.sql import DataFrame
from pyspark.sql import types as t

from siftcast.files import Rejection
from siftcast.model import DataError, Schema

Output = Literal["pairs", "lists"]
SUBSCRIPTION_ID = "subscription_id"
MATCHED = "matched"
RESULT_COLUMN: dict[str, str] = {"pairs": SUBSCRIPTION_ID, "lists": MATCHED}

IDS_TYPE = t.ArrayType(t.StringType(), containsNull=False)
SUBSCRIPTIONS = t.StructType(
    [t.StructField(name, t.StringType()) for name in ("id", "filter", "dialect", "subscriber")]
)
DEAD_LETTERS = t.StructType(
    [t.StructField(name, t.StringType(), nullable=False) for name in Rejection.__struct_fields__]
)

_TYPES: dict[str, t.DataType] = {
    "int": t.LongType(),
    "float": t.DoubleType(),
    "string": t.StringType(),
    "bool": t.BooleanType(),
    "timestamp": t.TimestampType(),
}


def check_event_columns(names: Sequence[str], output: str) -> None:
    """Raises DataError for an output that there is not, and where it could not be told from the columns of the events.

    Upper and lower case count as equal, because Spark takes them so and would call the column ambiguous later.
    """
    if output not in RESULT_COLUMN:
        raise DataError(f"output must be 'pairs' or 'lists', not {output!r}")
    check_columns(names, RESULT_COLUMN[output])


def check_frame(rows: object, what: str) -> None:
    """Raises DataError for rows that are read but not yet sorted into good and bad ones, or are not a table at all."""
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


def lists_type(events: t.StructType, name: str = MATCHED) -> t.StructType:
    """Event columns and, under a name, the ids of all matching subscriptions, in any order."""
    matched = t.StructField(name, IDS_TYPE, nullable=False)
    return t.StructType([*events.fields, matched])


def spark_type(schema: Schema) -> t.StructType:
    """A schema as Spark's; dotted names become nested structs, as filters reach into them."""
    tree: dict[str, object] = {}
    for attribute in schema.attributes:
        *parents, leaf = attribute.name.split(".")
        inside = tree
        for parent in parents:
            inner = inside.setdefault(parent, {})
            if not isinstance(inner, dict):
                raise DataError(f"'{attribute.name}' lies inside '{parent}', which is an attribute itself")
            inside = inner
        if leaf in inside:
            raise DataError(f"'{attribute.name}' is both an attribute and holds others")
        inside[leaf] = _TYPES[attribute.type]
    return _struct(tree)


def _struct(tree: dict[str, object]) -> t.StructType:
    fields = []
    for name, item in tree.items():
        kind = _struct(item) if isinstance(item, dict) else item
        assert isinstance(kind, t.DataType)
        fields.append(t.StructField(name, kind))
    return t.StructType(fields)
