"""Draws time per event against the number of subscriptions, of attributes, and the density, into SVG files."""

from __future__ import annotations

import json
from dataclasses import asdict

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.measuring import Contender, take_turns
from benchmarks.peers import DuckDBJoin, LeftOut, NumPyScan, PeerClass, PredicateLoop, SpatialIndex, SQLiteRTree
from benchmarks.report import Report
from benchmarks.settings import Settings
from benchmarks.sweeps import Curve, make_ranges, measure, sweeps

PEERS: tuple[PeerClass, ...] = (NumPyScan, SQLiteRTree, SpatialIndex, DuckDBJoin, PredicateLoop)
FILES = {"subscriptions": "time_by_subscriptions", "attributes": "time_by_attributes", "density": "time_by_density"}


def run(settings: Settings, report: Report) -> None:
    """Measures the sweeps over ranges, with the peers beside them, and draws one figure for each."""
    folder = settings.output
    folder.mkdir(parents=True, exist_ok=True)
    everything: list[Curve] = []
    for sweep in sweeps(settings):
        if not sweep.name.startswith("ranges"):
            continue
        report.progress(f"curves: {sweep.name}")
        curves = measure(sweep, settings, report) + _peer_curves(sweep.quantity, settings, report)
        path = folder / f"{FILES[sweep.quantity]}.svg"
        draw(curves, report.machine.describe().partition(";")[0]).savefig(path, metadata={"Date": None})
        report.progress(f"  wrote {path}")
        everything += curves
    data = folder / "curves.json"
    data.write_text(json.dumps([asdict(curve) for curve in everything], indent=1) + "\n", encoding="utf-8")
    report.progress(f"  wrote {data}")


def draw(curves: list[Curve], machine: str) -> Figure:
    """A figure with logarithmic scales: ours in bold, the peers thin."""
    mpl.rcParams["svg.hashsalt"] = "siftcast"  # the same curves give the same file
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    for curve in curves:
        own = curve.way.startswith("match")
        label = f"Siftcast {curve.way}" if own else curve.way
        style = {"linewidth": 2.4, "marker": "o"} if own else {"linewidth": 1.2, "marker": ".", "linestyle": "--"}
        axes.plot(curve.sizes, curve.times, label=label, **style)  # type: ignore[arg-type]
    axes.set(xscale="log", yscale="log", xlabel=curves[0].quantity, ylabel="µs per event")
    axes.set_title(f"{curves[0].sweep}\n{machine}", fontsize=10)
    axes.grid(True, which="both", alpha=0.25)
    axes.legend(fontsize=9)
    return figure


def _peer_curves(quantity: str, settings: Settings, report: Report) -> list[Curve]:
    """The peers on the same workloads, at the sizes that they can bear."""
    points: dict[str, list[tuple[float, float]]] = {}
    for size in _peer_sizes(quantity, settings):
        report.progress(f"  peers: {size:,} {quantity}")
        workload = make_ranges(settings, quantity, size)
        for peer_class in PEERS:
            try:
                peer = peer_class(workload)
            except LeftOut:
                continue
            contender = Contender(peer.name, peer.ask, len(workload.events))
            for timing in take_turns([contender], rounds=3, round_s=settings.round_s / 4)[0]:
                points.setdefault(peer.name, []).append((size, timing.best_us_per_event))
    return [
        Curve(f"ranges, {quantity}", quantity, name, *map(tuple, zip(*found, strict=True)))
        for name, found in points.items()
    ]


def _peer_sizes(quantity: str, settings: Settings) -> list[float]:
    if quantity == "subscriptions":
        return [10, 100, 1_000, 10_000, *([] if settings.quick else [100_000, 1_000_000])]
    return [1, 2, 5, 10, 20, 50, 100, 200] if quantity == "attributes" else [0.0001, 0.001, 0.01, 0.1, 0.6]
