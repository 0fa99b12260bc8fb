"""Columns of bounds as columns of keys, without a Python object for each subscription."""

from __future__ import annotations

import numpy as np

from siftcast.matching.contract import Bounds, Int64Array
from siftcast.matching.tiles.columns import reader_of
from siftcast.matching.tiles.keys import EXACT_MAX, KEY_MAX, KEY_MIN, Mask, number_key
from siftcast.matching.tiles.ordering import MISSING
from siftcast.matching.tiles.plans import Columns
from siftcast.model.values import Kind

_EXACT_LOW, _EXACT_HIGH = number_key(-EXACT_MAX), number_key(EXACT_MAX)


def bound_columns(bounds: Bounds, regular: Mask) -> Columns | None:
    """The intervals of one attribute; clears `regular` for rows that must go the general way.

    Those are rows with a number too large to be decided by its key, and rows whose interval is empty.
    """
    own, read = reader_of(bounds.lows.type)
    if own is None or read is None:
        return _string_columns(bounds, regular)
    lows, highs = read(bounds.lows), read(bounds.highs)
    if own is Kind.NUMBER:
        regular &= _exact(lows) & _exact(highs)
    free = (lows == MISSING) & (highs == MISSING)
    lows = np.where(lows == MISSING, KEY_MIN, lows)
    highs = np.where(highs == MISSING, KEY_MAX, highs)
    regular &= lows <= highs
    rows = np.flatnonzero(~free & (lows <= highs)).astype(np.int32)
    return Columns((bounds.path, own), lows[rows], highs[rows], rows) if len(rows) else None


def _exact(keys: Int64Array) -> Mask:
    inside: Mask = (keys == MISSING) | ((keys > _EXACT_LOW) & (keys < _EXACT_HIGH))
    return inside


def _string_columns(bounds: Bounds, regular: Mask) -> Columns | None:
    lows: list[str] = []
    highs: list[str | None] = []
    rows: list[int] = []
    for row, (low, high) in enumerate(zip(bounds.lows.to_pylist(), bounds.highs.to_pylist(), strict=True)):
        if low is None and high is None:
            continue
        if low is not None and high is not None and low > high:
            regular[row] = False
            continue
        start = low if low is not None else ""
        lows.append(start)
        highs.append(high if high is None or high == start else high + "\0")
        rows.append(row)
    if not rows:
        return None
    return Columns((bounds.path, Kind.STRING), lows, highs, np.array(rows, np.int32))
