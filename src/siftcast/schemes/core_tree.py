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
from siftcast.schemes.gossip import GROUNDS, Entrances, entrances
from siftcast.schemes.ground import Ground

_ONLY_WITH = ("targets", "walk_ms")


@dataclass(frozen=True, slots=True)
class CoreTreeOptions(CoreTreeSettings):
    """What nodes are told, and how they find neighbours."""

    ground: str = "measured"
    """Who lies before whom for topology discovery (as in `gossip`), or `none`: neighbours are drawn at random."""
    neighbours: int = 6
    """How many a node has, beside distant ones on a ground."""
    targets: int = 10
    """To how many peers a node finds out the way (k_L)."""
    walk_ms: float = 60_000.0
    """How often neighbours on a ground are measured, and now and then looked for again."""

    def __post_init__(self) -> None:
        CoreTreeSettings.__post_init__(self)
        if self.ground != "none" and self.ground not in GROUNDS:
            raise ValueError(f"ground is one of none, {', '.join(GROUNDS)}, not {self.ground!r}")
        self._discovery()  # what is not read is checked all the same
        self.neighbourhood(0)

    def neighbourhood(self, node: NodeId) -> Neighbourhood:
        """The overlay below a node."""
        if self.ground == "none":
            view = PartialViewOptions(active_size=self.neighbours)
            return Sampled(node, MembershipOptions(view=view), self.beat_ms)
        return Discovery(node, self._discovery())

    def _discovery(self) -> DiscoveryOptions:
        routes = GROUNDS.get(self.ground, "auto")
        return DiscoveryOptions(degree=self.neighbours, targets=self.targets, walk_ms=self.walk_ms, routes=routes)


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
        MappingProxyType({"cores": 3, "beat_ms": 500.0, "ground": "none"}),
        MappingProxyType({"cores": 3, "joined": "all-pairs", "beat_ms": 500.0, "ground": "none"}),
    )

    def plan(self, ground: Ground, options: CoreTreeOptions) -> Entrances:
        return entrances(ground)

    def assign(self, plan: Entrances, nodes: Sequence[NodeId]) -> Entrances:
        return plan.renamed(nodes)

    def nodes(self, plan: Entrances, options: CoreTreeOptions, tables: TableFactory) -> Factory:
        return lambda node: CoreTree(node, tables, options, options.neighbourhood(node))

    def remarks(self, ground: Ground, options: CoreTreeOptions, plan: Entrances) -> tuple[str, ...]:
        unread = _ONLY_WITH if options.ground == "none" else ()
        changed = [name for name in unread if getattr(options, name) != getattr(self.options, name)]
        return tuple(f"{name} does nothing without a ground" for name in changed)

    def contacts(self, plan: Entrances, node: NodeId) -> tuple[NodeId, ...]:
        return plan.contacts[node]

    def keeps_order(self, options: CoreTreeOptions) -> bool:
        return False


SCHEME = CoreTreeScheme()
