"""A block of JSON lines as a table, by Arrow's parser: exactly what its lines say, or nothing.

Arrow reads more than JSON lines, and some of it wrongly. What it may be shown, and what of its answer is believed:

    every line begins with { and ends with }    so no object spans two lines, and a row for each line means an
                                                object in each; of the line `null` Arrow makes an empty row, or crashes.
                                                Blank lines, and spaces around others, are taken away first
    no list begins with null                    such lists come out short (apache/arrow issue 51305)
    text is text                                Arrow takes "2024-05-01 10:30:00" for a timestamp, if all texts of the
                                                column look so. JSON has no timestamps, and a guess that hangs on where
                                                a block ends is none: such columns are read again as text
    numbers keep their digits                   integers beside decimals become floats; from 2**53 on they may differ.
                                                NaN and Infinity, which are not JSON, are found in the same way

A column that mixes types, a name that occurs twice in an object and broken JSON are errors in Arrow: the answer is
nothing.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from siftcast.files.text_blocks import count_lines, is_utf8

EXACT_MAX = 2**53  # beyond it a float may stand for an integer it is not
_SPACES = b" \t\r"  # those of JSON: a form feed, which Python strips, too, is not one
_LEADING_NULL = re.compile(rb"\[\s*null")


class JsonBlocks:
    """Reads blocks one after the other; remembers which columns are texts that look like times."""

    def __init__(self) -> None:
        self._texts = pa.schema([])

    def read(self, data: bytes) -> pa.Table | None:
        """The lines that are not blank as a table; None where Arrow is not to be trusted with them."""
        if not _is_framed(data):
            data = b"".join(line + b"\n" for each in data.split(b"\n") if (line := each.strip(_SPACES)))
            if not _is_framed(data):
                return None
        if not is_utf8(data) or (b"[" in data and _LEADING_NULL.search(data)):
            return None
        known = self._texts
        table = _parse(data, known)
        if table is None and len(known):
            known = pa.schema([])  # what was text until here may be a number now
            table = _parse(data, known)
        if table is not None:
            table = self._with_texts(table, known, data)
        return table if table is not None and table.num_rows == count_lines(data) else None

    def _with_texts(self, table: pa.Table, known: pa.Schema, data: bytes) -> pa.Table | None:
        """The table, read again if it has timestamps."""
        texts = [_as_text(field) for field in table.schema if _holds_timestamp(field.type)]
        if not texts:
            return table
        named = {field.name for field in texts}
        self._texts = pa.schema([*(field for field in known if field.name not in named), *texts])
        return _parse(data, self._texts)


def inexact_columns(table: pa.Table) -> list[str]:
    """The columns in which a number may have lost digits, or is none."""
    columns = zip(table.column_names, table.columns, strict=True)
    return [name for name, column in columns if not all(map(_is_exact, column.chunks))]


def _is_exact(values: pa.Array) -> bool:
    if pa.types.is_floating(values.type):
        return bool(pc.all(pc.less(pc.abs(values), float(EXACT_MAX)), min_count=0).as_py())
    if pa.types.is_list(values.type):
        return _is_exact(values.flatten())
    if pa.types.is_struct(values.type):
        return all(map(_is_exact, values.flatten()))
    return True


def _is_framed(data: bytes) -> bool:
    """Whether every line begins with { and ends with }, all of them with the same line break."""
    if not data.startswith(b"{") or not data.endswith(b"\n"):
        return False
    codes = np.frombuffer(data, np.uint8)
    breaks = np.flatnonzero(codes == ord("\n"))
    ends = breaks - (2 if data.endswith(b"\r\n") else 1)
    return bool(np.all(codes[ends] == ord("}")) and np.all(codes[breaks[:-1] + 1] == ord("{")))


def _parse(data: bytes, texts: pa.Schema) -> pa.Table | None:
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


def _as_text(field: Any) -> Any:
    """The field with text where Arrow guessed a timestamp, at any depth."""
    kind = field.type
    if pa.types.is_timestamp(kind):
        return field.with_type(pa.string())
    if pa.types.is_struct(kind):
        return field.with_type(pa.struct([_as_text(kind.field(index)) for index in range(kind.num_fields)]))
    if pa.types.is_list(kind):
        return field.with_type(pa.list_(_as_text(kind.value_field)))
    return field
