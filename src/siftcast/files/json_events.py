"""Events from JSON Lines: one object a line, blank lines ignored.

Three ways, each for what the one before could not take:

    1. Arrow's parser on the whole block (C++), if every line is an object and no column mixes types
    2. every line decoded on its own; bad ones are rejected, and way 1 is tried with the good ones
    3. the decoded rows as they are, because some column mixes types

Arrow guesses that text such as "2024-05-01 10:30:00" is a timestamp. JSON has no timestamps, and a guess that
depends on whether all texts of a block look alike would make matching depend on the block size: such columns
are read again as text. Only a schema makes timestamps of them. Arrow also reads NaN, which is no JSON, and two
objects on one line as two rows; blocks where that may have happened go the second way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from siftcast.files.event_blocks import EventBlock, Numbers, Rows, type_name
from siftcast.files.input_bytes import InputBytes
from siftcast.files.rejections import RejectedFile, reason_of
from siftcast.files.schema_coercion import coerce_table
from siftcast.files.text_blocks import LINE_BYTES_MAX, TextBlock, is_utf8, read_blocks
from siftcast.model import Schema, SiftcastError
from siftcast.model.event import decode_attributes

_EXACT_MAX = 2.0**53  # beyond it a float may stand for an integer it is not
_TWO_OBJECTS = re.compile(rb"\}[ \t\r]*\{")
_BOM = b"\xef\xbb\xbf"


class JsonEvents:
    """A reader of `.jsonl` files, as `EventReader` describes it."""

    def __init__(self, source: InputBytes, schema: Schema | None, rejected: RejectedFile) -> None:
        self.rows_read = 0
        self._source = source
        self._schema = schema
        self._rejected = rejected
        self._texts = pa.schema([])  # columns that Arrow would take for timestamps
        self._types: dict[str, str] = {}

    def progress(self) -> float:
        return self._source.position / max(1, self._source.size)

    def column_types(self) -> dict[str, str]:
        return self._types

    def blocks(self) -> Iterator[EventBlock]:
        for block in read_blocks(self._source):
            if block.overlong:
                self._reject(block.line, f"event: the line is longer than {LINE_BYTES_MAX >> 20} MiB", block.data)
                self.rows_read += 1
                continue
            if block.line == 1:
                block = TextBlock(block.data.removeprefix(_BOM), 1)
            yield from self._read_block(block)

    def _read_block(self, block: TextBlock) -> Iterator[EventBlock]:
        first = self.rows_read
        table = self._parse(block.data)
        if table is not None:
            self.rows_read += table.num_rows
            numbers = np.arange(first, self.rows_read, dtype=np.int64)
            yield from self._fit(table, numbers, block, None)
            return
        numbered = [(block.line + index, line) for index, line in enumerate(block.data.split(b"\n")) if line.strip()]
        self.rows_read += len(numbered)
        places, rows, lines = self._decode(numbered)
        numbers = np.asarray(places, np.int64) + first
        table = self._parse(b"".join(line + b"\n" for _, line in lines), decoded=True) if lines else None
        if table is not None and table.num_rows == len(lines):
            yield from self._fit(table, numbers, block, lines)
        elif rows:
            yield from self._fit_rows(rows, numbers, lines)

    def _decode(self, numbered: Sequence[tuple[int, bytes]]) -> tuple[list[int], Rows, list[tuple[int, bytes]]]:
        """The places, rows and lines of those that are JSON objects; the others are rejected."""
        places, rows, lines = [], [], []
        for place, (number, line) in enumerate(numbered):
            try:
                rows.append(decode_attributes(line))
            except SiftcastError as error:
                self._reject(number, reason_of(error), line)
                continue
            places.append(place)
            lines.append((number, line))
        return places, rows, lines

    def _parse(self, data: bytes, *, decoded: bool = False) -> pa.Table | None:
        """The block as a table if Arrow can be trusted with it, else None; `decoded` lines are known to be good."""
        if not decoded and not _is_plain(data):
            return None
        if not data.strip():
            return pa.table({})
        known = self._texts
        table = _parse_as(data, known)
        if table is None and len(known):
            known = pa.schema([])
            table = _parse_as(data, known)
        texts = [] if table is None else [_without_timestamps(f) for f in table.schema if _holds_timestamp(f.type)]
        if texts:
            named = {field.name for field in texts}
            known = pa.schema([*(field for field in known if field.name not in named), *texts])
            table, self._texts = _parse_as(data, known), known
        if table is None or not _has_rows(table, data) or not all(map(_is_exact, table.columns)):
            return None
        return table

    def _fit(
        self, table: pa.Table, numbers: Numbers, block: TextBlock, lines: list[tuple[int, bytes]] | None
    ) -> Iterator[EventBlock]:
        if self._schema is not None:
            table, misfits = coerce_table(table, self._schema)
            if misfits:
                lines = lines or _numbered_lines(block)
                for place, reason in sorted(misfits.items()):
                    self._reject(lines[place][0], reason, lines[place][1])
                kept = np.delete(np.arange(len(numbers)), list(misfits))
                table, numbers = table.take(pa.array(kept)), numbers[kept]
        for field in table.schema:
            self._types.setdefault(field.name, type_name(field.type))
        if len(numbers):
            yield EventBlock(numbers, table)

    def _fit_rows(self, rows: Rows, numbers: Numbers, lines: list[tuple[int, bytes]]) -> Iterator[EventBlock]:
        if self._schema is None:
            yield EventBlock(numbers, rows)
            return
        fitting: Rows = []
        kept: list[int] = []
        for place, row in enumerate(rows):
            try:
                fitting.append(self._schema.coerce(row))
                kept.append(place)
            except SiftcastError as error:
                self._reject(lines[place][0], reason_of(error), lines[place][1])
        if fitting:
            yield EventBlock(numbers[kept], fitting)

    def _reject(self, line: int, reason: str, source: bytes) -> None:
        self._rejected.add(line, reason, source)


def _parse_as(data: bytes, texts: pa.Schema) -> pa.Table | None:
    parsing = pa_json.ParseOptions(explicit_schema=texts, unexpected_field_behavior="infer")
    reading = pa_json.ReadOptions(block_size=len(data) + 1)  # one block: types must not differ inside it
    try:
        return pa_json.read_json(pa.BufferReader(data), read_options=reading, parse_options=parsing)
    except pa.ArrowException:
        return None


def _holds_timestamp(kind: Any) -> bool:
    if pa.types.is_timestamp(kind):
        return True
    return any(_holds_timestamp(kind.field(index).type) for index in range(kind.num_fields))


def _without_timestamps(field: Any) -> Any:
    """The field with text where Arrow guessed a timestamp, at any depth."""
    kind = field.type
    if pa.types.is_timestamp(kind):
        return field.with_type(pa.string())
    if pa.types.is_struct(kind):
        return field.with_type(pa.struct([_without_timestamps(kind.field(index)) for index in range(kind.num_fields)]))
    if pa.types.is_list(kind):
        return field.with_type(pa.list_(_without_timestamps(kind.value_field)))
    return field


def _is_exact(column: pa.ChunkedArray) -> bool:
    """Whether no number can have lost digits: integers become floats where a column has both."""
    if pa.types.is_floating(column.type):
        return not pc.any(pc.greater_equal(pc.abs(column), _EXACT_MAX)).as_py()
    if pa.types.is_struct(column.type):
        return all(_is_exact(part) for part in column.flatten())
    return True


def _is_plain(data: bytes) -> bool:
    """Whether the block has nothing that Arrow reads although it is no line of JSON."""
    if b"NaN" in data or b"Inf" in data or data.startswith(_BOM):
        return False
    return is_utf8(data) and not _TWO_OBJECTS.search(data)


def _has_rows(table: pa.Table, data: bytes) -> bool:
    """Whether the table has a row for each line that is not blank. No line of `data` gives more than one."""
    rows: int = table.num_rows
    return rows == data.count(b"\n") or rows == sum(1 for line in data.split(b"\n") if line.strip())


def _numbered_lines(block: TextBlock) -> list[tuple[int, bytes]]:
    return [(block.line + index, line) for index, line in enumerate(block.data.split(b"\n")) if line.strip()]
