"""What the commands share in showing things: consoles, numbers, a filter's verdicts as a tree.

Results go to standard output, progress and errors to standard error, so that a pipe gets results only. Text that
comes from users or files is never read as markup: it is wrapped in `Text`.
"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from siftcast.model import Explanation

_MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("?", "yellow")}


def out() -> Console:
    """Standard output. Made for each use, because tests and notebooks replace the stream."""
    return Console(highlight=False)


def err() -> Console:
    """Standard error."""
    return Console(stderr=True, highlight=False)


def facts(rows: list[tuple[str, str]]) -> Table:
    """A few labelled facts, one a line, long ones folded."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in rows:
        table.add_row(Text(label), Text(value))
    return table


def bar(share: float, width: int = 24) -> str:
    """A share from 0 to 1 as a bar of blocks, to an eighth of a character."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return "█" * (eighths // 8) + ("▏▎▍▌▋▊▉"[eighths % 8 - 1] if eighths % 8 else "")


def shorten(text: str, width: int) -> str:
    """At most `width` characters of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def percent(part: int, whole: int) -> str:
    """A share in words: `12.3 %`."""
    return f"{100 * part / whole:.1f} %" if whole else "none"


def explanation_tree(explanation: Explanation) -> Tree:
    """The verdicts of a filter on an event, coloured."""
    tree = Tree(_verdict(explanation), guide_style="dim")
    for part in explanation.parts:
        tree.children.append(explanation_tree(part))
    return tree


def _verdict(explanation: Explanation) -> Text:
    mark, colour = _MARKS[explanation.verdict]
    line = Text.assemble((f"{mark} ", f"bold {colour}"), explanation.text)
    if explanation.because:
        line.append(f"   ({explanation.because})", "dim")
    return line
