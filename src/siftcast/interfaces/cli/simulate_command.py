"""`siftcast simulate`: runs a scenario on the simulator and says what came of it."""

from __future__ import annotations

import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.progress import Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from siftcast.interfaces.cli.options import Flag
from siftcast.interfaces.cli.outcome import OK, REJECTED
from siftcast.interfaces.cli.simulate_example import EXAMPLE
from siftcast.interfaces.cli.terminal import err, out
from siftcast.model import DataError

if TYPE_CHECKING:
    from siftcast.runtimes.sim.scenario_run import ScenarioRun
    from siftcast.runtimes.sim.verdicts import Line, Verdict

_STORIES = 3


def simulate(
    scenario: Path | None = None,
    /,
    *,
    seed: int = 0,
    seeds: Annotated[int, Parameter(validator=Number(gte=1))] | None = None,
    results: Path | None = None,
    trace: Path | None = None,
    svg: Path | None = None,
    event: str | None = None,
    example: Flag = False,
    quiet: Flag = False,
) -> int:
    """Run a scenario on the simulator: one seed decides everything.

    Shows what was delivered and what it cost; exit status 1 if something the scenario asks for does not hold, or could
    not be judged because nothing was there to be judged. Then prints the command that replays the run.

    With --seeds, runs it under so many seeds, counted from --seed, each as a Spark task, and shows what each came to.

    Example: siftcast simulate scenario.toml --seed 7 --svg network.svg
    Example: siftcast simulate scenario.toml --seeds 20

    Parameters
    ----------
    scenario
        A TOML file; --example prints one to start with.
    seed
        Decides everything that is random.
    seeds
        How many seeds to try, on all cores.
    results
        A folder to keep results of --seeds in: what is finished there is not run again.
    trace
        A folder to write the trace to, as Parquet.
    svg
        A file to draw the network to, with the way of one event.
    event
        The event whose way is told and drawn; the one with the most hops for a drawing unless told.
    example
        Print a scenario with comments, and run nothing.
    quiet
        Say nothing unless a check fails.
    """
    if example:
        out().print(Text(EXAMPLE), end="", soft_wrap=True)
        return OK
    if scenario is None:
        raise DataError("which scenario? Name a file; siftcast simulate --example > scenario.toml makes one")

    if seeds is not None:
        if trace is not None or svg is not None or event is not None:
            raise DataError("--trace, --svg and --event are about one run; give them with --seed, without --seeds")
        return _sweep(scenario, range(seed, seed + seeds), results, quiet=quiet)
    if results is not None:
        raise DataError("--results keeps what --seeds found; say how many seeds")

    from siftcast.runtimes.sim.scenario import load_scenario
    from siftcast.runtimes.sim.scenario_run import prepare
    from siftcast.runtimes.sim.verdicts import judge

    run = prepare(load_scenario(scenario), seed)
    _run_with_progress(run, show=not quiet)
    if event is not None and event not in run.simulation.trace.events:
        raise DataError(f"no event '{event}' was published; {_some_events(run)}")
    verdict = judge(run)
    if trace is not None:
        run.simulation.trace.save(trace)
    if svg is not None:
        _draw(run, svg, event)
    if not quiet or not verdict.ok:
        _show(run, verdict)
    if event is not None:
        _tell(run, event)
    if not verdict.ok:
        _show_failure(verdict, _replay(verdict, scenario, seed))
    return OK if verdict.ok else REJECTED


def _sweep(scenario: Path, seeds: range, results: Path | None, *, quiet: bool) -> int:
    from siftcast.experiments.seeds import sweep_seeds

    with TemporaryDirectory() as scratch:
        found = sweep_seeds(scenario, seeds, results if results is not None else scratch)
    unsound = [each for each in found if each.outcome != "passed"]
    if not quiet or unsound:
        table = Table(box=None, pad_edge=False)
        for heading in ("seed", "outcome", "required", "faults", "delay, ms", "at most", "steps", "failed"):
            table.add_column(heading, justify="left" if heading in ("outcome", "failed") else "right")
        for each in found:
            numbers = (
                f"{each.required:,}",
                f"{each.faults:,}",
                f"{each.delay_ms_mean:,.1f}",
                f"{each.delay_ms_max:,.1f}",
            )
            table.add_row(str(each.seed), each.outcome, *numbers, f"{each.steps:,}", ", ".join(each.failed))
        out().print(table)
        out().print(Text(f"{len(found) - len(unsound):,} of {len(found):,} seeds passed"))
    if not unsound:
        return OK
    replay = f"siftcast simulate {shlex.quote(str(scenario))} --seed {unsound[0].seed}"
    err().print(Text.assemble("replay: ", (replay, "cyan")), soft_wrap=True)
    return REJECTED


def _run_with_progress(run: ScenarioRun, *, show: bool) -> None:
    from siftcast.runtimes.sim.scenario_run import execute

    console = err()
    if not show or not console.is_terminal:
        execute(run)
        return
    columns = (
        TextColumn("{task.description}"),
        TextColumn("{task.fields[handled]:,} messages"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("subscribing", total=None, handled=0)
        execute(run, lambda phase, handled: progress.update(task, description=phase, handled=int(handled)))


def _show(run: ScenarioRun, verdict: Verdict) -> None:
    console, scenario = out(), run.file.scenario
    console.print(Text(scenario.title or run.file.path, "bold"))
    routers = f" and {run.underlay.routers:,} routers" if run.underlay.routers else ""
    what = f"{scenario.scheme.name} on {run.underlay.servers:,} servers{routers}"
    console.print(Text(f"{what}; {run.simulation.handled:,} steps, {run.simulation.now:,.0f} ms; seed {run.seed}"))
    table = Table(box=None, pad_edge=False)
    for heading in ("", "measured", "asked"):
        table.add_column(heading, overflow="fold")
    for line in verdict.lines:
        table.add_row(Text(line.name), Text(line.value), _mark(line))
    console.print(table)
    for remark in run.remarks:
        console.print(Text(f"note: {remark}", "yellow"), soft_wrap=True)
    console.print(Text(f"trace {run.simulation.trace.digest()}", "dim"))


def _mark(line: Line) -> Text:
    """What was asked of a measure, and whether it holds; a question mark where nothing was there to be judged."""
    if line.vacuous:
        return Text(f"? {line.bound}", "bold yellow")
    if line.ok is None:
        return Text(line.bound)
    return Text(f"✓ {line.bound}", "green") if line.ok else Text(f"✗ {line.bound}", "bold red")


def _show_failure(verdict: Verdict, replay: str) -> None:
    console = err()
    for violation in verdict.violations[:_STORIES]:
        console.print(Text(str(violation)), soft_wrap=True)
    hidden = verdict.faults - min(_STORIES, len(verdict.violations))
    if hidden > 0:
        console.print(Text(f"… and {hidden:,} more", "dim"))
    if verdict.outcome == "failed":
        failed = ", ".join(line.name for line in verdict.lines if line.ok is False)
        console.print(Text(f"failed: {failed}", "bold red"))
    else:
        first, *others = verdict.reasons
        console.print(Text(f"vacuous: {first}", "bold yellow"), soft_wrap=True)
        for sentence in others:
            console.print(Text(sentence), soft_wrap=True)
    console.print(Text.assemble("replay: ", (replay, "cyan")), soft_wrap=True)


def _replay(verdict: Verdict, scenario: Path, seed: int) -> str:
    """The command that runs it again."""
    command = f"siftcast simulate {shlex.quote(str(scenario))} --seed {seed}"
    return f"{command} --event {shlex.quote(verdict.violations[0].event)}" if verdict.violations else command


def _tell(run: ScenarioRun, event: str) -> None:
    from siftcast.runtimes.sim.checkers import tell_event

    out().print(Text(f"event {event}\n{tell_event(run.simulation.trace, event)}"), soft_wrap=True)


def _draw(run: ScenarioRun, path: Path, event: str | None) -> None:
    from siftcast.runtimes.sim.drawing import draw

    trace = run.simulation.trace
    chosen = event if event is not None else _longest(run)
    title = f"{run.file.scenario.title or run.file.path}, seed {run.seed}" + (f", event {chosen}" if chosen else "")
    names = run.underlay.server_names
    picture = draw(run.underlay.latencies_ms, run.edges, title=title, trace=trace, event=chosen, names=names)
    path.write_text(picture, encoding="utf-8")


def _longest(run: ScenarioRun) -> str:
    """The event that was sent most often; none if none was."""
    from siftcast.runtimes.sim.checkers.columns import read_columns

    columns = read_columns(run.simulation.trace, ("sent", "multicast"))
    if not len(columns.event):
        return next(iter(run.simulation.trace.events), "")
    counts = [0] * len(columns.events)
    for event in columns.event.tolist():
        counts[event] += 1
    return columns.events[counts.index(max(counts))]


def _some_events(run: ScenarioRun) -> str:
    names = list(run.simulation.trace.events)
    return f"events are {names[0]} … {names[-1]}" if names else "no event was"
