"""Row K10: Table IV cell by cell, with the bands that were set for it beforehand."""

from __future__ import annotations

from itertools import combinations

from siftcast.experiments.claims import Verdict
from siftcast.experiments.kyra.paper import SCHEMES, STRESS
from siftcast.experiments.kyra.table import Runs


def stress(runs: Runs, model: str, rate: float) -> Verdict:
    """One model at one rate: every cell within its band, and every order that the paper shows clearly."""
    judged = _StressCells(runs, model, rate)
    note = judged.differences
    if model == "multimodal":
        literal = _StressCells(runs, model, rate, peaks="pairs")
        if literal.is_measured:
            note += f"Literal reading (distance over all pairs of peaks): {literal.shown}; {literal.counts}. "
    return Verdict(
        f"K10 {model} {rate:.0%}",
        "node and link stress of FBR/MBR/Kyra (Table IV)",
        "value",
        "; ".join("/".join(map(str, row.values())) for row in STRESS[model, rate].values()),
        judged.shown,
        judged.counts,
        not judged.differences,
        note,
    )


class _StressCells:
    """A part of Table IV: our cells, which of them lie outside the bands, and which orders differ."""

    def __init__(self, runs: Runs, model: str, rate: float, **reading: str) -> None:
        cells, outside, orders, wrong, shown = 0, [], 0, [], []
        for (measure, statistic), paper in STRESS[model, rate].items():
            ours = {name: runs.mean(name, rate, measure, statistic, model=model, **reading) for name in SCHEMES}
            shown.append(
                f"{statistic} {measure.removesuffix('_stress')} " + "/".join(f"{ours[name]:.0f}" for name in SCHEMES)
            )
            for scheme in SCHEMES:
                cells += 1
                if not within(ours[scheme], paper[scheme], _band(scheme, measure, statistic, model, rate)):
                    outside.append(f"{scheme} {statistic} {measure} {ours[scheme]:.0f} (paper {paper[scheme]})")
            for a, b in combinations(SCHEMES, 2):
                if max(paper[a], paper[b]) >= 1.5 * min(paper[a], paper[b]):
                    orders += 1
                    if (ours[a] < ours[b]) != (paper[a] < paper[b]):
                        wrong.append(f"{statistic} {measure} of {a} and {b}")
        self.is_measured = all(runs(name, rate, "nru", None, model=model, **reading) for name in SCHEMES)
        self.shown = "; ".join(shown)
        self.counts = f"{cells - len(outside)} of {cells} cells within bands, {orders - len(wrong)} of {orders} orders"
        self.differences = (f"Outside: {', '.join(outside)}. " if outside else "") + (
            f"Order differs: {', '.join(wrong)}. " if wrong else ""
        )


def _band(scheme: str, measure: str, statistic: str, model: str, rate: float) -> float:
    if statistic == "mean":
        return 2.0 if scheme == "mbr" else 1.5
    wide = (
        measure == "node_stress" and rate == 0.01 and (scheme == "mbr" or (scheme == "kyra" and model == "multimodal"))
    )
    return 3.0 if wide else 2.0


def within(ours: float, paper: float, factor: float) -> bool:
    """Whether two numbers differ by no more than a factor."""
    return paper / factor <= ours <= paper * factor
