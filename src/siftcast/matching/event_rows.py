"""The rows of an Arrow table as Python dicts, for whatever must look at one event at a time.

Timestamps finer than a microsecond are cut to it first: that is the resolution of Siftcast (and of Python), and
Arrow would otherwise need pandas to hand them over.
"""

from __future__ import annotations

import pyarrow as pa

from siftcast.matching.arrow_times import in_microseconds


def event_columns(table: pa.Table) -> dict[str, list[object]]:
    """The columns of a table as lists of Python values."""
    columns: dict[str, list[object]] = in_microseconds(table).to_pydict()
    return columns


def event_rows(table: pa.Table) -> list[dict[str, object]]:
    """The rows of a table as dicts."""
    rows: list[dict[str, object]] = in_microseconds(table).to_pylist()
    return rows
