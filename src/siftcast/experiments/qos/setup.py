"""The set-up of the QoS study, as configurations of a sweep; the readings are in `thesis/rules.py`.

The thesis does not say how many publishers there are, which delays are "moderate", how subscriptions are drawn, or when
a peer takes itself for lacking. What stands here was fixed on 19 November 2026 after trials with 250 to 2,000 peers:
sixteen publishers of a sixteenth of the space each, bounds of 10 to 40 hops where all are to converge, two attributes,
at most four expressions for a subscription, out-degree log2 N. Section 2.8.5 gets the bounds and the exact mapping that
row Q8 names, over one attribute, where the exact mapping takes few expressions.
"""

from __future__ import annotations

from math import log2
from typing import Any

from siftcast.experiments.qos.thesis.world import WORKLOADS

SEEDS = 5
ROWS = {
    "examples": ("Q1", "Q9"),
    "mapping": ("Q2",),
    "properties": ("Q3",),
    "construction": ("Q4", "Q6", "Q11"),
    "fixed view": ("Q6",),
    "churn": ("Q5",),
    "shock": ("Q5",),
    "pieces": ("Q7",),
    "constraints": ("Q8",),
    "bandwidth": ("Q10",),
    "printed": ("Q3", "Q4"),
    "users": ("Q4",),
}
MODERATE = (10, 40)
SCENARIOS = {"S1": (3, 8), "S2": (1, 4)}
ALLOWANCES = (0.0, 0.031, 0.062, 0.125, 0.25, 0.5)
DEGREES = (6, 12)
CHURN = (0.005, 0.01, 0.025, 0.05)
SHOCKS = (0.1, 0.25, 0.4)
THETAS = (8, 32, 128, 256)
PITFALLS = (
    "as repaired",
    "no search for cycles",
    "line 41 as printed",
    "equal bounds only, with section 2.7",
    "repaired search, with section 2.7",
    "parents whatever their bounds",
    "compared by what is asked",
    "the tighter bound goes",
)
Configuration = dict[str, Any]
Runs = list[tuple[Configuration, int]]
"""Configurations without a seed, and how many seeds each is run with."""

FULL: Configuration = {
    "seeds_max": 10,
    "sizes": ((500, 10), (1_000, 10), (2_000, 5), (4_000, 5), (7_000, 5)),
    "fixed_sizes": (250, 500, 1_000, 2_000),
    "rounds": 400,
    "boxes": 4_000,
    "properties": {"peers": 150, "rounds": 400, "events": 400},
    "churn": {"peers": 1_000, "rounds": 60},
    "shock": {"peers": 1_000, "rounds": 60},
    "pieces": {"peers": 300, "rounds": 150},
    "constraints": {"peers": 500, "rounds": 150},
    "bandwidth": {"peers": 300, "rounds": 150, "events": 400, "move_every": 50},
    "printed": {"peers": 250, "rounds": 150},
    "users": {"peers": 500, "seconds": 60},
}
QUICK: Configuration = {
    "seeds_max": 1,
    "sizes": ((120, 1), (250, 1)),
    "fixed_sizes": (60, 120),
    "rounds": 250,
    "boxes": 200,
    "properties": {"peers": 40, "rounds": 300, "events": 60},
    "churn": {"peers": 100, "rounds": 12},
    "shock": {"peers": 100, "rounds": 60},
    "pieces": {"peers": 40, "rounds": 60},
    "constraints": {"peers": 100, "rounds": 30},
    "bandwidth": {"peers": 60, "rounds": 60, "events": 100, "move_every": 20},
    "printed": {"peers": 100, "rounds": 40},
    "users": {"peers": 40, "seconds": 15},
}


def degree_of(peers: int) -> int:
    """The out-degree of section 2.8.1."""
    return round(log2(peers))


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
    both = tuple(WORKLOADS)
    return {
        "users": [({"workload": workload, **sizes["users"]}, 3) for workload in both],
        "construction": [
            ({"workload": workload, "peers": peers, "rounds": sizes["rounds"]}, seeds)
            for peers, seeds in reversed(sizes["sizes"])
            for workload in both
        ],
        "fixed view": [
            ({"workload": "WL1", "peers": peers, "view": 25, "rounds": 2 * sizes["rounds"]}, 3)
            for peers in reversed(sizes["fixed_sizes"])
        ],
        "pieces": [({"theta": theta, **sizes["pieces"]}, 3) for theta in reversed(THETAS)],
        "churn": [
            ({"workload": workload, "share": share, **sizes["churn"]}, SEEDS) for workload in both for share in CHURN
        ],
        "shock": [
            ({"workload": workload, "share": share, **sizes["shock"]}, SEEDS) for workload in both for share in SHOCKS
        ],
        "constraints": [
            (
                {
                    "scenario": scenario,
                    "degree": degree,
                    "allowance": allowance,
                    "real_delays": real_delays,
                    **sizes["constraints"],
                },
                3 if real_delays else SEEDS,
            )
            for real_delays in (False, True)
            for scenario in SCENARIOS
            for degree in DEGREES
            for allowance in ALLOWANCES
        ],
        "bandwidth": [(sizes["bandwidth"], SEEDS)],
        "properties": [
            ({"workload": workload, "wildcards": wildcards, "real_delays": real_delays, **sizes["properties"]}, SEEDS)
            for workload in both
            for wildcards in (False, True)
            for real_delays in (False, True)
        ],
        "printed": [({"pitfall": pitfall, **sizes["printed"]}, SEEDS) for pitfall in PITFALLS],
        "mapping": [({"boxes": sizes["boxes"], "attributes": attributes}, 2) for attributes in (1, 2, 3, 5)],
        "examples": [({}, 1)],
    }
