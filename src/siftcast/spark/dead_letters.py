"""Rows that Spark refused, with reasons: `files.Rejection` as a table of dead letters.

Spark says which lines of a text file it cannot read, not why. The reasons are found afterwards, in Python, for the
rejected lines alone, so good lines cost nothing extra. Code and words are those of the command line (`files`), except
for what only Spark knows: which values fit its types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql import types as t

from siftcast.files import ROW_ERRORS, Rejection, cell_misfit, escaped, read_cells
from siftcast.model import SchemaError, SiftcastError
from siftcast.model.json_objects import decode_object, not_utf8
from siftcast.model.schema import misfit
from siftcast.model.values import parse_timestamp
from siftcast.spark.places import place_names, placed
from siftcast.spark.schemas import DEAD_LETTERS
from siftcast.spark.workers import map_batches

_ARROW = pa.schema([pa.field(field.name, pa.string(), nullable=False) for field in DEAD_LETTERS.fields])
_WHOLE = (t.ByteType, t.ShortType, t.IntegerType, t.LongType)
_BITS: dict[type[t.DataType], int] = {t.ByteType: 8, t.ShortType: 16, t.IntegerType: 32, t.LongType: 64}
NOT_UTF8 = "not valid UTF-8"
_UNFIT = "it does not fit the schema"
_NAMES = {"events": "an event", "subscriptions": "a subscription"}

Explain = Callable[[str], SiftcastError]


def dead_letter_frame(spark: SparkSession, letters: Sequence[Rejection]) -> DataFrame:
    """Letters as a table."""
    return spark.createDataFrame(_table(letters), DEAD_LETTERS) if letters else spark.createDataFrame([], DEAD_LETTERS)


def letters_of(lines: DataFrame, input: str, explain: Explain) -> DataFrame:
    """A table whose first column has rejected texts as dead letters."""
    first, *others = place_names(len(lines.columns))
    raw = placed(lines).select(fn.col(first).cast("binary").alias(first), *others)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from _table([_letter(source, input, explain) for source in batch.column(0).to_pylist()]).to_batches()

    return map_batches(raw, run, DEAD_LETTERS)


def _letter(source: bytes, input: str, explain: Explain) -> Rejection:
    try:
        text = source.decode()
    except UnicodeDecodeError:
        return Rejection.of(input, ROW_ERRORS[input](not_utf8(source)), escaped(source))
    return Rejection.of(input, explain(text), text)


def _table(letters: Sequence[Rejection]) -> pa.Table:
    columns = [[getattr(letter, name) for letter in letters] for name in _ARROW.names]
    return pa.table([pa.array(column, pa.string()) for column in columns], schema=_ARROW)


def table_texts(table: pa.Table) -> tuple[pa.Table, list[bool]]:
    """A table whose texts can be read, and for each row whether they could before: Spark lets any bytes pass."""
    good = [True] * table.num_rows
    for index, field in enumerate(table.schema):
        if not pa.types.is_string(field.type) or _is_utf8(table.column(index)):
            continue
        raw = table.column(index).cast(pa.binary()).to_pylist()
        texts = [None if each is None else escaped(each) for each in raw]
        good = [
            fine and (text is None or text.encode() == each) for fine, text, each in zip(good, texts, raw, strict=True)
        ]
        table = table.set_column(index, field.name, pa.array(texts, pa.string()))
    return table, good


def _is_utf8(column: pa.ChunkedArray) -> bool:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


# -- reasons -----------------------------------------------------------------------------------------


def explain_json(text: str, schema: t.StructType, input: str = "events") -> SiftcastError:
    """Why a line is no JSON object of these fields."""
    error = ROW_ERRORS[input]
    try:
        value = decode_object(text, _NAMES[input], error)
    except SiftcastError as problem:
        return problem
    return _misfit(value, schema, "") or error(_UNFIT)


def explain_csv(text: str, schema: t.StructType, input: str = "events") -> SiftcastError:
    """Why a line does not have these cells."""
    error = ROW_ERRORS[input]
    try:
        cells = read_cells(text, len(schema.fields), error, strict=True)
    except SiftcastError as problem:
        return problem
    for cell, field in zip(cells, schema.fields, strict=True):
        if cell and not _readable(cell, field.dataType):
            return error(cell_misfit(field.name, cell, f"a {field.dataType.simpleString()}"))
    return error(_UNFIT)


def _misfit(value: dict[str, object], schema: t.StructType, prefix: str) -> SchemaError | None:
    """What is wrong with the first field that does not fit."""
    for field in schema.fields:
        name, found, kind = f"{prefix}{field.name}", value.get(field.name), field.dataType
        if found is None:
            continue
        if isinstance(kind, t.StructType) and isinstance(found, dict):
            inner = _misfit(found, kind, f"{name}.")
            if inner:
                return inner
        elif not _fits(found, kind):
            return misfit(name, kind.simpleString(), found)
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
