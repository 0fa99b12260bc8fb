"""The two tables of a workload: their columns, types and identifiers.

    events          event_id int64, publisher string, then one column per attribute of the schema
    subscriptions   id string, filter string, subscriber string
                    [, delay_ms_max float64] [, hot_spot int64, null for the background]

An attribute with a dotted name (`position.x`) is a field of a struct column (`position`), so that
`table.flatten()` has exactly the schema's names again. The two leading columns are not attributes: the
identifier lets results be joined back, and the publisher is where a simulated event enters the network.
Identifiers count from 1. Cost: O(rows), in Arrow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from siftcast.model import Schema
from siftcast.workloads.content_values import Integers
from siftcast.workloads.filter_text import Text, integer_text, join_text
from siftcast.workloads.hot_spots import NO_SPOT

LEADING_COLUMNS = ("event_id", "publisher")

ARROW_TYPES: Mapping[str, Any] = {
    "int": pa.int64(),
    "float": pa.float64(),
    "string": pa.string(),
    "bool": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}

SUBSCRIPTION_TYPES: Mapping[str, Any] = {
    "id": pa.string(),
    "filter": pa.string(),
    "subscriber": pa.string(),
    "delay_ms_max": pa.float64(),
    "hot_spot": pa.int64(),
}


def events_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema of a workload's events."""
    fields: dict[str, Any] = {"event_id": pa.int64(), "publisher": pa.string()}
    nested: dict[str, list[Any]] = {}
    for attribute in schema.attributes:
        outer, dot, inner = attribute.name.partition(".")
        kind = ARROW_TYPES[attribute.type]
        if dot:
            nested.setdefault(outer, []).append(pa.field(inner, kind))
            fields[outer] = pa.struct(nested[outer])
        else:
            fields[outer] = kind
    return pa.schema(list(fields.items()))


def events_table(schema: Schema, columns: Mapping[str, Any], *, publishers: Text) -> pa.Table:
    """Assemble the events from one column (numpy or Arrow) per attribute."""
    target = events_schema(schema)
    count = len(publishers)
    arrays: list[Any] = [pa.array(np.arange(1, count + 1, dtype=np.int64)), publishers]
    for field in list(target)[len(LEADING_COLUMNS) :]:
        if pa.types.is_struct(field.type):
            members = [_typed(columns[f"{field.name}.{member.name}"], member.type) for member in field.type]
            arrays.append(pa.StructArray.from_arrays(members, fields=list(field.type)))
        else:
            arrays.append(_typed(columns[field.name], field.type))
    return pa.Table.from_arrays(arrays, schema=target)


def _typed(column: Any, kind: Any) -> Any:
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column.cast(kind)
    return pa.array(column).cast(kind)


def subscriptions_table(
    filters: Text,
    *,
    subscribers: Text,
    delay_ms_max: npt.NDArray[np.float64] | None = None,
    hot_spots: Integers | None = None,
) -> pa.Table:
    """Assemble the subscriptions; the optional columns are there only if given."""
    columns: dict[str, Any] = {
        "id": numbered("sub", np.arange(1, len(filters) + 1)),
        "filter": filters,
        "subscriber": subscribers,
    }
    if delay_ms_max is not None:
        columns["delay_ms_max"] = pa.array(delay_ms_max)
    if hot_spots is not None:
        columns["hot_spot"] = pa.array(hot_spots, mask=hot_spots == NO_SPOT)
    kinds = pa.schema([(name, SUBSCRIPTION_TYPES[name]) for name in columns])
    return pa.table(columns, schema=kinds)


def numbered(word: str, numbers: npt.NDArray[Any]) -> Text:
    """Names such as `server-17`."""
    return join_text(f"{word}-", integer_text(numbers))


def draw_parties(word: str, count: int, *, parties: int, rng: np.random.Generator) -> Text:
    """Name a random one of `parties` publishers or subscribers for each row."""
    return numbered(word, rng.integers(1, parties, size=count, endpoint=True, dtype=np.int64))
