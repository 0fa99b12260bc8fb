"""Events from Parquet and Arrow files, whose columns already have types.

They are used unchanged, except for instants in nanoseconds: the model knows microseconds, so they are cut to these. A
file inside gzip is unpacked to a temporary one first, because both formats are read from their ends.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from siftcast.files.event_blocks import EventBlock, EventReader, type_name
from siftcast.files.formats import format_of
from siftcast.files.input_bytes import InputBytes
from siftcast.files.rejections import RejectedFile
from siftcast.files.schema_coercion import Misfits, fit_table
from siftcast.model import DataError, Schema

ROWS_PER_BLOCK = 65_536


class TableEvents(EventReader):
    """A reader of `.parquet` and `.arrow` files, as `EventReader` describes it."""

    def __init__(self, source: InputBytes, schema: Schema | None, rejected: RejectedFile) -> None:
        super().__init__(source, schema, rejected)
        self._rows_total = 1

    def progress(self) -> float:
        return self.rows_read / max(1, self._rows_total)

    def blocks(self) -> Iterator[EventBlock]:
        with open_batches(self._source) as (rows_total, batches):
            self._rows_total = rows_total
            for batch in batches:
                block = self._fit(pa.Table.from_batches([batch]))
                if len(block):
                    yield block

    def _fit(self, table: pa.Table) -> EventBlock:
        numbers = np.arange(self.rows_read, self.rows_read + table.num_rows, dtype=np.int64)
        self.rows_read += table.num_rows
        table = _in_microseconds(table)
        for field in table.schema:
            self._seen.setdefault(field.name, type_name(field.type))

        def reject(misfits: Misfits) -> None:
            for row, error in misfits.items():
                self._rejected.add(int(numbers[row]) + 1, error, repr(table.slice(row, 1).to_pylist()[0]))

        fitted, kept = fit_table(table, numbers, self._schema, reject)
        return EventBlock(kept, fitted)


@contextmanager
def open_batches(source: InputBytes) -> Iterator[tuple[int, Iterator[pa.RecordBatch]]]:
    """The number of rows of a Parquet or Arrow file, and its batches; raises DataError if it is not one."""
    path = source.path
    with tempfile.TemporaryFile() as unpacked:
        file: Any = str(path)
        if source.compressed:
            _unpack(source, unpacked)
            file = unpacked
        try:
            yield _open_arrow(file) if format_of(path, ("arrow",), (".gz",)) else _open_parquet(file)
        except (pa.ArrowException, OSError) as error:
            problem = str(error).splitlines()[0]
            raise DataError(f"{path}: the file is damaged, cut off or not what its name says ({problem})") from None


def _open_parquet(file: Any) -> tuple[int, Iterator[pa.RecordBatch]]:
    opened = pq.ParquetFile(file)
    return opened.metadata.num_rows, opened.iter_batches(ROWS_PER_BLOCK)


def _open_arrow(file: Any) -> tuple[int, Iterator[pa.RecordBatch]]:
    opened = pa.ipc.open_file(file)
    rows = sum(opened.get_batch(index).num_rows for index in range(opened.num_record_batches))
    batches = (
        part
        for index in range(opened.num_record_batches)
        for part in pa.Table.from_batches([opened.get_batch(index)]).to_batches(ROWS_PER_BLOCK)
    )
    return rows, batches


def _unpack(source: InputBytes, target: IO[bytes]) -> None:
    for chunk in source:
        target.write(chunk)
    target.seek(0)


def _in_microseconds(table: pa.Table) -> pa.Table:
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns":
            column = table.column(place).cast(pa.timestamp("us", field.type.tz), safe=False)
            table = table.set_column(place, field.name, column)
    return table
