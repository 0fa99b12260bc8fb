"""The rows of an Arrow table as Python dicts, for code that must look at one event at a time.

Only the columns that filters name are read: the others may be large, or hold values that Python cannot.
Timestamps finer than a microsecond are cut to it first: that is the resolution of Siftcast (and of Python), and Arrow
would otherwise need pandas to hand them over. A cell that Python cannot hold at all (a list with a moment beyond the
year 9999) is present, and compares with nothing. A column of texts that are not UTF-8 is refused, since some of its
cells would silently match nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

import pyarrow as pa

from siftcast.matching.arrow_times import in_microseconds
from siftcast.model import DataError, Filter
from siftcast.model.expression import references
from siftcast.model.template import Template


class NotTextError(DataError):
    """A column of texts holds bytes that are not UTF-8."""


_UNREAD = (pa.ArrowException, ValueError, OverflowError, TypeError, ImportError)
UNREADABLE = object()  # not null, and of no kind that compares

_names: WeakKeyDictionary[Template, frozenset[str]] = WeakKeyDictionary()


def named_columns(table: pa.Table, filters: Iterable[Filter]) -> pa.Table:
    """The table with only the columns that some of these filters may look at."""
    named: set[str] = set()
    for template in {filter_.template for filter_ in filters}:
        names = _names.get(template)
        if names is None:
            paths = {reference.path for reference in references(template.tree)}
            names = _names[template] = frozenset(name for path in paths for name in (".".join(path), path[0]))
        named |= names
    return table.select([name for name in table.column_names if name in named])


def event_columns(table: pa.Table) -> dict[str, list[object]]:
    """The columns of a table as lists of Python values."""
    readable = in_microseconds(table)
    return {name: cells_of(readable.column(place)) for place, name in enumerate(readable.column_names)}


def event_rows(table: pa.Table) -> list[dict[str, object]]:
    """The rows of a table as dicts."""
    columns = event_columns(table)
    if not columns:
        return [{} for _ in range(table.num_rows)]
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def cells_of(array: pa.Array | pa.ChunkedArray) -> list[object]:
    """The cells of a column as Python values; raises NotTextError for texts that are not UTF-8."""
    try:
        cells: list[object] = array.to_pylist()
        return cells
    except UnicodeDecodeError as error:
        if not pa.types.is_nested(array.type):
            raise NotTextError(f"a text of the events is not valid UTF-8 ({error})") from None
    except _UNREAD:
        pass
    return _one_by_one(array)


def _inner_cells(array: pa.Array) -> list[object]:
    """Likewise for a part of other cells: what cannot be read there may be of no concern."""
    try:
        cells: list[object] = array.to_pylist()
        return cells
    except _UNREAD:
        return _one_by_one(array)


def _one_by_one(array: pa.Array | pa.ChunkedArray) -> list[object]:
    if isinstance(array, pa.ChunkedArray):
        return [cell for chunk in array.chunks for cell in _inner_cells(chunk)]
    if pa.types.is_struct(array.type):
        names = [field.name for field in array.type]
        rows = zip(*(_inner_cells(field) for field in array.flatten()), strict=True)
        return [
            dict(zip(names, row, strict=True)) if valid else None
            for row, valid in zip(rows, array.is_valid().to_pylist(), strict=True)
        ]
    return [_cell(array, place) for place in range(len(array))]


def _cell(array: pa.Array, place: int) -> object:
    try:
        return array[place].as_py()
    except _UNREAD:
        return UNREADABLE
