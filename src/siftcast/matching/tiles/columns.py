"""The keys of a whole table of events, column by column, without a Python object for each cell.

A column of a plain Arrow type becomes keys by NumPy arithmetic; strings are taken through their distinct values.
Any other type (unions, extension types) is read cell by cell, so that the answer never depends on how the events
came. Columns are computed when first asked for and kept for the other segments of the same batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siftcast.matching.contract import Int64Array
from siftcast.matching.event_rows import cells_of
from siftcast.matching.tiles.keys import PRESENCE, Dimension, Path, StringRanks, number_keys, plain_key
from siftcast.matching.tiles.ordering import MISSING
from siftcast.matching.tiles.residues import UNKNOWN, answers_for
from siftcast.model.like import LikePattern
from siftcast.model.values import Kind, kind_of, normalise

_MICROSECONDS = {"s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}
_DAY = 86_400_000_000

Strings = tuple[list[Any], Int64Array]  # distinct values, and for each row the index of its own; the last is "none"


class KeyColumns:
    """The events of one batch as key columns."""

    __slots__ = ("_answers", "_arrays", "_keys", "_places", "_strings", "_table", "rows")

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.rows = table.num_rows
        self._places = {name: place for place, name in enumerate(table.column_names)}
        self._arrays: dict[Path, pa.Array | None] = {}
        self._keys: dict[Dimension, Int64Array | None] = {}
        self._strings: dict[Path, Strings | None] = {}
        self._answers: dict[tuple[Path, str], np.ndarray[Any, np.dtype[np.uint8]]] = {}

    def keys(self, dimension: Dimension, ranks: StringRanks | None) -> Int64Array | None:
        """The keys of all events on a dimension; None where every one is missing."""
        if dimension[1] is Kind.STRING:
            assert ranks is not None
            return self._string_keys(dimension[0], ranks)
        if dimension not in self._keys:
            self._keys[dimension] = self._plain_keys(dimension)
        return self._keys[dimension]

    def array(self, path: Path) -> pa.Array | None:
        """The column of an attribute: the flat one of its dotted name, else the field inside a struct."""
        if path not in self._arrays:
            self._arrays[path] = self._find(path)
        return self._arrays[path]

    def _find(self, path: Path) -> pa.Array | None:
        place = self._places.get(".".join(path))
        if place is not None:
            return _whole(self._table.column(place))
        place = self._places.get(path[0])
        if place is None:
            return None
        array = _whole(self._table.column(place))
        for part in path[1:]:
            if not pa.types.is_struct(array.type) or array.type.get_field_index(part) < 0:
                return None
            array = pc.struct_field(array, [part])
        return array

    def _plain_keys(self, dimension: Dimension) -> Int64Array | None:
        path, kind = dimension
        array = self.array(path)
        if kind == PRESENCE:
            if array is None:
                return np.zeros(self.rows, np.int64)
            return np.asarray(array.is_valid()).astype(np.int64)
        if array is None or array.null_count == len(array):
            return None
        own, read = reader_of(array.type)
        if own is None:
            return _cell_keys(array, kind)
        return read(array) if own is kind and read is not None else None

    def answers(self, path: Path, pattern: LikePattern, start: int, stop: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """How a pattern comes out on the events from `start` to `stop`, tried once for each distinct string."""
        found = self._distinct(path)
        if found is None:
            return np.full(stop - start, UNKNOWN, np.uint8)
        known = self._answers.get((path, pattern.source))
        if known is None:
            known = self._answers[path, pattern.source] = answers_for(pattern, found[0])
        return known[found[1][start:stop]]

    def _distinct(self, path: Path) -> Strings | None:
        if path not in self._strings:
            array = self.array(path)
            self._strings[path] = None if array is None else _distinct_strings(array)
        return self._strings[path]

    def _string_keys(self, path: Path, ranks: StringRanks) -> Int64Array | None:
        found = self._distinct(path)
        if found is None:
            return None
        distinct, indices = found
        by_value = np.array([ranks.key(value) if type(value) is str else MISSING for value in distinct], np.int64)
        return by_value[indices]


def _whole(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def reader_of(kind: pa.DataType) -> tuple[Kind | None, Callable[[pa.Array], Int64Array] | None]:
    """The kind of value in a column and what reads its keys (strings have ranks); none if cells must be looked at."""
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return Kind.NUMBER, _number_keys
    if pa.types.is_boolean(kind):
        return Kind.BOOLEAN, _boolean_keys
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return Kind.TIMESTAMP, _moment_keys
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return Kind.STRING, None
    return None, None


def _boolean_keys(array: pa.Array) -> Int64Array:
    """The keys of a column of booleans."""
    return _filled(array, array.cast(pa.int8()))


def _number_keys(array: pa.Array) -> Int64Array:
    """The keys of a column of numbers."""
    values = array.to_numpy(zero_copy_only=False)
    if array.null_count and pa.types.is_integer(array.type) and values.dtype == object:
        values = np.array([np.nan if value is None else float(value) for value in values])
    return number_keys(np.ascontiguousarray(values, np.float64))


def _moment_keys(array: pa.Array) -> Int64Array:
    """The keys of a column of timestamps or dates."""
    kind = array.type
    if pa.types.is_date(kind):
        days = array.cast(pa.date32()).cast(pa.int32())
        return _filled(array, days, _DAY)
    factor, divisor = _MICROSECONDS[kind.unit]
    return _filled(array, array.cast(pa.int64()), factor, divisor)


def _filled(array: pa.Array, integers: pa.Array, factor: int = 1, divisor: int = 1) -> Int64Array:
    filled = integers.fill_null(0) if array.null_count else integers
    keys: Int64Array = filled.to_numpy(zero_copy_only=False).astype(np.int64)
    keys = keys // divisor if divisor > 1 else keys * factor
    if array.null_count:
        keys[~np.asarray(array.is_valid())] = MISSING
    return keys


def _distinct_strings(array: pa.Array) -> Strings | None:
    kind = array.type
    plain = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type):
        encoded = array
    elif plain:
        encoded = array.dictionary_encode()
    elif reader_of(kind)[0] is not None:
        return None
    else:
        cells = [normalise(cell) for cell in cells_of(array)]
        return cells, np.arange(len(cells))
    indices = encoded.indices
    distinct = cells_of(encoded.dictionary)
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(len(distinct))  # the last index may be the greatest of its type
    distinct.append(None)
    return distinct, indices.to_numpy(zero_copy_only=False)


def _cell_keys(array: pa.Array, kind: Kind | str) -> Int64Array | None:
    """Keys of a column whose cells must be looked at one by one."""
    if kind is Kind.STRING:
        return None
    cells = (normalise(cell) for cell in cells_of(array))
    return np.array([plain_key(cell) if kind_of(cell) is kind else MISSING for cell in cells], np.int64)
