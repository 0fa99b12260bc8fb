"""`siftcast schemes`: the ways in which events may be delivered, with their options."""

from __future__ import annotations

import dataclasses
from typing import Any

from rich.table import Table
from rich.text import Text

from siftcast.interfaces.cli.outcome import OK
from siftcast.interfaces.cli.terminal import out


def schemes() -> int:
    """List the schemes: how events are delivered, where each runs, and its options with their defaults.

    Example: siftcast schemes
    """
    from siftcast.schemes import schemes as all_schemes

    console = out()
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("scheme", "runs", "durable", "how it works; options"):
        table.add_column(title, overflow="fold")
    for scheme in all_schemes().values():
        table.add_row(
            Text(scheme.name, "bold"),
            "simulated" if scheme.simulated_only else "on sockets, simulated",
            "yes" if scheme.is_durable else "no",
            Text(f"{scheme.description}{_options(scheme.options)}"),
        )
    console.print(table)
    return OK


def _options(options: Any) -> str:
    listed = ", ".join(f"{each.name} = {_toml(getattr(options, each.name))}" for each in dataclasses.fields(options))
    return f"; {listed}" if listed else ""


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)
