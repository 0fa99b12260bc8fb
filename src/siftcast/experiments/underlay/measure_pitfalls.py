"""Printed rules beside the repaired ones, measured where the thesis's own set-up would show the difference."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from scipy.sparse.csgraph import breadth_first_order

from siftcast.experiments.underlay.discovery import Discovery, Heuristic, Options, Rounding
from siftcast.experiments.underlay.interests import Interests
from siftcast.experiments.underlay.landmarks import plant
from siftcast.experiments.underlay.quality import measure, nearest_links
from siftcast.experiments.underlay.routing import ALL_PAIRS, ONE_TREE, Ground, Ways, crossings
from siftcast.experiments.underlay.setup import degree_of
from siftcast.experiments.underlay.world import World
from siftcast.space.core_scores import (
    Near,
    nearest_ballots,
    nearest_votes,
    potentials,
    select,
    select_by_votes,
)

Found = dict[str, Any]
PRINTED = {
    "as repaired": Options(),
    "one child adopted": Options(adopts_all=False),
    "targets rounded down": Options(rounding=Rounding.DOWN),
    "targets rounded up": Options(rounding=Rounding.UP),
    "same router adopts": Options(same_router_adopts=True),
}
KEPT = (1, 2, 4)
"""How many candidates a peer passes on, in multiples of the number of cores."""


def measure_printed(ground: str, peers: int, selectivity: float, routers: int, seed: int) -> Found:
    """Overlays of DWorst by each printed rule, where there are two peers for each router."""
    world = World.draw(ground, peers, seed, routers=routers)
    degree = degree_of("LG2", peers)
    found: Found = {}
    for name, options in PRINTED.items():
        rng = np.random.default_rng([seed, 16])
        asked = replace(options, heuristic=Heuristic.WORST, degree=degree, selectivity=selectivity)
        overlay = Discovery(world, asked, rng).build()
        found[name] = asdict(measure(world, overlay.links())) | {
            "inferences": overlay.inferences / peers,
            "joins": overlay.joins / peers,
            "endless": overlay.endless,
            "greedy": overlay.greedy_peers(),
        }
    near = nearest_links(world.delays_ms, 10, np.random.default_rng([seed, 17]), degree=degree)
    found["k nearest"] = asdict(measure(world, near))
    found["only children"] = {
        str(adopts): sum(
            len(tree.children[tree.root]) == 1
            for tree in plant(world, 8, np.random.default_rng([seed, 18]), same_router_adopts=adopts)
        )
        for adopts in (False, True)
    }
    return found


def measure_votes(ground: str, peers: int, cores: int, events: int, routers: int, seed: int) -> Found:
    """Votes lost on the way up; SPotent by units; and whether core paths form a tree."""
    world, rng = World.draw(ground, peers, seed, routers=routers), np.random.default_rng([seed, 19])
    overlay = Discovery(world, Options(Heuristic.WORST, degree_of("LG2", peers)), rng).build()
    paths = Ground(world.delays_ms, overlay.links(), Interests("WL2", peers, events, seed), 1.0)
    demand = paths.interests.demand()
    base = float((paths.shortest_ways().delays_ms * demand).sum())

    def cost(chosen: list[int], joined: str = ALL_PAIRS) -> float:
        return float((paths.core_ways(chosen, joined).delays_ms * demand).sum()) / base

    ballots, votes = nearest_ballots(paths.near_weights), nearest_votes(paths.near_weights, peers)
    best = select(votes, cores)
    order, before = breadth_first_order(paths.by_delay, 0, directed=False)
    parents = {peer: int(before[peer]) for peer in order.tolist() if peer}
    found: Found = {"votes": {"all": {"share": 1.0, "cost": cost(best)}}, "cores": cores}
    for kept in KEPT:
        chosen = select_by_votes(ballots, parents, 0, cores, kept * cores)
        share = float(votes[chosen].sum() / votes[best].sum())
        found["votes"][str(kept)] = {"share": share, "cost": cost(chosen)}
    weights, delays = paths.near_weights, paths.near_delays
    normal = select(potentials(weights, delays, peers), cores)
    literal = {
        "ms": select(potentials(weights, delays, peers, normalised=False), cores),
        "s": select(potentials(_in_seconds(weights), _in_seconds(delays), peers, normalised=False), cores),
    }
    found["SPotent"] = {"mean link": {"same": 1.0, "cost": cost(normal)}} | {
        unit: {"same": len(set(chosen) & set(normal)) / cores, "cost": cost(chosen)} for unit, chosen in literal.items()
    }
    for joined in (ONE_TREE, ALL_PAIRS):
        used = paths.core_ways(normal, joined).all_links()
        found[joined] = {"links": len(used), "more": len(used) - (peers - 1)}
    return found


def measure_potential(ground: str, peers: int, degree: str, beta: float, events: int, routers: int, seed: int) -> Found:
    """SPotent's cores where links to distant peers count as neighbours, and where they do not; what each saves."""
    world, rng = World.draw(ground, peers, seed, routers=routers), np.random.default_rng([seed, 6])
    overlay = Discovery(world, Options(Heuristic.WORST, degree_of(degree, peers)), rng).build()
    paths = Ground(world.delays_ms, overlay.links(), Interests("WL2", peers, events, seed), beta)
    demand = paths.interests.demand()

    def cost(ways: Ways) -> float:
        return float((ways.delays_ms * demand).sum())

    spanning = cost(paths.spanning_ways())
    near_weights, near_delays = (
        {peer: {other: each[peer][other] for other in overlay.near[peer]} for peer in each}
        for each in (paths.near_weights, paths.near_delays)
    )
    scores = {
        "all": potentials(paths.near_weights, paths.near_delays, peers),
        "near": potentials(near_weights, near_delays, peers),
        "MaxPath": paths.scores("MaxPath", rng),
    }
    found: Found = {
        name: {str(count): cost(paths.core_ways(select(each, count), ALL_PAIRS)) / spanning for count in (1, 32)}
        for name, each in scores.items()
    }
    first = select(scores["all"], 1)[0]
    return found | {"distant of the first": len(overlay.distant[first]) / len(paths.near_delays[first])}


def _in_seconds(near_ms: Near) -> Near:
    return {peer: {other: ms / 1_000 for other, ms in near.items()} for peer, near in near_ms.items()}


def measure_scale(peers: int, events: int, routers: int, seed: int) -> Found:
    """How long the largest set-up of the thesis takes, on one core, from the routers to every message counted."""
    begun = time.process_time()
    world, rng = World.draw("waxman", peers, seed, routers=routers), np.random.default_rng([seed, 20])
    overlay = Discovery(world, Options(Heuristic.WORST, degree_of("SQ", peers)), rng).build()
    quality = measure(world, overlay.links())
    built = time.process_time()
    paths = Ground(world.delays_ms, overlay.links(), Interests("WL2", peers, events, seed), 1.0)
    cores = select(paths.scores("SPotent", rng), min(32, peers // 4))
    traffic = crossings(paths, paths.core_ways(cores, ALL_PAIRS), events)
    return {
        "overlay_seconds": built - begun,
        "routing_seconds": time.process_time() - built,
        "deliveries": traffic.deliveries,
        "messages": traffic.messages,
        "rdp": quality.rdp,
    }
