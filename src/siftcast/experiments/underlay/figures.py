"""The figures of the underlay study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from matplotlib.figure import Figure

from siftcast.experiments.study import Figures, row_of_axes, save_figure
from siftcast.experiments.table import Table, mean
from siftcast.experiments.underlay.account import ACCOUNT
from siftcast.experiments.underlay.judge_maps import OVERLAYS
from siftcast.experiments.underlay.judge_overlays import BASELINE, NAMES, middle
from siftcast.experiments.underlay.maps import MAPS
from siftcast.experiments.underlay.routing import ALL_PAIRS, ONE_TREE
from siftcast.experiments.underlay.setup import CORES, DEGREES, FLAT, HEURISTICS, LAYERED
from siftcast.spark.sweeps import Outcome

__all__ = ["ACCOUNT", "draw"]


def draw(outcomes: Sequence[Outcome], folder: Path) -> Figures:
    """A figure for each part that was measured."""
    table = Table(outcomes)
    drawers: tuple[tuple[str, str, Callable[[Table], Figure], str], ...] = (
        ("overlays", "underlay-overlays", _overlays, "Delay, stress and links found, by heuristic and degree limit"),
        ("overlays", "underlay-sizes", _sizes, "The same against the number of peers"),
        ("routing", "underlay-cores", _cores, "Cost of routing against the number of cores"),
        ("maps", "underlay-maps", _maps, "Delay and stress on published maps, without a degree limit"),
        ("triangle", "underlay-triangle", _triangle, "Delay where routes, delays or nothing at all places peers"),
        ("changing", "underlay-changing", _changing, "A core tree under churn, rebuilt halfway"),
    )
    figures: dict[str, str] = {}
    for part, name, drawer, caption in drawers:
        if table(part):
            figures |= save_figure(drawer(table), folder, name, caption)
    return figures


_MEASURES = (("rdp", "RDP"), ("stress", "stress ratio"), ("discovered", "part discovered"))


def _shown(heuristic: str) -> str:
    return NAMES.get(heuristic, heuristic)


def _overlays(table: Table) -> Figure:
    figure, axes = row_of_axes(3)
    usual = {"peers": middle(table), "targets": 10, "selectivity": 0.1}
    for each, (what, label) in zip(axes, _MEASURES, strict=True):
        for ground, style in ((FLAT, "-"), (LAYERED, ":")):
            cells = {
                heuristic: [
                    table("overlays", ground=ground, heuristic=heuristic, degree=degree, **usual) for degree in DEGREES
                ]
                for heuristic in HEURISTICS
            }
            lines = {name: [mean(runs, what) for runs in found] for name, found in cells.items() if all(found)}
            if all(cells["WORST"]):
                lines[BASELINE] = [mean(runs, "nearest", what) for runs in cells["WORST"]]
            for number, (name, heights) in enumerate(lines.items()):
                label_of = _shown(name) if ground == FLAT else None
                each.plot(DEGREES, heights, style, color=f"C{number}", marker="o", ms=3, label=label_of)
        each.set(xlabel=f"degree limit ({usual['peers']} peers)", ylabel=f"{label} (dotted: transit-stub)")
        each.legend(fontsize=6)
    return figure


def _sizes(table: Table) -> Figure:
    figure, axes = row_of_axes(3)
    sizes = table.settings("overlays", "peers")
    for each, (what, label) in zip(axes, _MEASURES, strict=True):
        cells = {
            heuristic: [
                table(
                    "overlays", ground=FLAT, heuristic=heuristic, degree="NC", peers=size, targets=10, selectivity=0.1
                )
                for size in sizes
            ]
            for heuristic in HEURISTICS
        }
        lines = {name: [mean(runs, what) for runs in found] for name, found in cells.items() if all(found)}
        if all(cells["WORST"]):
            lines[BASELINE] = [mean(runs, "nearest", what) for runs in cells["WORST"]]
        for number, (name, heights) in enumerate(lines.items()):
            each.plot(sizes, heights, color=f"C{number}", marker="o", ms=3, label=_shown(name))
        each.set(xlabel="peers (Waxman, no degree limit)", ylabel=label)
        each.legend(fontsize=6)
    return figure


def _maps(table: Table) -> Figure:
    figure, axes = row_of_axes(2)
    found = {ground: table("maps", ground=ground, degree="NC") for ground in MAPS}
    width = 0.8 / len(OVERLAYS)
    for each, (what, label) in zip(axes, _MEASURES[:2], strict=True):
        for number, name in enumerate(OVERLAYS):
            heights = [mean(runs, "overlays", name, what) for runs in found.values() if runs]
            places = [place + (number - len(OVERLAYS) / 2) * width for place in range(len(heights))]
            each.bar(places, heights, width, align="edge", label=name)
        names = [ground for ground, runs in found.items() if runs]
        each.set_xticks(range(len(names)), names, rotation=30, ha="right", fontsize=7)
        each.set(xlabel="map", ylabel=label)
        each.set_ylim(bottom=0)
        each.legend(fontsize=6, ncols=2)
    return figure


def _triangle(table: Table) -> Figure:
    grounds, degree = table.settings("triangle", "ground"), "NC"
    figure, axes = row_of_axes(len(grounds))
    for each, ground in zip(axes, grounds, strict=True):
        for number, noise in enumerate(table.settings("triangle", "noise")):
            runs = table("triangle", ground=ground, degree=degree, noise=noise)
            names = [name for name in runs[0] if name.startswith("ours")] + [BASELINE]
            heights = [mean(runs, name, "rdp") for name in names]
            places = [place + 0.4 * (number - 1) for place in range(len(names))]
            each.bar(places, heights, 0.4, align="edge", label=f"delays wrong by up to {100 * noise:.0f} %")
        each.set_xticks(range(len(names)), [name.removeprefix("ours, ") for name in names], rotation=30, ha="right")
        each.set(xlabel=f"how peers are placed ({ground})", ylabel="RDP")
        each.set_ylim(0, 1.5)
        each.legend(fontsize=6, loc="upper left")
    return figure


def _cores(table: Table) -> Figure:
    figure, axes = row_of_axes(2)
    for each, joined in zip(axes, (ALL_PAIRS, ONE_TREE), strict=True):
        runs = table("routing", ground=FLAT, workload="WL2", beta=1.0)
        for strategy in ("SPath", "MaxPath", "CNeigh", "SPotent", "Sim", "Rand"):
            costs = [fmean(run[f"{strategy} {cores} {joined}"]["cost"] for run in runs) for cores in CORES]
            each.plot(CORES, costs, marker="o", ms=3, label=strategy)
        each.axhline(fmean(run["MST"]["cost"] for run in runs), ls=":", color="grey", label="MST")
        rival = [fmean(run[f"nearest SPotent {cores}"]["cost"] for run in runs) for cores in (CORES[0], CORES[-1])]
        each.plot([CORES[0], CORES[-1]], rival, "k--", marker="s", ms=3, label=f"SPotent over {BASELINE}, all pairs")
        each.set(xlabel="cores", ylabel="cost beside OPT", xscale="log", title=f"cores joined by {joined}")
        each.set_xticks(CORES, [str(count) for count in CORES])
        each.minorticks_off()
        each.set_ylim(0.8, 3.6)  # room for the legend, and the same scale in both
        each.legend(fontsize=6, ncols=2, loc="upper left")
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
