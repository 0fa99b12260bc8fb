"""A stream of events against subscriptions that change while it runs, each event exactly once.

    query = ss.match_stream(events, "changes/", output="matches", checkpoint="checkpoint")
    query.await_termination()
    ss.read_matches("matches")         # event columns, subscription_id, subscription_version, batch

Spark cuts the stream into micro-batches; `stream_batches` has the way of one of them, `changelog` and
`changelog_sources` how changes come in, `stream_standing` the subscriptions at a version, `stream_journal` what makes a
restart repeatable, `stream_output` what is left behind, `stream_control` how a stream is triggered and ends, and
`stream_progress` the numbers.

Rejected: a stateful or stream-stream join with the changelog as second stream. Spark would keep one row of state per
subscription and compare each event with all of them; and which version an event met would depend on timing.
"""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import LongType, StringType, StructField, StructType

from siftcast.model import DataError, Schema
from siftcast.spark.changelog import NO_VERSION
from siftcast.spark.changelog_sources import FileChangelog, open_changelog
from siftcast.spark.errors import SparkError
from siftcast.spark.filter_check import FilterCheck
from siftcast.spark.intake import Intake, as_intake
from siftcast.spark.schemas import MATCHED, SUBSCRIPTION_ID, Output, check_event_columns, lists_type
from siftcast.spark.session import is_connect
from siftcast.spark.stream_batches import BatchRunner, Sink
from siftcast.spark.stream_control import await_end, own_errors, triggered
from siftcast.spark.stream_folders import discard_attempts, local_folder
from siftcast.spark.stream_journal import Journal
from siftcast.spark.stream_output import (
    BATCH,
    FORMATS,
    VERSION,
    StreamDescription,
    check_apart,
    claim_dead_letters,
    describe,
)
from siftcast.spark.stream_progress import Backlog, StreamProgress
from siftcast.spark.stream_standing import StandingSubscriptions
from siftcast.spark.workers import check_workers


class StreamQuery:
    """A matching that runs; `query` is Spark's own handle of it."""

    def __init__(self, query: StreamingQuery, runner: BatchRunner, standing: StandingSubscriptions, backlog: Backlog):
        self.query = query
        self._runner = runner
        self._standing = standing
        self._backlog = backlog

    @property
    def is_active(self) -> bool:
        """Whether it still runs."""
        return self.query.isActive

    @property
    def version(self) -> int:
        """The version of the subscriptions that the last finished micro-batch was matched under; -1 before any."""
        return self._runner.last.version if self._runner.last is not None else NO_VERSION

    def progress(self) -> StreamProgress:
        """How it is doing; may be asked from any thread, also after the end."""
        runner, last = self._runner, self._runner.last
        reported = self.query.lastProgress
        return StreamProgress(
            running=self.query.isActive,
            batch=None if last is None else last.batch,
            version=self.version,
            subscriptions=0 if last is None else last.subscriptions,
            rows_per_second=0.0 if reported is None else float(reported["processedRowsPerSecond"] or 0.0),
            backlog=None if reported is None else self._backlog.of(reported["sources"]),
            run=runner.total.minus(runner.total_before),
            total=runner.total,
        )

    def await_termination(self, timeout_s: float | None = None) -> bool:
        """Waits until it ends and says whether it has; raises what ended it, if that was an error."""
        ended = await_end(self.query, self._runner, timeout_s)
        if ended:
            self._take_back()
        return ended

    def process_all_available(self) -> None:
        """Waits until everything that is there now has been matched."""
        with own_errors(self._runner):
            self.query.processAllAvailable()

    def stop(self, timeout_s: float = 60.0) -> None:
        """Ends it after the micro-batch that is being run, or in the midst of it where that takes too long.

        Nothing is lost either way: what is not committed is done by the next start.
        """
        if self._runner.between_batches.acquire(timeout=timeout_s):
            self._runner.between_batches.release()
        self.query.stop()
        self._take_back()

    def _take_back(self) -> None:
        """Frees what the workers hold; a micro-batch that was cut off may still be on its way out, and need it."""
        if self._runner.between_batches.acquire(blocking=False):
            self._standing.close()
            self._runner.between_batches.release()


def match_stream(
    events: DataFrame | Intake,
    subscriptions: str | Path,
    *,
    output: str | Path,
    checkpoint: str | Path,
    mode: Output = "pairs",
    trigger: str | None = None,
    dead_letters: str | Path | None = None,
    format: str = "parquet",
    subscriptions_format: str | None = None,
    schema: Schema | None = None,
    strict: bool = True,
    engine: str = "auto",
    name: str | None = None,
) -> StreamQuery:
    """Starts to match a stream of events with the subscriptions of a changelog (see `changelog` for its columns).

    `subscriptions` is a folder, a file or a table. Results have the event's columns, `subscription_id` or `matched` as
    for `match`, and `subscription_version`; read them with `read_matches`. What is refused goes to `dead_letters`, by
    default a folder within the output; so do, unless `strict` is off, changes whose filters do not fit the events.
    `trigger` says how often: None as soon as there are events, "10 seconds", or "available now" for what is there now,
    and then ends. Start it again with the same output and checkpoint to continue where it stopped, however it stopped.
    """
    taken = as_intake(events, "events")
    spark = taken.rows.sparkSession
    if is_connect(spark):
        raise SparkError("match_stream() keeps subscriptions in the driver, so it does not work through Spark Connect")
    if not taken.rows.isStreaming:
        raise DataError("these events are a table, not a stream; make them with spark.readStream, or use match()")
    columns = _result_columns(taken, mode, format)
    check_workers(spark)
    into, state = local_folder(output, "output"), local_folder(checkpoint, "checkpoint")
    letters = into / "_dead_letters" if dead_letters is None else local_folder(dead_letters, "folder for dead letters")
    changelog = open_changelog(spark, subscriptions, subscriptions_format)
    changes = changelog.folder if isinstance(changelog, FileChangelog) else None
    places = {"events": taken.folder, "changes of subscriptions": changes, "checkpoint": state, "output": into}
    check_apart(places | {"dead letters": letters})
    check = FilterCheck.of(schema, taken.good if strict else None)
    standing = StandingSubscriptions(spark, schema, engine, check)
    writer = triggered(taken.rows.writeStream, trigger).option("checkpointLocation", str(state))
    if name is not None:
        writer = writer.queryName(name)
    known = describe(into, state, StreamDescription(uuid4().hex, mode, format, columns.json(), str(letters)))
    if dead_letters is not None:
        claim_dead_letters(letters, known)
    for folder in (into, letters):
        discard_attempts(folder)
    runner = BatchRunner(taken, changelog, standing, Journal(state / "siftcast"), Sink(into, letters, mode, format))
    return StreamQuery(writer.foreachBatch(runner).start(), runner, standing, Backlog(state))


def _result_columns(events: Intake, mode: Output, format: str) -> StructType:
    """The columns of the results; raises DataError where they cannot be told apart or written."""
    names = events.good.columns
    check_event_columns(names, mode)
    taken = next((name for name in names if name.lower() in (VERSION, BATCH)), None)
    if taken is not None:
        raise DataError(f"the events have a column '{taken}', which is the name of one of the results; rename it first")
    if format not in FORMATS:
        raise DataError(f"the format of the results must be {', '.join(FORMATS)}, not {format!r}")
    if format == "csv" and mode == "lists":
        raise DataError("CSV holds no lists; choose mode='pairs' or another format")
    of_events = events.good.schema
    if mode == "lists":
        whole = lists_type(of_events, MATCHED)
    else:
        whole = StructType([*of_events.fields, StructField(SUBSCRIPTION_ID, StringType())])
    return StructType([*whole.fields, StructField(VERSION, LongType())])
