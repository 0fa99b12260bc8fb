"""Timestamps and dates of Arrow tables as the model has them: microseconds in UTC, within the years 1 to 9999.

Arrow counts in 64 bits from seconds to nanoseconds: seconds reach beyond the end of the sun, and nanoseconds are
finer than Python's clock. A moment that Python has no datetime for has no value here: it is null, for every engine
alike.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

_FIRST_S, _LAST_S, _DAY_S = -62_135_596_800, 253_402_300_799, 86_400  # the first and last second that Python knows
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000}


def in_range(table: pa.Table) -> pa.Table:
    """The table with null for every moment that is out of range; the very same where there is none."""
    return _changed(table, _in_range)


def in_microseconds(table: pa.Table) -> pa.Table:
    """The table with moments to the microsecond, the finer part cut off, and in UTC."""
    return _changed(table, column_in_microseconds)


def has_out_of_range(column: pa.Array) -> bool:
    """Whether a column of timestamps has a moment that is out of range."""
    return bool(column.null_count < _in_range(column).null_count)


def _changed(table: pa.Table, change: Callable[[pa.Array], pa.Array]) -> pa.Table:
    for index, field in enumerate(table.schema):
        if _has_moments(field.type):
            chunks = table.column(index).chunks
            changed = list(map(change, chunks))
            if any(new is not old for new, old in zip(changed, chunks, strict=True)):
                table = table.set_column(index, field.name, pa.chunked_array(changed))
    return table


def _has_moments(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return any(_has_moments(field.type) for field in kind)
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def _in_range(array: pa.Array) -> pa.Array:
    kind = array.type
    if pa.types.is_struct(kind):
        return _with_fields(array, _in_range)
    if pa.types.is_date32(kind):
        counts, first, last = array.cast(pa.int32()), _FIRST_S // _DAY_S, _LAST_S // _DAY_S
    elif pa.types.is_date64(kind):
        counts, first, last = array.cast(pa.int64()), _FIRST_S * 1_000, _LAST_S * 1_000 + 999
    elif pa.types.is_timestamp(kind) and kind.unit in _PER_SECOND:
        each = _PER_SECOND[kind.unit]
        counts, first, last = array.cast(pa.int64()), _FIRST_S * each, _LAST_S * each + each - 1
    else:
        return array
    ends = pc.min_max(counts)
    if not ends["min"].is_valid or (ends["min"].as_py() >= first and ends["max"].as_py() <= last):
        return array
    inside = pc.and_(pc.greater_equal(counts, first), pc.less_equal(counts, last))
    return pc.if_else(inside, array, pa.scalar(None, kind))


def column_in_microseconds(array: pa.Array) -> pa.Array:
    """The same for one column."""
    kind = array.type
    if pa.types.is_struct(kind):
        return _with_fields(array, column_in_microseconds)
    if not pa.types.is_timestamp(kind) or (kind.unit != "ns" and kind.tz in (None, "UTC")):
        return array
    if kind.unit == "ns":
        array = pc.floor_temporal(array.cast(pa.timestamp("ns")), unit="microsecond").cast(pa.timestamp("us"))
    return array.cast(pa.timestamp(array.type.unit, kind.tz and "UTC"))


def _with_fields(array: pa.StructArray, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
    fields = array.flatten()
    changed = [change(field) if _has_moments(field.type) else field for field in fields]
    if all(new is old for new, old in zip(changed, fields, strict=True)):
        return array
    kinds = [field.with_type(new.type) for field, new in zip(array.type, changed, strict=True)]
    return pa.StructArray.from_arrays(changed, fields=kinds, mask=array.is_null())
