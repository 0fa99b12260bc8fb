"""`siftcast generate`: events and subscriptions of an application, from a seed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from siftcast.interfaces.cli.options import Flag, Quiet
from siftcast.interfaces.cli.outcome import OK
from siftcast.interfaces.cli.terminal import facts, out
from siftcast.model import DataError, WorkloadError

Format = Literal["jsonl", "parquet", "arrow"]


def generate(
    preset: str | None = None,
    /,
    *,
    events: int = 10_000,
    subscriptions: int = 1_000,
    seed: int = 0,
    output: Path | None = None,
    format: Annotated[tuple[Format, ...], Parameter(negative="", show_default=False)] = ("jsonl",),
    set: Annotated[tuple[str, ...], Parameter(negative="", metavar="NAME=VALUE", show_default=False)] = (),
    force: Flag = False,
    list: Flag = False,
    quiet: Quiet = False,
) -> int:
    """Write events and subscriptions of a preset: a paper's distribution or an application.

    Makes a folder with events, subscriptions, schema.toml and workload.json; equal arguments make equal files.

    Example: siftcast generate stock-quotes --events 100000 --subscriptions 5000 --output quotes

    Parameters
    ----------
    preset
        The name of the preset; --list shows them.
    events
        How many events.
    subscriptions
        How many subscriptions.
    seed
        Decides everything that is random.
    output
        The folder to write to; by default one named after the preset.
    format
        The format of both tables (jsonl unless told); may be given more than once.
    set
        Changes an option of the preset; may be given more than once.
    force
        Write into a folder that is not empty; files of the same names are replaced.
    list
        Show the presets, or with a preset its options, and write nothing.
    """
    from siftcast import workloads

    if list:
        _show_presets(out()) if preset is None else _show_options(_preset(preset), out())
        return OK
    if preset is None:
        raise WorkloadError("which preset? Name one, as in: siftcast generate stock-quotes (--list shows them)")
    chosen = _preset(preset)
    options = dict(_option(chosen, text) for text in set)
    folder = Path(preset) if output is None else output
    _check_folder(folder, force)
    workload = workloads.generate(preset, events=events, subscriptions=subscriptions, seed=seed, **options)
    written = workload.write(folder, tuple(dict.fromkeys(format)))
    if not quiet:
        _show_written(workload, written, out())
    return OK


def _preset(name: str) -> Any:
    from difflib import get_close_matches

    from siftcast.workloads import presets

    known = presets()
    if name not in known:
        nearest = get_close_matches(name, known, 1)
        hint = f"did you mean '{nearest[0]}'?" if nearest else f"known: {', '.join(known)}"
        raise WorkloadError(f"there is no preset '{name}'; {hint}")
    return known[name]


def _option(preset: Any, text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise WorkloadError(f"--set takes NAME=VALUE, as in --set symbols=100, not {text!r}")
    return name, preset.parse_option(name, value)


def _check_folder(folder: Path, force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder}: is a file; --output names a folder")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise DataError(f"{folder}: is not empty; name another folder with --output, or add --force to write into it")


def _show_written(workload: Any, written: list[Path], console: Console) -> None:
    console.print(facts([("preset", workload.description)]))
    table = Table.grid(padding=(0, 2))
    for path in written:
        table.add_row(Text(str(path)), f"{path.stat().st_size:,} bytes")
    console.print(table)
    events = next((path for path in written if path.stem == "events"), None)
    subscriptions = next((path for path in written if path.name.startswith("subscriptions.")), None)
    schema = next((path for path in written if path.name == "schema.toml"), None)
    if events is not None and subscriptions is not None and subscriptions.suffix != ".arrow":
        command = f"siftcast match --subscriptions {subscriptions} --events {events} --schema {schema}"
        console.print(Text.assemble("next: ", (command, "cyan")), soft_wrap=True)


def _show_presets(console: Console) -> None:
    from siftcast.workloads import presets

    table = Table(box=None, pad_edge=False)
    table.add_column("preset", no_wrap=True, style="bold")
    table.add_column("what it makes")
    table.add_column("after")
    for preset in presets().values():
        table.add_row(Text(preset.name), Text(preset.description), Text(preset.paper, "dim"))
    console.print(table)


def _show_options(preset: Any, console: Console) -> None:
    console.print(Text.assemble((preset.name, "bold"), f"  {preset.description}"))
    console.print(facts([(name, str(value)) for name, value in preset.defaults.items()]))
    console.print("Change one with --set NAME=VALUE.", style="dim")
