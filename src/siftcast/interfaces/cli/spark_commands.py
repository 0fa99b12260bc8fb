"""`siftcast spark …`: the commands that run on Spark. Importing this module does not import Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from siftcast.interfaces.cli.outcome import OK, REJECTED
from siftcast.interfaces.cli.terminal import out
from siftcast.model import Schema

Flag = Annotated[bool, Parameter(negative="", show_default=False)]
OutputFormat = Literal["parquet", "json", "csv", "orc"]

spark_app = App(
    name="spark",
    help="The data pipeline on Spark: any number of events, embedded or on a cluster.",
    help_format="markdown",
)


@spark_app.command
def match(
    *,
    events: str,
    subscriptions: str,
    output: str,
    output_mode: Literal["pairs", "lists"] = "pairs",
    format: str | None = None,
    subscriptions_format: str | None = None,
    output_format: OutputFormat = "parquet",
    schema: Path | None = None,
    engine: str = "auto",
    lenient: Flag = False,
    master: str | None = None,
    rejected: str | None = None,
    force: Flag = False,
    quiet: Flag = False,
    json: Flag = False,
) -> int:
    """Find which subscriptions each event satisfies, on Spark.

    Rows that cannot be used go, each with its reason, to OUTPUT.rejected; the exit status is then 1.

    Example: siftcast spark match --events events.jsonl --subscriptions subs.csv --output pairs

    Parameters
    ----------
    events
        Events: a file, a folder or a pattern; .jsonl, .csv (with a header), .parquet or .orc.
    subscriptions
        Subscriptions in the same formats, with the columns id and filter.
    output
        The folder to write the result to, as Spark does: one file for each part of the work.
    output_mode
        pairs: a row for each event and subscription; lists: a row for each event with all its subscriptions.
    format
        The format of the events, where their name does not say it; any that Spark knows.
    subscriptions_format
        The format of the subscriptions, likewise.
    output_format
        The format of the result; csv holds neither lists nor nested columns.
    schema
        A TOML file with the types of the attributes. Without it they are those of the file, or guessed.
    engine
        The matching engine.
    lenient
        Take also filters that no event can answer: of columns that are not there, or of other types.
    master
        Where to run: local[4], spark://host:7077, sc://host (Spark Connect). By default all cores of this machine.
    rejected
        The folder for the rows that were refused, instead of OUTPUT.rejected.
    force
        Replace what is in the output folders.
    quiet
        Say nothing unless something is wrong.
    json
        Print the summary as one line of JSON.
    """
    from siftcast.interfaces.cli.spark_match_run import SparkMatchRequest, run_spark_match

    report = run_spark_match(
        SparkMatchRequest(
            events=events,
            subscriptions=subscriptions,
            output=output,
            output_mode=output_mode,
            events_format=format,
            subscriptions_format=subscriptions_format,
            output_format=output_format,
            schema=None if schema is None else Schema.load(schema),
            engine=engine,
            strict=not lenient,
            master=master,
            rejected=rejected or output.rstrip("/") + ".rejected",
            force=force,
            show=not quiet,
        )
    )
    if json:
        out().print(report.to_json(), soft_wrap=True, markup=False)
    elif not quiet:
        report.show(out())
    return REJECTED if report.rejected else OK
