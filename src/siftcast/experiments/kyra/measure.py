"""Runs one configuration: a scheme's own protocol objects in the simulator, judged by the checkers.

Subscriptions are sent through the network first (Kyra's servers are put where that would leave them); events follow
once it is quiet, ten seconds apart so that none meets another. Only what events cause is counted as traffic. State is
measured in content: of all pairs (subscription, value it wants), the share that a server's tables hold, as the paper's
storage shrinks with the zones that pieces are cut to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from siftcast.experiments.kyra.example import follow_example
from siftcast.experiments.kyra.setup import CLIQUES_MS, MBR_GROUPS, Configuration, World, build, network
from siftcast.matching.pool import MatcherPool, PooledTable
from siftcast.model import Event
from siftcast.overlays.contract import Protocol, SubscribeRequested
from siftcast.overlays.delivery import Direct
from siftcast.overlays.links import TreeLinks
from siftcast.overlays.protocols.broadcast import Broadcast
from siftcast.overlays.protocols.filter_based import FilterBased
from siftcast.overlays.protocols.kyra.converged import converged_servers
from siftcast.overlays.protocols.layered import Everywhere, FloodedLayers
from siftcast.overlays.protocols.multicast_based import MulticastBased
from siftcast.overlays.trace import Trace
from siftcast.planning import (
    clique_sizes,
    cluster_cliques,
    fit_power_law,
    group_trees,
    minimum_spanning_tree,
    plan_groups,
    plan_kyra,
    traversed_shares,
)
from siftcast.runtimes.sim import Simulation
from siftcast.runtimes.sim.checkers import (
    Spread,
    exactly_once,
    link_stress,
    matching_load,
    node_stress,
    resource_usage,
)
from siftcast.runtimes.sim.checkers.columns import read_columns, rows_of
from siftcast.runtimes.sim.recording import note_request
from siftcast.space import KyraLayout

POPULARITIES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)
Found = dict[str, Any]
Make = Callable[[int, Callable[[], PooledTable]], Protocol]


def run(configuration: Configuration) -> Found:
    """The entry of the sweep."""
    if configuration["part"] == "topology":
        return _topology(configuration["servers"], configuration["seed"])
    if configuration["part"] == "example":
        return follow_example()
    return _run(configuration)


def _topology(servers: int, seed: int) -> Found:
    """K1 and K2: the popularity exponent on a minimum spanning tree, and the sizes of cliques."""
    latencies = network(servers, seed).latencies_ms
    shares = [popularity for popularity in POPULARITIES if popularity * servers >= 1]
    passed = traversed_shares(minimum_spanning_tree(latencies), shares, np.random.default_rng([seed, 4]))
    law = fit_power_law(shares, passed)
    cliques = {}
    for limit in CLIQUES_MS:
        mean, largest = clique_sizes(cluster_cliques(latencies, latency_ms_max=limit))
        cliques[str(limit)] = {"mean": mean, "max": largest}
    return {
        "exponent": law.exponent,
        "r_squared": law.r_squared,
        "popularity": shares,
        "passed": passed.tolist(),
        "cliques": cliques,
    }


def _run(configuration: Configuration) -> Found:
    world = build(configuration)
    pool = MatcherPool()
    network = (
        _kyra(configuration, world, pool) if configuration["scheme"] == "kyra" else _flooded(configuration, world, pool)
    )
    simulation = network.simulation
    control = simulation.handled
    start = simulation.now + 1.0
    for number, (source, event) in enumerate(world.events):
        simulation.publish(source, event, at_ms=start + 10_000.0 * number)
    trace = simulation.run()
    verdict = exactly_once(trace)
    events = len(world.events)
    nodes = node_stress(trace, world.underlay.servers)
    return {
        "node_stress": _spread(Spread.of(nodes).per(events)),
        "node_deciles": np.quantile(nodes * 1_000 / events, np.linspace(0, 1, 11)).tolist(),
        "link_stress": _spread(link_stress(trace, world.underlay).per(events)),
        "nru": resource_usage(trace, world.underlay),
        "matching": _matching(trace, network.layout, events),
        "state": _state(network.tables, pool, world),
        "messages": simulation.handled - control,
        "violations": verdict.faults,
        "required": verdict.required,
    }


@dataclass(frozen=True, slots=True)
class _Network:
    """Servers that know all subscriptions, and every table they hold."""

    simulation: Simulation
    tables: Mapping[int, Sequence[PooledTable]]
    layout: KyraLayout | None = None


def _flooded(configuration: Configuration, world: World, pool: MatcherPool) -> _Network:
    """Servers that were told all subscriptions by messages."""
    held: dict[int, list[PooledTable]] = {server: [] for server in range(world.underlay.servers)}
    make = _scheme(configuration, world)

    def factory(node: int) -> Protocol:
        def table() -> PooledTable:
            held[node].append(pool.table())
            return held[node][-1]

        return make(node, table)

    simulation = Simulation(range(world.underlay.servers), factory, world.underlay, seed=configuration["seed"])
    for server, subscription in world.subscriptions:
        simulation.subscribe(server, subscription)
    simulation.run()
    return _Network(simulation, held)


def _kyra(configuration: Configuration, world: World, pool: MatcherPool) -> _Network:
    """Kyra's servers as they are when all parts of all subscriptions have arrived (`converged_servers`)."""
    layout = plan_kyra(
        world.underlay.latencies_ms,
        world.space,
        world.edges,
        world.loads,
        clique_ms_max=configuration["clique_ms"],
        trees=configuration["trees"],
        balance_factor=configuration.get("balance_factor", 1),
        method=configuration.get("zones", "bottleneck"),
    )
    servers = converged_servers(layout, world.subscriptions, pool)
    nodes, seed = range(world.underlay.servers), configuration["seed"]
    simulation = Simulation(nodes, lambda node: servers[node].protocol, world.underlay, seed=seed)
    for server, subscription in world.subscriptions:
        note_request(simulation.trace, simulation.now, server, SubscribeRequested((subscription,)), heard=True)
    simulation.run()
    return _Network(simulation, {node: server.tables for node, server in servers.items()}, layout)


def _scheme(configuration: Configuration, world: World) -> Make:
    """How the nodes of Kyra's rivals are made."""
    latencies = world.underlay.latencies_ms
    tree = minimum_spanning_tree(latencies)
    name = configuration["scheme"]
    if name == "fbr":
        return lambda node, tables: FilterBased(node, TreeLinks.of(tree, node), tables)
    if name == "broadcast":
        return lambda node, tables: Broadcast(node, TreeLinks.of(tree, node), tables)
    if name == "unicast":
        return lambda node, tables: FloodedLayers(
            node, Everywhere(node, TreeLinks.of(tree, node), tables), Direct(), tables
        )
    rng = np.random.default_rng([configuration["seed"], 5])
    groups = plan_groups(world.space, world.edges, world.interest.T, MBR_GROUPS, rng)
    tree_of = group_trees(latencies)
    return lambda node, tables: MulticastBased(
        node, TreeLinks.of(tree, node), tables, groups, tree_of, latencies[node].tolist()
    )


def _matching(trace: Trace, layout: KyraLayout | None, events: int) -> Found:
    """Servers that match to route an event: without the leaves of trees (the reading), and with them."""
    columns = read_columns(trace, ("published", "received"))
    rows = rows_of(trace, ("published", "received"))
    message = np.array(rows.filter(pc.is_valid(rows["event"]))["message"].to_pylist(), dtype=object)
    # A proxy of a clique matches for its clique wherever it stands in the tree; as a leaf it does nothing else.
    for_clique = np.zeros(max(columns.node, default=0) + 1, dtype=np.int64)
    if layout is not None:
        for clique in layout.cliques:
            for_clique[list(clique.members)] = len(clique.members) > 1
    received = columns.of("received") & (message == "Publication")
    inner = columns.matches > np.where(received, for_clique[columns.node], 0)
    return {"mean": float(inner.sum()) / events, "with_leaves": float(matching_load(trace).mean())}


def _state(held: Mapping[int, Sequence[PooledTable]], pool: MatcherPool, world: World) -> Found:
    """The share of all wanted (subscription, value) pairs that each server's tables hold."""
    values_of = np.zeros(len(pool))
    for value in range(world.interest.shape[1]):
        values_of += pool.flags_of(Event({"value": value}, id=""))
    pairs = [sum(float(table.flags() @ values_of) for table in tables) for tables in held.values()]
    shares = np.array(pairs) / world.interest.sum()
    entries = [sum(map(len, tables)) for tables in held.values()]
    return {"mean": float(shares.mean()), "max": float(shares.max()), "entries": float(np.mean(entries))}


def _spread(spread: Spread) -> Found:
    return {"mean": spread.mean, "median": spread.median, "max": spread.max}
