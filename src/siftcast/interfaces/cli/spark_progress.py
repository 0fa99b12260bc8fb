"""The progress bar of a batch job on Spark: how many tasks of the running stages are done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from siftcast.interfaces.cli.terminal import err

if TYPE_CHECKING:
    from siftcast.spark import Progress as SparkProgress
    from siftcast.spark import SparkSession

Say = Callable[[str], None]


@contextmanager
def show_spark_progress(spark: SparkSession, *, enabled: bool) -> Iterator[Say]:
    """Draws on standard error where that is a terminal; gives a function that says what is being done."""
    console = err()
    if not enabled or not console.is_terminal:
        yield lambda doing: None
        return
    from siftcast.spark import watch

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=28),
        TaskProgressColumn(),
        TextColumn("{task.fields[done]} of {task.fields[tasks]} tasks"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=1.0, done=0, tasks=0)

        def show(progress: SparkProgress) -> None:
            if progress.tasks_total:
                bar.update(task, completed=progress.share, done=progress.tasks_done, tasks=progress.tasks_total)

        with watch(spark, show):
            yield lambda doing: bar.update(task, description=doing, completed=0.0, done=0, tasks=0)
