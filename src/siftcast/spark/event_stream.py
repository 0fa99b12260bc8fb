"""Events as they come: files that are added to a folder."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructField, StructType

from siftcast.files import COMPRESSIONS, format_named, format_of
from siftcast.model import DataError
from siftcast.spark.dead_letters import explain_csv
from siftcast.spark.intake import CORRUPT, CSV_OPTIONS, FORMATS, Intake, RowSchema, parse_events, struct_of
from siftcast.spark.session import active_session, session


def read_event_stream(
    path: str | Path,
    schema: RowSchema,
    format: str | None = None,
    *,
    files_per_batch_max: int | None = None,
    spark: SparkSession | None = None,
) -> Intake:
    """Events from files as they are added to a folder: JSON lines, CSV with a header, Parquet, ORC.

    Without a format the name of the folder says it, as in `events.csv/`, or it is JSON lines. A schema (Siftcast's,
    Spark's or a DDL text) is needed, because the files that will come cannot be looked at; CSV has its columns in that
    order, and a file with another header ends the stream. Bad lines become dead letters. Files are to be moved into the
    folder whole.

    The first micro-batch after a crash may have more files than `files_per_batch_max`: Spark then takes those that it
    had chosen and the next ones together.
    """
    spark = spark or active_session() or session()
    wanted = struct_of(schema)
    if not isinstance(wanted, StructType):
        raise DataError(
            "a stream of events needs the names and types of its columns, as in 'symbol string, price double'"
        )
    kind = format_named(format) or format_of(Path(path), FORMATS, COMPRESSIONS) or "json"
    reader = spark.readStream
    if files_per_batch_max is not None:
        reader = reader.option("maxFilesPerTrigger", files_per_batch_max)
    folder = None if "://" in str(path) else Path(path).absolute()
    if kind == "json":
        return replace(parse_events(reader.text(str(path)).where(f.trim("value") != ""), wanted), folder=folder)
    if kind != "csv":
        return Intake(reader.schema(wanted).format(kind).load(str(path)), "events", folder=folder)
    marked = StructType([*wanted.fields, StructField(CORRUPT, StringType())])
    options = {"header": "true", "enforceSchema": "false", "mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    rows = reader.schema(marked).options(**options, **CSV_OPTIONS).csv(str(path))
    return Intake(rows, "events", partial(explain_csv, schema=wanted), folder)
