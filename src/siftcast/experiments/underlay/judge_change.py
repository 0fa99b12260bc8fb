"""Rows U5, U8 and U10: overlays and trees while peers come and go, and landmark trees."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from siftcast.experiments.claims import Verdict, spread_of
from siftcast.experiments.table import Table, mean, values
from siftcast.experiments.underlay.judge_overlays import BASELINE
from siftcast.experiments.underlay.setup import CHURN

CHURN_LEAST, CHURN_MOST, CHURN_WALKS = 1.10, 1.35, 1.05
PEAK_MIN = 1.5


def judge_churn(table: Table) -> list[Verdict]:
    """U5."""
    if not table("churn"):
        return []

    def growth(degree: str, share: float, walks: float, what: str) -> float:
        runs = table("churn", degree=degree, share=share, walks=walks)
        return mean(runs, "after", what) / mean(runs, "before", what)

    cells = [*((share, 0.0) for share in CHURN), (CHURN[0], 0.2), (CHURN[-1], 0.2)]
    found = {
        (degree, what): {cell: growth(degree, *cell, what) for cell in cells}
        for degree in ("NC", "LG1")
        for what in ("rdp", "stress")
    }
    limits = {
        (CHURN[0], 0.0): CHURN_LEAST,
        (CHURN[-1], 0.0): CHURN_MOST,
        (CHURN[0], 0.2): CHURN_WALKS,
        (CHURN[-1], 0.2): CHURN_WALKS,
    }

    def holds(what: str) -> bool:
        return all(found["NC", what][cell] <= limit for cell, limit in limits.items())

    def shown(degree: str, what: str) -> str:
        return ", ".join(
            f"{100 * ratio - 100:+.0f} % at {100 * share:.0f} %" + (" and walks" if walks else "")
            for (share, walks), ratio in found[degree, what].items()
        )

    worst = table("churn", degree="NC", share=CHURN[-1], walks=0.0)
    seeds = [
        100 * b / a - 100 for a, b in zip(values(worst, "before", "rdp"), values(worst, "after", "rdp"), strict=True)
    ]
    return [
        Verdict(
            "U5",
            "RDP and stress after ten steps of churn",
            "value",
            "degrade slightly; not with walks",
            f"RDP {shown('NC', 'rdp')}; stress {shown('NC', 'stress')}",
            f"RDP at 12 %, in %: {spread_of(seeds)}",
            holds("rdp") and holds("stress"),
            f"{table.pairs('churn')[0][0]['peers']} peers, no degree limit. Of RDP alone it "
            f"{'holds' if holds('rdp') else 'does not hold'}, of stress {'too' if holds('stress') else 'not'}. With "
            f"log2 N neighbours RDP {shown('LG1', 'rdp')}. {BASELINE} of those present after 12 %: "
            f"{mean(worst, 'nearest', 'rdp'):.2f} beside {mean(worst, 'after', 'rdp'):.2f}. Peers that lost all their "
            f"neighbours joined again: {mean(worst, 'rejoins'):.2f} times for each place.",
        )
    ]


def judge_landmarks(table: Table) -> list[Verdict]:
    """U8."""
    runs = table("landmarks")
    if not runs:
        return []
    placed = sum(run["placed"] for run in runs)
    wrong = {name: sum(run[name] for run in runs) for name in ("repaired", "printed")}
    shares = [100 * run["printed"] / run["placed"] for run in runs]
    return [
        Verdict(
            "U8",
            "no child of a landmark tree stands beside one that lies before it",
            "exact",
            "cases 1 to 3",
            f"{wrong['repaired']} of {placed:,}; as printed, adopting one child, {wrong['printed']:,} "
            f"({100 * wrong['printed'] / placed:.0f} %)",
            f"{len(runs)} runs; as printed {min(shares):.0f} to {max(shares):.0f} %",
            wrong["repaired"] == 0 < wrong["printed"],
            "By ground, as printed: "
            + ", ".join(
                f"{ground} {100 * sum(r['printed'] for r in each) / sum(r['placed'] for r in each):.0f} %"
                for ground in table.settings("landmarks", "ground")
                for each in (table("landmarks", ground=ground),)
            )
            + ".",
        )
    ]


def judge_changing(table: Table) -> list[Verdict]:
    """U10."""
    shares = [share for share in (table.settings("changing", "share") if table("changing") else []) if share > 0]
    if not shares:
        return []
    still, found = table("changing", share=0.0), {share: table("changing", share=share) for share in shares}
    rest = fmean(_changes(run)[0] for run in still) if still else 1.0
    means = {share: [fmean(each) for each in zip(*map(_changes, runs), strict=True)] for share, runs in found.items()}
    lost, delivered = (sum(run[what] for runs in found.values() for run in runs) for what in ("lost", "deliveries"))
    every = [_changes(run) for runs in found.values() for run in runs]
    return [
        Verdict(
            "U10",
            "under churn the cost of routing rises, and falls with a rebuild, which has a peak of control messages",
            "shape",
            "rises, falls, peaks",
            "; ".join(
                f"{100 * share:g} % in 100 events: cost × {worse:.2f} until the rebuild, × {mended:.2f} by it, "
                f"control × {peak:.1f}"
                for share, (worse, mended, peak) in means.items()
            ),
            f"rise: {spread_of([worse for worse, _, _ in every], 'runs')}",
            all(worse > max(1.0, rest) and mended < 1 and peak >= PEAK_MIN for worse, mended, peak in means.values()),
            f"Without churn × {rest:.2f} in the same time. {lost} of {delivered:,} deliveries had no way, because "
            "the overlay was cut.",
        )
    ]


def _changes(run: Any) -> tuple[float, float, float]:
    """How much the cost rises until the rebuild and changes by it, and how high control is then."""
    at, costs, control = run["rebuild_step"], run["costs"], run["control"]
    first, before, after = fmean(costs[: at // 4]), fmean(costs[at - at // 4 : at]), fmean(costs[at : at + at // 4])
    others = [count for step, count in enumerate(control) if step not in (0, at)]
    return before / first, after / before, control[at] / max(1.0, fmean(others))
