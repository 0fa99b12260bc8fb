"""One run of `siftcast spark match`: from paths to a written table and counts that add up."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from glob import glob
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Literal

import msgspec
from rich.console import Console

from siftcast.interfaces.cli.spark_progress import Say, show_spark_progress
from siftcast.interfaces.cli.spark_running import check_columns, run_cancellable, start_session
from siftcast.interfaces.cli.terminal import facts, percent
from siftcast.model import DataError, Schema

if TYPE_CHECKING:
    from siftcast.spark import MatchCounts, SparkSession


@dataclass(frozen=True, slots=True)
class SparkMatchRequest:
    """What the command line asked for."""

    events: str
    subscriptions: str
    output: str
    output_mode: Literal["pairs", "lists"]
    events_format: str | None
    subscriptions_format: str | None
    output_format: str
    schema: Schema | None
    engine: str
    strict: bool
    master: str | None
    rejected: str
    force: bool
    show: bool


@dataclass(frozen=True, slots=True)
class SparkMatchReport:
    """What a run came to."""

    counts: MatchCounts
    output: str
    rejected_to: str
    seconds: float

    @property
    def rejected(self) -> int:
        """How many rows of both inputs were refused."""
        return self.counts.events_rejected + self.counts.subscriptions_rejected

    def to_json(self) -> str:
        """The report as one JSON object on one line."""
        content = asdict(self.counts) | {
            "seconds": round(self.seconds, 3),
            "output": self.output,
            "rejected": self.rejected_to if self.rejected else None,
        }
        return msgspec.json.encode(content).decode()

    def show(self, console: Console) -> None:
        """The report as a few lines."""
        c = self.counts
        rows = [
            (
                "subscriptions",
                f"{c.subscriptions_in:,} = {c.subscriptions_used:,} used + {c.subscriptions_rejected:,} rejected",
            ),
            (
                "events",
                f"{c.events_in:,} = {c.events_matched:,} matched + {c.events_unmatched:,} unmatched "
                f"+ {c.events_rejected:,} rejected",
            ),
            ("pairs", f"{c.pairs:,}; {percent(c.events_matched, c.events_in)} of the events matched any"),
            ("time", f"{self.seconds:.1f} s after the start of Spark, {c.events_in / self.seconds:,.0f} events/s"),
            ("output", self.output),
        ]
        if self.rejected:
            rows.append(("rejected", self.rejected_to))
        console.print(facts(rows))


def run_spark_match(request: SparkMatchRequest) -> SparkMatchReport:
    """Matches, writes and counts."""
    _check_paths(request)
    from siftcast import spark as ss

    spark = start_session(request.master, shown=request.show)
    started = perf_counter()

    def work() -> MatchCounts:
        with show_spark_progress(spark, enabled=request.show) as say, ss.short_errors():
            return _match(spark, request, say)

    try:
        counts = run_cancellable(spark, work)
    except KeyboardInterrupt:
        for folder in (request.output, request.rejected):
            _remove_if_empty(folder)
        raise
    return SparkMatchReport(counts, request.output, request.rejected, perf_counter() - started)


def _match(spark: SparkSession, request: SparkMatchRequest, say: Say) -> MatchCounts:
    from siftcast import spark as ss

    say("reading")
    if request.strict and request.schema is not None:
        check_columns(spark, request.events, request.events_format, request.schema)
    events = ss.read_events(request.events, request.events_format, request.schema, spark=spark)
    subscriptions = ss.read_subscriptions(request.subscriptions, request.subscriptions_format, spark=spark)
    say("compiling subscriptions")
    result = ss.match_with_rejects(
        events,
        subscriptions,
        request.output_mode,
        schema=request.schema,
        strict=request.strict,
        engine=request.engine,
    )
    say("matching")
    mode = "overwrite" if request.force else "error"
    return result.save(request.output, rejected=request.rejected, format=request.output_format, mode=mode)


def _remove_if_empty(folder: str) -> None:
    """Spark makes the folder of a result first, and leaves it when it takes back the rest."""
    if "://" not in folder and Path(folder).is_dir() and not any(Path(folder).iterdir()):
        Path(folder).rmdir()


def _check_apart(request: SparkMatchRequest) -> None:
    """Raises DataError where a result would be written over an input or over the other result."""
    inputs = [Path(found) for path in (request.events, request.subscriptions) for found in glob(path) or [path]]
    results = [("output", Path(request.output)), ("rejected", Path(request.rejected))]
    for name, result in results:
        for other in [*inputs, *(each for other, each in results if other != name)]:
            one, two = result.resolve(), other.resolve()
            if one.is_relative_to(two) or two.is_relative_to(one):
                raise DataError(f"--{name} {result} would be written over {other}; name another folder")


def _check_paths(request: SparkMatchRequest) -> None:
    """Finds mistakes before Spark is started, as far as the paths are of this machine."""
    _check_apart(request)
    for folder in (request.output, request.rejected):
        if "://" not in folder and not request.force and Path(folder).exists():
            raise DataError(f"{folder}: exists; name another folder, or add --force to replace it")
    for path in (request.events, request.subscriptions):
        if "://" not in path and not any(sign in path for sign in "*?[{") and not Path(path).exists():
            raise DataError(f"{path}: there is no such file or folder")
