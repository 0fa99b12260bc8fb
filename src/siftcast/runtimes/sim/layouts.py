"""From measurements to layouts: the trees, graphs and plans on which a simulated scheme runs.

Overlays do not plan and planning does not know overlays; a runtime knows both. The tree is the minimum spanning tree of
the latencies between servers. A graph has, beside it, the shortest links of each server that it lacks. Schemes that
need more than that name a plan, and `PLANNERS` says how it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from siftcast.overlays.schemes import Layout, Scheme
from siftcast.overlays.tables import TableFactory
from siftcast.planning import minimum_spanning_tree
from siftcast.runtimes.sim.errors import SimulationError
from siftcast.space import SourceTrees, Tree
from siftcast.underlay import Underlay
from siftcast.workloads import Workload

_LENGTH_MIN_MS = 1e-6  # a graph wants positive lengths, and servers on one router may be 0 ms apart


@dataclass(frozen=True, slots=True)
class Measurements:
    """What a plan may be made from."""

    underlay: Underlay
    workload: Workload
    options: Any
    rng: np.random.Generator


PLANNERS: Mapping[str, Callable[[Measurements], Any]] = MappingProxyType({})
"""How the plan of each name is made (`Scheme.plan`)."""


def lay_out(scheme: Scheme, measured: Measurements, tables: TableFactory) -> Layout:
    """The layout of a scheme on an underlay."""
    tree = minimum_spanning_tree(measured.underlay.latencies_ms)
    links = getattr(measured.options, "graph", 0)
    graph = graph_around(tree, measured.underlay, links) if links else None
    if scheme.plan is None:
        return Layout(tree, tables, graph)
    if scheme.plan not in PLANNERS:
        raise SimulationError(f"the simulator cannot make the plan '{scheme.plan}' of scheme '{scheme.name}'")
    return Layout(tree, tables, graph, PLANNERS[scheme.plan](measured))


def graph_around(tree: Tree, underlay: Underlay, links: int) -> SourceTrees:
    """A tree with the shortest `links` further links of each server."""
    latencies = np.minimum(underlay.latencies_ms, underlay.latencies_ms.T)
    lengths = {edge: max(_LENGTH_MIN_MS, float(latencies[edge])) for edge in tree.edges}
    for node in tree.nodes:
        added = 0
        for other in np.argsort(latencies[node], kind="stable").tolist():
            edge = min(node, other), max(node, other)
            if other != node and edge not in lengths and added < links:
                lengths[edge] = max(_LENGTH_MIN_MS, float(latencies[edge]))
                added += 1
    return SourceTrees.shortest(lengths, nodes=tree.nodes)
