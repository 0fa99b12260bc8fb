"""`siftcast spark statistics` and `siftcast spark partition`: what the data looks like, and zones of balanced load.

Importing this module does not import Spark; the functions do when they run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from siftcast.interfaces.cli.options import EventFiles, LenientSchema, Master, Quiet, SubscriptionFiles, Weight
from siftcast.interfaces.cli.outcome import OK, REJECTED
from siftcast.interfaces.cli.spark_running import check_inputs, start_session
from siftcast.interfaces.cli.terminal import bar, facts, out
from siftcast.model import Schema

if TYPE_CHECKING:
    from siftcast.space import Partition
    from siftcast.spark.statistics import Statistics

Names = Annotated[tuple[str, ...], Parameter(negative="", show_default=False)]
_CELLS_SHOWN = 8


def statistics(
    *,
    events: EventFiles,
    subscriptions: SubscriptionFiles,
    schema: Path,
    attributes: Names = (),
    weight: Weight = None,
    output: Path | None = None,
    lenient: LenientSchema = False,
    master: Master = None,
    quiet: Quiet = False,
) -> int:
    """Measure events and subscriptions: each attribute, and each cell of the content space.

    Rows that cannot be used are counted, and the exit status is then 1.

    Example: siftcast spark statistics --events events.parquet --subscriptions subs.jsonl --schema schema.toml

    Parameters
    ----------
    schema
        A TOML file with the attributes; those with a domain are the axes of the content space.
    attributes
        Look at the cells of these attributes only; may be given more than once.
    output
        Where to write both tables, as one JSON file.
    """
    from siftcast.spark.statistics import statistics as measure

    types = Schema.load(schema)
    with _inputs(events, subscriptions, types, weight, master, quiet, lenient) as given:
        given.say("measuring")
        axes = attributes or None
        found = measure(given.events, given.subscriptions, types, weight=weight, attributes=axes, strict=not lenient)
        attribute_rows, cell_rows = (table.toArrow().to_pylist() for table in (found.attributes, found.cells))
        refused = given.refused() + found.rejected
    if output is not None:
        counts = {"events": found.events, "subscriptions": found.subscriptions, "rejected": refused}
        tables = {"first_rejected": found.first_rejected, "attributes": attribute_rows, "cells": cell_rows}
        _write(output, json.dumps(counts | tables, indent=1))
    if not quiet:
        _show_counts(found, refused, output, out())
        _show_attributes(attribute_rows, out())
        _show_cells(cell_rows, out())
    return REJECTED if refused else OK


def partition(
    *,
    events: EventFiles,
    subscriptions: SubscriptionFiles,
    schema: Path,
    zones: int = 20,
    alpha: float = 0.6101,
    attributes: Names = (),
    weight: Weight = None,
    output: Path | None = None,
    lenient: LenientSchema = False,
    master: Master = None,
    quiet: Quiet = False,
) -> int:
    """Cut the content space into contiguous zones of balanced load, and say why these.

    The load of a zone is the sum of popularity^alpha · volume · weight over its events.

    Example: siftcast spark partition --events events.parquet --subscriptions subs.jsonl --schema schema.toml --zones 20

    Parameters
    ----------
    schema
        A TOML file with the attributes; those with a domain can be cut.
    zones
        How many zones; fewer come out where there are fewer values.
    alpha
        How load grows with popularity: 0 counts events only, 1 every match; 0.6101 is a tree of brokers.
    attributes
        Cut these attributes only; may be given more than once. Without it the best are chosen.
    output
        Where to write the zones, as a JSON file.
    """
    from siftcast.spark.partition import partition as cut
    from siftcast.spark.statistics import statistics as measure

    types = Schema.load(schema)
    with _inputs(events, subscriptions, types, weight, master, quiet, lenient) as given:
        given.say("measuring")
        axes = attributes or None
        known = measure(given.events, given.subscriptions, types, weight=weight, attributes=axes, strict=not lenient)
        given.say("choosing zones")
        found = cut(given.events, given.subscriptions, types, zones=zones, alpha=alpha, measured=known)
        refused = given.refused() + known.rejected
    if output is not None:
        _write(output, found.to_json())
    if not quiet:
        _show_counts(known, refused, output, out())
        _show_zones(found, out())
    return REJECTED if refused else OK


# -- inputs ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Inputs:
    events: Any
    subscriptions: Any
    refused: Callable[[], int]
    say: Callable[[str], None]


@contextmanager
def _inputs(
    events: str, subscriptions: str, schema: Schema, weight: str | None, master: str | None, quiet: bool, lenient: bool
) -> Iterator[_Inputs]:
    """Both tables as Spark reads them, and how many lines could not be read."""
    check_inputs(events, subscriptions)
    from siftcast import spark as ss
    from siftcast.interfaces.cli.spark_progress import show_spark_progress
    from siftcast.spark.intake import read_declared_events

    spark = start_session(master, shown=not quiet)
    with show_spark_progress(spark, enabled=not quiet) as say, ss.short_errors():
        say("reading")
        read = (
            read_declared_events(events, None, schema, weight=weight, strict=not lenient, spark=spark),
            ss.read_subscriptions(subscriptions, spark=spark),
        )
        yield _Inputs(read[0].good, read[1].good, lambda: sum(each.rejected.count() for each in read), say)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


# -- tables ------------------------------------------------------------------------------------------


def _show_counts(found: Statistics, refused: int, output: Path | None, console: Console) -> None:
    rows = [("events", f"{found.events:,}"), ("subscriptions", f"{found.subscriptions:,}")]
    if refused:
        which = f"the first is {found.first_rejected}" if found.first_rejected else "`siftcast spark match` says why"
        rows.append(("rejected", f"{refused:,} rows that cannot be used; {which}"))
    if output is not None:
        rows.append(("output", str(output)))
    console.print(facts(rows))


def _show_attributes(rows: list[dict[str, Any]], console: Console) -> None:
    table = Table(box=None, pad_edge=False, title_justify="left", title="\nattributes")
    table.add_column("name", style="bold")
    for name in ("type", "nulls", "outside", "values", "least", "greatest", "constrained by", "selectivity"):
        table.add_column(name, justify="left" if name == "type" else "right")
    for row in rows:
        table.add_row(
            Text(row["attribute"]),
            row["type"],
            f"{row['nulls']:,}",
            _number(row["outside"]),
            ("" if row["distinct_exact"] else "~") + f"{row['distinct']:,}" if row["events"] else "no values",
            Text(row["minimum"] or ""),
            Text(row["maximum"] or ""),
            _number(row["constrained"]),
            "" if row["selectivity"] is None else f"{row['selectivity']:.2%}",
        )
    console.print(table)
    without = [row["attribute"] for row in rows if row["selectivity"] is None]
    if without:
        from siftcast.planning.statistics_tables import NO_CELLS

        console.print(Text(f"no cells of {', '.join(without)}: {NO_CELLS}"))


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _show_cells(rows: list[dict[str, Any]], console: Console) -> None:
    """The cells of every axis that carry most of its load."""
    for name in dict.fromkeys(row["attribute"] for row in rows if row["attribute"] is not None):
        cells = [row for row in rows if row["attribute"] == name]
        total = sum(row["load"] for row in cells) or 1.0
        full = [row for row in cells if row["events"]]
        if not full:
            console.print(Text(f"\nno events in the {len(cells):,} cells of {name}"))
            continue
        table = Table(box=None, pad_edge=False, title_justify="left", title=Text(f"\n{len(cells):,} cells of {name}"))
        table.add_column("content", style="bold")
        for title in ("events", "subscriptions", "popularity", "weight", "load"):
            table.add_column(title, justify="right")
        table.add_column("")
        for row in sorted(full, key=lambda row: -row["load"])[:_CELLS_SHOWN]:
            share = row["load"] / total
            shown = (f"{row['events']:,}", f"{row['subscriptions']:,}", f"{row['popularity']:.2%}")
            table.add_row(Text(row["content"]), *shown, f"{row['weight']:.3g}", f"{share:.2%}", bar(share))
        console.print(table)


def _show_zones(found: Partition, console: Console) -> None:
    from siftcast.space.zones import describe

    console.print(Text(found.reason))
    total, largest = sum(found.loads) or 1.0, max(found.loads) or 1.0
    table = Table(box=None, pad_edge=False)
    table.add_column("zone", justify="right", style="bold")
    table.add_column("load", justify="right")
    table.add_column("")
    table.add_column("content", overflow="fold")
    for zone, load in zip(found.zones, found.loads, strict=True):
        content = Text(describe(found.space, zone.box))
        table.add_row(str(zone.index), f"{load / total:.2%}", bar(load / largest, 16), content)
    console.print(table)
