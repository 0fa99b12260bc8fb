"""What could not be used: one row for each row that came in, with the reason and the row itself.

    input    "events" or "subscriptions"
    code     the stable code of an error of `model.errors`
    reason   for a person: what is wrong, and where
    source   the row as it came: the line of a text file, or the row of a table as JSON; \\xNN is a byte that is no text

Spark says which lines of a text file it cannot read, not why. The reasons are found afterwards, in Python, for the
rejected lines alone, so that good lines cost nothing more.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql import types as t

from siftcast.model.values import parse_timestamp
from siftcast.spark.places import place_names, placed
from siftcast.spark.schemas import DEAD_LETTERS

_ARROW = pa.schema([pa.field(field.name, pa.string(), nullable=False) for field in DEAD_LETTERS.fields])
_WHOLE = (t.ByteType, t.ShortType, t.IntegerType, t.LongType)
_BITS: dict[type[t.DataType], int] = {t.ByteType: 8, t.ShortType: 16, t.IntegerType: 32, t.LongType: 64}
NOT_UTF8 = "not valid UTF-8"
_UNFIT = "it does not fit the schema"
_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One row that was refused."""

    input: str
    code: str
    reason: str
    source: str


def dead_letter_frame(spark: SparkSession, letters: Sequence[DeadLetter]) -> DataFrame:
    """Letters as a table."""
    if not letters:
        return spark.createDataFrame([], DEAD_LETTERS)
    columns = [[getattr(letter, name) for letter in letters] for name in _ARROW.names]
    table = pa.table([pa.array(column, pa.string()) for column in columns], schema=_ARROW)
    return spark.createDataFrame(table, DEAD_LETTERS)


def letters_of(lines: DataFrame, input: str, code: str, explain: Callable[[str], str]) -> DataFrame:
    """A table whose first column has rejected texts as dead letters."""
    first, *others = place_names(len(lines.columns))
    raw = placed(lines).select(fn.col(first).cast("binary").alias(first), *others)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [(input, code, *_explained(source, explain)) for source in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_arrays(
                [pa.array(column, pa.string()) for column in zip(*rows, strict=True)] or [[]] * 4, schema=_ARROW
            )

    return raw.mapInArrow(run, DEAD_LETTERS)


def _explained(source: bytes, explain: Callable[[str], str]) -> tuple[str, str]:
    """The reason and the source as a text."""
    try:
        text = source.decode()
    except UnicodeDecodeError:
        return NOT_UTF8, escaped(source)
    return explain(text), text


def escaped(text: bytes) -> str:
    """Bytes as a text in which those that are not UTF-8 can be seen."""
    return text.decode("utf-8", "backslashreplace")


def table_texts(table: pa.Table) -> tuple[pa.Table, list[bool]]:
    """A table whose texts can be read, and for each row whether they could before: Spark lets any bytes pass."""
    good = [True] * table.num_rows
    for place, field in enumerate(table.schema):
        if not pa.types.is_string(field.type) or _is_utf8(table.column(place)):
            continue
        raw = table.column(place).cast(pa.binary()).to_pylist()
        texts = [None if each is None else escaped(each) for each in raw]
        good = [
            fine and (text is None or text.encode() == each) for fine, text, each in zip(good, texts, raw, strict=True)
        ]
        table = table.set_column(place, field.name, pa.array(texts, pa.string()))
    return table, good


def _is_utf8(column: pa.ChunkedArray) -> bool:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


# -- reasons -----------------------------------------------------------------------------------------


def explain_json(text: str, schema: t.StructType) -> str:
    """Why a line is no JSON object of these fields."""
    try:
        value = _decode(text)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        return f"not valid JSON: {error}"
    if not isinstance(value, dict):
        return "not a JSON object"
    return _misfit(value, schema, "") or _UNFIT


def explain_csv(text: str, schema: t.StructType) -> str:
    """Why a line does not have these cells."""
    try:
        cells = next(csv.reader([text], strict=True), [])
    except csv.Error as error:
        return f"not valid CSV: {error}"
    if len(cells) != len(schema.fields):
        return f"has {len(cells)} cells, but there are {len(schema.fields)} columns"
    for cell, field in zip(cells, schema.fields, strict=True):
        if cell and not _readable(cell, field.dataType):
            return f"'{field.name}' is {_shown(cell)}, which is no {field.dataType.simpleString()}"
    return _UNFIT


def _misfit(value: dict[str, object], schema: t.StructType, prefix: str) -> str | None:
    """The first field that does not fit, in words."""
    for field in schema.fields:
        name, found, kind = f"{prefix}{field.name}", value.get(field.name), field.dataType
        if found is None:
            continue
        if isinstance(kind, t.StructType) and isinstance(found, dict):
            inner = _misfit(found, kind, f"{name}.")
            if inner:
                return inner
        elif not _fits(found, kind):
            return f"'{name}' is {_shown(found)}, which is no {kind.simpleString()}"
    return None


def _fits(value: object, kind: t.DataType) -> bool:
    """Whether Spark reads a JSON value as this type; generous where it is not known."""
    if isinstance(kind, t.StringType):
        return True
    if isinstance(kind, t.BooleanType):
        return isinstance(value, bool)
    if isinstance(kind, _WHOLE):
        return isinstance(value, int) and not isinstance(value, bool) and _in_range(value, kind)
    if isinstance(kind, t.FractionalType):
        return (isinstance(value, int | float) and not isinstance(value, bool)) or value in ("NaN", "Infinity")
    if isinstance(kind, t.TimestampType):
        return isinstance(value, str) and _readable(value, kind)
    return not isinstance(kind, t.StructType)  # a dict has been looked into already


def _readable(cell: str, kind: t.DataType) -> bool:
    """Whether a text reads as this type."""
    try:
        if isinstance(kind, _WHOLE):
            return _in_range(int(cell), kind)
        if isinstance(kind, t.FractionalType):
            float(cell)
        elif isinstance(kind, t.BooleanType):
            return cell.strip().lower() in ("true", "false")
        elif isinstance(kind, t.TimestampType):
            parse_timestamp(cell)
    except ValueError:
        return False
    return True


def _in_range(number: int, kind: t.DataType) -> bool:
    limit: int = 2 ** (_BITS[type(kind)] - 1)
    return -limit <= number < limit


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else text[:59] + "…"
