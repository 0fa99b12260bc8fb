"""The set-up as configurations of a sweep; `ROWS` says which row needs which part.

The paper publishes no measurements, so sizes are ours: large enough that chance is a few percent (a thousand samples a
cell in R2), small enough for minutes.
"""

from __future__ import annotations

from typing import Any

from siftcast.experiments.rendezvous.profiles import APPLICATIONS

Configuration = dict[str, Any]
Runs = list[tuple[Configuration, int]]
"""Configurations without a seed, and how many seeds each is run with."""

ROWS = {
    "meetings": "R1",
    "load": "R2",
    "idle": "R3",
    "replicas": "R3",
    "queues": "R3",
    "best": "R3",
    "circles": "R4",
    "shared": "R4",
    "pair": "R5",
    "application": "R6",
    "layers": "R7",
}
MATCHINGS = ("publisher", "hub", "ring", "clusters")
DELIVERIES = ("direct", "tree", "ring", "cliques", "multicast")
JUDGED = "rendezvous"
SCHEMES = (JUDGED, "homed", "unicast", "broadcast", "filter-based")
MONOLITHIC: tuple[tuple[str, Configuration], ...] = (
    ("filter-based", {}),
    ("kyra", {"trees": 20, "clique_ms_max": 100.0}),
)
LAYERED: tuple[tuple[str, Configuration], ...] = tuple(
    ("layered", {"matching": matching, "delivery": delivery, "confirm": "none"})
    for matching, delivery in (
        ("publisher", "direct"),
        ("publisher", "tree"),
        ("hub", "direct"),
        ("ring", "direct"),
        ("ring", "tree"),
        ("clusters", "tree"),
    )
)

FULL: Configuration = {
    "seeds_max": 5,
    "meetings": {"draws": 60, "filters": 30, "singles": 40, "events": 30, "hops_max": 16, "samples": 20_000},
    "load": {"nodes": 240, "samples": 1_000},
    "shapes": [(replicas, hops) for replicas in (1, 2, 4, 8) for hops in (1, 4, 16)],
    "idle": {"subscriptions": 1_600, "hops": [1, 2, 3, 4, 6, 8, 12, 16], "events": 300},
    "replicas": {"subscriptions": 1_600, "parts": 4, "replicas": [1, 2, 4, 8], "events": 1_000},
    "queues": {"subscriptions": 1_600, "parts": 4, "loads": [0.3, 0.5, 0.7, 0.9], "events": 1_000},
    "best": {"room": 400, "sizes": [0.5, 0.97, 1.5, 1.97, 2.5, 2.97, 3.97, 5.5, 5.97, 7.97]},
    "circles": {"draws": 30, "filters": 30, "events": 30},
    "shared": {"events": 400},
    "pair": {"servers": 60, "events": 100},
    "application": {"events": 400},
    "judged_seeds": 3,
    "printed_seeds": 1,
    "layers": {"servers": 120, "events": 150},
    "interests": (0.01, 0.1, 0.5),
}
QUICK: Configuration = {
    "seeds_max": 1,
    "meetings": {"draws": 12, "filters": 20, "singles": 40, "events": 20, "hops_max": 8, "samples": 4_000},
    "load": {"nodes": 48, "samples": 1_000},
    "shapes": [(2, 4), (4, 3)],
    "idle": {"subscriptions": 800, "hops": [1, 2, 4, 8], "events": 100},
    "replicas": {"subscriptions": 400, "parts": 4, "replicas": [1, 2], "events": 300},
    "queues": {"subscriptions": 400, "parts": 4, "loads": [0.5, 0.9], "events": 200},
    "best": {"room": 200, "sizes": [0.5, 1.97, 2.97]},
    "circles": {"draws": 6, "filters": 20, "events": 20},
    "shared": {"events": 100},
    "pair": {"servers": 24, "events": 20},
    "application": {"events": 80},
    "judged_seeds": 1,
    "printed_seeds": 1,
    "layers": {"servers": 40, "events": 40},
    "interests": (0.1,),
}


def configurations(quick: bool, figure: str | None) -> list[Configuration]:
    """Everything that the wanted rows need, the long ones first."""
    sizes = QUICK if quick else FULL
    return [
        {"part": part, **configuration, "seed": seed}
        for part, runs in _parts(sizes).items()
        if figure is None or figure == ROWS[part]
        for configuration, seeds in runs
        for seed in range(1, 1 + min(seeds, sizes["seeds_max"]))
    ]


def _parts(sizes: Configuration) -> dict[str, Runs]:
    seeds = sizes["seeds_max"]
    return {
        "application": [
            (
                {"application": name, "scheme": scheme, **sizes["application"]},
                sizes["judged_seeds" if scheme == JUDGED else "printed_seeds"],
            )
            for name in APPLICATIONS
            for scheme in SCHEMES
        ],
        "layers": [
            ({"scheme": scheme, "options": options, "interest": interest, **sizes["layers"]}, sizes["printed_seeds"])
            for interest in sizes["interests"]
            for scheme, options in (*MONOLITHIC, *LAYERED)
        ],
        "idle": [(sizes["idle"], seeds)],
        "queues": [(sizes["queues"], 3)],
        "best": [(sizes["best"], seeds)],
        "replicas": [(sizes["replicas"], 3)],
        "load": [({**sizes["load"], "replicas": replicas, "hops": hops}, 3) for replicas, hops in sizes["shapes"]],
        "meetings": [(sizes["meetings"], seeds)],
        "circles": [(sizes["circles"], seeds)],
        "shared": [(sizes["shared"], 2)],
        "pair": [
            ({"matching": matching, "delivery": delivery, **sizes["pair"]}, 1)
            for matching in MATCHINGS
            for delivery in DELIVERIES
        ],
    }
