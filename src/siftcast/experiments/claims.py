"""A claim of a paper, how it is judged, and what came out.

    value   our number lies within a stated band of the paper's
    shape   a stated ordering or trend holds on our data, over the seeds
    exact   it holds or it is a bug
    print   the number is reported; it counts neither for nor against

A claim that does not hold stays in the table, with our number and the best explanation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

KINDS = ("value", "shape", "exact", "print")


@dataclass(frozen=True, slots=True)
class Verdict:
    """One row of the table: the paper's number or statement, and ours."""

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

    @classmethod
    def printed(cls, id: str, claim: str, ours: str, spread: str, paper: str = "—") -> Verdict:
        """A row that is only reported."""
        return cls(id, claim, "print", paper, ours, spread, None)

    @property
    def verdict(self) -> str:
        return "printed" if self.holds is None else "holds" if self.holds else "does not hold"


def write_claims(verdicts: Iterable[Verdict], file: str | Path) -> None:
    """Writes claims.json: a list of objects with id, paper, ours, spread and verdict."""
    rows = [asdict(item) | {"verdict": item.verdict} for item in verdicts]
    Path(file).write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def judge_deliveries(id: str, claim: str, paper: str, runs: Sequence[Mapping[str, Any]]) -> Verdict:
    """Whether deliveries were made without `violations`, in runs in each of which some were `required`."""
    wrong = sum(int(run["violations"]) for run in runs)
    empty = sum(run["required"] == 0 for run in runs)
    return Verdict(
        id,
        claim,
        "exact",
        paper,
        f"{wrong} violations in {sum(int(run['required']) for run in runs):,} deliveries",
        f"{len(runs)} runs",
        wrong == 0 and len(runs) > 0 and not empty,
        f"In {empty} runs nothing was required to be delivered, so they show nothing." if empty else "",
    )


def spread_of(values: Sequence[float], over: str = "seeds") -> str:
    """Mean and standard deviation over seeds, or over runs that differ in more than their seeds, for people."""
    if len(values) == 1:
        return f"one {over.removesuffix('s')}: {values[0]:.3g}"
    return f"{fmean(values):.3g} ± {pstdev(values):.2g} over {len(values)} {over}"
