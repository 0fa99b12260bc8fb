"""What a paper's folder offers to `reproduce`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siftcast.experiments.claims import Verdict
from siftcast.spark.sweeps import Outcome

Configurations = list[dict[str, Any]]
Figures = Mapping[str, str]
"""File names of figures, and what each shows."""


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
