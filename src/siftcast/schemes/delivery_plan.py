"""Deliveries by name, for schemes whose matching finds destinations: any of these goes with any of them.

    direct       a copy to each
    tree         the list of destinations is split along a tree: links that people wrote down, or the spanning tree
    ring         … along fingers on a ring of all nodes
    cliques      a copy into each clique of near nodes, and from there a copy to each
    multicast    one copy that the network multiplies; simulated underlays only

A delivery has a plan of its own beside that of the matching, made from the same ground.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from siftcast.overlays.contract import NodeId
from siftcast.overlays.delivery import AlongTree, Delivery, Direct, NetworkMulticast, OnRing, OverCliques
from siftcast.schemes.ground import Ground
from siftcast.schemes.tree_plan import TreePlan, mean_delay_ms, plan_tree
from siftcast.space import Tree

DIRECT, TREE, RING, CLIQUES, MULTICAST = DELIVERIES = ("direct", "tree", "ring", "cliques", "multicast")


@dataclass(frozen=True, slots=True)
class DeliveryPlan:
    """What a delivery needs to know of a network, and no more."""

    name: str
    nodes: tuple[NodeId, ...]
    tree: Tree | None = None
    cliques: tuple[tuple[NodeId, ...], ...] = ()

    def renamed(self, nodes: Sequence[NodeId]) -> DeliveryPlan:
        """The plan for nodes in place of places."""
        return replace(
            self,
            nodes=tuple(nodes[place] for place in self.nodes),
            tree=None if self.tree is None else self.tree.renamed(nodes),
            cliques=tuple(tuple(nodes[place] for place in clique) for clique in self.cliques),
        )

    def make(self, node: NodeId, network: int = 0) -> Delivery:
        """The part of a node in it."""
        if self.tree is not None:
            return AlongTree(node, self.tree.next_hops(node), network)
        if self.name == RING:
            return OnRing(node, self.nodes, network)
        if self.cliques:
            number = {member: place for place, clique in enumerate(self.cliques) for member in clique}
            return OverCliques(node, number, network)
        return NetworkMulticast(network) if self.name == MULTICAST else Direct(network)

    def contacts(self, node: NodeId) -> frozenset[NodeId]:
        """To whom a node may have to pass something on."""
        if self.tree is not None:
            return frozenset(self.tree.neighbours[node])
        if self.name == RING:
            place = self.nodes.index(node)
            steps = [1 << bit for bit in range((len(self.nodes) - 1).bit_length())]
            near = {self.nodes[(place + step * sign) % len(self.nodes)] for step in steps for sign in (1, -1)}
            return frozenset(near - {node})
        return frozenset(self.nodes) - {node}


def delivery_cost(plan: DeliveryPlan, ground: Ground) -> float | None:
    """The mean delay between two nodes, as of `Scheme.cost`; only trees and cliques are laid out by delays."""
    if plan.tree is not None:
        return mean_delay_ms(TreePlan(plan.tree), ground)
    if not plan.cliques:
        return None
    from siftcast.planning.path_delays import mean_clique_delay_ms

    return mean_clique_delay_ms(plan.cliques, ground.latencies_ms)


def check_delivery(name: str) -> None:
    """Raises ValueError unless there is such a delivery."""
    if name not in DELIVERIES:
        raise ValueError(f"delivery is one of {', '.join(DELIVERIES)}, not '{name}'")


def remarks_on_links(ground: Ground, delivery: str) -> tuple[str, ...]:
    """What whoever wrote links down should hear, if they are not used."""
    if ground.tree is None or delivery == TREE:
        return ()
    return (f"links of no effect: with delivery = '{delivery}' events go by none; delivery = '{TREE}' follows them",)


def plan_delivery(ground: Ground, name: str, *, clique_ms_max: float) -> DeliveryPlan:
    """Lays a delivery out on a network."""
    nodes = tuple(ground.places)
    if name == TREE:
        return DeliveryPlan(name, nodes, tree=plan_tree(ground).tree)
    if name == CLIQUES:
        from siftcast.planning.cliques import cluster_cliques

        return DeliveryPlan(name, nodes, cliques=cluster_cliques(ground.latencies_ms, latency_ms_max=clique_ms_max))
    return DeliveryPlan(name, nodes)
