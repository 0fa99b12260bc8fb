"""The figures of lookup reuse, and the account of how it was set up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib.figure import Figure

from siftcast.experiments.lookup_reuse.judge import costs, deviation
from siftcast.experiments.lookup_reuse.setup import ENGINES, STRATEGIES
from siftcast.experiments.study import Figures, save_figure
from siftcast.spark.sweeps import Outcome

_PARTS = {"source_us": "match at the source", "elsewhere_us": "match elsewhere", "lookup_us": "lookups and the rest"}


def draw(outcomes: Sequence[Outcome], folder: Path) -> Figures:
    """Cost against density, deviation from the best strategy, and where the time goes, for each engine."""
    figures: dict[str, str] = {}
    for engine in ENGINES:
        table = costs(outcomes, engine)
        if not table:
            continue
        figure = Figure(figsize=(13, 3.8), layout="constrained")
        total, off, parts = figure.subplots(1, 3)
        percent = [100 * density for density in table]
        for strategy in STRATEGIES:
            total.plot(percent, [fmean(row[strategy]) for row in table.values()], marker="o", ms=3, label=strategy)
            off.plot(percent, [max(deviation(row, strategy), 0.1) for row in table.values()], marker="o", ms=3)
        for axes, label in ((total, "µs an event, all routers"), (off, "% above the best strategy")):
            axes.set(xscale="log", yscale="log", xlabel="matching density, %", ylabel=label)
            axes.grid(alpha=0.3)
        total.legend(fontsize=7)
        _draw_parts(outcomes, engine, parts)
        figures |= save_figure(figure, folder, f"lookup-reuse-{engine}", f"Costs with {engine}")
    return figures


def _draw_parts(outcomes: Sequence[Outcome], engine: str, axes: Any) -> None:
    """The breakdown at the sparsest and the densest setting, without always-reuse, which dwarfs the rest."""
    shown = [strategy for strategy in STRATEGIES if strategy != "always"]
    tables = {field: costs(outcomes, engine, field) for field in _PARTS}
    densities = list(tables["source_us"])
    sides = densities if len(densities) == 1 else [densities[0], densities[-1]]
    labels = [f"{strategy}\n{100 * density:g} %" for density in sides for strategy in shown]
    bottoms = [0.0] * len(labels)
    for field, name in _PARTS.items():
        heights = [
            fmean(tables[field][density][strategy]) / fmean(costs(outcomes, engine)[density]["never"])
            for density in sides
            for strategy in shown
        ]
        axes.bar(range(len(labels)), heights, bottom=bottoms, label=name)
        bottoms = [bottom + height for bottom, height in zip(bottoms, heights, strict=True)]
    axes.set_xticks(range(len(labels)), labels, rotation=90, fontsize=6)
    axes.set_ylabel("share of never-reuse's time")
    axes.legend(fontsize=7)


ACCOUNT = """
## Set-up

100 routers in a balanced binary tree, 100 subscriptions each, five attributes in [0, 1], one network for all
strategies. An event's cost is the CPU time that all routers spend on it, without set-up; the total is the best of the
repeats, and its breakdown comes from a run of its own with a clock around each match. Deliveries are compared between
strategies in every run. 100 events for each of five seeds stand for the paper's 1,000.

## Readings

The paper is silent on these; they were fixed before measuring.

- Intervals lie wholly inside [0, 1], all of length density^(1/5).
- `partial-n` limits the keys an interface, and forwards only those of that interface; `always` sends the whole list.
- The counting matcher counts violated predicates (the paper's times fall as density grows); the k-d tree prunes by
  splitting planes. Both are as published, in NumPy: a match has a fixed cost of some 10 µs that the paper's C code has
  not, so tables of few subscriptions are dearer here, relative to large ones.
- A key is 32 bits; two subscriptions that share one are treated as if no key were known.
- L2 compares partial-60 with never-reuse.
- With covering, no list of keys counts as complete (L6).
"""
"""What was set up how, and what the paper leaves open."""
