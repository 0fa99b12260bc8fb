"""`siftcast reproduce`: a paper's numbers, regenerated and judged."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from siftcast.interfaces.cli.options import Flag
from siftcast.interfaces.cli.outcome import OK, REJECTED
from siftcast.interfaces.cli.spark_running import run_cancellable
from siftcast.interfaces.cli.terminal import err, out
from siftcast.model import DataError

Paper = Literal["kyra", "lookup-reuse", "clustering", "rendezvous", "homed", "qos", "underlay"]


def reproduce(paper: Paper, /, *, figure: str | None = None, quick: Flag = False, output: Path | None = None) -> int:
    """Regenerate the experiments of a paper and say which of its claims hold.

    Runs each configuration as a Spark task. Interrupt it whenever you like: finished configurations are kept, and the
    same command goes on from there. Writes claims.json, figures and a page into the output folder.

    Example: siftcast reproduce lookup-reuse --quick

    Parameters
    ----------
    paper
        Which paper.
    figure
        Only what one row needs, as in K8, L2 or C3.
    quick
        Few seeds and small sizes: minutes instead of an hour, and rough numbers.
    output
        The folder to write to; by default reproduction/PAPER, or reproduction/PAPER-quick.
    """
    from siftcast.experiments import STUDIES
    from siftcast.experiments.reproduce import reproduce as run

    study = STUDIES[paper]()
    if figure is not None and figure not in study.figures:
        raise DataError(f"{paper} has no row {figure!r}; it has {', '.join(study.figures)}")
    folder = output or Path("reproduction") / (f"{paper}-quick" if quick else paper)
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder}: is a file; name a folder to write to")
    folder.mkdir(parents=True, exist_ok=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err(), transient=True) as bar:
        task = bar.add_task(f"{paper}: configurations", total=None)
        found = run(
            study,
            folder,
            quick=quick,
            figure=figure,
            show=lambda done, total: bar.update(task, completed=done, total=total),
            through=run_cancellable,
        )
    table = Table(title=f"{study.title}: {found.configurations} configurations, {found.seconds:,.0f} s of one core")
    for column in ("row", "claim", "paper", "ours", "verdict"):
        table.add_column(column, overflow="fold")
    for item in found.verdicts:
        style = "red" if item.holds is False else "green" if item.holds else ""
        table.add_row(item.id, item.claim, item.paper, item.ours, item.verdict, style=style)
    out().print(table)
    out().print(f"{found.page} tells the whole story; {folder / 'claims.json'} has it for programs.")
    failed = [item.id for item in found.verdicts if item.holds is False]
    if failed:
        out().print(Text(f"does not hold: {', '.join(failed)}", "bold red"), soft_wrap=True)
    else:
        held = sum(item.holds is not None for item in found.verdicts)
        out().print(f"{held} of {held} judged rows hold")
    return REJECTED if failed else OK
