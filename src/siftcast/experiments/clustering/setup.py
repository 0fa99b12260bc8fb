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
Runs = list[tuple[Configuration, int]]
"""Configurations without a seed, and how many seeds each is run with."""

FULL: Configuration = {
    "seeds_max": SEEDS,
    "world": {"subscriptions": 2_000, "events": 6_000},
    "dimensions": [2, 5, 10, 20, 30, 50],
    "clusters": CLUSTERS,
    "embedding": {"groups": [2, 4, 8, 16, 32], "levels": [2, 3, 4], "landmarks": [0.1, 0.2, 0.3, 0.4, 0.5]},
    "reduction": {"shapes": [[levels, share] for levels in (2, 3, 4) for share in (0.1, 0.25, 0.5)], "repeats": 3},
    "scale_sizes": [32_000, 16_000, 8_000, 4_000],
    "scale": {"events": 6_000, "group_size": 500, "repeats": 2},
    "kmeans": {"groups": 8, "levels": [2, 3, 4], "landmarks": [0.1, 0.2, 0.3, 0.4, 0.5]},
    "moving": {"peers": 1_000, "events": 6_000, "warm": 500, "step": 500, "churn": 0.0, "move_every": 2_000},
    "churn": {"peers": 500, "events": 3_000, "warm": 500, "step": 250, "move_every": 0},
    "churn_rates": (0.0, 0.04, 0.1, 0.16),
}
QUICK: Configuration = {
    "seeds_max": 1,
    "world": {"subscriptions": 240, "events": 600},
    "dimensions": [2, 20, 50],
    "clusters": 20,
    "embedding": {"groups": [2, 4], "levels": [2, 4], "landmarks": [0.1, 0.3, 0.5]},
    "reduction": {"shapes": [[2, 0.5], [4, 0.25]], "repeats": 2},
    "scale_sizes": [600],
    "scale": {"events": 600, "group_size": 100, "repeats": 1},
    "kmeans": {"groups": 4, "levels": [2, 3], "landmarks": [0.3]},
    "moving": {"peers": 60, "events": 500, "warm": 100, "step": 100, "churn": 0.0, "move_every": 200},
    "churn": {"peers": 60, "events": 300, "warm": 100, "step": 50, "move_every": 0},
    "churn_rates": (0.0, 0.16),
}


def configurations(quick: bool, figure: str | None) -> list[Configuration]:
    """Everything that the wanted rows need, the long ones first."""
    sizes = QUICK if quick else FULL
    return [
        {"part": part, **configuration, "seed": seed}
        for part, runs in _parts(sizes).items()
        if figure is None or figure in ROWS[part]
        for configuration, seeds in runs
        for seed in range(1, 1 + min(seeds, sizes["seeds_max"]))
    ]


def _parts(sizes: Configuration) -> dict[str, Runs]:
    world = sizes["world"]
    both = [{"workload": workload, "method": method, **world} for workload in WORKLOADS for method in METHODS]
    # Judged with as many clusters as hot spots and with 50; the 80/20 reading of WL2 is printed.
    classes = [("WL1", CLUSTERS, 1.0), ("WL2", SPOTS, 1.0), ("WL2", CLUSTERS, 1.0), ("WL2", SPOTS, 0.8)]
    # Subscriptions around all hot spots that events visit; uniform ones, as in 3.3.2.3, are printed.
    around: Runs = [({}, SEEDS), ({"subscription_distribution": "uniform"}, 2)]
    return {
        "scale": [
            ({"method": method, "workload": "WL2", "subscriptions": size, **sizes["scale"]}, 3)
            for size in sizes["scale_sizes"]
            for method in METHODS
        ],
        "moving": [
            ({"scheme": scheme, **sizes["moving"], **more}, seeds) for more, seeds in around for scheme in SCHEMES
        ],
        "churn": [
            ({"scheme": scheme, **sizes["churn"], "churn": rate}, SEEDS)
            for rate in sizes["churn_rates"]
            for scheme in (SCHEMES if rate == 0 else (*SCHEMES, "ov_rtree_anywhere"))
        ],
        "embedding": [(each | sizes["embedding"], SEEDS) for each in both],
        "dimensions": [
            (
                {"workload": workload, "method": method, **world, "dimensions": sizes["dimensions"]}
                | {"clusters": clusters, "hot_share": share},
                SEEDS,
            )
            for workload, clusters, share in classes
            for method in METHODS
        ],
        "reduction": [({"method": method, **world, "groups": 8, **sizes["reduction"]}, 3) for method in METHODS],
        "false_positives": [
            ({"event_distribution": kind, **world, "clusters": sizes["clusters"]}, SEEDS)
            for kind in ("uniform", "hotspots")
        ],
        "kmeans": [(each | sizes["kmeans"], SEEDS) for each in both],
    }
