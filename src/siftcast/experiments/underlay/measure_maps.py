"""Real maps, and other sources of what peers know: the triangle of delays, and coordinates. All of it is printed."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from siftcast.experiments.underlay.coordinates import predict, relative_errors, with_noise
from siftcast.experiments.underlay.discovery import Discovery, Heuristic, Options, Placing
from siftcast.experiments.underlay.interests import Interests
from siftcast.experiments.underlay.landmarks import chosen_targets, links_discovered
from siftcast.experiments.underlay.maps import open_ground
from siftcast.experiments.underlay.quality import delay_ratio, measure, nearest_links
from siftcast.experiments.underlay.routing import ALL_PAIRS, Ground, Ways, crossings
from siftcast.experiments.underlay.setup import degree_of
from siftcast.experiments.underlay.world import Floats, Matrix, World
from siftcast.space.core_scores import select

Found = dict[str, Any]
Links = set[tuple[int, int]]
NEAREST = "k nearest"
TARGETS = 10
SLACKS = (0.05, 0.1, 0.2)
_ROUTES = {
    "DWorst": Options(Heuristic.WORST),
    "DBest": Options(Heuristic.BEST),
    "MLink": Options(Heuristic.LINK),
    "TarRand": Options(Heuristic.RANDOM),
    "DOnly": Options(Heuristic.WORST, placing=Placing.NOT),
    "ours": Options(Heuristic.NEAREST),
}
"""Those that stand in the tables of maps, by name."""


def _quality(world: World | Matrix, links: Links) -> Found:
    """All measures where there are routers, else those of delays."""
    if isinstance(world, World):
        return asdict(measure(world, links))
    rdp, cut = delay_ratio(world.delays_ms, links)
    return {"rdp": rdp, "cut": cut, "links": len(links)}


def _overlays(world: World | Matrix) -> dict[str, Options]:
    """By routes; by the triangle of delays where there are none."""
    if isinstance(world, World):
        return _ROUTES
    return {
        name: options if options.placing is Placing.NOT else replace(options, placing=Placing.TRIANGLE)
        for name, options in _ROUTES.items()
    }


def measure_map(ground: str, peers: int, degree: str, events: int, seed: int) -> Found:
    """One map: each way to build an overlay beside the baseline, and what core trees over two of them cost."""
    world, rng = open_ground(ground, peers, seed), np.random.default_rng([seed, 13])
    limit = degree_of(degree, world.peers)
    links = {
        name: Discovery(world, replace(options, degree=limit), rng).build().links()
        for name, options in _overlays(world).items()
    }
    links[NEAREST] = nearest_links(world.delays_ms, TARGETS, rng, degree=limit)
    interests = Interests("WL2", world.peers, events, seed)
    found: Found = {"peers": world.peers, "overlays": {name: _quality(world, each) for name, each in links.items()}}
    found["costs"] = {
        name: _costs(Ground(world.delays_ms, links[name], interests, 1.0), rng) for name in ("DWorst", "ours", NEAREST)
    }
    if isinstance(world, World):
        kinds = ("nearest", "landmarks", "farthest")
        count = min(TARGETS, world.peers - 1)
        found["targets"] = {kind: links_discovered(world, chosen_targets(world, kind, count, rng)) for kind in kinds}
    return found


def _costs(ground: Ground, rng: np.random.Generator) -> Found:
    """Costs beside shortest paths over the same overlay, and links crossed for each delivery."""
    demand, interests = ground.interests.demand(), ground.interests
    optimal = ground.shortest_ways()
    base = float((optimal.delays_ms * demand).sum())
    most = min(32, ground.peers // 4)
    ways: dict[str, Ways] = {"OPT": optimal, "MST": ground.spanning_ways()}
    for strategy in ("SPotent", "CNeigh"):
        scores = ground.scores(strategy, rng)
        for name, count in (("one core", 1), ("many cores", most)):
            ways[f"{strategy}, {name}"] = ground.core_ways(select(scores, count), ALL_PAIRS)
    events = min(200, len(interests.publishers))
    found: Found = {"cores": most, "base_ms": base / max(1.0, float(demand.sum()))}
    for name, each in ways.items():
        traffic = crossings(ground, each, events)
        found[name] = {
            "cost": float((each.delays_ms * demand).sum()) / base,
            "messages": traffic.messages / max(1, traffic.deliveries),
        }
    return found


def measure_triangle(ground: str, peers: int, degree: str, noise: float, routers: int, seed: int) -> Found:
    """Peers placed by the triangle of delays beside traceroutes, with delays as measured."""
    world, rng = open_ground(ground, peers, seed, routers=routers), np.random.default_rng([seed, 14])
    limit = degree_of(degree, world.peers)
    measured_ms = with_noise(world.delays_ms, noise, rng)
    found: Found = {"peers": world.peers}

    def note(name: str, options: Options) -> None:
        overlay = Discovery(world, replace(options, degree=limit), rng, measured_ms=measured_ms).build()
        found[name] = _quality(world, overlay.links()) | {
            "inferences": overlay.inferences / world.peers,
            "probes": len(overlay.probed) / world.peers,
            "joins": overlay.joins / world.peers,
        }

    for name in ("DWorst", "ours"):
        if isinstance(world, World):
            note(f"{name}, routes", _ROUTES[name])
        for slack in SLACKS:
            note(f"{name}, triangle {slack:g}", replace(_ROUTES[name], placing=Placing.TRIANGLE, slack=slack))
        note(f"{name}, not placed", replace(_ROUTES[name], placing=Placing.NOT))
    found[NEAREST] = _quality(world, nearest_links(measured_ms, TARGETS, rng, degree=limit))
    return found


def measure_coordinates(ground: str, peers: int, routers: int, seed: int) -> Found:
    """Neighbours chosen by predicted delays beside measured ones."""
    world, rng = open_ground(ground, peers, seed, routers=routers), np.random.default_rng([seed, 15])
    predicted_ms = predict(world.delays_ms, rng)
    errors = relative_errors(predicted_ms, world.delays_ms)
    found: Found = {
        "peers": world.peers,
        "error_median": float(np.median(errors)),
        "error_90": float(np.quantile(errors, 0.9)),
    }
    placing = Placing.ROUTES if isinstance(world, World) else Placing.TRIANGLE
    sources: dict[str, Floats] = {"measured": world.delays_ms, "predicted": predicted_ms}
    for name, delays_ms in sources.items():
        overlay = Discovery(world, Options(Heuristic.NEAREST, placing=placing), rng, measured_ms=delays_ms).build()
        found[name] = {
            "ours": _quality(world, overlay.links()),
            NEAREST: _quality(world, nearest_links(delays_ms, TARGETS, rng)),
        }
    return found
