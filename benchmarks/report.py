"""What was measured, beside its goal: as a table for a person, as Markdown for the README, as JSON for scripts."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Literal

from rich.console import Console
from rich.table import Table

from benchmarks.machine import Machine

Better = Literal["lower", "higher"]


@dataclass(frozen=True, slots=True)
class Result:
    """One number, and the goal it has to reach if it has one."""

    name: str
    value: float
    unit: str
    better: Better
    goal: float | None = None
    note: str = ""
    required: bool = False  # whether missing the goal makes the whole run fail

    @property
    def verdict(self) -> str:
        if self.goal is None:
            return ""
        reached = self.value >= self.goal if self.better == "higher" else self.value <= self.goal
        return "ok" if reached else "missed"

    @property
    def shown(self) -> str:
        return f"{show(self.value)} {self.unit}"

    @property
    def goal_shown(self) -> str:
        return "" if self.goal is None else f"{'≥' if self.better == 'higher' else '≤'} {show(self.goal)} {self.unit}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The times of everybody on one workload, in µs an event, and why some are missing."""

    workload: str
    matches: float
    times: dict[str, float]
    left_out: dict[str, str]


@dataclass(slots=True)
class Report:
    """Collects what the groups measure, and tells a person meanwhile what is going on."""

    machine: Machine
    console: Console = field(default_factory=lambda: Console(stderr=True, highlight=False, soft_wrap=True))
    results: list[Result] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    started: float = field(default_factory=perf_counter)

    def progress(self, message: str) -> None:
        """A line that says what is being done now."""
        self.console.print(f"[dim]{perf_counter() - self.started:6.1f} s[/dim]  {message}")

    def add(
        self,
        name: str,
        value: float,
        unit: str,
        better: Better,
        *,
        goal: float | None = None,
        note: str = "",
        required: bool = False,
    ) -> None:
        """Takes down one number."""
        result = Result(name, value, unit, better, goal, note, required)
        self.results.append(result)
        beside = f"   goal {result.goal_shown}: {result.verdict}" if goal is not None else ""
        self.progress(f"  {name}: {result.shown}{beside}")

    @property
    def failed(self) -> list[Result]:
        """What missed a goal that is required."""
        return [result for result in self.results if result.required and result.verdict == "missed"]

    def compare(self, comparison: Comparison) -> None:
        """Takes down everybody's times on one workload."""
        self.comparisons.append(comparison)

    # -- forms ---------------------------------------------------------------------------------------

    def print_tables(self, console: Console) -> None:
        """The tables for a person."""
        console.print(f"\n{self.machine.describe()}\n")
        for title, header, rows in self._tables():
            table = Table(*header, title=title, title_justify="left", highlight=False)
            for row in rows:
                table.add_row(*(_coloured(cell) for cell in row))
            console.print(table)
        for note in self._notes():
            console.print(f"  {note}")
        judged = [result.verdict for result in self.results if result.goal is not None]
        if judged:
            console.print(f"\n{judged.count('ok')} of {len(judged)} goals reached; every answer was verified.")

    def to_markdown(self) -> str:
        """The same tables to paste into a document."""
        lines = [self.machine.describe(), ""]
        for title, header, rows in self._tables():
            lines += [f"**{title}**", "", _markdown_row(header), _markdown_row(["---"] * len(header))]
            lines += [_markdown_row(row) for row in rows]
            lines.append("")
        return "\n".join([*lines, *(f"- {note}" for note in self._notes()), ""])

    def write_json(self, path: Path) -> None:
        """The numbers for `scripts/bench_compare.py` and whoever else wants them."""
        content = {
            "machine": asdict(self.machine),
            "results": [
                {key: value for key, value in asdict(result).items() if value not in (None, "") and key != "required"}
                for result in self.results
            ],
            "comparisons": [asdict(comparison) for comparison in self.comparisons],
        }
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def _tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        tables = []
        if self.comparisons:
            names = list(dict.fromkeys(name for comparison in self.comparisons for name in comparison.times))
            rows = [
                [comparison.workload, show(comparison.matches)]
                + [show(comparison.times[name]) if name in comparison.times else "—" for name in names]
                for comparison in self.comparisons
            ]
            tables.append(("Time for an event, in µs", ["workload", "matches", *names], rows))
        judged = [result for result in self.results if result.goal is not None]
        if judged:
            rows = [[result.name, result.shown, result.goal_shown, result.verdict, result.note] for result in judged]
            tables.append(("Goals", ["what", "measured", "goal", "verdict", "note"], rows))
        others = [result for result in self.results if result.goal is None]
        if others:
            rows = [[result.name, result.shown, result.note] for result in others]
            tables.append(("Beside the goals", ["what", "measured", "note"], rows))
        return tables

    def _notes(self) -> list[str]:
        by_reason: dict[tuple[str, str], list[str]] = {}
        for comparison in self.comparisons:
            for name, reason in comparison.left_out.items():
                by_reason.setdefault((name, reason), []).append(comparison.workload)
        return [f"— {name} on {', '.join(where)}: {reason}" for (name, reason), where in by_reason.items()]


def show(value: float) -> str:
    """A number with three digits that mean something."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _coloured(cell: str) -> str:
    return {"ok": "[green]ok[/green]", "missed": "[red]missed[/red]"}.get(cell, cell)


def _markdown_row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
