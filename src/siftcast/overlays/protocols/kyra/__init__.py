"""Kyra: filter-based routing on many small trees, made possible by moving subscriptions inside cliques.

    messages.py        what servers of a clique say to each other
    movement.py        the lower level: subscriptions move to proxies; over any backbone
    routing_trees.py   the upper level: filter-based routing on one tree for each part of the content space
    joined_parts.py    parts of one subscription that lie on one tree are announced as one

`Kyra` is the one on top of the other. With cliques of one server and one tree it is filter-based routing; with one
clique of all, an event is matched once by whoever answers for it. In between, a server holds what lies in its zone and
in the zones of the trees it has joined, a fraction of all subscriptions, and an event passes one server a clique.
Where it is laid out (`KyraLayout`, made by `planning.plan_kyra`) decides what it costs.
"""

from __future__ import annotations

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.kyra.messages import Entrust, Handover, Notification, Withdraw
from siftcast.overlays.protocols.kyra.movement import SubscriptionMovement
from siftcast.overlays.protocols.kyra.routing_trees import RoutingTrees
from siftcast.overlays.reuse import NEVER, Reuse
from siftcast.overlays.tables import TableFactory
from siftcast.space import KyraLayout

__all__ = ["Entrust", "Handover", "Kyra", "Notification", "RoutingTrees", "SubscriptionMovement", "Withdraw"]


class Kyra(SubscriptionMovement):
    """A server of a Kyra network; summaries and lookup reuse are those of filter-based routing, on each tree."""

    __slots__ = ()

    def __init__(
        self,
        node: NodeId,
        layout: KyraLayout,
        tables: TableFactory,
        *,
        summary: str = "none",
        reuse: Reuse = NEVER,
        clique_delivery: str = "direct",
    ) -> None:
        trees = RoutingTrees(node, layout, tables, summary=summary, reuse=reuse)
        super().__init__(node, layout, tables, trees, summary=summary, reuse=reuse, clique_delivery=clique_delivery)
