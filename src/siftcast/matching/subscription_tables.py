"""Subscriptions in an Arrow table, read in chunks: as texts of filters, or as columns of bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siftcast.matching.arrow_times import has_out_of_range
from siftcast.matching.contract import Bounds
from siftcast.model import DataError, Filter, Schema, SiftcastError
from siftcast.model.values import Kind

CHUNK_ROWS = 65_536
_OTHER_COLUMNS = ("id", "subscriber", "delay_ms_max", "bandwidth")


@dataclass(frozen=True, slots=True)
class BoundsChunk:
    """The intervals of one chunk of subscriptions."""

    bounds: list[Bounds]


Chunk = list[Filter] | BoundsChunk
Look = Callable[[Filter], None]


def subscription_chunks(
    table: pa.Table, schema: Schema | None, look: Look | None = None
) -> Iterator[tuple[list[str], Chunk]]:
    """Ids and filters, or ids and bounds, chunk by chunk; raises DataError with the row that is wrong."""
    names = table.column_names
    if "id" not in names:
        raise DataError(f"the table of subscriptions has no column 'id'; it has {', '.join(names) or 'none'}")
    if table["id"].null_count:
        raise DataError("the column 'id' has nulls")
    if len(set(names)) < len(names):
        raise DataError("two columns of the table have the same name")
    texts = "filter" in names
    for start in range(0, table.num_rows, CHUNK_ROWS):
        chunk = table.slice(start, CHUNK_ROWS)
        yield _ids(chunk["id"]), _read_filters(chunk, start, schema, look) if texts else _read_bounds(chunk, schema)


def _ids(column: pa.ChunkedArray) -> list[str]:
    try:
        ids: list[str] = column.cast(pa.string()).to_pylist()
    except pa.ArrowException as error:
        raise DataError(f"the column 'id' is of type {column.type}, which makes no ids: {error}") from error
    return ids


def _read_filters(chunk: pa.Table, start: int, schema: Schema | None, look: Look | None) -> list[Filter]:
    texts = chunk["filter"].to_pylist()
    dialects = chunk["dialect"].to_pylist() if "dialect" in chunk.column_names else None
    filters: list[Filter] = []
    try:
        for text in texts:
            filter_ = Filter.parse(text, (dialects[len(filters)] if dialects else None) or "sql")
            if schema is not None:
                filter_.check(schema)
            if look is not None:
                look(filter_)
            filters.append(filter_)
    except SiftcastError as error:
        row = start + len(filters)
        raise DataError(f"subscription '{chunk['id'][len(filters)]}' (row {row}): {error}") from error
    return filters


def _read_bounds(chunk: pa.Table, schema: Schema | None) -> BoundsChunk:
    by_name: dict[str, dict[str, pa.Array]] = {}
    for name in chunk.column_names:
        if name in _OTHER_COLUMNS:
            continue
        stem, _, end = name.rpartition(".")
        attribute, end = (stem, end) if stem and end in ("min", "max") else (name, "equal")
        by_name.setdefault(attribute, {})[end] = _whole(chunk[name], name)
    bounds: list[Bounds] = []
    for attribute, columns in by_name.items():
        if "equal" in columns and len(columns) > 1:
            raise DataError(f"give either '{attribute}' or '{attribute}.min' and '{attribute}.max', not both")
        known = next(iter(columns.values()))
        empty = pa.nulls(len(known), known.type)
        low = columns.get("min", columns.get("equal", empty))
        high = columns.get("max", columns.get("equal", empty))
        if low.type != high.type:
            raise DataError(f"'{attribute}.min' is {low.type}, but '{attribute}.max' is {high.type}")
        bounds.append(Bounds(tuple(attribute.split(".")), low, high))
        if schema is not None:
            _check_bounds(attribute, low, schema)
    return BoundsChunk(bounds)


def _whole(column: pa.ChunkedArray, name: str) -> pa.Array:
    array = pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = array.dictionary_decode()
        kind = array.type
    if pa.types.is_floating(kind) and np.isnan(pc.fill_null(array, 0).to_numpy(zero_copy_only=False)).any():
        raise DataError(f"the column '{name}' has NaN, which no value can be compared with; use null for an open end")
    if _kind_of(kind) is None:
        raise DataError(f"the column '{name}' is of type {kind}; bounds are numbers, strings, booleans or timestamps")
    if pa.types.is_timestamp(kind) and has_out_of_range(array):
        raise DataError(f"the column '{name}' has a timestamp beyond the years 1 to 9999; use null for an open end")
    return array


def _check_bounds(attribute: str, column: pa.Array, schema: Schema) -> None:
    known = schema[attribute]
    if known.kind is not _kind_of(column.type):
        raise DataError(f"attribute '{attribute}' is of type {known.type}, but its bounds are {column.type}")


def _kind_of(kind: pa.DataType) -> Kind | None:
    """The kind of value that bounds of an Arrow type are; None of what cannot be one."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return Kind.NUMBER
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return Kind.STRING
    if pa.types.is_boolean(kind):
        return Kind.BOOLEAN
    return Kind.TIMESTAMP if pa.types.is_timestamp(kind) else None
