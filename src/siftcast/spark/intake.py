"""Rows as they come from outside: the ones that can be read, and the ones that cannot.

Spark reads a bad line of JSON or CSV in its permissive mode as a row of nulls, which a filter with `IS NULL` would
match. An `Intake` keeps such rows apart: `good` has the rows that were read, `rejected` the others as dead letters,
and every line that came in is in exactly one of the two.

Lines are read as text and parsed by `from_json` and its like, not by Spark's file readers: those keep the text of a
bad line only if other columns are asked for too, and so could not be counted.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from os import PathLike, fspath
from pathlib import PurePosixPath

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructField, StructType

from siftcast.model import DataError, Schema
from siftcast.spark.dead_letters import dead_letter_frame, explain_csv, explain_json, letters_of
from siftcast.spark.schemas import SUBSCRIPTIONS, spark_type
from siftcast.spark.session import active_session, session

CORRUPT = "_siftcast_corrupt"
FORMATS = {".json": "json", ".jsonl": "json", ".ndjson": "json", ".csv": "csv", ".parquet": "parquet", ".orc": "orc"}
_CODES = {"events": "event", "subscriptions": "subscription"}
FilePath = str | PathLike[str]
RowSchema = StructType | Schema | str | None


def _no_reason(_source: str) -> str:
    return "it cannot be read"


@dataclass(frozen=True, slots=True)
class Intake:
    """Rows of events or subscriptions; `rows` has all of them, with the text of a bad one in the column CORRUPT."""

    rows: DataFrame
    input: str = "events"
    explain: Callable[[str], str] = field(default=_no_reason)

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
        return letters_of(bad, self.input, _CODES[self.input], self.explain)


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

    The schema may be Siftcast's, Spark's or a DDL text; without one, Spark looks at the data to guess it.
    """
    return _read(spark or active_session() or session(), fspath(path), format, _struct(schema), "events")


def read_subscriptions(path: FilePath, format: str | None = None, *, spark: SparkSession | None = None) -> Intake:
    """Subscriptions from files of the same formats: id, filter[, dialect, subscriber]."""
    return _read(spark or active_session() or session(), fspath(path), format, SUBSCRIPTIONS, "subscriptions")


def parse_events(lines: DataFrame, schema: RowSchema = None, *, column: str = "value") -> Intake:
    """Events that lie as JSON texts in a column, as from Kafka or a text file; a null or blank text is refused too."""
    if column not in lines.columns:
        raise DataError(f"there is no column '{column}'; there are {', '.join(lines.columns)}")
    return _parse_json(lines.select(f.col(column).cast("string").alias("value")), _struct(schema), "events")


def split_corrupt(rows: DataFrame, column: str = "_corrupt_record", input: str = "events") -> Intake:
    """Rows that Spark read in its permissive mode, with bad ones in its column for corrupt records.

    The rows are cached: Spark does not answer questions about that column alone from a file.
    """
    if column not in rows.columns:
        raise DataError(f"there is no column '{column}'; there are {', '.join(rows.columns)}")
    return Intake(rows.cache().withColumnRenamed(column, CORRUPT), input)


def format_of(path: str) -> str:
    """The format that the name of a file says; raises DataError where it does not."""
    suffixes = [suffix.lower() for suffix in PurePosixPath(path.rstrip("/")).suffixes]
    while suffixes and suffixes[-1] in (".gz", ".bz2", ".zst", ".snappy"):
        suffixes.pop()
    if not suffixes or suffixes[-1] not in FORMATS:
        raise DataError(f"{path}: the name does not say the format; it must end in {', '.join(FORMATS)}, or be told")
    return FORMATS[suffixes[-1]]


def _read(spark: SparkSession, path: str, format: str | None, schema: StructType | None, input: str) -> Intake:
    kind = {"jsonl": "json", "ndjson": "json"}.get(format or "", format) or format_of(path)
    if kind in ("json", "csv"):
        lines = spark.read.text(path).where(f.trim("value") != "")
        return (_parse_json if kind == "json" else _parse_csv)(lines, schema, input)
    reader = spark.read.format(kind)
    # A table knows its own columns; for subscriptions it may have fewer or more than we know.
    return Intake((reader if schema is None or input == "subscriptions" else reader.schema(schema)).load(path), input)


def _parse_json(lines: DataFrame, schema: StructType | None, input: str) -> Intake:
    if schema is None:
        schema = _without_corrupt(lines.sparkSession.read.json(lines).schema)
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    parsed = lines.select("value", f.from_json("value", _with_corrupt(schema), options).alias("row"))
    # Some texts that are no object, such as "null", come back without a row and without a complaint; and of a text that
    # goes on behind the object Spark reads the object alone, which would lose the second one on a line.
    text = f.coalesce("value", f.lit(""))
    alone = f.json_array_length(f.concat(f.lit("["), "value", f.lit("]"))).eqNullSafe(1)
    goes_on = ~f.rtrim("value").endswith("}") | (f.col("value").rlike(r"\}\s*,?\s*\{") & ~alone)
    corrupt = f.when(f.col("row").isNull() | goes_on, text).otherwise(f.col(f"row.{CORRUPT}"))
    columns = [f.col("row").getField(name).alias(name) for name in schema.names]
    return Intake(parsed.select(*columns, corrupt.alias(CORRUPT)), input, partial(explain_json, schema=schema))


def _parse_csv(lines: DataFrame, schema: StructType | None, input: str) -> Intake:
    first = lines.first()
    if first is None:
        raise DataError("the CSV has no header: its first line must name the columns")
    names = next(csv.reader([first["value"].removeprefix("\ufeff")]), [])
    reader = lines.sparkSession.read.option("header", True)
    if schema is None:
        schema = _without_corrupt(reader.option("inferSchema", True).csv(lines).schema)
    known = {each.name: each.dataType for each in schema.fields}
    # Cells go by position, so the types are put into the order of the header; a column nobody described is text.
    placed = StructType([StructField(name, known.get(name, StringType())) for name in names])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    rows = reader.options(**options).schema(_with_corrupt(placed)).csv(lines)
    return Intake(rows, input, partial(explain_csv, schema=placed))


def _struct(schema: RowSchema) -> StructType | None:
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
