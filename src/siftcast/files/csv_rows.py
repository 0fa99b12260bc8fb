"""One row of CSV on its own, and the message for what is wrong with it."""

from __future__ import annotations

import csv

from siftcast.files.text_blocks import LINE_BYTES_MAX
from siftcast.model import SiftcastError
from siftcast.model.json_objects import not_utf8

csv.field_size_limit(LINE_BYTES_MAX)  # the module's own limit is 128 KiB, and Arrow has none
_SHOWN_MAX = 60


def read_cells(row: str | bytes, columns: int | None, error: type[SiftcastError], *, strict: bool = False) -> list[str]:
    """The cells of a row, as many as there are columns; raises the error. `strict` minds quotes in odd places."""
    try:
        text = row.decode() if isinstance(row, bytes) else row
        cells = next(csv.reader([text.removesuffix("\r")], strict=strict), [])
    except UnicodeDecodeError:
        raise error(not_utf8(row)) from None
    except csv.Error as problem:
        raise error(f"not valid CSV: {problem}") from None
    if columns is not None and len(cells) != columns:
        raise error(f"has {len(cells)} cells, but the header names {columns} columns")
    return cells


def cell_misfit(column: str, cell: str, wanted: str) -> str:
    """The reason for a cell that is not what its column wants ("a number")."""
    shown = cell if len(cell) <= _SHOWN_MAX else cell[: _SHOWN_MAX - 1] + "…"
    return f"column '{column}' holds {shown!r}, which is not {wanted}"
