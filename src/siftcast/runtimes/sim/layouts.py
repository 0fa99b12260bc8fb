"""From measurements to layouts: the trees, graphs and plans on which a simulated scheme runs.

Overlays do not plan and planning does not know overlays; a runtime knows both. The tree is the minimum spanning tree of
the latencies between servers. A graph has, beside it, the shortest links of each server that it lacks. Schemes that
need more than that name a plan, and `PLANNERS` says how it is made. Plans take the workload itself as the forecast of
who wants what and how much is published; a scheme must not rely on it, and none does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from siftcast.matching import Matcher
from siftcast.model import Event, Filter
from siftcast.overlays.schemes import GroupPlan, Layout, Scheme
from siftcast.overlays.tables import TableFactory
from siftcast.planning import (
    Cells,
    CellTable,
    assign_clusters,
    axis_edges,
    group_trees,
    interest_clusters,
    minimum_spanning_tree,
    places_of,
    plan_clusters,
    plan_groups,
    plan_kyra,
)
from siftcast.runtimes.sim.errors import SimulationError
from siftcast.space import ClusterLayout, ContentSpace, Partition, SourceTrees, Tree
from siftcast.underlay import Underlay
from siftcast.workloads import Workload

Floats = npt.NDArray[np.float64]
_CELLS = 1_000
_LENGTH_MIN_MS = 1e-6  # a graph wants positive lengths, and servers on one router may be 0 ms apart


@dataclass(frozen=True, slots=True)
class Measurements:
    """What a plan may be made from."""

    underlay: Underlay
    workload: Workload
    options: Any
    rng: np.random.Generator


@dataclass(frozen=True, slots=True)
class _Forecast:
    """One axis of the content space in cells, and what is known about them."""

    space: ContentSpace
    axis: int
    edges: Floats
    places: Floats
    filters: tuple[Filter, ...]


def _forecast(measured: Measurements) -> _Forecast:
    space = ContentSpace(measured.workload.schema)
    names = [axis.attribute.name for axis in space.axes]
    wanted = measured.options.attribute or (names[0] if names else "")
    if wanted not in names:
        known = f"those with a domain are {', '.join(names)}" if names else "none of its attributes has a domain"
        raise ValueError(f"the content of '{measured.workload.name}' cannot be cut along '{wanted}': {known}")
    axis = names.index(wanted)
    places = places_of(space.axes[axis], measured.workload.values(wanted))
    inside = places[~np.isnan(places)]
    quantiles = np.quantile(inside, np.linspace(0, 1, _CELLS)).tolist() if len(inside) else []
    filters = tuple(Filter.parse(text) for text in measured.workload.subscriptions["filter"].to_pylist())
    return _Forecast(space, axis, axis_edges(space.axes[axis], quantiles), places, filters)


def _plan_kyra(measured: Measurements) -> Any:
    forecast, options = _forecast(measured), measured.options
    edges = tuple(
        forecast.edges if number == forecast.axis else np.array([axis.low, axis.high])
        for number, axis in enumerate(forecast.space.axes)
    )
    points = np.full((len(forecast.places), len(edges)), np.nan)
    points[:, forecast.axis] = forecast.places
    table = CellTable.count(Cells(forecast.space, edges, None), points, forecast.filters)
    return plan_kyra(
        measured.underlay.latencies_ms,
        forecast.space,
        forecast.edges,
        table.axes[forecast.axis].loads(),
        clique_ms_max=options.clique_ms_max,
        clique_servers_max=options.clique_servers_max or None,
        trees=options.trees or None,
        balance_factor=options.balance_factor,
        axis=forecast.axis,
        join_singletons=options.join_singletons,
    )


def _plan_groups(measured: Measurements) -> GroupPlan:
    forecast, servers = _forecast(measured), measured.underlay.servers
    cells = Partition.along(forecast.space, forecast.axis, forecast.edges[1:-1])
    interest = np.zeros((len(forecast.edges) - 1, servers), dtype=np.bool_)
    names = measured.workload.subscriptions["subscriber"].to_pylist()
    for name, filter_ in zip(names, forecast.filters, strict=True):
        interest[list(cells.zones_of(filter_)), server_of(name, servers)] = True
    groups = plan_groups(
        forecast.space, forecast.edges, interest, measured.options.groups, measured.rng, axis=forecast.axis
    )
    latencies = measured.underlay.latencies_ms
    return GroupPlan(groups, group_trees(latencies), latencies.tolist())


def _plan_clusters(measured: Measurements) -> ClusterLayout:
    workload, options = measured.workload, measured.options
    ids = [str(id) for id in workload.subscriptions["id"].to_pylist()]
    texts = workload.subscriptions["filter"].to_pylist()
    rows = workload.attributes().slice(0, options.sample_events).to_pylist()
    events = [Event({name: value for name, value in row.items() if value is not None}) for row in rows]
    matched = matched_matrix(dict(zip(ids, map(Filter.parse, texts), strict=True)), events)
    labels = interest_clusters(matched, options.clusters, measured.rng)
    return plan_clusters(
        measured.underlay.latencies_ms,
        assign_clusters(ids, labels, events, matched, silent=options.clusters),
        rendezvous=options.rendezvous,
        degree_max=options.degree_max,
    )


def matched_matrix(filters: Mapping[str, Filter], events: Sequence[Event]) -> npt.NDArray[np.bool_]:
    """Which subscriptions (rows, in their order) match which events (columns)."""
    matcher = Matcher()
    for id, filter_ in filters.items():
        matcher.add(id, filter_)
    row_of = {id: row for row, id in enumerate(filters)}
    matched = np.zeros((len(filters), len(events)), dtype=np.bool_)
    for column, event in enumerate(events):
        matched[[row_of[id] for id in matcher.match(event)], column] = True
    return matched


PLANNERS: Mapping[str, Callable[[Measurements], Any]] = MappingProxyType(
    {"kyra": _plan_kyra, "groups": _plan_groups, "clusters": _plan_clusters}
)
"""How the plan of each name is made (`Scheme.plan`)."""


def server_of(party: str, servers: int) -> int:
    """Where a subscriber or publisher lives: by the number in its name, which begins with 1."""
    found = re.search(r"(\d+)\D*$", party or "")
    return (int(found[1]) - 1) % servers if found else sum((party or "").encode()) % servers


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
