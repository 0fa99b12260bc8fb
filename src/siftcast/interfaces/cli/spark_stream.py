"""`siftcast spark stream`: events that come in as files, against subscriptions that change meanwhile.

Ctrl-C ends it after the current micro-batch; a second one ends it at once. PySpark's own answer to Ctrl-C is to
cancel what runs, which would leave the micro-batch to be done again and an error on the screen, so it is replaced
while the stream runs. Importing this module does not import Spark.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import TYPE_CHECKING, Literal

import msgspec
from rich.live import Live
from rich.text import Text

from siftcast.interfaces.cli.options import Engine, Flag, JsonSummary, LenientFilters, Master, OutputFormat, Quiet
from siftcast.interfaces.cli.outcome import OK, REJECTED
from siftcast.interfaces.cli.spark_running import check_folder, on_interrupt, start_session
from siftcast.interfaces.cli.terminal import err, facts, out
from siftcast.model import Schema

if TYPE_CHECKING:
    from siftcast.spark import StreamProgress, StreamQuery

_LOOK_S = 0.25


def stream(
    *,
    events: str,
    event_schema: str,
    subscriptions: str,
    output: Path,
    checkpoint: Path,
    mode: Literal["pairs", "lists"] = "pairs",
    format: str | None = None,
    subscriptions_format: str | None = None,
    output_format: OutputFormat = "parquet",
    schema: Path | None = None,
    engine: Engine = "auto",
    lenient: LenientFilters = False,
    every: str | None = None,
    files_per_batch: int | None = None,
    dead_letters: Path | None = None,
    master: Master = None,
    once: Flag = False,
    quiet: Quiet = False,
    json: JsonSummary = False,
) -> int:
    """Match events as they come in, with subscriptions that change meanwhile; each event exactly once.

    Runs until Ctrl-C, or with --once until all that is there has been matched. Start it again with the same output and
    checkpoint to go on where it stopped, however it stopped. Rows that cannot be used go, each with its reason, to a
    folder of their own; the exit status is then 1.

    Example: siftcast spark stream --events events --event-schema "symbol string, price double"
    --subscriptions changes --output matches --checkpoint checkpoint

    Parameters
    ----------
    events
        The folder into which files of events are moved.
    event_schema
        Names and types of their columns: "symbol string, price double", or a TOML file with a schema.
    subscriptions
        The folder, file or table with changes of subscriptions: op (add, replace, remove), id, filter, version.
    output
        The folder for the results.
    checkpoint
        The folder in which the stream keeps how far it is.
    mode
        pairs: a row for each event and subscription; lists: a row for each event with all its subscriptions.
    format
        The format of the events, where the name of the folder does not say it: json (lines, the default), csv, parquet.
    subscriptions_format
        The format of the changes, where the names of their files do not say it.
    output_format
        The format of the results.
    schema
        A TOML file with the types of the attributes, against which filters are checked.
    every
        How often to look for events, as in "10 seconds"; by default as soon as the last ones are done.
    files_per_batch
        At most how many files to take at once; the fewer, the sooner changes of subscriptions take effect.
    dead_letters
        The folder for the rows that were refused, instead of OUTPUT/_dead_letters.
    once
        Match what is there now, and end.
    """
    check_folder(events)
    from siftcast import spark as ss

    spark = start_session(master, shown=not quiet)
    started = perf_counter()
    with ss.short_errors():
        query = ss.match_stream(
            ss.read_event_stream(
                events, _event_schema(event_schema), format, files_per_batch_max=files_per_batch, spark=spark
            ),
            subscriptions,
            output=output,
            checkpoint=checkpoint,
            mode=mode,
            trigger="available now" if once else every,
            dead_letters=dead_letters,
            format=output_format,
            subscriptions_format=subscriptions_format,
            schema=None if schema is None else Schema.load(schema),
            strict=not lenient,
            engine=engine,
        )
        interrupted = _watch(query, shown=not quiet)
        progress = query.progress()
    seconds = perf_counter() - started
    if json:
        out().print(_as_json(progress, seconds, output), soft_wrap=True, markup=False)
    elif not quiet:
        _show(progress, seconds, output, dead_letters or output / "_dead_letters", interrupted=interrupted)
    return REJECTED if progress.run.rejected else OK


def _event_schema(text: str) -> str | Schema:
    return Schema.load(Path(text)) if text.endswith(".toml") else text


# -- while it runs -----------------------------------------------------------------------------------


def _watch(query: StreamQuery, *, shown: bool) -> bool:
    """Draws the live line until the stream ends or is told to; says whether it was told."""
    console = err()
    stop = Event()
    started = perf_counter()
    with (
        on_interrupt(stop),
        Live(console=console, transient=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live,
    ):
        try:
            while not query.await_termination(_LOOK_S):
                if shown and console.is_terminal:
                    live.update(stream_line(query.progress(), perf_counter() - started), refresh=True)
                if stop.is_set():
                    if shown and console.is_terminal:
                        live.update(Text("finishing the micro-batch …"), refresh=True)
                    query.stop()
                    return True
        except KeyboardInterrupt:
            query.stop(timeout_s=0)
            return True
    return False


def stream_line(progress: StreamProgress, seconds: float) -> Text:
    """A stream on one line."""
    if progress.batch is None:
        return Text(f"waiting for the first events, {seconds:.0f} s")
    backlog = "unknown" if progress.backlog is None else f"{progress.backlog:,}"
    return Text.assemble(
        (f"{progress.rows_per_second:,.0f} events/s", "bold"),
        f" · backlog {backlog} · {progress.subscriptions:,} subscriptions, version {progress.version}",
        f" · {progress.run.events_in:,} events, {progress.run.pairs:,} matches",
        (f" · {progress.run.rejected:,} rejected" if progress.run.rejected else "", "yellow"),
    )


# -- afterwards --------------------------------------------------------------------------------------


def _as_json(progress: StreamProgress, seconds: float, output: Path) -> str:
    content = asdict(progress.run) | {
        "version": progress.version,
        "subscriptions": progress.subscriptions,
        "last_batch": progress.batch,
        "seconds": round(seconds, 3),
        "output": str(output),
    }
    return msgspec.json.encode(content).decode()


def _show(progress: StreamProgress, seconds: float, output: Path, letters: Path, *, interrupted: bool) -> None:
    run = progress.run
    rows = [
        (
            "events",
            f"{run.events_in:,} = {run.events_matched:,} matched + {run.events_unmatched:,} unmatched "
            f"+ {run.events_rejected:,} rejected, in {run.batches:,} micro-batches",
        ),
        (
            "changes",
            f"{run.changes_in:,} = {run.changes_made:,} made + {run.changes_rejected:,} rejected; "
            f"now {progress.subscriptions:,} subscriptions, version {progress.version}",
        ),
        ("pairs", f"{run.pairs:,}"),
        ("time", f"{seconds:.1f} s after the start of Spark"),
        ("output", str(output)),
    ]
    if run.rejected:
        rows.append(("rejected", str(letters)))
    if interrupted:
        rows.append(("stopped", "start it again with the same output and checkpoint to go on"))
    out().print(facts(rows))
