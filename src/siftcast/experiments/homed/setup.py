"""The set-up of the HOMED study, as configurations of a sweep.

The paper has algorithms and no evaluation ("measuring the performance of HOMED is now in progress"), so the set-up is
ours: two workloads (`world`), five seeds, networks of up to 10,000 nodes. `ROWS` says which rows need which part.
"""

from __future__ import annotations

from typing import Any

from siftcast.experiments.homed.pitfalls import UNIFORM
from siftcast.experiments.homed.variants import VARIANTS

SEEDS = 5
ROWS = {
    "growth": ("H3", "H4"),
    "recovery": ("H5",),
    "variants": ("H6",),
    "printed": ("H3", "H4", "H5"),
    "covering": ("H1",),
    "example": ("H2",),
}
SLOW_BEATS = {"heartbeat_ms": 20_000.0}
"""Beats are left out of all counts where networks grow, and cost most of the time of a run."""
Configuration = dict[str, Any]
Runs = list[tuple[Configuration, int]]
"""Configurations without a seed, and how many seeds each is run with."""

FULL: Configuration = {
    "seeds_max": SEEDS,
    "networks": [
        ("topics", 10_000, 1),
        ("topics", 4_096, SEEDS),
        *((workload, nodes, SEEDS) for nodes in (1_024, 256) for workload in ("topics", "ranges")),
        ("topics", 64, SEEDS),
    ],
    "growth": {"probes": 50, "events": 200},
    "recovery_sizes": (256, 64),
    "recovery": {"crashes": 4, "events": 100},
    "variants": {"nodes": 128, "events": 200},
    "cubes": [
        *((UNIFORM, 10, nodes) for nodes in (1_024, 922, 768, 512, 256, 64)),
        *((UNIFORM, 16, nodes) for nodes in (256, 1_024)),
        *((UNIFORM, 32, nodes) for nodes in (256, 1_024, 4_096)),
        *(("topics", 64, nodes) for nodes in (256, 1_024)),
        *(("ranges", 64, nodes) for nodes in (256, 1_024)),
    ],
    "samples": 200,
    "pairs": 2_000,
}
QUICK: Configuration = {
    "seeds_max": 1,
    "networks": [("topics", 256, 1), ("ranges", 256, 1), ("topics", 64, 1)],
    "growth": {"probes": 15, "events": 60},
    "recovery_sizes": (64,),
    "recovery": {"crashes": 2, "events": 30},
    "variants": {"nodes": 32, "events": 40},
    "cubes": [(UNIFORM, 7, 128), (UNIFORM, 7, 64), (UNIFORM, 16, 128), (UNIFORM, 32, 256), ("topics", 64, 128)],
    "samples": 40,
    "pairs": 400,
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
    return {
        "growth": [
            ({"workload": workload, "nodes": nodes, **sizes["growth"]}, seeds)
            for workload, nodes, seeds in sizes["networks"]
        ],
        "recovery": [
            ({"workload": "topics", "nodes": nodes, **sizes["recovery"]}, SEEDS) for nodes in sizes["recovery_sizes"]
        ],
        "printed": [
            ({"identifiers": kind, "bits": bits, "nodes": nodes, "samples": sizes["samples"]}, SEEDS)
            for kind, bits, nodes in sorted(sizes["cubes"], key=lambda cube: -cube[2])
        ],
        "variants": [({"variant": name, **sizes["variants"]}, SEEDS) for name in VARIANTS],
        "covering": [({"pairs": sizes["pairs"]}, SEEDS)],
        "example": [({}, 1)],
    }
