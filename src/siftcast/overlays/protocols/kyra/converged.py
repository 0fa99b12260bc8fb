"""Kyra's servers as they are once all subscriptions have arrived everywhere, without sending any.

In a clique of five hundred each subscription is cut into hundreds of parts, and on one tree each part travels to every
server: a hundred million announcements, for tables that follow from the layout alone. On a tree, what lies behind a
neighbour is what the servers on its side are proxies for; so the tables are unions of those, a bit mask each.

The servers handle events as any others do (tested to do so alike), but know nothing of who was told what, so their
subscriptions cannot change. Subscriptions that reach beyond the content space are not provided for. Parts of one
subscription are entries of their own here, where servers that tell each other join them (`joined_parts`): what the
entries match, and so where events go and how much of the content a server holds, is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from siftcast.matching.pool import MatcherPool, PooledTable
from siftcast.model import Subscription
from siftcast.overlays.contract import NodeId
from siftcast.overlays.keys import LOCAL, Interface
from siftcast.overlays.protocols.kyra.movement import SubscriptionMovement, part_id
from siftcast.overlays.protocols.kyra.routing_trees import RoutingTrees
from siftcast.space import KyraLayout, Tree


@dataclass(frozen=True, slots=True)
class ConvergedServer:
    """A server, and every table it holds."""

    protocol: SubscriptionMovement
    tables: tuple[PooledTable, ...]


def converged_servers(
    layout: KyraLayout, subscriptions: Iterable[tuple[NodeId, Subscription]], pool: MatcherPool
) -> dict[NodeId, ConvergedServer]:
    """All servers of a layout after these subscriptions, each with the server it was made at."""
    nodes = [node for clique in layout.cliques for node in clique.members]
    backbones = {node: RoutingTrees(node, layout, pool.table) for node in nodes}
    servers = {node: SubscriptionMovement(node, layout, pool.table, backbones[node]) for node in nodes}
    own = {node: pool.table() for node in nodes}
    proxied: dict[NodeId, dict[str, NodeId]] = {node: {} for node in nodes}
    wanted = {tree: {node: pool.table() for node in shape.nodes} for tree, shape in layout.trees.items()}
    for origin, subscription in subscriptions:
        own[origin].add(subscription.id, subscription.filter)
        for place, filter_ in servers[origin].parts_of(subscription.filter).items():
            proxy, outside = place
            if outside:
                raise ValueError(f"subscription '{subscription.id}' reaches beyond the content space")
            part = Subscription(part_id(subscription.id, place), filter_)
            proxied[proxy][part.id] = origin
            for tree, (id, piece, _) in backbones[proxy].entries_of(part).items():
                wanted[tree][proxy].add(id, piece)
    tables: dict[NodeId, dict[int, dict[Interface, PooledTable]]] = {node: {} for node in nodes}
    for tree, local in wanted.items():
        for node, adopted in _along(layout.trees[tree], local, pool):
            tables[node][tree] = adopted
    for node in nodes:
        backbones[node].adopt(tables[node])
        servers[node].adopt(own[node], proxied[node])
    return {
        node: ConvergedServer(
            servers[node], (own[node], *(table for adopted in tables[node].values() for table in adopted.values()))
        )
        for node in nodes
    }


def _along(
    tree: Tree, local: dict[NodeId, PooledTable], pool: MatcherPool
) -> Iterator[tuple[NodeId, dict[Interface, PooledTable]]]:
    """Each node of a tree with its tables: its own, and for each neighbour what lies on that side."""
    parents = tree.parents(tree.nodes[0])
    below = dict(local)
    for node in reversed(parents):  # children before their parents
        near = (other for other in tree.neighbours[node] if parents[other] == node != other)
        below[node] = pool.view([local[node], *(below[other] for other in near)])
    whole = below[tree.nodes[0]]
    for node in tree.nodes:
        found: dict[Interface, PooledTable] = {LOCAL: local[node]}
        for other in tree.neighbours[node]:
            found[other] = below[other] if parents[other] == node else pool.view([whole], without=[below[node]])
        yield node, found
