"""`siftcast spark match`: from paths to a written table and counts that add up, on Spark.

Importing this module does not import Spark; the functions do when they run.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from glob import glob
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Literal

import msgspec
from rich.console import Console

from siftcast.interfaces.cli.options import (
    ColumnTypesFile,
    Engine,
    EventFiles,
    EventFormat,
    Flag,
    JsonSummary,
    LenientFilters,
    OutputFormat,
    Quiet,
    SubscriptionFiles,
    SubscriptionFormat,
)
from siftcast.interfaces.cli.outcome import OK, REJECTED
from siftcast.interfaces.cli.spark_progress import show_spark_progress
from siftcast.interfaces.cli.spark_running import check_inputs, check_outputs, run_cancellable, start_session
from siftcast.interfaces.cli.terminal import facts, out, percent
from siftcast.model import DataError, Schema

if TYPE_CHECKING:
    from siftcast.spark import MatchCounts


def match(
    *,
    events: EventFiles,
    subscriptions: SubscriptionFiles,
    output: str,
    output_mode: Literal["pairs", "lists"] = "pairs",
    format: EventFormat = None,
    subscriptions_format: SubscriptionFormat = None,
    output_format: OutputFormat = "parquet",
    schema: ColumnTypesFile = None,
    engine: Engine = "auto",
    lenient: LenientFilters = False,
    master: str | None = None,
    rejected: str | None = None,
    force: Flag = False,
    quiet: Quiet = False,
    json: JsonSummary = False,
) -> int:
    """Find which subscriptions each event satisfies, on Spark.

    Rows that cannot be used go, each with its reason, to OUTPUT.rejected; the exit status is then 1.

    Example: siftcast spark match --events events.jsonl --subscriptions subs.csv --output pairs

    Parameters
    ----------
    output
        The folder to write the result to, as Spark does: one file for each part of the work.
    output_mode
        pairs: a row for each event and subscription; lists: a row for each event with all its subscriptions.
    output_format
        The format of the result; csv holds neither lists nor nested columns.
    master
        Where to run: local[4], spark://host:7077, sc://host (Spark Connect). By default all cores of this machine.
    rejected
        The folder for the rows that were refused, instead of OUTPUT.rejected.
    force
        Replace what is in the output folders.
    """
    types = None if schema is None else Schema.load(schema)
    refused = rejected or output.rstrip("/") + ".rejected"
    _check_apart((events, subscriptions), output, refused)
    check_outputs(output, refused, force=force)
    check_inputs(events, subscriptions)
    from siftcast import spark as ss
    from siftcast.spark.intake import read_declared_events

    spark = start_session(master, shown=not quiet)
    started = perf_counter()

    def work() -> MatchCounts:
        with show_spark_progress(spark, enabled=not quiet) as say, ss.short_errors():
            say("reading")
            read = read_declared_events(events, format, types, strict=not lenient, spark=spark)
            wanted = ss.read_subscriptions(subscriptions, subscriptions_format, spark=spark)
            say("compiling subscriptions")
            result = ss.match_with_rejects(read, wanted, output_mode, schema=types, strict=not lenient, engine=engine)
            say("matching")
            mode = "overwrite" if force else "error"
            return result.save(output, rejected=refused, format=output_format, mode=mode)

    try:
        counts = run_cancellable(spark, work)
    except KeyboardInterrupt:
        for folder in (output, refused):
            _remove_if_empty(folder)
        raise
    report = SparkMatchReport(counts, output, refused, perf_counter() - started)
    if json:
        out().print(report.to_json(), soft_wrap=True, markup=False)
    elif not quiet:
        report.show(out())
    return REJECTED if report.rejected else OK


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


def _remove_if_empty(folder: str) -> None:
    """Spark makes the folder of a result first, and leaves it when it takes back the rest."""
    if "://" not in folder and Path(folder).is_dir() and not any(Path(folder).iterdir()):
        Path(folder).rmdir()


def _check_apart(inputs: tuple[str, ...], output: str, rejected: str) -> None:
    """Raises DataError where a result would be written over an input or over the other result."""
    read = [Path(found) for path in inputs for found in glob(path) or [path]]
    results = [("output", Path(output)), ("rejected", Path(rejected))]
    for name, result in results:
        for other in [*read, *(each for other, each in results if other != name)]:
            one, two = result.resolve(), other.resolve()
            if one.is_relative_to(two) or two.is_relative_to(one):
                raise DataError(f"--{name} {result} would be written over {other}; name another folder")
