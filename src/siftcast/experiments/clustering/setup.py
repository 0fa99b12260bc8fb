"""The set-up of chapter 3 as configurations of a sweep.

2,000 subscriptions of five integer attributes in [0, 30] and 6,000 events that match 5 % of them, up to 32,000 for
Table 3.1, five seeds. A part of the sweep is a function of `quality`, `times` or `dissemination`; `ROWS` says which
rows need which part.
"""

from __future__ import annotations

from typing import Any

from siftcast.experiments.clustering.dissemination import SCHEMES
from siftcast.experiments.clustering.world import CLUSTERS, SPOTS

SEEDS = 5
METHODS = ("rassoc", "ncut")
WORKLOADS = ("WL1", "WL2")
DIMENSIONS = (2, 5, 10, 20, 30, 50)
GROUPS = (2, 4, 8, 16, 32)
LEVELS = (2, 3, 4)
LANDMARKS = (0.1, 0.2, 0.3, 0.4, 0.5)
SHAPES = tuple((levels, share) for levels in (2, 3, 4) for share in (0.1, 0.25, 0.5))
SIZES = (4_000, 8_000, 16_000, 32_000)
CHURN = (0.0, 0.04, 0.1, 0.16)
ROWS = {
    "dimensions": ("C1",),
    "false_positives": ("C2",),
    "embedding": ("C3", "C4"),
    "reduction": ("C5",),
    "scale": ("C6",),
    "kmeans": ("C7",),
    "moving": ("C8",),
    "churn": ("C8",),
}
Configuration = dict[str, Any]


def configurations(quick: bool, figure: str | None) -> list[Configuration]:
    """Everything that the wanted rows need, the long ones first."""
    parts = {
        "scale": _scale(quick),
        "moving": _moving(quick),
        "churn": _churn(quick),
        "embedding": _embedding(quick),
        "dimensions": _dimensions(quick),
        "reduction": _reduction(quick),
        "false_positives": _false_positives(quick),
        "kmeans": _kmeans(quick),
    }
    return [
        {"part": part, **configuration, "seed": seed}
        for part, runs in parts.items()
        if figure is None or figure in ROWS[part]
        for configuration, seeds in runs
        for seed in range(1, 1 + (1 if quick else seeds))
    ]


Runs = list[tuple[Configuration, int]]
"""Configurations without a seed, and how many seeds each is run with."""


def _sizes(quick: bool) -> Configuration:
    return {"subscriptions": 240, "events": 600} if quick else {"subscriptions": 2_000, "events": 6_000}


def _dimensions(quick: bool) -> Runs:
    """Judged with as many clusters as hot spots and with 50; the 80/20 reading of WL2 is printed."""
    kinds = [("WL1", CLUSTERS, 1.0), ("WL2", SPOTS, 1.0), ("WL2", CLUSTERS, 1.0), ("WL2", SPOTS, 0.8)]
    dimensions = [2, 20, 50] if quick else list(DIMENSIONS)
    return [
        (
            {
                "workload": workload,
                "method": method,
                **_sizes(quick),
                "dimensions": dimensions,
                "clusters": clusters,
                "hot_share": share,
            },
            SEEDS,
        )
        for workload, clusters, share in kinds
        for method in METHODS
    ]


def _false_positives(quick: bool) -> Runs:
    clusters = 20 if quick else CLUSTERS
    return [
        ({"event_distribution": kind, **_sizes(quick), "clusters": clusters}, SEEDS) for kind in ("uniform", "hotspots")
    ]


def _embedding(quick: bool) -> Runs:
    shape = {
        "groups": [2, 4] if quick else list(GROUPS),
        "levels": [2, 4] if quick else list(LEVELS),
        "landmarks": [0.1, 0.3, 0.5] if quick else list(LANDMARKS),
    }
    return [
        ({"workload": workload, "method": method, **_sizes(quick), **shape}, SEEDS)
        for workload in WORKLOADS
        for method in METHODS
    ]


def _reduction(quick: bool) -> Runs:
    shapes = [[2, 0.5], [4, 0.25]] if quick else [list(shape) for shape in SHAPES]
    more = {"groups": 8, "shapes": shapes, "repeats": 2 if quick else 3}
    return [({"method": method, **_sizes(quick), **more}, 3) for method in METHODS]


def _scale(quick: bool) -> Runs:
    sizes = [600] if quick else sorted(SIZES, reverse=True)
    more = {"events": 600, "group_size": 100} if quick else {"events": 6_000, "group_size": 500}
    return [
        ({"method": method, "workload": "WL2", "subscriptions": size, **more, "repeats": 1 if quick else 2}, 3)
        for size in sizes
        for method in METHODS
    ]


def _kmeans(quick: bool) -> Runs:
    shape = {
        "groups": 4 if quick else 8,
        "levels": [2, 3] if quick else list(LEVELS),
        "landmarks": [0.3] if quick else list(LANDMARKS),
    }
    return [
        ({"workload": workload, "method": method, **_sizes(quick), **shape}, SEEDS)
        for workload in WORKLOADS
        for method in METHODS
    ]


def _moving(quick: bool) -> Runs:
    """Subscriptions around all hot spots that events visit; uniform ones, as in 3.3.2.3, are printed."""
    sizes = (
        {"peers": 60, "events": 500, "warm": 100, "step": 100, "churn": 0.0, "move_every": 200}
        if quick
        else {"peers": 1_000, "events": 6_000, "warm": 500, "step": 500, "churn": 0.0, "move_every": 2_000}
    )
    kinds = [({}, SEEDS), ({"subscription_distribution": "uniform"}, 2)]
    return [({"scheme": scheme, **sizes, **more}, seeds) for more, seeds in kinds for scheme in SCHEMES]


def _churn(quick: bool) -> Runs:
    sizes = (
        {"peers": 60, "events": 300, "warm": 100, "step": 50, "move_every": 0}
        if quick
        else {"peers": 500, "events": 3_000, "warm": 500, "step": 250, "move_every": 0}
    )
    rates = (0.0, 0.16) if quick else CHURN
    schemes = {rate: SCHEMES if rate == 0 else (*SCHEMES, "ov_rtree_anywhere") for rate in rates}
    return [({"scheme": scheme, **sizes, "churn": rate}, SEEDS) for rate in rates for scheme in schemes[rate]]
