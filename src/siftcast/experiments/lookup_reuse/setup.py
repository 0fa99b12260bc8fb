"""The set-up of lookup reuse, section 3.1, as configurations of a sweep.

100 routers in a balanced binary tree, 100 subscriptions each, five attributes in [0, 1], eight densities, eight
strategies, two published matchers and our own engine. The paper publishes 1,000 events in a run; we publish 100 for
each of five seeds, which is half as many per mean and shows the spread: the published matchers take hundreds of
microseconds per event at each of 100 routers, sixteen times over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from siftcast.model import Event, Filter, Subscription
from siftcast.space import SourceTrees, Tree
from siftcast.workloads import unit_boxes

DENSITIES = (0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.15, 0.2)
LIMITS = (40, 60, 80, 120, 160, 240)
STRATEGIES = ("never", "always", *(f"partial-{limit}" for limit in LIMITS))
ENGINES = ("counting", "kd_tree", "tiles")
ROUTERS = 100
ATTRIBUTES = tuple(f"a{number}" for number in range(1, 6))
SEEDS = 5
_LINKS_MORE = 60


def configurations(quick: bool, figure: str | None) -> list[dict[str, Any]]:
    """Costs for each engine, density and seed; the exact rows once for each seed."""
    seeds = range(1 if quick else SEEDS)
    sizes = {"subscriptions": 1_000, "events": 25, "repeats": 1} if quick else {
        "subscriptions": 10_000, "events": 100, "repeats": 2,
    }  # fmt: skip
    found: list[dict[str, Any]] = []
    if figure not in ("L6", "L7"):
        densities = (0.005, 0.05, 0.2) if quick else DENSITIES
        engines = {"L8": ("tiles",)}.get(figure or "", ENGINES)
        # The long ones first, so that the last task to end is a short one.
        found += [
            {"part": "costs", "engine": engine, "density": density, "seed": seed, **sizes}
            for engine in engines
            for density in sorted(densities, reverse=True)
            for seed in (seeds if engine != "tiles" else seeds[:2])  # printed, not judged
        ]
    if figure in (None, "L6", "L7"):
        found += [{"part": "exactness", "seed": seed} for seed in seeds]
    return found


def binary_tree(routers: int = ROUTERS) -> Tree:
    """A balanced binary tree: router i hangs on router (i - 1) // 2."""
    return Tree(range(routers), [((router - 1) // 2, router) for router in range(1, routers)])


def cyclic_graph(rng: np.random.Generator) -> SourceTrees:
    """The same tree with more links drawn at random, each of length 1 to 3."""
    lengths = {edge: float(rng.integers(1, 4)) for edge in binary_tree().edges}
    while len(lengths) < ROUTERS - 1 + _LINKS_MORE:
        a, b = sorted(rng.choice(ROUTERS, 2, replace=False).tolist())
        lengths.setdefault((a, b), float(rng.integers(1, 4)))
    return SourceTrees.shortest(lengths)


def subscriptions_of(count: int, density: float, rng: np.random.Generator) -> list[Subscription]:
    """Random sub-intervals wholly inside [0, 1], sized so that an event matches this share of them."""
    boxes = unit_boxes(count, len(ATTRIBUTES), density=density, rng=rng, spread=0.0, decimals=6)
    texts = (
        " AND ".join(
            f"{name} BETWEEN {low:.6f} AND {high:.6f}" for name, low, high in zip(ATTRIBUTES, lows, highs, strict=True)
        )
        for lows, highs in zip(boxes.low.tolist(), boxes.high.tolist(), strict=True)
    )
    return [Subscription(f"s{number}", Filter.parse(text)) for number, text in enumerate(texts)]


def events_of(count: int, rng: np.random.Generator) -> list[Event]:
    """Independent uniform points."""
    points = rng.random((count, len(ATTRIBUTES))).tolist()
    return [Event(dict(zip(ATTRIBUTES, point, strict=True)), id=f"e{number}") for number, point in enumerate(points)]
