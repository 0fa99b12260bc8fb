"""The figures of the ring, and the account of how it was set up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from siftcast.experiments.rendezvous.judge_runs import scheme_name
from siftcast.experiments.rendezvous.profiles import APPLICATIONS, MEASURED, ROWS
from siftcast.experiments.rendezvous.setup import LAYERED, MONOLITHIC
from siftcast.experiments.study import Figures, save_figure
from siftcast.experiments.table import Result, Table, mean
from siftcast.spark.sweeps import Outcome

Measure = Callable[[Result], float]


def draw(outcomes: Sequence[Outcome], folder: Path) -> Figures:
    """What the printed ring misses; latency and throughput against H; the applications; layers."""
    table = Table(outcomes)
    found: dict[str, str] = {}
    if table("meetings"):
        found |= _draw_printed(table, folder)
    if table("idle"):
        found |= _draw_hops(table, folder)
    if table("application"):
        found |= _draw_applications(table, folder)
    if table("layers"):
        found |= _draw_layers(table, folder)
    return found


def _draw_printed(table: Table, folder: Path) -> Figures:
    runs = table("meetings")
    figure = Figure(figsize=(13, 3.8), layout="constrained")
    missed, empty, broken = figure.subplots(1, 3)
    shares = runs[0]["missed_by_hops"]
    hops = [int(each) for each in shares]
    for place, label in enumerate(("start rounded towards zero", "start rounded down")):
        missed.plot(hops, [100 * shares[str(each)][place] for each in hops], "o-", ms=4, label=f"printed, {label}")
    missed.plot(hops, [0.0] * len(hops), "k-", label="repaired")
    missed.set(xlabel="H", ylabel="% of subscriptions missed", yscale="symlog")
    replicas = list(runs[0]["empty_random"])
    empty.bar(replicas, [100 * mean(runs, "empty_random", each) for each in replicas])
    empty.set(xlabel="R", ylabel="% of clusters empty, random identities")
    errors = list(runs[0]["broken"])
    broken.bar(
        [*errors, "within 1%"], [100 * mean(runs, "broken", e) for e in errors] + [100 * mean(runs, "broken_within")]
    )
    broken.set(xlabel="error of N", ylabel="% of events that do not meet exactly once")
    missed.legend(fontsize=7)
    return save_figure(figure, folder, "rendezvous-printed", "What goes wrong as printed (R1)")


def _draw_hops(table: Table, folder: Path) -> Figures:
    runs = table("idle")
    figure = Figure(figsize=(13, 3.8), layout="constrained")
    latency, queues, best = figure.subplots(1, 3)
    hops = sorted({int(cell.split()[0]) for cell in runs[0]})
    for kind, colour in (("walk", "C0"), ("scatter", "C1")):
        cells = [f"{each} {kind}" for each in hops]
        latency.plot(hops, [mean(runs, cell, "latency_ms") for cell in cells], "o", ms=5, color=colour, label=kind)
        latency.plot(hops, [mean(runs, cell, "formula_ms") for cell in cells], color=colour, label=f"{kind}, formula")
        if waiting := table("queues"):
            loads = [cell for cell in waiting[0] if cell.endswith(kind)]
            at = [float(cell.split()[0]) for cell in loads]
            queues.plot(at, [mean(waiting, cell, "latency_ms") for cell in loads], "o-", ms=4, color=colour, label=kind)
            queues.plot(at, [mean(waiting, cell, "predicted_ms") for cell in loads], ":", color=colour, label="M/D/1")
    if tried := table("best"):
        for size, row in list(tried[0].items())[-4:]:
            parts = [int(each) for each in row["walk"]]
            line = [mean(tried, size, "walk", str(each)) for each in parts]
            best.plot(parts, line, "o-", ms=3, label=f"{size}·M: {row['printed']} printed, {row['ours']} ours")
        best.set(xlabel="H", ylabel="latency of a walk, ms", yscale="log")
        best.legend(fontsize=7)
    latency.set(xlabel="H", ylabel="latency when idle, ms")
    queues.set(xlabel="share of the throughput", ylabel="latency, ms", yscale="log")
    for axes in (latency, queues):
        axes.legend(fontsize=7)
    return save_figure(figure, folder, "rendezvous-hops", "Latency of a zone: idle, busy, and beyond its memory (R3)")


def _draw_applications(table: Table, folder: Path) -> Figures:
    measures: tuple[tuple[str, str, Measure], ...] = (
        ("% of deliveries late", "linear", lambda run: 100 * run["late"] / max(1, run["judged"])),
        ("messages an event", "log", lambda run: run["messages"]),
        ("messages an event at the busiest server", "log", lambda run: run["stress_max"]),
        ("subscriptions kept a server", "log", lambda run: run["state_mean"]),
        ("kbps a publisher", "log", lambda run: run["publisher_kbps"]),
    )
    schemes = table.settings("application", "scheme")
    names = list(APPLICATIONS)
    figure = Figure(figsize=(14, 7), layout="constrained")
    for axes, (label, scale, measure) in zip(figure.subplots(2, 3).flat, measures, strict=False):
        for place, scheme in enumerate(schemes):
            heights = [_mean_of(table("application", application=name, scheme=scheme), measure) for name in names]
            axes.bar(np.arange(len(names)) + place / (len(schemes) + 1), heights, 1 / (len(schemes) + 1), label=scheme)
        axes.set_xticks(np.arange(len(names)) + 0.4, [name.replace("-", "\n") for name in names], fontsize=7)
        axes.set(ylabel=label, yscale=scale)
    figure.axes[0].legend(fontsize=7)
    figure.axes[-1].set_axis_off()
    return save_figure(figure, folder, "rendezvous-applications", "The applications of table 1, by scheme (R6)")


def _draw_layers(table: Table, folder: Path) -> Figures:
    measures: tuple[tuple[str, Measure], ...] = (
        ("messages an event", lambda run: run["messages"]),
        ("bytes an event", lambda run: run["event_bytes"]),
        ("matches an event", lambda run: run["matches"]),
        ("mean delay, ms", lambda run: run["delay_ms"]["mean"]),
    )
    interests = table.settings("layers", "interest")
    kinds = (*MONOLITHIC, *LAYERED)
    figure = Figure(figsize=(14, 4), layout="constrained")
    for axes, (label, measure) in zip(figure.subplots(1, len(measures)).flat, measures, strict=True):
        for place, (scheme, options) in enumerate(kinds):
            heights = [
                _mean_of(table("layers", scheme=scheme, options=options, interest=interest), measure)
                for interest in interests
            ]
            where = np.arange(len(interests)) + place / (len(kinds) + 1)
            hatch = "//" if scheme != "layered" else None
            axes.bar(where, heights, 1 / (len(kinds) + 1), label=scheme_name(scheme, options), hatch=hatch)
        axes.set_xticks(np.arange(len(interests)) + 0.4, [f"{interest:.0%} interest" for interest in interests])
        axes.set(ylabel=label, yscale="log")
    figure.axes[0].legend(fontsize=6)
    return save_figure(figure, folder, "rendezvous-layers", "Layered schemes beside monolithic ones, hatched (R7)")


def _mean_of(runs: Sequence[Result], measure: Measure) -> float:
    return float(np.mean([measure(run) for run in runs])) if runs else 0.0


def _settings() -> str:
    """Where each row of the paper's table is, as a table of its own."""
    lines = [f"| row | {' | '.join(APPLICATIONS)} |", "|---|" + "---|" * len(APPLICATIONS)]
    for row in ROWS:
        cells = []
        for application in APPLICATIONS.values():
            setting = application.rows[row]
            keys = ", ".join(
                f"`{key.removeprefix('workload.').removeprefix('options.')}` {_shown(value)}"
                for key, value in setting.values.items()
                if key != MEASURED
            )
            cells.append(f"{setting.paper}: {keys or 'measured'}")
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


ACCOUNT = f"""
## Set-up

The paper publishes no measurements, so the rows are its formulas and what it says of them. R1, R2 and R4 are judged on
the geometry that the ring runs (`siftcast.space.ring_plan`), R3 and R5 to R7 in the simulator, with the schemes that
run live.

## What the comparison says

At this size unicast, which tells every server all subscriptions, is the quickest and sends the fewest messages. Its
price is what it keeps (all 1,000 subscriptions on every server, 17 to 59 on the ring), what a change of interest costs
(a message to each server), and, where many want an event, what a publisher uploads: eight times the ring's in games.
Where few do, as with location services, the ring uploads twice as much, which is just what the table allows. The ring
takes one hop more, twice unicast's delay. In games, quotes and location services its busiest server has more to do
than unicast's; in feeds and alerts less. Where an application has time, as feeds have, publishers may collect what
matchers find: in a trial 51 messages an event instead of 114, and 1.0 s instead of 0.5 s.

Trees of brokers (broadcast, filter-based) miss bounds of 100 ms and 10 ms. HOMED keeps them but for 3 % with location
services, and keeps little state, but sends nearly as much as broadcast here: with eight subscriptions a server, most
digests allow most events. It is made for peers with an interest of their own.

Layering (R7): matched at the publisher and sent along filter-based routing's tree, events take the same messages, 15 to
25 % more bytes, which are lists of destinations, and one match instead of up to 61. Matching on a ring adds up to two
messages, and half of the delay again.

## Readings

Dated 18 November 2026, before any full size was measured.

- N nodes make X = N // R clusters of R nodes or one more. H above X is X. r lies in [−⌊H/2⌋, H − ⌊H/2⌋), and the walk
  starts at t − ⌊H/2⌋.
- What fits into no single zone is entered under each of up to four zones, and beyond that under a span, which every
  event visits as well. So an event of a zone visits H clusters for it, and the parts of the span.
- "As printed" keeps a filter that fixes no single key in the lowest zone in which it can be true.
- R2: the load of a node over the mean of all N, times H·R/N; a thousand subscriptions, and a thousand matches, for each
  node that has any. Replicas are picked at random.
- R3: k₁ = 0.05 ms; match(store) = 0.02 ms + 1 µs for each subscription, and 50 µs for each one beyond M. Latency counts
  until the last of the H matchers has matched. Throughput is the rate at which events that all come at once are done.
  The pilot's numbers at H = 8, by formula, were 0.25 for a scatter and 2.01 ms for a walk.
- R6: a run holds if nothing is wrong or missing and at most 1 % of the deliveries are later than their subscription
  allows. A subscription counts for an event if it stood for `settle_ms` before and after, which is longer than any
  event is on its way. (Changed after a first run: with half as much in three files, an event that took 1.1 s was
  "missed" by a subscription given up meanwhile, under the ring, HOMED and broadcast alike.) Delays count from when the
  publisher's server takes an event up. The ring's R and H are each application's own (`profiles/*.toml`); the other
  schemes have their defaults.
- R7: an event's messages and bytes are all that carry it, with lists of destinations, as the wire has them, without
  frames. A network multicast counts a message for each receiver and its bytes once.

## The applications

Each is a scenario file in `siftcast/experiments/rendezvous/profiles`, to be run with `siftcast simulate`. The eight
rows of the paper's table, and the keys of the file that stand for them:

{_settings()}

Smaller than the table is who is there at once: 1,000 subscriptions on 128 servers, drawn from the table's number of
parties, where it says up to 10⁶. Rates of events are the table's. The other readings are in `profiles.py`.
"""
"""What was set up how, and what the paper leaves open."""
