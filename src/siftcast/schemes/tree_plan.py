"""The plan of schemes that run on one tree, or on a graph around it.

The tree is what people wrote down, or the minimum spanning tree of the latencies, or one of shortest ways from a core.
A graph has, beside the tree, the shortest links of each server that it lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic

import numpy as np

from siftcast.overlays.contract import NodeId
from siftcast.overlays.links import Links, SourceTreeLinks, TreeLinks
from siftcast.schemes.contract import Options, Scheme
from siftcast.schemes.ground import Ground
from siftcast.space import SourceTrees, Tree

MST, CORE = TREES = ("mst", "core")
"""The least total latency, or shortest ways from the node that is nearest to all others (`planning.core_trees`)."""
NEAR = 4
_LENGTH_MIN_MS = 1e-6  # a graph wants positive lengths, and servers on one router may be 0 ms apart


@dataclass(frozen=True, slots=True)
class TreePlan:
    """A tree, and perhaps a graph around it."""

    tree: Tree
    graph: SourceTrees | None = None

    def renamed(self, nodes: Sequence[NodeId]) -> TreePlan:
        """The plan for nodes in place of places."""
        return TreePlan(self.tree.renamed(nodes), None if self.graph is None else self.graph.renamed(nodes))

    def links(self, node: NodeId) -> Links:
        """A node's view of the graph if there is one, else of the tree."""
        return TreeLinks.of(self.tree, node) if self.graph is None else SourceTreeLinks.of(self.graph, node)


def check_tree(name: str, near: int) -> None:
    """Raises ValueError unless there is such a tree."""
    if name not in TREES:
        raise ValueError(f"tree is one of {', '.join(TREES)}, not '{name}'")
    if near < 1:
        raise ValueError(f"near is a number of links per server, at least 1, not {near}")


def plan_tree(ground: Ground, *, kind: str = MST, near: int = NEAR, further_links: int = 0) -> TreePlan:
    """The tree of a network, with so many further links per server."""
    tree = ground.tree if ground.tree is not None else _tree(ground, kind, near)
    return TreePlan(tree, graph_around(tree, ground.latencies_ms, further_links) if further_links else None)


def _tree(ground: Ground, kind: str, near: int) -> Tree:
    if len(ground.places) == 1:
        return Tree((0,), ())  # a node alone loads no planner
    if kind == CORE:
        from siftcast.planning.core_trees import core_tree

        return core_tree(ground.latencies_ms, near=near)
    from siftcast.planning.spanning_trees import minimum_spanning_tree

    return minimum_spanning_tree(ground.latencies_ms)


def mean_delay_ms(plan: TreePlan, ground: Ground) -> float | None:
    """The mean delay between two nodes; None if people wrote the tree down, and there is nothing around it."""
    if plan.graph is None and ground.tree is not None:
        return None
    from siftcast.planning.path_delays import mean_source_delay_ms, mean_tree_delay_ms

    if plan.graph is None:
        return mean_tree_delay_ms(plan.tree, ground.latencies_ms)
    return mean_source_delay_ms(plan.graph, ground.latencies_ms)


def graph_around(
    tree: Tree, latencies_ms: np.ndarray[tuple[int, int], np.dtype[np.float64]], links: int
) -> SourceTrees:
    """A tree with the shortest `links` further links of each server."""
    latencies = np.minimum(latencies_ms, latencies_ms.T)
    lengths = {edge: max(_LENGTH_MIN_MS, float(latencies[edge])) for edge in tree.edges}
    for node in tree.nodes:
        added = 0
        for other in np.argsort(latencies[node], kind="stable").tolist():
            edge = min(node, other), max(node, other)
            if other != node and edge not in lengths and added < links:
                lengths[edge] = max(_LENGTH_MIN_MS, float(latencies[edge]))
                added += 1
    return SourceTrees.shortest(lengths, nodes=tree.nodes)


class TreeScheme(Scheme[Options, TreePlan], Generic[Options]):
    """A scheme whose nodes talk to their neighbours in a tree."""

    events_follow_tree: ClassVar[bool] = True
    """Whether events go by the tree; where subscriptions alone do, delays on it are nobody's."""

    def plan(self, ground: Ground, options: Options) -> TreePlan:
        return plan_tree(ground)

    def assign(self, plan: TreePlan, nodes: Sequence[NodeId]) -> TreePlan:
        return plan.renamed(nodes)

    def cost(self, plan: TreePlan, ground: Ground) -> float | None:
        return mean_delay_ms(plan, ground) if self.events_follow_tree else None

    def contacts(self, plan: TreePlan, node: NodeId) -> tuple[NodeId, ...]:
        return tuple(sorted(plan.links(node).neighbours))
