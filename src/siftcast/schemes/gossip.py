"""The scheme `gossip`: peers that find each other, and events that reach all of them.

There is nothing to plan. Each node is given a contact or two through which it enters: the links that people wrote down,
or else a node listed before it, so that all can be started at once and no single node is everyone's entrance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from siftcast.overlays.contract import NodeId
from siftcast.overlays.epidemic_tree import EpidemicTreeOptions
from siftcast.overlays.membership import MembershipOptions, PartialViewOptions, RandomViewOptions
from siftcast.overlays.protocols.gossip import Gossip
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.contract import Factory, Scheme
from siftcast.schemes.ground import Ground


@dataclass(frozen=True, slots=True)
class GossipOptions:
    """Neighbours, spare names, names of the random view, and how long a node waits for an event others have."""

    neighbours: int = 5
    spare: int = 30
    sampled: int = 20
    graft_ms: float = 300.0

    def __post_init__(self) -> None:
        self.membership()
        self.tree()

    def membership(self) -> MembershipOptions:
        """What the membership of each node is made with."""
        return MembershipOptions(
            view=PartialViewOptions(active_size=self.neighbours, passive_size=self.spare),
            sample=RandomViewOptions(size=self.sampled, exchanged=min(8, self.sampled)),
        )

    def tree(self) -> EpidemicTreeOptions:
        """What the tree of each node is made with."""
        return EpidemicTreeOptions(graft_ms=self.graft_ms)


@dataclass(frozen=True, slots=True)
class Entrances:
    """In place of a plan: through whom each node enters."""

    contacts: Mapping[NodeId, tuple[NodeId, ...]]

    def renamed(self, nodes: Sequence[NodeId]) -> Entrances:
        """The same for real nodes."""
        return Entrances(
            {nodes[place]: tuple(sorted(nodes[each] for each in of)) for place, of in self.contacts.items()}
        )


def entrances(ground: Ground) -> Entrances:
    """The links that people wrote down, or else a node listed before each one."""
    if ground.tree is not None:
        return Entrances({node: tuple(sorted(ground.tree.neighbours[node])) for node in ground.places})
    count = len(ground.places)
    return Entrances({node: (node // 2,) if node else tuple(range(1, min(2, count))) for node in ground.places})


class GossipScheme(Scheme[GossipOptions, Entrances]):
    """Peers without a plan."""

    name = "gossip"
    description = "peers that find each other; every event reaches all, and each picks what it wants"
    protocol = Gossip
    options = GossipOptions()
    sends_once = False
    begins_with_contacts = True
    ticks = True
    examples = (MappingProxyType({}), MappingProxyType({"spare": 6, "sampled": 4}))

    def plan(self, ground: Ground, options: GossipOptions) -> Entrances:
        return entrances(ground)

    def assign(self, plan: Entrances, nodes: Sequence[NodeId]) -> Entrances:
        return plan.renamed(nodes)

    def nodes(self, plan: Entrances, options: GossipOptions, tables: TableFactory) -> Factory:
        membership, tree = options.membership(), options.tree()
        return lambda node: Gossip(node, tables, membership, tree)

    def contacts(self, plan: Entrances, node: NodeId) -> tuple[NodeId, ...]:
        return plan.contacts[node]


SCHEME = GossipScheme()
