"""What a paper's folder offers to `reproduce`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siftcast.experiments.claims import Verdict
from siftcast.spark.sweeps import Outcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure  # it takes long, and only those who draw need it

Configurations = list[dict[str, Any]]
Figures = Mapping[str, str]
"""File names of figures, and what each shows."""


def row_of_axes(count: int) -> tuple[Figure, list[Any]]:
    """A figure of some axes beside each other."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.4 * count, 3.6), layout="constrained")
    axes = list(figure.subplots(1, count, squeeze=False)[0])
    for each in axes:
        each.grid(alpha=0.3)
    return figure, axes


def save_figure(figure: Any, folder: Path, name: str, caption: str) -> Figures:
    """Writes a figure of matplotlib for pages and for programs."""
    figure.savefig(folder / f"{name}.svg")
    figure.savefig(folder / f"{name}.png", dpi=110)
    return {f"{name}.svg": caption}


@dataclass(frozen=True, slots=True)
class Study:
    """One paper: `configurations(quick)` are swept over `function`; `judge` and `draw` read the outcomes.

    A study may be reproduced in part: `figures` names the parts, and `configurations` are asked for one of them.
    """

    name: str
    title: str
    function: str
    version: str
    figures: tuple[str, ...]
    configurations: Callable[[bool, str | None], Configurations]
    judge: Callable[[Sequence[Outcome]], list[Verdict]]
    draw: Callable[[Sequence[Outcome], Path], Figures]
    account: str
    """The set-up, the readings and the deviations, as the page tells them."""
