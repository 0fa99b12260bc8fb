"""Filters as text, a column at a time.

A million filters written by an f-string loop take most of a minute; the same text joined from Arrow columns
takes a second or two. Each function takes columns (numpy or Arrow) and returns an Arrow string array with
one fragment per row; `join_text` puts fragments and constant words together. Nothing here knows what a
filter means: the text is the SQL dialect that `siftcast.model.Filter.parse` reads.

Floats are written from scaled integers, never from `repr`: Arrow would write 0.00001 as 1e-05, and a bound
that was rounded for display would no longer be the bound that was drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Text = Any  # pa.StringArray; pyarrow ships no type stubs.


def quote(text: str) -> str:
    """A string literal of the dialect."""
    return "'" + text.replace("'", "''") + "'"


def quote_all(words: Sequence[str]) -> Text:
    """String literals of a vocabulary, to be picked from by index."""
    return pa.array([quote(word) for word in words], type=pa.string())


def pick(words: Text | Sequence[str], indices: npt.NDArray[Any]) -> Text:
    """Take words by index; a sequence is used as it is, without quotes."""
    source = words if isinstance(words, pa.Array) else pa.array(words, type=pa.string())
    return source.take(pa.array(indices))


def join_text(*parts: str | Text) -> Text:
    """Join constants and columns, row by row; at least one part must be a column."""
    return pc.binary_join_element_wise(*parts, "")


def integer_text(values: npt.NDArray[Any]) -> Text:
    """Write integers."""
    return pc.cast(pa.array(values), pa.string())


def decimal_text(values: npt.NDArray[np.float64], decimals: int) -> Text:
    """Write numbers with exactly `decimals` digits after the point."""
    scaled = np.rint(values * 10.0**decimals).astype(np.int64)
    whole, fraction = np.divmod(np.abs(scaled), 10**decimals)
    sign = pick(["", "-"], (scaled < 0).astype(np.int8))
    padded = pc.utf8_lpad(integer_text(fraction), decimals, "0")
    return join_text(sign, integer_text(whole), ".", padded)


def between_text(attribute: str, low: Text, high: Text) -> Text:
    """Write `attribute BETWEEN low AND high`."""
    return join_text(f"{attribute} BETWEEN ", low, " AND ", high)


def all_of(fragments: Sequence[Text]) -> Text:
    """Write the conjunction of fragments, row by row."""
    return pc.binary_join_element_wise(*fragments, " AND ")


def set_text(attribute: str, literals: Text, members: npt.NDArray[np.bool_], *, empty: str) -> Text:
    """Write `attribute IN (...)` for each row of a membership matrix, `empty` where a row has no member."""
    counts = np.count_nonzero(members, axis=1)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    chosen = pick(literals, np.nonzero(members)[1].astype(np.int32))
    lists = pa.ListArray.from_arrays(pa.array(offsets), chosen)
    written = join_text(f"{attribute} IN (", pc.binary_join(lists, ", "), ")")
    return pc.if_else(pa.array(counts > 0), written, empty)
