"""How long messages take on the ways of a plan: delays along a tree, along the trees of all sources, across Kyra.

A planner has an aim of its own (the least total weight, limits of cliques). By these means plans of one kind can be
compared on one ground, whatever they were made from: that is how a network decides whether another plan is worth it.
All pairs of nodes count alike, and each way as its slower direction takes.

Cost: O(n²) for a tree and for the trees of all sources; for Kyra O(n · trees) and the square of each tree's size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from siftcast.planning.latency_matrices import symmetric_latencies
from siftcast.space import KyraLayout, SourceTrees, Tree

Floats = npt.NDArray[np.float64]


def tree_delays_ms(tree: Tree, latencies_ms: npt.ArrayLike) -> Floats:
    """The delay along a tree between each two of its nodes, in their order."""
    return _along(tree, symmetric_latencies(latencies_ms))


def _along(tree: Tree, distances: Floats) -> Floats:
    rows = {node: row for row, node in enumerate(tree.nodes)}
    found = np.zeros((len(tree), len(tree)))
    visited: list[int] = []
    for node, parent in tree.parents(tree.nodes[0]).items():
        row = rows[node]
        if node != parent:
            found[row, visited] = found[rows[parent], visited] + distances[node, parent]
            found[visited, row] = found[row, visited]
        visited.append(row)
    return found


def mean_tree_delay_ms(tree: Tree, latencies_ms: npt.ArrayLike) -> float:
    """The mean delay between two different nodes of a tree."""
    return _mean(float(tree_delays_ms(tree, latencies_ms).sum()), len(tree))


def mean_source_delay_ms(trees: SourceTrees, latencies_ms: npt.ArrayLike) -> float:
    """The mean delay from one node to another on the tree of the first."""
    distances = symmetric_latencies(latencies_ms)
    total = sum(_sum_from(source, parents, distances) for source, parents in trees.parents.items())
    return _mean(total, len(trees.parents))


def _sum_from(source: int, parents: Mapping[int, int], distances: Floats) -> float:
    """The sum of delays from a source to all nodes."""
    known = {source: 0.0}
    for node in parents:
        way = []
        while node not in known:
            way.append(node)
            node = parents[node]
        for later in reversed(way):
            known[later] = known[parents[later]] + float(distances[parents[later], later])
    return sum(known.values())


def mean_clique_delay_ms(cliques: Iterable[Iterable[int]], latencies_ms: npt.ArrayLike) -> float:
    """The mean delay where a copy goes into each clique, to any of its members, and from there to the others."""
    distances = symmetric_latencies(latencies_ms)
    groups = [list(clique) for clique in cliques]
    total = sum(float(distances[np.ix_(group, group)].sum()) for group in groups)
    for near in groups:
        within = float(distances[np.ix_(near, near)].mean())
        far = [node for group in groups if group is not near for node in group]
        total += float(distances[np.ix_(far, near)].sum()) + len(far) * len(near) * within
    return _mean(total, sum(map(len, groups)))


def mean_kyra_delay_ms(layout: KyraLayout, latencies_ms: npt.ArrayLike) -> float:
    """The mean delay of an event with a point: to the proxy of its clique, along a tree, and from the proxy there.

    Trees count alike, because their zones are cut to have equal loads. Where several members of a clique have parts of
    a tree's zone, each of them counts as much as the others.
    """
    distances = symmetric_latencies(latencies_ms)
    servers = len(layout.servers)
    total = 0.0
    for zone, number in zip(layout.tree_zones.partition.zones, layout.tree_zones.owners, strict=True):
        tree = layout.trees[number]
        rows = {node: row for row, node in enumerate(tree.nodes)}
        between = _along(tree, distances)
        entered: list[tuple[int, float, list[int]]] = []
        for clique in layout.cliques:
            owners = sorted({clique.zones.owners[place] for place in clique.zones.partition.zones_of(zone.box)})
            direct = distances[np.ix_(list(clique.members), owners)].mean(axis=1)  # each member to a proxy
            size, reach = len(clique.members), float(direct.sum())
            total += 2 * (size - 1) * reach  # from one member over a proxy to another: each is an end so often
            entered.append((size, reach, [rows[owner] for owner in owners]))
        for size, reach, proxies in entered:
            for other_size, other_reach, others in entered:
                if proxies is not others:
                    way = float(between[np.ix_(proxies, others)].mean())
                    total += other_size * reach + size * other_reach + size * other_size * way
    return _mean(total / len(layout.tree_zones.owners), servers)


def _mean(total: float, nodes: int) -> float:
    return total / (nodes * (nodes - 1)) if nodes > 1 else 0.0
