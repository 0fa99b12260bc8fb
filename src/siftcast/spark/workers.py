"""Whether the workers can do what they are about to be sent: import Siftcast, in this version.

A session that somebody else has made may run Python elsewhere: on machines where nobody has installed the package, or
with another interpreter of this one. Without a check, the first job fails in each of its tasks, four times over, with
a stack trace that ends in `No module named 'siftcast'`. So a session is asked once, by a task of its own, before the
first job. An embedded session whose workers run this very interpreter is not asked: that task would cost most of a
second.

Whatever sends Python to the workers goes through `map_batches` or takes a shipment (`compiled.ship`), and both ask.
Functions that would first run jobs of Spark's own ask at their beginning.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version

import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql import types as t

from siftcast.spark.errors import SparkError, first_lines
from siftcast.spark.session import is_connect

PACKAGE = "siftcast"
_asked: set[str] = set()
_REMEDY = (
    "Install it where the workers run: pip install 'siftcast[spark]' on each of them (the interpreter is set by "
    "PYSPARK_PYTHON or spark.pyspark.python), or ship an environment with spark.archives; docs/spark.md shows both."
)


def check_workers(spark: SparkSession) -> None:
    """Raises SparkError, once for each session, if its workers lack the package or have another version of it."""
    known = spark.session_id if is_connect(spark) else spark.sparkContext.applicationId  # type: ignore[attr-defined]
    key = str(known)
    if key in _asked:
        return
    if not runs_here(spark):
        ask_worker(spark)
    _asked.add(key)


def map_batches(
    rows: DataFrame, run: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], form: t.StructType | str
) -> DataFrame:
    """A function over the Arrow batches of each task, as `mapInArrow`, for workers that are known to have ours."""
    check_workers(rows.sparkSession)
    return rows.mapInArrow(run, form)


def runs_here(spark: SparkSession) -> bool:
    """Whether workers surely run this interpreter on this machine."""
    if is_connect(spark):
        return False
    context = spark.sparkContext
    master = context.master or ""
    if not master.startswith("local") or master.startswith("local-cluster"):
        return False
    theirs = shutil.which(context.pythonExec)
    # Not by what links lead to: the interpreter of a virtual environment is a link to one without its packages.
    return theirs is not None and os.path.abspath(theirs) == os.path.abspath(sys.executable)


def ask_worker(spark: SparkSession, package: str = PACKAGE) -> None:
    """Has one task import the package; raises SparkError with what would help."""

    def look(_: object) -> str:  # pickled whole, as functions within functions are: a worker need not know this module
        import importlib
        import sys
        from importlib import metadata

        try:
            importlib.import_module(package)
            return f"+{metadata.version(package)}"
        except ImportError as error:
            return f"-Python {sys.version.split()[0]} at {sys.executable} says: {error}"

    ask = fn.udf(look, "string", useArrow=False)
    try:
        row = spark.range(1).select(ask("id")).first()
    except (PySparkException, Py4JError) as error:
        raise SparkError(
            f"the workers of this session cannot run Python:\n{first_lines(error, 4)}\n{_REMEDY}"
        ) from error
    answer = "" if row is None else str(row[0])
    if not answer.startswith("+"):
        raise SparkError(f"the workers of this session cannot import {package}: {answer[1:]}. {_REMEDY}")
    try:
        ours = version(package)
    except PackageNotFoundError:
        return
    if answer[1:] != ours:
        raise SparkError(f"the workers of this session have {package} {answer[1:]}, but this is {ours}. {_REMEDY}")
