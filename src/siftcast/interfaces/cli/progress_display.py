"""The progress bar of a run: how far into the file, how many events per second, how many matches.

It is drawn on standard error, and only where that is a terminal; in a pipe or a log there is nothing to redraw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from siftcast.interfaces.cli.terminal import err

Update = Callable[[float, int, int], None]
Count = Callable[[int, int], None]


@contextmanager
def show_progress(title: str, *, enabled: bool) -> Iterator[Update]:
    """Gives a function that takes the share done (0 to 1), the events and the matches so far."""
    console = err()
    if not enabled or not console.is_terminal:
        yield lambda share, events, pairs: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=28),
        TaskProgressColumn(),
        TextColumn("{task.fields[events]:,} events  {task.fields[rate]:,.0f}/s  {task.fields[pairs]:,} matches"),
        TimeRemainingColumn(compact=True),
    )
    started = perf_counter()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(title, total=1.0, events=0, pairs=0, rate=0.0)

        def update(share: float, events: int, pairs: int) -> None:
            rate = events / max(perf_counter() - started, 1e-6)
            progress.update(task, completed=share, events=events, pairs=pairs, rate=rate)

        yield update


@contextmanager
def show_pairs(title: str, *, enabled: bool) -> Iterator[Count]:
    """Gives a function that takes how many of how many pairs of nodes are done."""
    console = err()
    if not enabled or not console.is_terminal:
        yield lambda done, of: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=28),
        TaskProgressColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} pairs"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(title, total=None)
        yield lambda done, of: progress.update(task, completed=done, total=of)
