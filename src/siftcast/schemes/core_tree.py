"""The scheme `core-tree`: peers whose events go by a few cores, over trees that follow delays.

There is nothing to plan. Each node is given a contact or two through which it enters, as in `gossip`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from siftcast.overlays.contract import NodeId
from siftcast.overlays.membership import MembershipOptions, PartialViewOptions
from siftcast.overlays.protocols.core_tree import CoreTree, CoreTreeSettings
from siftcast.overlays.protocols.core_tree.near import Sampled
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.contract import Factory, Scheme
from siftcast.schemes.gossip import Entrances, entrances
from siftcast.schemes.ground import Ground


@dataclass(frozen=True, slots=True)
class CoreTreeOptions(CoreTreeSettings):
    """What nodes are told, and how they find neighbours."""

    degree: int = 5
    """How many neighbours a node has."""

    def __post_init__(self) -> None:
        CoreTreeSettings.__post_init__(self)
        self.membership()

    def membership(self) -> MembershipOptions:
        """What the membership of each node is made with."""
        return MembershipOptions(view=PartialViewOptions(active_size=self.degree))


class CoreTreeScheme(Scheme[CoreTreeOptions, Entrances]):
    """Peers around cores."""

    name = "core-tree"
    description = "peers that choose a few of them as cores; events go by these, on trees that follow delays"
    protocol = CoreTree
    options = CoreTreeOptions()
    sends_once = False  # while a peer changes its parent, both may pass an event on
    begins_with_contacts = True
    ticks = True
    examples = (
        MappingProxyType({"cores": 1, "beat_ms": 250.0}),
        MappingProxyType({"cores": 3, "beat_ms": 250.0}),
        MappingProxyType({"cores": 3, "joined": "all-pairs", "beat_ms": 250.0}),
    )

    def plan(self, ground: Ground, options: CoreTreeOptions) -> Entrances:
        return entrances(ground)

    def assign(self, plan: Entrances, nodes: Sequence[NodeId]) -> Entrances:
        return plan.renamed(nodes)

    def nodes(self, plan: Entrances, options: CoreTreeOptions, tables: TableFactory) -> Factory:
        membership = options.membership()
        return lambda node: CoreTree(node, tables, options, Sampled(node, membership, options.beat_ms))

    def contacts(self, plan: Entrances, node: NodeId) -> tuple[NodeId, ...]:
        return plan.contacts[node]

    def keeps_order(self, options: CoreTreeOptions) -> bool:
        return False


SCHEME = CoreTreeScheme()
