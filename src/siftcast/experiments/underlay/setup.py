"""The set-up of the underlay study as configurations of a sweep; what the thesis leaves open is named here.

Fixed on 19 November 2026 after trials with one seed: a walk has a TTL of 100, last miles are 5 to 10 % of the mean
*link* delay, an overlay for routing is built by DWorst with ten targets, and every peer has one distant link. What is
judged has five seeds, what is printed three.
"""

from __future__ import annotations

from math import log2, sqrt
from typing import Any

from siftcast.experiments.underlay.maps import MAPS, MATRIX, data_folder
from siftcast.experiments.underlay.world import GROUNDS, LINK, PAIR

SEEDS, PRINTED_SEEDS = 5, 3
FLAT, LAYERED = "waxman", "transit-stub"
ROWS = {
    "targets": ("U1",),
    "overlays": ("U2", "U3", "U4", "U11", "U12"),
    "last miles": ("U3",),
    "anonymous": ("U3",),
    "churn": ("U5",),
    "routing": ("U6", "U7", "U9", "U13"),
    "algorithm 8": ("U6",),
    "landmarks": ("U8",),
    "changing": ("U10",),
    "printed": ("U3", "U8"),
    "votes": ("U6", "U7"),
    "potential": ("U6",),
    "scale": ("U6",),
    "maps": ("U1", "U2", "U3", "U6"),
    "triangle": ("U3",),
    "coordinates": ("U3",),
}
HEURISTICS = ("WORST", "BEST", "LINK", "RANDOM", "NEAREST", "DOnly")
DEGREES = ("LG1", "LG2", "SQ", "NC")
BETAS, JUDGED_BETAS = (0.0, 0.5, 1.0, 2.0), (0.0, 1.0)
CORES = (1, 2, 4, 8, 16, 32)
CHURN = (0.02, 0.06, 0.12)
Configuration = dict[str, Any]
Runs = list[tuple[Configuration, int]]
"""Configurations without a seed, and how many seeds each is run with."""

FULL: Configuration = {
    "seeds_max": SEEDS,
    "peers": 512,
    "sizes": (128, 256, 512, 1_024),
    "targets": (5, 10, 20),
    "selectivities": (0.1, 0.3, 0.5),
    "routers": 0,
    "events": 2_000,
    "sampled": 200,
    "changing": {"peers": 400, "events": 4_000, "rebuild": 2_000},
    "maps": (MATRIX, *MAPS),
    "map": {"peers": 256, "events": 1_000},
    "hosts": 490,
    "scale": {"peers": 1_024, "events": 5_000},
}
QUICK: Configuration = {
    "seeds_max": 1,
    "peers": 60,
    "sizes": (30, 60),
    "targets": (5, 10),
    "selectivities": (0.1, 0.5),
    "routers": 200,
    "events": 300,
    "sampled": 60,
    "changing": {"peers": 40, "events": 800, "rebuild": 400},
    "maps": (MATRIX, "AS 1755"),
    "map": {"peers": 40, "events": 200},
    "hosts": 60,
    "scale": {"peers": 60, "events": 300},
}


def degree_of(name: str, peers: int) -> int | None:
    """The degree limits of section 4.6.1."""
    found = {"LG1": round(log2(peers)), "LG2": 2 * round(log2(peers)), "SQ": round(sqrt(peers))}
    return found.get(name)


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
    peers, routers = sizes["peers"], sizes["routers"]
    usual = {"peers": peers, "degree": "NC", "targets": 10, "selectivity": 0.1}
    asked = [usual | {"degree": degree} for degree in DEGREES]
    asked += [usual | {"peers": size} for size in sizes["sizes"]]
    asked += [usual | {"degree": "LG1", "targets": targets} for targets in sizes["targets"]]
    asked += [usual | {"degree": "LG1", "selectivity": share} for share in sizes["selectivities"]]
    overlays = {repr(sorted(each.items())): each for each in asked}
    return {
        "overlays": [
            ({"ground": ground, "heuristic": heuristic, **each, "routers": routers}, SEEDS)
            for each in sorted(overlays.values(), key=lambda each: -each["peers"])
            for ground in (FLAT, LAYERED)
            for heuristic in HEURISTICS
        ],
        "routing": [
            (
                {
                    "ground": ground,
                    "peers": peers,
                    "degree": degree,
                    "workload": workload,
                    "beta": beta,
                    "events": sizes["events"],
                    "sampled": sizes["sampled"],
                    "routers": routers,
                },
                SEEDS if beta in JUDGED_BETAS else PRINTED_SEEDS,
            )
            for ground in (FLAT, LAYERED)
            for degree in ("SQ", "NC")
            for workload in ("WL1", "WL2")
            for beta in (BETAS if (workload, ground) == ("WL2", FLAT) else JUDGED_BETAS)
        ],
        "changing": [({"ground": FLAT, "share": share, **sizes["changing"]}, SEEDS) for share in (0.0, 0.01, 0.02)],
        "churn": [
            (
                {"ground": FLAT, "peers": peers, "degree": degree, "share": share, "walks": w, "routers": routers},
                SEEDS if degree == "NC" else PRINTED_SEEDS,
            )
            for degree in ("NC", "LG1")
            for share, w in (*((share, 0.0) for share in CHURN), (CHURN[0], 0.2), (CHURN[-1], 0.2))
        ],
        "targets": [
            ({"ground": ground, "peers": peers, "targets": count, "routers": routers}, SEEDS)
            for ground in GROUNDS
            for count in (10, 20)
        ],
        "last miles": [({"last_mile": kind, "peers": peers, "routers": routers}, SEEDS) for kind in (LINK, PAIR)],
        "anonymous": [
            ({"ground": ground, "share": share, "merging": merging, "peers": peers, "routers": routers}, SEEDS)
            for ground in (FLAT, LAYERED)
            for share, merging in ((0.0, "NOT"), (1 / 3, "NOT"), (1 / 3, "PREFIX"), (1 / 3, "NEIGHBOURS"))
        ],
        "landmarks": [
            ({"ground": ground, "peers": peers, "landmarks": 4, "routers": routers}, SEEDS) for ground in GROUNDS
        ],
        "algorithm 8": [({"peers": min(peers, 128), "routers": routers}, SEEDS)],
        "printed": [
            ({"ground": FLAT, "peers": peers, "selectivity": share, "routers": peers // 2}, PRINTED_SEEDS)
            for share in (0.1, 0.5)
        ],
        "votes": [
            (
                {"ground": ground, "peers": peers, "cores": 8, "events": sizes["events"], "routers": routers},
                PRINTED_SEEDS,
            )
            for ground in (FLAT, LAYERED)
        ],
        "potential": [
            (
                {
                    "ground": FLAT,
                    "peers": peers,
                    "degree": degree,
                    "beta": beta,
                    "events": sizes["events"],
                    "routers": routers,
                },
                SEEDS,
            )
            for degree in ("SQ", "NC")
            for beta in JUDGED_BETAS
        ],
        "scale": [({**sizes["scale"], "routers": routers}, 1)],
        **_mapped(sizes),
    }


def _mapped(sizes: Configuration) -> dict[str, Runs]:
    """What is measured on published maps too, as far as they are here."""
    here = data_folder() is not None
    peers, routers, hosts = sizes["peers"], sizes["routers"], sizes["hosts"]
    on_map = sizes["map"]["peers"]
    return {
        "maps": [
            (
                {"ground": ground, "degree": degree, **sizes["map"], **({"peers": hosts} if ground == MATRIX else {})},
                PRINTED_SEEDS,
            )
            for ground in sizes["maps"]
            for degree in ("NC", "LG1")
            if here
        ],
        "triangle": [
            ({"ground": ground, "peers": count, "degree": "NC", "noise": noise, "routers": routers}, PRINTED_SEEDS)
            for ground, count in ((FLAT, peers), ("AS 1239", on_map))
            for noise in (0.0, 0.15)
            if here or ground == FLAT
        ],
        "coordinates": [
            ({"ground": ground, "peers": count, "routers": routers}, PRINTED_SEEDS)
            for ground, count in ((FLAT, peers), (LAYERED, peers), ("AS 1239", on_map), (MATRIX, hosts))
            if here or ground in (FLAT, LAYERED)
        ],
    }
