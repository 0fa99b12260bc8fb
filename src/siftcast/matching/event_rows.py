"""The rows of an Arrow table as Python dicts, for whatever must look at one event at a time.

Timestamps finer than a microsecond are cut to it first: that is the resolution of Siftcast (and of Python), and
Arrow would otherwise need pandas to hand them over.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def event_columns(table: pa.Table) -> dict[str, list[object]]:
    """The columns of a table as lists of Python values."""
    columns: dict[str, list[object]] = _in_microseconds(table).to_pydict()
    return columns


def event_rows(table: pa.Table) -> list[dict[str, object]]:
    """The rows of a table as dicts."""
    rows: list[dict[str, object]] = _in_microseconds(table).to_pylist()
    return rows


def _in_microseconds(table: pa.Table) -> pa.Table:
    for index, field in enumerate(table.schema):
        wanted = _coarser(field.type)
        if wanted != field.type:
            column = table.column(index)
            if pa.types.is_timestamp(field.type):
                column = pc.floor_temporal(column, unit="microsecond")
            table = table.set_column(index, field.name, column.cast(wanted, safe=False))
    return table


def _coarser(kind: pa.DataType) -> pa.DataType:
    """The type with microseconds wherever it has nanoseconds."""
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_coarser(field.type)) for field in kind])
    return kind
