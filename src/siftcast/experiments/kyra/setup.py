"""The set-up of the Kyra paper, section V, as configurations of a sweep.

A transit-stub network of 2,500 routers, 500 servers, one integer attribute of 1,000 values, one subscription per
server that lists the values it wants, 1,000 events. Two readings of how events are drawn stand side by side:
`stratified` publishes each value as often as its volume says, `independent` draws them one by one, as the text
literally says. So do two of the average distance between peaks of the multimodal model: between `neighbours`, or over
all `pairs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from siftcast.experiments.kyra.paper import SCHEMES
from siftcast.model import Attribute, Event, Filter, Schema, Subscription
from siftcast.planning import cell_loads
from siftcast.space import ContentSpace
from siftcast.underlay import TransitStub, Underlay
from siftcast.workloads import draw_peaks, draw_weights, multimodal_values, regional_model, uniform_values, zipf_values

MODELS = ("uniform", "zipf-uniform", "multimodal", "regional")
RATES = (0.01, 0.1, 0.5)
CLIQUES_MS = (0, 100, 200, 300, 400, 500)
TREES = (1, 10, 20, 50)
CHOSEN = {0.01: (500, 50), 0.1: (100, 20), 0.5: (50, 10)}
"""Table III: clique size in milliseconds and number of trees for each rate of interest."""
SEEDS = 5
MBR_GROUPS = 50
ALPHA = 0.6101
Configuration = dict[str, Any]

FULL: Configuration = {"servers": 500, "values": 1_000, "events": 1_000}
QUICK: Configuration = {"servers": 60, "values": 100, "events": 100}


def configurations(quick: bool, figure: str | None) -> list[Configuration]:
    """Everything that the wanted rows need, the long ones first; each configuration once."""
    sizes = QUICK if quick else FULL
    seeds = range(1 if quick else SEEDS)
    found: list[Configuration] = []
    kyra = _chosen(("kyra",), ("zipf-uniform",), ("stratified",))
    rivals = _chosen(SCHEMES, ("zipf-uniform",), ("stratified",))
    for rows, runs in (
        (("K3", "K4", "K5", "K7"), _grid(quick)),
        (("K8",), _chosen(("fbr", "kyra"), ("zipf-uniform",), ("stratified", "independent"))),
        (("K8",), [run | {"zones": "shares"} for run in kyra]),
        (("K9", "K10", "K13"), _chosen(("mbr", "unicast", "broadcast", "fbr", "kyra"), MODELS, ("stratified",))),
        (("K10",), [run | {"peaks": "pairs"} for run in _chosen(SCHEMES, ("multimodal",), ("stratified",))]),
        (("K6",), [run | {"multi_homed": True} for run in kyra] + kyra),
        (("K11",), _balanced() + [run for run in rivals if run["rate"] == 0.1]),
    ):
        if figure is None or figure in rows:
            found += [{"part": "run", **sizes, **run, "seed": seed} for run in runs for seed in seeds]
    if figure in (None, "K1", "K2"):
        found += [{"part": "topology", "servers": sizes["servers"], "seed": seed} for seed in seeds]
    if figure in (None, "K12"):
        found.append({"part": "example"})
    return list({repr(sorted(item.items())): item for item in found}.values())


def _run(scheme: str, model: str, rate: float, draw: str = "stratified", **more: Any) -> Configuration:
    return {"scheme": scheme, "model": model, "rate": rate, "draw": draw, **more}


def _grid(quick: bool) -> list[Configuration]:
    cliques, trees, rates = ((0, 100, 500), (1, 10), (0.1,)) if quick else (CLIQUES_MS, TREES, RATES)
    return [
        _run("fbr", "zipf-uniform", rate)
        if (clique, count) == (0, 1)
        else _run("kyra", "zipf-uniform", rate, clique_ms=clique, trees=count)
        for rate in sorted(rates, reverse=True)
        for clique in sorted(cliques, reverse=True)
        for count in trees
    ]


def _chosen(schemes: tuple[str, ...], models: tuple[str, ...], draws: tuple[str, ...]) -> list[Configuration]:
    """Each scheme on each model at each rate, Kyra as in Table III."""
    return [
        _run(
            scheme,
            model,
            rate,
            draw,
            **({"clique_ms": CHOSEN[rate][0], "trees": CHOSEN[rate][1]} if scheme == "kyra" else {}),
        )
        for rate in sorted(RATES, reverse=True)
        for scheme in schemes
        for model in models
        for draw in draws
    ]


def _balanced() -> list[Configuration]:
    clique, trees = CHOSEN[0.1]
    return [_run("kyra", "zipf-uniform", 0.1, clique_ms=clique, trees=trees, balance_factor=100)]


@dataclass(frozen=True, slots=True)
class World:
    """One drawing of everything random: the network, who wants what, and what is published where."""

    underlay: Underlay
    space: ContentSpace
    edges: npt.NDArray[np.float64]
    loads: npt.NDArray[np.float64]
    interest: npt.NDArray[np.bool_]
    subscriptions: tuple[tuple[int, Subscription], ...]
    events: tuple[tuple[int, Event], ...]


def network(servers: int, seed: int, *, multi_homed: bool = False) -> Underlay:
    """500 servers on the paper's transit-stub graph; smaller ones for a quick look."""
    topology = TransitStub(multi_homed_share=0.1) if multi_homed else TransitStub()
    return topology.build(np.random.default_rng([seed, 1])).attach(
        servers=servers, rng=np.random.default_rng([seed, 2])
    )


def build(configuration: Configuration) -> World:
    """Draws a world; the streams are apart, so that schemes and topologies are compared on the same interests."""
    seed, servers, values = configuration["seed"], configuration["servers"], configuration["values"]
    underlay = network(servers, seed, multi_homed=configuration.get("multi_homed", False))
    rng = np.random.default_rng([seed, 3, MODELS.index(configuration["model"]), round(1000 * configuration["rate"])])
    name, rate = configuration["model"], configuration["rate"]
    if name == "regional":
        distances = underlay.latencies_ms
        regional = regional_model(distances, rate, values=values, rng=rng)
        interest, popularity, volume = regional.interest(rng), regional.popularity, regional.volume
        published = uniform_values(values, rate).draw_values(configuration["events"], rng, draw=configuration["draw"])
        sources = regional.home[published]
    else:
        if name == "uniform":
            model = uniform_values(values, rate)
        elif name == "zipf-uniform":
            model = zipf_values(values, rate, rng=rng)
        else:
            distance = configuration.get("peaks", "neighbours")
            model = multimodal_values(values, rate, peaks=draw_peaks(values, rng), peak_distance=distance)
        interest, popularity, volume = model.interest(servers, rng), model.popularity, model.volume
        published = model.draw_values(configuration["events"], rng, draw=configuration["draw"])
        sources = rng.integers(0, servers, size=len(published))
    schema = Schema([Attribute("value", "int", (0, values - 1), 1)], name="kyra")
    wanted = tuple((server, _subscription(server, row)) for server, row in enumerate(interest) if row.any())
    events = tuple(
        (int(source), Event({"value": int(value)}, id=f"e{number}"))
        for number, (source, value) in enumerate(zip(sources, published, strict=True))
    )
    loads = cell_loads(popularity, volume, draw_weights(values, rng), alpha=ALPHA)
    edges = np.arange(values + 1, dtype=np.float64)
    return World(underlay, ContentSpace(schema), edges, loads, interest, wanted, events)


def _subscription(server: int, wanted: npt.NDArray[np.bool_]) -> Subscription:
    listed = ", ".join(map(str, np.flatnonzero(wanted).tolist()))
    return Subscription(f"s{server}", Filter.parse(f"value IN ({listed})"))
