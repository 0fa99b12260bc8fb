"""Runs one configuration of the sweep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import numpy as np

from siftcast.experiments.underlay.changing import measure_changing
from siftcast.experiments.underlay.core_discovery import Rule, discover
from siftcast.experiments.underlay.discovery import Discovery, Heuristic, Options, Placing
from siftcast.experiments.underlay.interests import Interests
from siftcast.experiments.underlay.landmarks import chosen_targets, links_discovered, plant
from siftcast.experiments.underlay.measure_maps import measure_coordinates, measure_map, measure_triangle
from siftcast.experiments.underlay.measure_pitfalls import (
    measure_potential,
    measure_printed,
    measure_scale,
    measure_votes,
)
from siftcast.experiments.underlay.quality import cut_share, measure, nearest_links
from siftcast.experiments.underlay.routes import Merging
from siftcast.experiments.underlay.routing import ALL_PAIRS, ONE_TREE, Ground, Ways, crossings
from siftcast.experiments.underlay.setup import CORES, SEEDS, degree_of
from siftcast.experiments.underlay.world import World
from siftcast.space.core_scores import STRATEGIES, THESIS, select

Found = dict[str, Any]
_STEPS = 10


@lru_cache(maxsize=SEEDS + 1)
def _draw(ground: str, peers: int, seed: int, routers: int) -> World:
    """A world; the configurations that follow each other differ in their seeds, and then use the same ones again."""
    return World.draw(ground, peers, seed, routers=routers)


def run(configuration: dict[str, Any]) -> Found:
    """The entry of the sweep."""
    asked = dict(configuration)
    return PARTS[asked.pop("part")](**asked)


def measure_targets(ground: str, peers: int, targets: int, routers: int, seed: int) -> Found:
    """U1: which part of the underlay each choice of targets shows."""
    world, rng = _draw(ground, peers, seed, routers), np.random.default_rng([seed, 1])
    kinds = ("nearest", "landmarks", "farthest")
    return {kind: links_discovered(world, chosen_targets(world, kind, targets, rng)) for kind in kinds}


def options_of(heuristic: str, degree: int | None, targets: int, selectivity: float) -> Options:
    """What the names of the study stand for; DOnly takes the targets of DWorst without placing anybody."""
    if heuristic == "DOnly":
        return Options(Heuristic.WORST, degree, targets, selectivity=selectivity, placing=Placing.NOT)
    return Options(Heuristic[heuristic], degree, targets, selectivity=selectivity)


def measure_overlay(
    ground: str, heuristic: str, peers: int, degree: str, targets: int, selectivity: float, routers: int, seed: int
) -> Found:
    """U2, U3, U4, U11, U12: an overlay that all peers have joined; with DWorst also the baseline by delays."""
    world, rng = _draw(ground, peers, seed, routers), np.random.default_rng([seed, 2])
    overlay = Discovery(world, options_of(heuristic, degree_of(degree, peers), targets, selectivity), rng).build()
    found: Found = asdict(measure(world, overlay.links()))
    found |= {
        "inferences": overlay.inferences / peers,
        "inferred": overlay.inferences / (peers * (peers - 1) / 2),
        "joins": overlay.joins / peers,
        "steps": overlay.steps / peers,
        "greedy": overlay.greedy_peers(),
    }
    if heuristic == "WORST":
        near = nearest_links(world.delays_ms, targets, rng, degree=degree_of(degree, peers))
        found["nearest"] = asdict(measure(world, near))
        found["cut_without_distant"] = cut_share(overlay.links(distant=False), range(peers), peers)
    return found


def measure_last_miles(last_mile: str, peers: int, routers: int, seed: int) -> Found:
    """U3: the two readings of the last mile, without a degree limit."""
    world, rng = (
        World.draw("waxman", peers, seed, last_mile=last_mile, routers=routers),
        np.random.default_rng([seed, 3]),
    )
    overlay = Discovery(world, options_of("WORST", None, 10, 0.1), rng).build()
    near = nearest_links(world.delays_ms, 10, rng)
    return {**asdict(measure(world, overlay.links())), "nearest": asdict(measure(world, near))}


def measure_anonymous(ground: str, share: float, merging: str, peers: int, routers: int, seed: int) -> Found:
    """Routers that do not answer: taken for new ones each time, or merged in one of two ways."""
    world = World.draw(ground, peers, seed, anonymous=share, routers=routers)
    rng = np.random.default_rng([seed, 4])
    options = Options(Heuristic.NEAREST, degree_of("LG2", peers), merging=Merging[merging])
    overlay = Discovery(world, options, rng).build()
    near = nearest_links(world.delays_ms, 10, rng, degree=options.degree)
    return {**asdict(measure(world, overlay.links())), "nearest": asdict(measure(world, near))}


def measure_churn(ground: str, peers: int, degree: str, share: float, walks: float, routers: int, seed: int) -> Found:
    """U5: in each of ten steps a share of the peers is replaced, and a share of those there walk again."""
    replaced = round(share * peers)
    world = World.draw(ground, peers + _STEPS * replaced, seed, routers=routers)
    rng = np.random.default_rng([seed, 5])
    limit = degree_of(degree, peers)
    overlay = Discovery(world, options_of("WORST", limit, 10, 0.1), rng)
    for peer in range(peers):
        overlay.join(peer)
    before = measure(world, overlay.links(), overlay.present)
    for step in range(_STEPS):
        for peer in rng.choice(list(overlay.present), replaced, replace=False).tolist():
            overlay.leave(peer)
        for peer in range(peers + step * replaced, peers + (step + 1) * replaced):
            overlay.join(peer)
        for peer in rng.choice(list(overlay.present), round(walks * peers), replace=False).tolist():
            overlay.walk(peer)
    near = nearest_links(world.delays_ms, 10, rng, degree=limit, present=overlay.present)
    return {
        "before": asdict(before),
        "after": asdict(measure(world, overlay.links(), overlay.present)),
        "nearest": asdict(measure(world, near, overlay.present)),
        "greedy": overlay.greedy_peers(),
        "rejoins": overlay.rejoins / peers,
    }


def measure_routing(
    ground: str,
    peers: int,
    degree: str,
    workload: str,
    beta: float,
    events: int,
    sampled: int,
    routers: int,
    seed: int,
) -> Found:
    """U6, U7, U9, U13: what events cost over core trees, beside MST and OPT.

    Where cores are joined by the shortest paths between any two, the messages of all of them go everywhere, as those of
    a single core do; so their flood is taken for as many times that of the first.
    """
    world, rng = _draw(ground, peers, seed, routers), np.random.default_rng([seed, 6])
    overlay = Discovery(world, options_of("WORST", degree_of(degree, peers), 10, 0.1), rng).build()
    interests = Interests(workload, peers, events, seed)
    paths = Ground(world.delays_ms, overlay.links(), interests, beta)
    limit = degree_of(degree, peers)
    rival = Ground(world.delays_ms, nearest_links(world.delays_ms, 10, rng, degree=limit), interests, beta)
    demand = interests.demand()
    direct = float(world.delays_ms.sum())
    optimal = paths.shortest_ways()
    base = float((optimal.delays_ms * demand).sum())

    def costs(over: Ground, ways: Ways, control: int | None = 0) -> Found:
        traffic = crossings(over, ways, sampled, world.hops)
        each: Found = {
            "cost": float((ways.delays_ms * demand).sum()) / base,
            "rdp": float(ways.delays_ms.sum()) / direct,
            "messages": traffic.messages / max(1, traffic.deliveries),
            "physical": traffic.physical / max(1, traffic.deliveries),
            "merged_ms": traffic.delays_ms / max(1, traffic.deliveries),
        }
        if control is None:
            return each
        # The leader and its spanning tree, or MST: each peer tells its neighbours once, and each answers. Every
        # subscription goes to all peers, over each link once.
        sent = control + 2 * len(over.links) + peers * (peers - 1) + traffic.messages * events / sampled
        return each | {"efficiency": sent / max(1.0, traffic.deliveries * events / sampled)}

    found: Found = {}
    for name, over in (("", paths), ("nearest ", rival)):
        found[f"{name}MST"] = costs(over, over.spanning_ways())
        found[f"{name}OPT"] = costs(over, over.shortest_ways())
    for count in (CORES[0], CORES[-1]):
        ways = rival.core_ways(select(rival.scores("SPotent", rng), count), ALL_PAIRS)
        found[f"nearest SPotent {count}"] = costs(rival, ways)
    for strategy in STRATEGIES:
        scores, alone = paths.scores(strategy, rng), 0
        for count in CORES:
            cores = select(scores, count)
            control: dict[str, int | None] = {ONE_TREE: None, ALL_PAIRS: None}
            if strategy in THESIS:
                flood = discover(paths.near_weights, paths.near_delays, cores)
                alone = alone or flood.messages
                # Votes go up a spanning tree and the choice comes down it.
                asked = flood.joins + 2 * (peers - 1)
                control = {ONE_TREE: flood.messages + asked, ALL_PAIRS: count * alone + asked}
            for joined, sent in control.items():
                found[f"{strategy} {count} {joined}"] = costs(paths, paths.core_ways(cores, joined), sent)
    return found


def measure_algorithm_8(peers: int, routers: int, seed: int) -> Found:
    """Algorithm 8 under each reading, beside the shortest paths."""
    world, rng = _draw("waxman", peers, seed, routers), np.random.default_rng([seed, 7])
    overlay = Discovery(world, options_of("WORST", degree_of("LG1", peers), 10, 0.1), rng).build()
    paths = Ground(world.delays_ms, overlay.links(), Interests("WL2", peers, 300, seed), 1.0)
    cores = select(paths.scores("SPotent", rng), 4)
    truth = paths.core_weights(cores)
    found: Found = {"peers": peers}
    for rule in Rule:
        flood = discover(paths.near_weights, paths.near_delays, cores, rule)
        best = truth.min(axis=0)
        right = sum(
            flood.relays.get(peer) is not None
            and abs(truth[cores.index(flood.relays[peer]), peer] - best[peer]) < 1e-6
            and abs(flood.weights[flood.relays[peer]][peer] - best[peer]) < 1e-6
            for peer in range(peers)
        )
        found[rule.name] = {
            "joined": len(flood.relays) - len(cores),
            "right": int(right),
            "circles": flood.circles(),
            "messages": flood.messages,
            "cores_joined": sum(cores[0] in flood.weights and core in flood.parents[cores[0]] for core in cores[1:]),
        }
    pruned = discover(paths.near_weights, paths.near_delays, cores, kept=())
    found["cores_joined_pruned"] = sum(core in pruned.parents[cores[0]] for core in cores[1:])
    found["other_cores"] = len(cores) - 1
    return found


def measure_landmarks(ground: str, peers: int, landmarks: int, routers: int, seed: int) -> Found:
    """U8: children beside one that lies before them."""
    world = _draw(ground, peers, seed, routers)
    found: Found = {"placed": landmarks * (peers - 1)}
    for name, adopts_all in (("repaired", True), ("printed", False)):
        trees = plant(world, landmarks, np.random.default_rng([seed, 8]), adopts_all=adopts_all)
        found[name] = sum(tree.misplaced() for tree in trees)
    return found


PARTS: dict[str, Callable[..., Found]] = {
    "targets": measure_targets,
    "overlays": measure_overlay,
    "last miles": measure_last_miles,
    "anonymous": measure_anonymous,
    "churn": measure_churn,
    "routing": measure_routing,
    "algorithm 8": measure_algorithm_8,
    "landmarks": measure_landmarks,
    "changing": measure_changing,
    "printed": measure_printed,
    "votes": measure_votes,
    "potential": measure_potential,
    "scale": measure_scale,
    "maps": measure_map,
    "triangle": measure_triangle,
    "coordinates": measure_coordinates,
}
