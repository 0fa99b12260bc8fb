"""`siftcast match`: a file of events against a file of subscriptions."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from siftcast.interfaces.cli.options import Flag, JsonSummary, OutputFormat, Quiet, TypesFile
from siftcast.interfaces.cli.outcome import INTERRUPTED, OK, REJECTED
from siftcast.interfaces.cli.terminal import err, out
from siftcast.model import DataError, Schema


def match(
    *,
    subscriptions: Path,
    events: Path,
    output: Path | None = None,
    schema: TypesFile = None,
    engine: str = "auto",
    rejected_to: Path | None = None,
    spark: Flag = False,
    quiet: Quiet = False,
    json: JsonSummary = False,
) -> int:
    """Find which subscriptions each event satisfies.

    Rows that cannot be used go, each with its reason, to INPUT.rejected; the exit status is then 1.

    Example: siftcast match --subscriptions subs.jsonl --events events.csv.gz --output pairs.parquet

    Parameters
    ----------
    subscriptions
        Subscriptions: .jsonl, .csv or .parquet with the fields id and filter.
    events
        Events: .jsonl, .csv, .parquet or .arrow, each also with .gz.
    output
        Where to write the pairs of event and subscription: .parquet, .jsonl or .csv. Without it they are counted.
    engine
        The matching engine: auto is the fastest that fits every workload, brute_force tries every filter.
    rejected_to
        A folder for the .rejected files, instead of the folder of each input.
    spark
        Run on Spark; the output is then a folder of files in the format of its suffix, Parquet where it has none.
        `siftcast spark match` has more options.
    """
    if spark:
        return _on_spark(subscriptions, events, output, schema, engine, rejected_to, quiet=quiet, json=json)
    from siftcast.interfaces.cli.match_run import Interrupted, MatchRequest, run_match

    types = None if schema is None else Schema.load(schema)
    request = MatchRequest(subscriptions, events, output, types, engine, rejected_to, progress=not quiet)
    try:
        report, status = run_match(request), OK
    except Interrupted as interruption:
        report, status = interruption.report, INTERRUPTED
        where = "" if report.output is None else f"; their matches are in {report.output}"
        err().print(f"Interrupted after {report.tally.events:,} events{where}", style="yellow", soft_wrap=True)
    if json:
        out().print(report.to_json(), soft_wrap=True, markup=False)
    elif not quiet:
        report.show(out())
    return REJECTED if status == OK and report.rejected else status


def _on_spark(
    subscriptions: Path,
    events: Path,
    output: Path | None,
    schema: Path | None,
    engine: str,
    rejected_to: Path | None,
    *,
    quiet: bool,
    json: bool,
) -> int:
    """The same request, handed to `siftcast spark match`."""
    from siftcast.interfaces.cli.spark_match import match as spark_match

    if output is None:
        raise DataError("with --spark the matches are written by Spark: say where with --output FOLDER")
    from siftcast.files import format_of, suffixes_of
    from siftcast.spark.intake import FORMATS

    kind = format_of(output, FORMATS) if output.suffix else "parquet"
    if kind is None:
        raise DataError(f"{output}: the name must end in {suffixes_of(FORMATS)}, or be that of a folder")
    rejected = output.with_name(output.name + ".rejected") if rejected_to is None else rejected_to
    for folder in (output, rejected):
        if folder.exists():
            raise DataError(f"{folder}: exists; name another folder, or remove it")
    return spark_match(
        events=str(events),
        subscriptions=str(subscriptions),
        output=str(output),
        schema=schema,
        engine=engine,
        output_format=cast(OutputFormat, kind),
        rejected=str(rejected),
        quiet=quiet,
        json=json,
    )
