"""What our streams have in common: a function that Spark calls for each micro-batch, how often, and how they end.

Where that function raises, Spark raises as well, with a Java stack around the same words; the user is shown the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from siftcast.model import DataError
from siftcast.spark.errors import short_errors

AVAILABLE_NOW = "available now"


class Runner(Protocol):
    """What is called for each micro-batch; keeps what it raised."""

    error: BaseException | None


def triggered(writer: DataStreamWriter, trigger: str | None) -> DataStreamWriter:
    """A writer that is called as often as asked: None as soon as there is something, "10 seconds", "available now"."""
    if trigger is None:
        return writer
    if trigger.replace("_", " ") in (AVAILABLE_NOW, "once"):
        return writer.trigger(availableNow=True)
    try:
        return writer.trigger(processingTime=trigger)
    except (PySparkException, Py4JError, ValueError) as error:
        raise DataError(f"the trigger is {trigger!r}; it must be '{AVAILABLE_NOW}' or as '10 seconds'") from error


@contextmanager
def own_errors(runner: Runner) -> Iterator[None]:
    """Raises what ended a stream: the runner's error if it has one, else Spark's, in short."""
    try:
        yield
    except PySparkException as error:
        if runner.error is not None:
            raise runner.error from None
        with short_errors():
            raise error


def await_end(query: StreamingQuery, runner: Runner, timeout_s: float | None) -> bool:
    """Waits until a stream ends and says whether it has; raises what ended it, if that was an error."""
    with own_errors(runner):
        if timeout_s is None:
            query.awaitTermination()
            return True
        return bool(query.awaitTermination(timeout_s))  # type: ignore[arg-type]  # takes fractions too
