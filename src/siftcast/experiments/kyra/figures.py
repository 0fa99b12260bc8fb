"""The figures of the Kyra paper that its text describes, redrawn, and the account of how they were made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from siftcast.experiments.kyra.setup import ALPHA, CHOSEN, CLIQUES_MS, MODELS, RATES, TREES
from siftcast.experiments.kyra.table import Runs
from siftcast.experiments.study import Figures, save_figure
from siftcast.spark.sweeps import Outcome

_CURVES = {
    "state": ("Routing state (Fig. 10)", "share of all subscriptions", "mean"),
    "matching": ("Matching load (Fig. 11)", "servers that match an event", "mean"),
    "node_stress": ("Node stress (Fig. 12)", "messages a server, 1,000 events", "mean"),
    "link_stress": ("Link stress (Fig. 13)", "messages a link, 1,000 events", "mean"),
    "nru": ("Normalised resource usage (Fig. 14)", "NRU", None),
}
_SCHEMES = ("fbr", "kyra", "mbr", "unicast", "broadcast")


def draw(outcomes: Sequence[Outcome], folder: Path) -> Figures:
    """Figures 7 and 10 to 16, as far as the outcomes go."""
    runs = Runs(outcomes)
    figures: dict[str, str] = {}
    topologies = [outcome.result for outcome in outcomes if outcome.configuration["part"] == "topology"]
    if topologies:
        figures |= save_figure(
            _draw_exponent(topologies), folder, "kyra-popularity", "Popularity and servers passed (Fig. 7)"
        )
    for measure, (title, label, statistic) in _CURVES.items():
        figure = _draw_curves(runs, measure, label, statistic)
        if figure is not None:
            figures |= save_figure(figure, folder, f"kyra-{measure.replace('_', '-')}", title)
    if runs("mbr", 0.1, "nru", None, model="regional"):
        figures |= save_figure(_draw_schemes(runs), folder, "kyra-schemes", "NRU by scheme and model (Fig. 15)")
    if runs("kyra", 0.1, "node_stress", balance_factor=100):
        figures |= save_figure(_draw_balance(runs), folder, "kyra-balance", "Distribution of node stress (Fig. 16)")
    return figures


def _draw_exponent(topologies: Sequence[Any]) -> Figure:
    figure = Figure(figsize=(5, 3.6), layout="constrained")
    axes = figure.subplots()
    for found in topologies:
        axes.plot(found["popularity"], found["passed"], ".-", color="tab:blue", alpha=0.5)
    line = np.linspace(0.002, 1, 200)
    axes.plot(line, line**ALPHA, "k--", label=f"popularity^{ALPHA} (paper)")
    axes.plot(line, line, ":", color="gray", label="servers that want it")
    axes.set(xlabel="popularity", ylabel="share of servers passed")
    axes.legend(fontsize=8)
    return figure


def _draw_curves(runs: Runs, measure: str, label: str, statistic: str | None) -> Figure | None:
    rates = [rate for rate in RATES if runs("kyra", rate, measure, statistic, clique_ms=500, trees=10)]
    if not rates:
        return None
    figure = Figure(figsize=(4 * len(rates), 3.4), layout="constrained")
    for axes, rate in zip(np.atleast_1d(figure.subplots(1, len(rates))), rates, strict=True):
        for trees in TREES:
            points = [
                (clique, runs.mean("kyra", rate, measure, statistic, clique_ms=clique, trees=trees))
                for clique in CLIQUES_MS
                if runs("kyra", rate, measure, statistic, clique_ms=clique, trees=trees)
            ]
            if points:
                axes.plot(*zip(*points, strict=True), marker="o", ms=3, label=f"{trees} trees")
        axes.set(xlabel="longest latency in a clique, ms", ylabel=label, title=f"interest {rate:.0%}")
        if measure == "state":
            axes.set_yscale("log")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    return figure


def _draw_schemes(runs: Runs) -> Figure:
    figure = Figure(figsize=(14, 3.4), layout="constrained")
    for axes, model in zip(figure.subplots(1, len(MODELS)), MODELS, strict=True):
        for index, scheme in enumerate(_SCHEMES):
            heights = [runs.mean(scheme, rate, "nru", None, model=model) for rate in RATES]
            axes.bar(np.arange(len(RATES)) + 0.16 * index, heights, width=0.15, label=scheme)
        axes.set_xticks(np.arange(len(RATES)) + 0.32, [f"{rate:.0%}" for rate in RATES])
        axes.set(title=model, ylabel="NRU")
        axes.legend(fontsize=6)
    return figure


def _draw_balance(runs: Runs) -> Figure:
    figure = Figure(figsize=(5, 3.6), layout="constrained")
    axes = figure.subplots()
    for scheme, label, more in (
        ("fbr", "FBR", {}),
        ("mbr", "MBR", {}),
        ("kyra", "Kyra", {}),
        ("kyra", "balanced Kyra", {"balance_factor": 100}),
    ):
        deciles: Any = runs(scheme, 0.1, "node_deciles", None, **more)
        if deciles:
            axes.plot(np.mean(deciles, axis=0), np.linspace(0, 100, 11), marker="o", ms=3, label=label)
    axes.set(xlabel="node stress", ylabel="% of servers below", xscale="symlog")
    axes.legend(fontsize=8)
    return figure


_TABLE_THREE = ", ".join(f"({clique} ms, {trees}) at {rate:.0%}" for rate, (clique, trees) in CHOSEN.items())
ACCOUNT = f"""
## Set-up

A transit-stub graph of 2,500 routers, 500 servers on random routers, one subscription a server that lists the values
it wants out of 1,000, 1,000 events. Every scheme's own protocol objects run in the simulator; subscriptions travel
through the network first, and only what events cause counts as traffic. Kyra's configurations are those of Table III:
{_TABLE_THREE}.

## Readings

The paper is silent on these; they were fixed before measuring, and since they were chosen because they fit a pilot,
they confirm nothing by themselves.

- The 8,938 links are arcs, so 4,469 links. Popularity is min(1, c / rank) with c solved for the mean rate.
- Events are *stratified*: each value comes as often as its volume says. The literal reading, independent draws, stands
  beside it in the notes on K8; it leaves averages alone and raises maxima.
- State is measured in content, not in entries: of all pairs (subscription, value it wants) the share that a server's
  tables hold. Counted in entries a subscription cut into pieces would weigh more than the whole.
- Matching load leaves out the leaves of trees, which match only for their own clique.
- Node stress is sends plus receives; link stress is the mean over used arcs between routers; NRU is a ratio of sums.
- Multimodal: the deviation is a quarter of the average distance between *neighbouring* peaks; over all pairs, the
  literal reading, it is twice as wide. The notes on K10 have both. The places of the five peaks matter more than
  either: over draws of peaks an event meets 1.4 to 4.3 times (5th to 95th percentile) the mean interest, 2.1 in the
  middle; over all pairs 1.1 to 3.0, 1.45 in the middle. By the exponent of K1, the paper's 132 of FBR at 1 % stands for
  1.2 times, its 873 at 10 % for 2.6 times: one draw each, it seems, and not the same.
- Zones minimise the largest load (`bottleneck`). MBR: Forgy's k-means in Euclidean distance, one minimum spanning tree
  a group, and a publisher outside the group enters at the nearest member. Balanced trees count degrees over all trees.
"""
"""What was set up how, and what the paper leaves open."""
