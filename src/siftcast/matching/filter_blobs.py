"""Filters to bytes and back, as an Arrow table of slot and text; what engines without an index of their own save."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from siftcast.model import Filter, FilterLimits

# What was once accepted must load again, whatever limits were in force; only the parser's own ceiling stays.
_LIMITS = FilterLimits(length_max=2**31, depth_max=150, terms_max=2**31)


def filters_to_bytes(filters: Mapping[int, Filter]) -> bytes:
    """The slots and texts of filters as an Arrow IPC stream."""
    table = pa.table(
        {
            "slot": pa.array(filters.keys(), pa.int32()),
            "filter": pa.array([str(filter_) for filter_ in filters.values()], pa.large_string()),
        }
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    blob: bytes = sink.getvalue().to_pybytes()
    return blob


def filters_from_bytes(blob: bytes) -> Iterator[tuple[int, Filter]]:
    """The slots and filters that `filters_to_bytes` wrote."""
    table = pa.ipc.open_stream(blob).read_all()
    for slot, text in zip(table["slot"].to_pylist(), table["filter"].to_pylist(), strict=True):
        yield slot, Filter.parse(text, limits=_LIMITS)
