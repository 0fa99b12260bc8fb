"""The set-up of the HOMED study, as configurations of a sweep.

The paper has an algorithm and no evaluation ("measuring the performance of HOMED is now in progress"), so the set-up is
ours: two workloads (`world`), five seeds, networks of up to 10,000 nodes. `ROWS` says which rows need which part.
"""

from __future__ import annotations

from typing import Any

from siftcast.experiments.homed.pitfalls import UNIFORM

SEEDS = 5
ROWS = {
    "example": ("H2",),
    "covering": ("H1",),
    "printed": ("H3", "H4", "H5"),
}
Configuration = dict[str, Any]
Runs = list[tuple[Configuration, int]]
"""Configurations without a seed, and how many seeds each is run with."""

FULL: Configuration = {
    "seeds_max": SEEDS,
    "pairs": 20_000,
    "samples": 200,
    "cubes": [
        *((UNIFORM, 10, nodes) for nodes in (1_024, 922, 768, 512, 256, 64)),
        *((UNIFORM, 16, nodes) for nodes in (256, 1_024, 4_096)),
        *((UNIFORM, 32, nodes) for nodes in (256, 1_024, 4_096)),
        *(("topics", 64, nodes) for nodes in (256, 1_024)),
        *(("ranges", 64, nodes) for nodes in (256, 1_024)),
    ],
}
QUICK: Configuration = {
    "seeds_max": 1,
    "pairs": 400,
    "samples": 40,
    "cubes": [(UNIFORM, 7, 128), (UNIFORM, 7, 64), (UNIFORM, 16, 128), (UNIFORM, 32, 256), ("topics", 64, 128)],
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
        "printed": [
            ({"identifiers": kind, "bits": bits, "nodes": nodes, "samples": sizes["samples"]}, SEEDS)
            for kind, bits, nodes in sorted(sizes["cubes"], key=lambda cube: -cube[2])
        ],
        "covering": [({"pairs": sizes["pairs"]}, SEEDS)],
        "example": [({}, 1)],
    }
