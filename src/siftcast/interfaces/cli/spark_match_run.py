"""One run of `siftcast spark match`: from paths to a written table and counts that add up."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Literal

import msgspec
from rich.console import Console

from siftcast.interfaces.cli.spark_progress import show_spark_progress
from siftcast.interfaces.cli.terminal import err, facts, percent
from siftcast.model import DataError, Schema

if TYPE_CHECKING:
    from siftcast.spark import MatchCounts


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

    with _log_on_screen(request.show):
        spark = ss.session(master=request.master)
    started = perf_counter()
    with show_spark_progress(spark, enabled=request.show) as say, ss.short_errors():
        say("reading")
        events = ss.read_events(request.events, request.events_format, request.schema, spark=spark)
        subscriptions = ss.read_subscriptions(request.subscriptions, request.subscriptions_format, spark=spark)
        say("compiling subscriptions")
        result = ss.match_with_rejects(
            events, subscriptions, request.output_mode, schema=request.schema, engine=request.engine
        )
        say("matching")
        mode = "overwrite" if request.force else "error"
        counts = result.save(request.output, rejected=request.rejected, format=request.output_format, mode=mode)
    return SparkMatchReport(counts, request.output, request.rejected, perf_counter() - started)


def _check_paths(request: SparkMatchRequest) -> None:
    """Finds mistakes before Spark is started, as far as the paths are of this machine."""
    for folder in (request.output, request.rejected):
        if "://" not in folder and not request.force and Path(folder).exists():
            raise DataError(f"{folder}: exists; name another folder, or add --force to replace it")
    for path in (request.events, request.subscriptions):
        if "://" not in path and not any(sign in path for sign in "*?[{") and not Path(path).exists():
            raise DataError(f"{path}: there is no such file or folder")


@contextmanager
def _log_on_screen(shown: bool) -> Iterator[None]:
    """Shows what the Spark room logs while the session starts."""
    log = logging.getLogger("siftcast.spark")
    handler = _ToConsole(lambda text: err().print(text, style="dim", markup=False, soft_wrap=True))
    before = log.level
    if shown:
        log.addHandler(handler)
        log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


class _ToConsole(logging.Handler):
    def __init__(self, write: Callable[[str], None]) -> None:
        super().__init__()
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        self._write(self.format(record))
