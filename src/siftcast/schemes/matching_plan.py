"""What layered schemes share: a plan of the matching beside one of the delivery, and nodes that join the two.

`LayersPlan` has links if every node knows all subscriptions, else a ring. Matchers are the nodes whose role that is, or
all where nobody has a role; the others publish, subscribe and pass on only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.layered import CARRIER, Everywhere, Finder, Layered, Rendezvous, RendezvousSettings
from siftcast.overlays.protocols.layered.cluster_keeper import ClusterKeeper
from siftcast.overlays.protocols.layered.keeper import Keeper
from siftcast.overlays.roles import MATCHER
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.contract import Factory
from siftcast.schemes.delivery_plan import DeliveryPlan
from siftcast.schemes.ground import Ground
from siftcast.schemes.tree_plan import TreePlan
from siftcast.space import ClusterAssignment, RingPlan


@dataclass(frozen=True, slots=True)
class LayersPlan:
    """How events are matched, and how they are delivered; `carried` by another delivery goes what finders say."""

    delivery: DeliveryPlan
    flood: TreePlan | None = None
    ring: RingPlan | None = None
    interests: ClusterAssignment | None = None
    carried: DeliveryPlan | None = None

    def renamed(self, nodes: Sequence[NodeId]) -> LayersPlan:
        """The plan for nodes in place of places."""
        return replace(
            self,
            delivery=self.delivery.renamed(nodes),
            flood=None if self.flood is None else self.flood.renamed(nodes),
            ring=None if self.ring is None else self.ring.renamed(nodes),
            carried=None if self.carried is None else self.carried.renamed(nodes),
        )

    def contacts(self, node: NodeId) -> tuple[NodeId, ...]:
        """To whom a node may have to send something."""
        found = set(self.delivery.contacts(node))
        if self.flood is not None:
            found |= set(self.flood.links(node).neighbours)
        if self.carried is not None:
            found |= self.carried.contacts(node)
        elif self.ring is not None:
            matchers = self.ring.matchers
            found |= set(self.delivery.nodes if node in matchers else matchers)
        return tuple(sorted(found - {node}))


def matchers_of(ground: Ground) -> tuple[int, ...]:
    """The places that match."""
    roles = {place: ground.roles.get(place, frozenset()) for place in ground.places}
    chosen = tuple(place for place, held in roles.items() if MATCHER in held)
    return chosen or tuple(ground.places)


def layered_nodes(
    plan: LayersPlan, tables: TableFactory, kind: type[Layered], settings: RendezvousSettings | None = None
) -> Factory:
    """Makes the nodes of a plan."""
    settings = RendezvousSettings() if settings is None else settings
    keeper = Keeper if plan.interests is None else partial(ClusterKeeper, plan.interests)

    def make(node: NodeId) -> Layered:
        finder: Finder
        if plan.ring is None:
            assert plan.flood is not None
            finder = Everywhere(node, plan.flood.links(node), tables)
        else:
            finder = Rendezvous(node, plan.ring, plan.delivery.nodes, tables, settings, keeper)
        carrier = None if plan.carried is None else plan.carried.make(node, CARRIER)
        return kind(node, finder, plan.delivery.make(node), tables, carrier)

    return make
