"""The figures of the underlay study, and the account of how it was set up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from matplotlib.figure import Figure

from siftcast.experiments.study import Figures, row_of_axes, save_figure
from siftcast.experiments.table import Table, mean
from siftcast.experiments.underlay.routing import ALL_PAIRS, ONE_TREE
from siftcast.experiments.underlay.setup import CORES, DEGREES, FLAT, HEURISTICS, LAYERED
from siftcast.spark.sweeps import Outcome


def draw(outcomes: Sequence[Outcome], folder: Path) -> Figures:
    """A figure for each part that was measured."""
    table = Table(outcomes)
    drawers: tuple[tuple[str, str, Callable[[Table], Figure], str], ...] = (
        ("overlays", "underlay-overlays", _overlays, "Delay, stress and links found, by heuristic and degree limit"),
        ("overlays", "underlay-sizes", _sizes, "The same against the number of peers"),
        ("routing", "underlay-cores", _cores, "Cost of routing against the number of cores"),
        ("changing", "underlay-changing", _changing, "A core tree under churn, rebuilt halfway"),
    )
    figures: dict[str, str] = {}
    for part, name, drawer, caption in drawers:
        if table(part):
            figures |= save_figure(drawer(table), folder, name, caption)
    return figures


_MEASURES = (("rdp", "RDP"), ("stress", "stress ratio"), ("discovered", "part of the underlay discovered"))


def _overlays(table: Table) -> Figure:
    figure, axes = row_of_axes(3)
    for each, (what, label) in zip(axes, _MEASURES, strict=True):
        for ground, style in ((FLAT, "-"), (LAYERED, ":")):
            for number, heuristic in enumerate(HEURISTICS):
                runs = [
                    table("overlays", ground=ground, heuristic=heuristic, degree=degree, targets=10, selectivity=0.1)
                    for degree in DEGREES
                ]
                if all(runs):
                    heights = [mean(found, what) for found in runs]
                    shown = f"{heuristic}, {ground}" if ground == FLAT else None
                    each.plot(DEGREES, heights, style, color=f"C{number}", marker="o", ms=3, label=shown)
        each.set_ylabel(f"{label} (dotted: transit-stub)")
        each.legend(fontsize=6)
    return figure


def _sizes(table: Table) -> Figure:
    figure, axes = row_of_axes(3)
    sizes = table.settings("overlays", "peers")
    for each, (what, label) in zip(axes, _MEASURES, strict=True):
        for number, heuristic in enumerate(HEURISTICS):
            runs = [
                table(
                    "overlays", ground=FLAT, heuristic=heuristic, degree="NC", peers=size, targets=10, selectivity=0.1
                )
                for size in sizes
            ]
            if all(runs):
                each.plot(sizes, [mean(r, what) for r in runs], color=f"C{number}", marker="o", ms=3, label=heuristic)
        each.set(xlabel="peers (Waxman, no degree limit)", ylabel=label)
        each.legend(fontsize=6)
    return figure


def _cores(table: Table) -> Figure:
    figure, axes = row_of_axes(2)
    for each, joined in zip(axes, (ALL_PAIRS, ONE_TREE), strict=True):
        runs = table("routing", ground=FLAT, workload="WL2", beta=1.0)
        for strategy in ("SPath", "MaxPath", "CNeigh", "SPotent", "Sim", "Rand"):
            costs = [fmean(run[f"{strategy} {cores} {joined}"]["cost"] for run in runs) for cores in CORES]
            each.plot(CORES, costs, marker="o", ms=3, label=strategy)
        each.axhline(fmean(run["MST"]["cost"] for run in runs), ls=":", color="grey", label="MST")
        each.set(xlabel="cores", ylabel="cost beside OPT", xscale="log", title=f"cores joined by {joined}")
        each.legend(fontsize=6)
    return figure


def _changing(table: Table) -> Figure:
    figure, (cost, control) = row_of_axes(2)
    for share in table.settings("changing", "share"):
        runs = table("changing", share=share)
        for axes, name in ((cost, "costs"), (control, "control")):
            steps = len(runs[0][name])
            series = [fmean(run[name][step] for run in runs) for step in range(steps)]
            axes.plot([100 * (step + 1) for step in range(steps)], series, lw=1, label=f"{100 * share:g} %")
    cost.set(xlabel="events", ylabel="delay of a delivery, ms")
    control.set(xlabel="events", ylabel="control messages per 100 events")
    for each in (cost, control):
        each.legend(fontsize=6, title="churn per 100 events", title_fontsize=6)
    return figure


ACCOUNT = """
## Set-up

Waxman with 1,640 routers (BRITE's growing form), transit-stub with 1,584, and a two-level Waxman of 40 domains and
1,640 routers (BRITE top-down). Up to 1,024 peers on random routers, of stub domains where there are any. Last miles are
5 to 10 % of the mean delay of a link. Degree limits LG1 = log2 N, LG2 = 2 log2 N, SQ = √N, NC = none. Ten targets,
σ = 0.1, a TTL of 100. Interests are those of `siftcast generate underlay` (WL2) and the same without hot spots (WL1),
2,000 events. The overlay and the trees are models in memory (`experiments/underlay`); nothing of this runs on sockets
yet.

## Readings

Stated on 19 November 2026, after trials with one seed and before the full run.

- **RDP** is the ratio of the sums of delays over all pairs. **Discovered** are physical links on some overlay link, of
  those on the route between any two peers; for U1, on the inferred routes.
- **A walk** begins at the neighbours of whoever has joined, goes on to σ of the neighbours of each peer, at least one,
  never to more than it has targets left, and deals these out without loss.
- **Case 2** adopts all children that lie beyond the newcomer. A peer at the router of whoever is asked adopts nobody.
- **DOnly** takes the targets of DWorst, and connects to them where they are. **NEAREST** is ours: a walk only visits,
  then the k_L nearest of the peers visited place the walker.
- **One distant link** of each peer goes to the farthest of ten drawn at random, and counts for no limit.
- **Cost** is that of section 4.2: each delivery pays the delay of its path. It hides how many messages there are, which
  U9 prints.
- **All pairs** between cores are paths of least weight; within a cell, paths are those of its tree.
- **SPotent**'s weights and delays are in units of the mean link, because it adds them to a number of neighbours.
- **Control** is what Algorithm 8 (repaired) sends, votes and choice over a spanning tree, and subscriptions to all.
- **Under churn** (U10) peers hang themselves below the neighbour through which the top of the tree is nearest, and not
  below their own children; the tree is rebuilt after 2,000 events.

## What differs, and why
"""
"""What was set up how, and what the thesis leaves open."""
