"""Rows as they come from outside: those that can be read, and those that cannot.

Spark reads a bad line of JSON or CSV in its permissive mode as a row of nulls, which a filter with `IS NULL` would
match. An `Intake` keeps such rows apart: `good` has the rows that were read, `rejected` the others as dead letters,
and every line that came in is in exactly one of the two.

Lines are read as text and parsed by `from_json` and its like, not by Spark's file readers: those keep the text of a
bad line only if other columns are requested, too, so bad lines could not be counted; and they silently replace bytes
that are not UTF-8.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from os import PathLike, fspath
from pathlib import Path, PurePosixPath

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructField, StructType

from siftcast import files
from siftcast.model import Columns, DataError, Schema, SiftcastError
from siftcast.model.columns import did_you_mean
from siftcast.spark.dead_letters import Explain, dead_letter_frame, explain_csv, explain_json, letters_of
from siftcast.spark.schema_check import check_declared
from siftcast.spark.schemas import SUBSCRIPTIONS, spark_type
from siftcast.spark.session import active_session, session

CORRUPT = "_siftcast_corrupt"
FORMATS = ("json", "csv", "parquet", "orc")
CSV_OPTIONS = {"quote": '"', "escape": '"'}  # a quote within quotes is doubled (RFC 4180), not escaped
_PERMISSIVE = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
_END = "siftcast-f3b1c0de"  # what no text holds by chance
FilePath = str | PathLike[str]
RowSchema = StructType | Schema | str | None
Look = Callable[[StructType], None]
"""Is shown the columns that files have themselves, before a schema is laid over them."""


def _unexplained(_source: str, input: str = "events") -> SiftcastError:
    return files.ROW_ERRORS[input]("it cannot be read")


@dataclass(frozen=True, slots=True)
class Intake:
    """Rows of events or subscriptions; `rows` has all of them, with the text of a bad one in the column CORRUPT."""

    rows: DataFrame
    input: str = "events"
    explain: Explain = field(default=_unexplained)
    folder: Path | None = None  # from which a stream takes its files, if this machine sees it

    @property
    def good(self) -> DataFrame:
        """The rows that were read."""
        return good_rows(self.rows)

    @property
    def rejected(self) -> DataFrame:
        """The rows that were not, as dead letters."""
        if CORRUPT not in self.rows.columns:
            return dead_letter_frame(self.rows.sparkSession, ())
        bad = self.rows.where(f.col(CORRUPT).isNotNull()).select(CORRUPT)
        return letters_of(bad, self.input, self.explain)


def good_rows(rows: DataFrame) -> DataFrame:
    """The rows of an intake that were read, without the column that tells them apart."""
    if CORRUPT not in rows.columns:
        return rows
    return rows.where(f.col(CORRUPT).isNull()).drop(CORRUPT)


def as_intake(rows: DataFrame | Intake, input: str) -> Intake:
    """A table that was made elsewhere, all of whose rows are taken as good."""
    return rows if isinstance(rows, Intake) else Intake(rows, input)


# -- reading -----------------------------------------------------------------------------------------


def read_events(
    path: FilePath, format: str | None = None, schema: RowSchema = None, *, spark: SparkSession | None = None
) -> Intake:
    """Events from files: JSON lines, CSV with a header, Parquet, ORC, or any other format that Spark knows.

    The schema may be Siftcast's, Spark's or a DDL text; columns that are not in it come along. What no schema says,
    neither a file's own nor this one, Spark guesses from a look at all the data.
    """
    return _read(spark or active_session() or session(), fspath(path), format, struct_of(schema), "events")


def read_declared_events(
    path: FilePath,
    format: str | None,
    schema: Schema | None,
    *,
    weight: str | None = None,
    strict: bool = True,
    spark: SparkSession,
) -> Intake:
    """As `read_events`, with a column of weights if one is named that the schema does not declare.

    Raises DataError, unless `strict` is off, where the files lack a column of the schema, or that of the weights: read
    with a schema they would have it, all nulls.
    """
    if schema is None:
        return read_events(path, format, spark=spark)
    types = spark_type(schema)
    if weight is not None and weight not in types.names:
        types = types.add(weight, "double")

    def look(there: StructType) -> None:
        columns = Columns.of(there)
        if not columns:
            return  # files without a line have no columns to compare with
        check_declared(columns, schema, kinds=False)  # texts become what the schema says
        if weight is not None and weight not in columns:
            raise DataError(f"the events have no column '{weight}' to take weights from{did_you_mean(weight, columns)}")

    return _read(spark, fspath(path), format, types, "events", look if strict else _unseen)


def read_subscriptions(path: FilePath, format: str | None = None, *, spark: SparkSession | None = None) -> Intake:
    """Subscriptions from files of the same formats: id, filter[, dialect, subscriber]."""
    return _read(spark or active_session() or session(), fspath(path), format, SUBSCRIPTIONS, "subscriptions")


def parse_events(lines: DataFrame, schema: RowSchema = None, *, column: str = "value") -> Intake:
    """Events that lie as JSON texts in a column, as from Kafka or a text file; a null or blank text is refused too."""
    if column not in lines.columns:
        raise DataError(f"there is no column '{column}'; there are {', '.join(lines.columns)}")
    return _parse_json(lines.select(f.col(column).cast("string").alias("value")), struct_of(schema), "events")


def split_corrupt(rows: DataFrame, column: str = "_corrupt_record", input: str = "events") -> Intake:
    """Rows that Spark read in its permissive mode, with bad ones in its column for corrupt records.

    The rows are cached: Spark does not answer questions about that column alone from a file.
    """
    if column not in rows.columns:
        raise DataError(f"there is no column '{column}'; there are {', '.join(rows.columns)}")
    return Intake(rows.cache().withColumnRenamed(column, CORRUPT), input, partial(_unexplained, input=input))


def format_of(path: str) -> str:
    """The format that the name of a file says; raises DataError where it does not."""
    found = files.format_of(PurePosixPath(path), FORMATS, files.COMPRESSIONS)
    if found is None:
        raise DataError(
            f"{path}: the name does not say the format; it must end in {files.suffixes_of(FORMATS)}, or be told"
        )
    return found


def _unseen(there: StructType) -> None:
    """Looks at nothing."""


def _read(
    spark: SparkSession, path: str, format: str | None, schema: StructType | None, input: str, look: Look = _unseen
) -> Intake:
    kind = files.format_named(format) or format_of(path)
    if kind == "csv":
        return _parse_csv(spark.read.text(path), schema, input, look)
    described = schema if input == "events" else None
    if kind == "json":
        lines = spark.read.text(path).where(f.trim("value") != "")
        if described is not None:
            there = _guessed_json(lines)
            look(there)
            schema = _joined(described, there)
        return _parse_json(lines, schema, input)
    reader = spark.read.format(kind)
    rows = reader.load(path)
    look(rows.schema)
    # A table knows its own columns; for subscriptions it may have fewer or more than we know.
    return Intake(rows if described is None else reader.schema(_joined(described, rows.schema)).load(path), input)


def _joined(described: StructType, there: StructType) -> StructType:
    """What was described, and behind it what is there besides; upper and lower case are equal, as for Spark."""
    known = {each.name.lower(): each.dataType for each in there.fields}
    fields = []
    for each in described.fields:
        found = known.get(each.name.lower())
        both = isinstance(each.dataType, StructType) and isinstance(found, StructType)
        fields.append(StructField(each.name, _joined(each.dataType, found)) if both else each)  # type: ignore[arg-type]
    names = {each.name.lower() for each in fields}
    return StructType([*fields, *(each for each in there.fields if each.name.lower() not in names)])


def _guessed_json(lines: DataFrame) -> StructType:
    return _without_corrupt(lines.sparkSession.read.json(lines).schema)


def _parse_json(lines: DataFrame, schema: StructType | None, input: str) -> Intake:
    if schema is None:
        schema = _guessed_json(lines)
    parsed = lines.select("value", f.from_json("value", _with_corrupt(schema), _PERMISSIVE).alias("row"))
    # Some texts that are not objects, such as "null", come back without a row and without a complaint.
    refused = f.col("row").isNull() | ~f.is_valid_utf8("value") | _goes_on("value")
    corrupt = f.when(refused, f.coalesce("value", f.lit(""))).otherwise(f.col(f"row.{CORRUPT}"))
    columns = [f.col("row").getField(name).alias(name) for name in schema.names]
    return Intake(
        parsed.select(*columns, corrupt.alias(CORRUPT)), input, partial(explain_json, schema=schema, input=input)
    )


def _goes_on(column: str) -> Column:
    """Whether there is anything behind the object: Spark reads the first alone, which would lose a second one.

    A text with one closing brace tells at once. Another is read again, as the first of two in an array whose second we
    know: whatever else is there, the array is broken or has other members.
    """
    both = f.concat(f.lit("["), column, f.lit(f',{{"end":"{_END}"}}]'))
    read = f.from_json(both, "array<struct<end: string>>")
    alone = (f.size(read) == 2) & (read[1]["end"] == _END)
    return ~f.rtrim(column).endswith("}") | (f.col(column).rlike(r"(?s)\}.*\}") & ~f.coalesce(alone, f.lit(False)))


def _parse_csv(text: DataFrame, schema: StructType | None, input: str, look: Look) -> Intake:
    headers = _csv_headers(text)
    names = _cells(headers[0])
    look(StructType([StructField(name, StringType()) for name in names]))
    lines = text.where((f.trim("value") != "") & ~f.col("value").isin(headers))
    if schema is None:
        # The header is one of the texts, once: without it Spark would take a line of data for one.
        reader = lines.sparkSession.read.options(inferSchema="true", **CSV_OPTIONS)
        guessed = reader.csv(lines).schema.fields
        schema = StructType([StructField(name, each.dataType) for name, each in zip(names, guessed, strict=False)])
    known = {each.name: each.dataType for each in schema.fields}
    # Cells go by position, so the types are put into the order of the header; a column nobody described is text.
    placed = StructType([StructField(name, known.get(name, StringType())) for name in names])
    row = f.from_csv("value", _with_corrupt(placed).json(), _PERMISSIVE | CSV_OPTIONS).alias("row")
    bad = f.when(~f.is_valid_utf8("value"), f.col("value")).otherwise(f.col(f"row.{CORRUPT}"))
    columns = [f.col("row").getField(name).alias(name) for name in names]
    rows = lines.select("value", row).select(*columns, bad.alias(CORRUPT))
    return Intake(rows, input, partial(explain_csv, schema=placed, input=input))


def _csv_headers(text: DataFrame) -> list[str]:
    """The first lines of all files, each once; raises DataError unless they name the same columns."""
    lines = text.where(f.trim("value") != "")
    if len(text.inputFiles()) == 1:
        first = lines.first()
        firsts = [] if first is None else [("", first["value"])]
    else:
        place = f.struct("_metadata.file_block_start", f.monotonically_increasing_id())
        by_file = lines.select(f.col("_metadata.file_path").alias("file"), "value", place.alias("place"))
        rows = by_file.groupBy("file").agg(f.min_by("value", "place").alias("value")).orderBy("file").collect()
        firsts = [(row["file"], row["value"]) for row in rows]
    if not firsts:
        raise DataError("the CSV has no header: its first line must name the columns")
    for file, line in firsts:
        if _cells(line) != _cells(firsts[0][1]):
            raise DataError(
                f"{file} has the columns {', '.join(_cells(line))}, but {firsts[0][0]} has "
                f"{', '.join(_cells(firsts[0][1]))}; read files with different headers one by one"
            )
    return list(dict.fromkeys(line for _, line in firsts))


def _cells(header: str) -> list[str]:
    return next(csv.reader([header.removeprefix("\ufeff")]), [])


def struct_of(schema: RowSchema) -> StructType | None:
    """The columns that a schema of any kind names; None where there is none."""
    if isinstance(schema, Schema):
        return spark_type(schema)
    if not isinstance(schema, str):
        return schema
    parsed = StructType.fromDDL(schema)
    if not isinstance(parsed, StructType):
        raise DataError(f"{schema!r} is no list of columns and types, as in 'symbol string, price double'")
    return parsed


def _with_corrupt(schema: StructType) -> StructType:
    return StructType([*schema.fields, StructField(CORRUPT, StringType())])


def _without_corrupt(schema: StructType) -> StructType:
    return StructType([each for each in schema.fields if each.name != "_corrupt_record"])
