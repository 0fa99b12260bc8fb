"""Events from JSON Lines: one object per line, blank lines ignored.

Three ways, each for what the one before could not take:

    1. the whole block as a table (`json_blocks`)
    2. every line decoded on its own; bad ones are rejected, and way 1 is tried with the good ones
    3. the decoded rows as they are, because some column mixes types
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from siftcast.files.event_blocks import EventBlock, EventReader, Numbers, Rows, type_name
from siftcast.files.input_bytes import InputBytes
from siftcast.files.json_blocks import EXACT_MAX, JsonBlocks, inexact_columns
from siftcast.files.rejections import RejectedFile
from siftcast.files.schema_coercion import Misfits, fit_table
from siftcast.files.text_blocks import LINE_BYTES_MAX, TextBlock, numbered_lines, read_blocks
from siftcast.model import EventError, Schema, SiftcastError
from siftcast.model.event import decode_attributes

Lines = list[tuple[int, bytes]]


class JsonEvents(EventReader):
    """A reader of JSON lines, as `EventReader` describes it."""

    def __init__(self, source: InputBytes, schema: Schema | None, rejected: RejectedFile) -> None:
        super().__init__(source, schema, rejected)
        self._tables = JsonBlocks()

    def blocks(self) -> Iterator[EventBlock]:
        for block in read_blocks(self._source):
            if block.overlong:
                error = EventError(f"the line is longer than {LINE_BYTES_MAX >> 20} MiB")
                self._rejected.add(block.line, error, block.data)
                self.rows_read += 1
                continue
            events = self._read_block(block)
            if len(events):
                yield events

    def _read_block(self, block: TextBlock) -> EventBlock:
        first = self.rows_read
        table = self._tables.read(block.data)
        if table is not None and not inexact_columns(table):
            self.rows_read += table.num_rows
            return self._fit(table, np.arange(first, self.rows_read, dtype=np.int64), block, None)
        numbered = numbered_lines(block)
        self.rows_read += len(numbered)
        places, rows, lines = self._decode(numbered)
        numbers = np.asarray(places, np.int64) + first
        if len(lines) < len(numbered):
            table = self._tables.read(b"".join(line.strip() + b"\n" for _, line in lines))
        if table is not None and all(_keeps_digits(name, rows) for name in inexact_columns(table)):
            return self._fit(table, numbers, block, lines)
        return self._fit_rows(rows, numbers, lines)

    def _decode(self, numbered: Sequence[tuple[int, bytes]]) -> tuple[list[int], Rows, Lines]:
        """The places, rows and lines of those that are JSON objects; the others are rejected."""
        places, rows, lines = [], [], []
        for place, (number, line) in enumerate(numbered):
            try:
                rows.append(decode_attributes(line))
            except SiftcastError as error:
                self._rejected.add(number, error, line)
                continue
            places.append(place)
            lines.append((number, line))
        return places, rows, lines

    def _fit(self, table: pa.Table, numbers: Numbers, block: TextBlock, lines: Lines | None) -> EventBlock:
        def reject(misfits: Misfits) -> None:
            numbered = lines or numbered_lines(block)
            for place, error in misfits.items():
                self._rejected.add(numbered[place][0], error, numbered[place][1])

        table, numbers = fit_table(table, numbers, self._schema, reject)
        for field in table.schema:
            self._seen.setdefault(field.name, type_name(field.type))
        return EventBlock(numbers, table)

    def _fit_rows(self, rows: Rows, numbers: Numbers, lines: Lines) -> EventBlock:
        if self._schema is None:
            return EventBlock(numbers, rows)
        fitting: Rows = []
        kept: list[int] = []
        for place, row in enumerate(rows):
            try:
                fitting.append(self._schema.coerce(row))
                kept.append(place)
            except SiftcastError as error:
                self._rejected.add(lines[place][0], error, lines[place][1])
        return EventBlock(numbers[kept], fitting)


def _keeps_digits(name: str, rows: Rows) -> bool:
    """Whether a column of floats has none that was an integer too large to be one."""
    values = (row.get(name, 0.0) for row in rows)
    return all(
        value is None or isinstance(value, float) or (isinstance(value, int) and abs(value) <= EXACT_MAX)
        for value in values
    )
