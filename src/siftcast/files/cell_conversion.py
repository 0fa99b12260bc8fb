"""Cells of a CSV column, as text, into values of one kind: the slow path, for blocks where Arrow's reader failed.

The rules are those of the fast path (`csv_events`): spaces around numbers and timestamps do not matter, a column of
numbers is held as integers if all of a block are and as floats if not, timestamps without a zone are in UTC. A misfit
is found by halving: a slice that converts has none; a slice of one cell that does not convert is one. That costs a
few conversions for few misfits, and two per cell if all are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from siftcast.model.values import Kind, parse_timestamp

MISSING = ("", "NA", "NaN", "null")
TRUE = ("true", "True", "TRUE")
FALSE = ("false", "False", "FALSE")
INSTANT = pa.timestamp("us", tz="UTC")
_BOOLEANS = {**dict.fromkeys(TRUE, True), **dict.fromkeys(FALSE, False)}

Converted = tuple[pa.Array, list[int]]


def guess_kind(cells: pa.Array) -> Kind | None:
    """The kind that all cells share; None if all are missing, text if they share no other."""
    if cells.null_count == len(cells):
        return None
    for kind in (Kind.NUMBER, Kind.BOOLEAN, Kind.TIMESTAMP):
        if not convert_cells(cells, kind)[1]:
            return kind
    return Kind.STRING


def convert_cells(cells: pa.Array, kind: Kind | None) -> Converted:
    """The cells as values, null where one is missing or does not fit, and the places of those that do not."""
    if kind is None:
        return pa.nulls(len(cells)), []
    if kind is Kind.STRING:
        return cells, []
    trimmed = pc.utf8_trim_whitespace(cells)
    if kind is Kind.NUMBER:
        return _convert_numbers(trimmed)
    return _convert_each(trimmed, *_READERS[kind])


def _convert_numbers(cells: pa.Array) -> Converted:
    for kind in (pa.int64(), pa.float64()):
        try:
            return cells.cast(kind), []
        except pa.ArrowInvalid:
            continue
    misfits = list(_find_misfits(cells, 0, len(cells)))
    misfit = pa.array([False] * len(cells), pa.bool_()).to_numpy(zero_copy_only=False)
    misfit[misfits] = True
    return pc.if_else(pa.array(misfit), pa.scalar(None, pa.string()), cells).cast(pa.float64()), misfits


def _find_misfits(cells: pa.Array, start: int, stop: int) -> list[int]:
    try:
        cells.slice(start, stop - start).cast(pa.float64())
        return []
    except pa.ArrowInvalid:
        if stop - start == 1:
            return [start]
        middle = (start + stop) // 2
        return [*_find_misfits(cells, start, middle), *_find_misfits(cells, middle, stop)]


def _convert_each(cells: pa.Array, kind: Any, read: Callable[[str], object]) -> Converted:
    values: list[object] = []
    misfits: list[int] = []
    known: dict[str, object] = {}
    for place, cell in enumerate(cells.to_pylist()):
        if cell is None:
            values.append(None)
            continue
        if cell not in known:
            try:
                known[cell] = read(cell)
            except (ValueError, KeyError):
                known[cell] = None
        values.append(known[cell])
        if known[cell] is None:
            misfits.append(place)
    return pa.array(values, kind), misfits


_READERS: dict[Kind, tuple[Any, Callable[[str], object]]] = {
    Kind.BOOLEAN: (pa.bool_(), _BOOLEANS.__getitem__),
    Kind.TIMESTAMP: (INSTANT, parse_timestamp),
}
