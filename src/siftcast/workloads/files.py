"""Tables as files: Parquet, Arrow IPC and JSON Lines.

One writer and one reader per format, so that the same table gives the same bytes: no time stamps, no
threads whose order shows, fixed compression. JSON Lines is written by the standard library (Arrow has a
reader only); times are ISO 8601 in UTC, null attributes are left out.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json as pa_json
import pyarrow.parquet as pq

FORMATS = ("parquet", "arrow", "jsonl")
_LINES_PER_BATCH = 16_384


def write_table(table: pa.Table, path: Path, chosen: str) -> None:
    """Write a table in one of FORMATS."""
    if chosen == "parquet":
        pq.write_table(table, path, compression="zstd")
    elif chosen == "arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table.combine_chunks())
    else:
        _write_lines(table, path)


def read_table(path: Path, chosen: str, schema: pa.Schema) -> pa.Table:
    """Read a table written by `write_table`; the schema gives JSON Lines its types."""
    if chosen == "parquet":
        return pq.read_table(path)
    if chosen == "arrow":
        with pa.OSFile(str(path), "rb") as source:
            return pa.ipc.open_file(source).read_all()
    if path.stat().st_size == 0:
        return schema.empty_table()
    options = pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    return pa_json.read_json(path, parse_options=options).select(schema.names)


def _write_lines(table: pa.Table, path: Path) -> None:
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_encode_moment).encode
    with path.open("w", encoding="utf-8", newline="\n") as lines:
        for batch in table.to_batches(max_chunksize=_LINES_PER_BATCH):
            rows = batch.to_pylist()
            lines.writelines(
                encode({name: value for name, value in row.items() if value is not None}) + "\n" for row in rows
            )


def _encode_moment(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    raise TypeError(f"a workload holds no {type(value).__name__}")
