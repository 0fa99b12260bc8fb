"""The scheme `core-tree`: peers whose events go by a few cores, over trees that follow delays.

There is nothing to plan. Each node is given a contact or two through which it enters, as in `gossip`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from siftcast.overlays.contract import NodeId
from siftcast.overlays.discovery import Discovery, DiscoveryOptions
from siftcast.overlays.membership import MembershipOptions, PartialViewOptions
from siftcast.overlays.protocols.core_tree import CoreTree, CoreTreeSettings
from siftcast.overlays.protocols.core_tree.near import Neighbourhood, Sampled
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.contract import Factory, Scheme
from siftcast.schemes.gossip import Entrances, entrances
from siftcast.schemes.ground import Ground

_NEIGHBOURS = ("ground", "random")


@dataclass(frozen=True, slots=True)
class CoreTreeOptions(CoreTreeSettings):
    """What nodes are told, and how they find neighbours."""

    neighbours: str = "ground"
    """Who they are: by topology discovery, or at `random`."""
    degree: int = 6
    """How many a node has, beside distant ones on the ground."""
    targets: int = 10
    """To how many peers a node finds out the way (k_L)."""
    walk_ms: float = 60_000.0
    """How often neighbours on the ground are measured, and now and then looked for again."""

    def __post_init__(self) -> None:
        CoreTreeSettings.__post_init__(self)
        if self.neighbours not in _NEIGHBOURS:
            raise ValueError(f"neighbours are by {' or '.join(_NEIGHBOURS)}, not {self.neighbours!r}")
        self.neighbourhood(0)

    def neighbourhood(self, node: NodeId) -> Neighbourhood:
        """The overlay below a node."""
        if self.neighbours == "random":
            view = PartialViewOptions(active_size=self.degree)
            return Sampled(node, MembershipOptions(view=view), self.beat_ms)
        return Discovery(node, DiscoveryOptions(degree=self.degree, targets=self.targets, walk_ms=self.walk_ms))


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
        MappingProxyType({"cores": 1, "beat_ms": 500.0}),
        MappingProxyType({"cores": 3, "beat_ms": 500.0, "neighbours": "random"}),
        MappingProxyType({"cores": 3, "joined": "all-pairs", "beat_ms": 500.0, "neighbours": "random"}),
    )

    def plan(self, ground: Ground, options: CoreTreeOptions) -> Entrances:
        return entrances(ground)

    def assign(self, plan: Entrances, nodes: Sequence[NodeId]) -> Entrances:
        return plan.renamed(nodes)

    def nodes(self, plan: Entrances, options: CoreTreeOptions, tables: TableFactory) -> Factory:
        return lambda node: CoreTree(node, tables, options, options.neighbourhood(node))

    def contacts(self, plan: Entrances, node: NodeId) -> tuple[NodeId, ...]:
        return plan.contacts[node]

    def keeps_order(self, options: CoreTreeOptions) -> bool:
        return False


SCHEME = CoreTreeScheme()
