"""The scheme `gossip`: peers that find each other, and events that reach all of them.

Neighbours are drawn at random, or with a `ground` are near in the physical network. There is nothing to plan. Each node
is given a contact or two through which it enters: the links that people wrote down, or else a node listed before it, so
that all can be started at once and no single node is everyone's entrance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

from siftcast.overlays.contract import NodeId
from siftcast.overlays.discovery import DiscoveryOptions
from siftcast.overlays.discovery.options import Heuristic, Routes, Source
from siftcast.overlays.epidemic_tree import EpidemicTreeOptions
from siftcast.overlays.membership import MembershipOptions, PartialViewOptions, RandomViewOptions
from siftcast.overlays.protocols.gossip import Gossip
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.contract import Factory, Scheme
from siftcast.schemes.ground import Ground

GROUNDS: Mapping[str, Routes] = MappingProxyType(
    {"measured": "auto", "routes": "traceroute", "triangle": "triangle", "delays": "none"}
)
"""What each kind of ground decides by; `none` is no ground at all, and neighbours are drawn at random."""


@dataclass(frozen=True, slots=True)
class GossipOptions:
    """Neighbours, spare names, names of the random view, and how long a node waits for an event others have.

    With a `ground`, neighbours are those that are near in the physical network, 0 stands for no limit of them, and the
    other options say how they are found (`overlays.discovery`).
    """

    neighbours: int = 5
    spare: int = 30
    sampled: int = 20
    graft_ms: float = 300.0
    ground: str = "none"
    heuristic: str = "nearest"
    targets: int = 10
    ttl: int = 100
    selectivity: float = 0.1
    source: str = "probes"
    walk_ms: float = 60_000.0

    def __post_init__(self) -> None:
        if self.ground != "none" and self.ground not in GROUNDS:
            raise ValueError(f"ground is one of none, {', '.join(GROUNDS)}, not {self.ground!r}")
        if self.ground != "none" and (self.neighbours < 0 or self.neighbours == 1):
            raise ValueError(f"neighbours are at least 2 with a ground, or 0 for no limit, not {self.neighbours}")
        self.membership()
        if self.ground == "none":
            self._discovery("auto")  # what is not read is checked all the same
        self.tree()

    def membership(self) -> MembershipOptions | DiscoveryOptions:
        """What the membership of each node is made with."""
        return self._random() if self.ground == "none" else self._discovery(GROUNDS[self.ground])

    def _random(self) -> MembershipOptions:
        return MembershipOptions(
            view=PartialViewOptions(active_size=self.neighbours, passive_size=self.spare),
            sample=self._sample(),
        )

    def _discovery(self, routes: Routes) -> DiscoveryOptions:
        return DiscoveryOptions(
            heuristic=cast("Heuristic", self.heuristic),
            degree=self.neighbours,
            targets=self.targets,
            ttl=self.ttl,
            selectivity=self.selectivity,
            routes=routes,
            source=cast("Source", self.source),
            walk_ms=self.walk_ms,
            sample=self._sample(),
        )

    def _sample(self) -> RandomViewOptions:
        return RandomViewOptions(size=self.sampled, exchanged=min(8, self.sampled))

    def tree(self) -> EpidemicTreeOptions:
        """What the tree of each node is made with."""
        return EpidemicTreeOptions(graft_ms=self.graft_ms)


_ONLY_WITH = ("heuristic", "targets", "ttl", "selectivity", "source", "walk_ms")
_ONLY_WITHOUT = ("spare",)


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
    examples = (
        MappingProxyType({}),
        MappingProxyType({"spare": 6, "sampled": 4}),
        MappingProxyType({"ground": "measured", "neighbours": 3}),
    )

    def plan(self, ground: Ground, options: GossipOptions) -> Entrances:
        return entrances(ground)

    def assign(self, plan: Entrances, nodes: Sequence[NodeId]) -> Entrances:
        return plan.renamed(nodes)

    def nodes(self, plan: Entrances, options: GossipOptions, tables: TableFactory) -> Factory:
        membership, tree = options.membership(), options.tree()
        return lambda node: Gossip(node, tables, membership, tree)

    def remarks(self, ground: Ground, options: GossipOptions, plan: Entrances) -> tuple[str, ...]:
        unread = _ONLY_WITH if options.ground == "none" else _ONLY_WITHOUT
        changed = [name for name in unread if getattr(options, name) != getattr(self.options, name)]
        kind = "without a ground" if options.ground == "none" else f"with the ground '{options.ground}'"
        return tuple(f"{name} does nothing {kind}" for name in changed)

    def contacts(self, plan: Entrances, node: NodeId) -> tuple[NodeId, ...]:
        return plan.contacts[node]


SCHEME = GossipScheme()
