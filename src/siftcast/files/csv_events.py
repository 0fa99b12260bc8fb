"""Events from CSV with a header line; commas, double quotes, UTF-8.

What a column holds (numbers, booleans, timestamps, text) comes from the schema, or is guessed from the first block
that has a value in it, and kept for the rest of the file: a row with a later cell of another kind is rejected, with
its line, column and value. Integers and decimals are one kind, so a column may begin with one and continue with the
other.

A block is read by Arrow with the types known so far. Only where that fails, or the number of rows is not the
number of lines, is it taken apart with the `csv` module and converted cell by cell (`cell_conversion`).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from siftcast.files.cell_conversion import FALSE, INSTANT, MISSING, TRUE, convert_cells, guess_kind
from siftcast.files.csv_rows import cell_misfit, read_cells
from siftcast.files.event_blocks import EventBlock, EventReader, kind_of_column, type_name
from siftcast.files.input_bytes import InputBytes
from siftcast.files.rejections import RejectedFile
from siftcast.files.schema_coercion import Misfits, fit_table
from siftcast.files.text_blocks import (
    LINE_BYTES_MAX,
    TextBlock,
    count_lines,
    cut_csv,
    is_utf8,
    numbered_rows,
    read_blocks,
)
from siftcast.model import DataError, EventError, Schema
from siftcast.model.values import Kind

_KIND_TYPES: dict[Kind, Any] = {
    Kind.NUMBER: pa.int64(),
    Kind.STRING: pa.string(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.TIMESTAMP: INSTANT,
}
_ARTICLES = {Kind.NUMBER: "a number", Kind.BOOLEAN: "true or false", Kind.TIMESTAMP: "a timestamp"}


class CsvEvents(EventReader):
    """A reader of `.csv` files, as `EventReader` describes it."""

    def __init__(self, source: InputBytes, schema: Schema | None, rejected: RejectedFile) -> None:
        super().__init__(source, schema, rejected)
        self._names: list[str] = []
        self._kinds: dict[str, Kind] = {}
        self._types: dict[str, Any] = {}  # what Arrow is given: one way to hold each known kind

    def blocks(self) -> Iterator[EventBlock]:
        for block in read_blocks(self._source, cut_csv):
            if not self._names:
                block = self._read_header(block)
            if block.overlong:
                self._reject_overlong(block)
            else:
                yield from self._read_block(block)

    # -- header --------------------------------------------------------------------------------------

    def _read_header(self, block: TextBlock) -> TextBlock:
        """Takes the names of the columns from the first line and returns what follows it."""
        path = self._source.path
        header, _, rest = block.data.partition(b"\n")
        if block.overlong or block.data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise DataError(f"{path}: the first line is not a header of UTF-8 text; save the file as CSV in UTF-8")
        try:
            names = next(csv.reader([header.decode().rstrip("\r")]), [])
        except UnicodeDecodeError:
            raise DataError(f"{path}: the header line is not UTF-8 text") from None
        if not any(names):
            raise DataError(f"{path}: the first line is empty, but CSV needs a header with the names of the columns")
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise DataError(f"{path}: the header names the column '{twice}' twice")
        self._names = names
        for attribute in self._schema or ():
            if attribute.name in names:
                self._know(attribute.name, attribute.kind)
        return TextBlock(rest, block.line + 1)

    def _know(self, name: str, kind: Kind) -> None:
        self._kinds[name] = kind
        self._types[name] = _KIND_TYPES[kind]

    # -- blocks --------------------------------------------------------------------------------------

    def _read_block(self, block: TextBlock) -> Iterator[EventBlock]:
        if not block.data.strip(b"\r\n"):
            return
        first = self.rows_read
        lines: list[tuple[int, bytes]] | None = None
        table = self._parse(block.data)
        if table is not None:
            self.rows_read += table.num_rows
            places = np.arange(table.num_rows, dtype=np.int64)
        else:
            lines = _numbered_rows(block)
            self.rows_read += len(lines)
            table, places = self._parse_carefully(lines)

        def reject(misfits: Misfits) -> None:
            numbered = lines or _numbered_rows(block)
            for row, error in misfits.items():
                self._rejected.add(numbered[places[row]][0], error, numbered[places[row]][1])

        table, numbers = fit_table(table, places + first, self._schema, reject)
        self._seen.update({field.name: type_name(field.type) for field in table.schema if field.type != pa.null()})
        if len(numbers):
            yield EventBlock(numbers, table)

    def _parse(self, data: bytes) -> pa.Table | None:
        """The block as Arrow reads it with the types known so far; None if any of it does not fit them."""
        if not is_utf8(data):
            return None
        try:
            table = pa_csv.read_csv(
                pa.BufferReader(data),
                read_options=pa_csv.ReadOptions(column_names=self._names, block_size=len(data) + 1),
                parse_options=pa_csv.ParseOptions(newlines_in_values=True),
                convert_options=pa_csv.ConvertOptions(
                    column_types=self._types,
                    null_values=MISSING,
                    true_values=TRUE,
                    false_values=FALSE,
                    strings_can_be_null=True,
                ),
            )
        except pa.ArrowException:
            return None
        if table.num_rows != count_lines(data) and table.num_rows != len(_numbered_rows(TextBlock(data, 1))):
            return None
        return self._learn(table, data)

    def _learn(self, table: pa.Table, data: bytes) -> pa.Table | None:
        """Remembers the kinds of columns that had none, and holds instants in microseconds of UTC."""
        for place, field in enumerate(table.schema):
            if field.name not in self._kinds and not pa.types.is_null(field.type):
                kind = kind_of_column(field.type) or Kind.STRING
                self._know(field.name, kind)
                self._types[field.name] = _held_as(field.type)
                if kind is Kind.STRING and not pa.types.is_string(field.type):
                    return self._parse(data)  # Arrow guessed a time of day; read it again as text
            if pa.types.is_temporal(field.type) and field.type != INSTANT:
                zone = getattr(field.type, "tz", None)  # dates have none
                instants = table.column(place).cast(pa.timestamp("us", zone), safe=False).cast(INSTANT)
                table = table.set_column(place, field.name, instants)
        return table

    # -- the careful way -----------------------------------------------------------------------------

    def _parse_carefully(self, lines: list[tuple[int, bytes]]) -> tuple[pa.Table, np.ndarray[Any, Any]]:
        """The rows that fit, and their places among the lines; the others are rejected."""
        errors: dict[int, EventError] = {}
        places, rows = [], []
        for place, (_, raw) in enumerate(lines):
            try:
                rows.append(read_cells(raw, len(self._names), EventError))
                places.append(place)
            except EventError as error:
                errors[place] = error
        columns = []
        for index, name in enumerate(self._names):
            cells = pa.array([None if row[index] in MISSING else row[index] for row in rows], pa.string())
            column, misfits = self._convert(name, cells)
            columns.append(column)
            for row in misfits:
                reason = cell_misfit(name, rows[row][index], _ARTICLES[self._kinds[name]])
                errors.setdefault(places[row], EventError(reason))
        for place in sorted(errors):
            self._rejected.add(lines[place][0], errors[place], lines[place][1])
        table = pa.Table.from_arrays(columns, names=self._names)
        kept = [row for row, place in enumerate(places) if place not in errors]
        return table.take(pa.array(kept, pa.int64())), np.asarray(places, np.int64)[kept]

    def _convert(self, name: str, cells: pa.Array) -> tuple[pa.Array, list[int]]:
        if name not in self._kinds:
            kind = guess_kind(cells)
            if kind is None:
                return convert_cells(cells, None)
            self._know(name, kind)
        column, misfits = convert_cells(cells, self._kinds[name])
        if pa.types.is_floating(column.type):
            self._types[name] = column.type  # decimals have appeared: later blocks are read as such at once
        return column, misfits

    def _reject_overlong(self, block: TextBlock) -> None:
        reason = f"a row or a quoted field begins here that does not end within {LINE_BYTES_MAX >> 20} MiB"
        if len(block.data) <= LINE_BYTES_MAX:
            reason = "a quoted field begins here that does not end"
        self._rejected.add(block.line, EventError(reason), block.data)
        self.rows_read += 1


def _held_as(kind: Any) -> Any:
    """The type in which later blocks are read: instants finely enough, and with a zone if these have one."""
    types = pa.types
    if types.is_date(kind):
        return pa.timestamp("us")
    if types.is_timestamp(kind):
        return pa.timestamp("ns" if kind.unit == "ns" else "us", kind.tz)
    return pa.string() if types.is_time(kind) else kind


def _numbered_rows(block: TextBlock) -> list[tuple[int, bytes]]:
    """The rows with the number of the line on which each begins."""
    return [(line, row) for line, row in numbered_rows(block) if row.strip(b"\r")]
