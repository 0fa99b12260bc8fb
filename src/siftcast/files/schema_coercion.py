"""A schema applied to a table of events: the same verdicts as `Schema.coerce`, one column at a time.

A column that surely fits (it casts without loss and lies inside the domain) is converted by Arrow. Any other
column of the block is converted value by value by the schema itself, which also gives the reasons. So the fast path
never has to agree with the slow one about a doubtful value, only about the harmless ones.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siftcast.files.event_blocks import Numbers, kind_of_column
from siftcast.model import Attribute, Schema, SchemaError
from siftcast.model.values import microseconds

ARROW_TYPES: dict[str, Any] = {
    "int": pa.int64(),
    "float": pa.float64(),
    "string": pa.string(),
    "bool": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
_DATE, _TIME = r"^\d{4}-\d\d-\d\d", r"[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?"
_INSTANT_TEXTS: tuple[tuple[str, Any], ...] = (
    (rf"{_DATE}{_TIME}(Z|[+-]\d\d:\d\d)$", pa.timestamp("us", tz="UTC")),
    (rf"{_DATE}({_TIME})?$", pa.timestamp("us")),
)
_FIRST, _LAST = (microseconds(moment.replace(tzinfo=UTC)) for moment in (datetime.min, datetime.max))


Misfits = dict[int, SchemaError]


def fit_table(
    table: pa.Table, numbers: Numbers, schema: Schema | None, reject: Callable[[Misfits], None]
) -> tuple[pa.Table, Numbers]:
    """The events that fit the schema, and their numbers; the rows and errors of the others are passed on."""
    if schema is None:
        return table, numbers
    table, misfits = coerce_table(table, schema)
    if misfits:
        reject({row: misfits[row] for row in sorted(misfits)})
        kept = np.delete(np.arange(len(numbers)), list(misfits))
        table, numbers = table.take(pa.array(kept)), numbers[kept]
    return table, numbers


def coerce_table(table: pa.Table, schema: Schema) -> tuple[pa.Table, Misfits]:
    """The table with the schema's types, and for each row that does not fit the first error."""
    misfits: Misfits = {}
    for attribute in schema:
        path = [attribute.name] if attribute.name in table.column_names else attribute.name.split(".")
        place = table.schema.get_field_index(path[0])
        if place >= 0:
            converted = _convert(table.column(place), path[1:], attribute, misfits)
            table = table.set_column(place, path[0], converted)
    return table, misfits


def _convert(column: pa.ChunkedArray, path: list[str], attribute: Attribute, misfits: Misfits) -> pa.ChunkedArray:
    """A column in which what lies at a path has the attribute's type; as it is where nothing lies there."""
    if not path:
        converted = _convert_safely(column, attribute)
        return _convert_each(column, attribute, misfits) if converted is None else converted
    place = column.type.get_field_index(path[0]) if pa.types.is_struct(column.type) else -1
    if place < 0:
        return column
    parts = column.flatten()
    parts[place] = _convert(parts[place], path[1:], attribute, misfits)
    names = [field.name for field in column.type]
    missing = column.is_null().combine_chunks()
    whole = pa.StructArray.from_arrays([part.combine_chunks() for part in parts], names, mask=missing)
    return pa.chunked_array([whole])


def _convert_safely(column: pa.ChunkedArray, attribute: Attribute) -> pa.ChunkedArray | None:
    """The column in the attribute's type if every value surely fits, else None."""
    try:
        if attribute.type == "timestamp" and pa.types.is_string(column.type):
            converted = _read_instants(column)
        elif _same_kind(column.type, attribute):
            converted = column.cast(ARROW_TYPES[attribute.type])
        else:
            return None
    except pa.ArrowException:
        return None
    if converted is None:
        return None
    if attribute.type == "float" and pc.any(pc.is_nan(converted)).as_py():
        return None
    return converted if _inside_domain(converted, attribute) else None


def _read_instants(texts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Texts as instants if all have a zone or none has, and none has more digits than a microsecond; else None.

    Arrow also reads other texts, such as 2024-05-01T10Z, which are not timestamps here: hence the patterns.
    """
    for pattern, kind in _INSTANT_TEXTS:
        if pc.all(pc.match_substring_regex(texts, pattern), min_count=0).as_py():
            instants = texts.cast(kind).cast(ARROW_TYPES["timestamp"])
            extremes = pc.min_max(instants.cast(pa.int64())).as_py()
            inside = extremes["min"] is None or (extremes["min"] >= _FIRST and extremes["max"] <= _LAST)
            return instants if inside else None
    return None


def _same_kind(kind: Any, attribute: Attribute) -> bool:
    if pa.types.is_date(kind):
        return False
    return bool(pa.types.is_null(kind)) or kind_of_column(kind) is attribute.kind


def _inside_domain(column: pa.ChunkedArray, attribute: Attribute) -> bool:
    domain = attribute.domain
    if domain is None or column.null_count == len(column):
        return True
    if attribute.type == "string":
        known = pc.is_in(column, value_set=pa.array(domain, pa.string()))
        return bool(pc.all(pc.or_(known, pc.is_null(column))).as_py())
    extremes = pc.min_max(column).as_py()
    return bool(domain[0] <= extremes["min"] and extremes["max"] <= domain[1])


def _convert_each(column: pa.ChunkedArray, attribute: Attribute, misfits: Misfits) -> pa.ChunkedArray:
    values: list[object] = []
    for row, value in enumerate(column.to_pylist()):
        try:
            values.append(attribute.coerce(value))
        except SchemaError as error:
            values.append(None)
            misfits.setdefault(row, error)
    try:
        return pa.chunked_array([pa.array(values, ARROW_TYPES[attribute.type])])
    except (OverflowError, pa.ArrowInvalid):  # integers beyond int64; as unsigned ones or floats they are right as well
        fits = pa.array([value is not None for value in values], pa.bool_())
        return pa.chunked_array([pc.if_else(fits, column.combine_chunks(), pa.scalar(None, column.type))])
