"""A claim of a paper, how it is judged, and what came out.

    value   our number lies within a stated band of the paper's
    shape   a stated ordering or trend holds on our data, over the seeds
    exact   it holds or it is a bug
    print   the number is reported; it counts neither for nor against

A claim that does not hold stays in the table, with our number and the best explanation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, pstdev

KINDS = ("value", "shape", "exact", "print")


@dataclass(frozen=True, slots=True)
class Verdict:
    """One row of the table: the paper's number or statement beside ours."""

    id: str
    claim: str
    judged: str
    paper: str
    ours: str
    spread: str
    holds: bool | None
    note: str = ""

    def __post_init__(self) -> None:
        if self.judged not in KINDS:
            raise ValueError(f"a claim is judged by {', '.join(KINDS)}, not {self.judged!r}")
        if (self.holds is None) != (self.judged == "print"):
            raise ValueError(f"{self.id}: a claim that is only printed has no verdict, and any other has one")

    @property
    def verdict(self) -> str:
        return "printed" if self.holds is None else "holds" if self.holds else "does not hold"


def write_claims(verdicts: Iterable[Verdict], file: str | Path) -> None:
    """Writes claims.json: a list of objects with id, paper, ours, spread and verdict."""
    rows = [asdict(item) | {"verdict": item.verdict} for item in verdicts]
    Path(file).write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def spread_of(values: Sequence[float], digits: int = 3) -> str:
    """Mean and standard deviation over seeds, for people."""
    if len(values) == 1:
        return f"one seed: {values[0]:.{digits}g}"
    return f"{fmean(values):.{digits}g} ± {pstdev(values):.2g} over {len(values)} seeds"
