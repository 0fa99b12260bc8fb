"""The layout of a Kyra network: cliques of servers with their zones, and routing trees with theirs.

    clique   {A B C}  zones  A 0–3  B 4–6  C 7–9          tree t0 0–3  {A D F}
    clique   {D E}    zones  D 0–4  E 5–9                 tree t1 4–6  {B D E G}
    clique   {F G H}  zones  F 0–3  G 4–6  H 7–9          tree t2 7–9  {C E H}

Every event with a point has one proxy in each clique and one tree, and all its proxies are in that tree: the zones of a
clique, and those of the trees, are partitions of one space, and a tree joins at least the servers whose zone overlaps
its own. An event without a point (an attribute is missing, or lies outside its domain) has them too: each clique names
one member for these, and one more tree joins the members so named. The paper is silent on such events.

Planning makes layouts (`plan_kyra`), the Kyra protocol runs on them; a layout that breaks a rule cannot be made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from siftcast.space.content_space import ContentSpace
from siftcast.space.owned_zones import OwnedZones
from siftcast.space.tree import Tree

OUTSIDE = -1
"""The number of the tree for events without a point."""


@dataclass(frozen=True, slots=True)
class Clique:
    """Servers near each other, the zones of those that have one, and who answers for events without a point."""

    members: tuple[int, ...]
    zones: OwnedZones
    outside: int

    def __post_init__(self) -> None:
        if len(set(self.members)) != len(self.members):
            raise ValueError(f"a clique has each member once: {self.members}")
        strangers = {*self.zones.owners, self.outside} - set(self.members)
        if strangers:
            raise ValueError(f"servers {sorted(strangers)} answer for a clique they are not in: {self.members}")

    def proxy_of(self, event: Mapping[str, object]) -> int:
        """The member that answers for an event."""
        owner = self.zones.owner_of_event(event)
        return self.outside if owner is None else owner


@dataclass(frozen=True, slots=True)
class KyraLayout:
    """Cliques, trees, and who answers for what."""

    cliques: tuple[Clique, ...]
    tree_zones: OwnedZones
    trees: Mapping[int, Tree]
    outside_tree: Tree

    def __post_init__(self) -> None:
        servers = [member for clique in self.cliques for member in clique.members]
        if len(set(servers)) != len(servers):
            raise ValueError("a server is in one clique")
        if any(clique.zones.partition.space.schema != self.space.schema for clique in self.cliques):
            raise ValueError("all zones of a layout divide the same space")
        if not set(self.outside_tree.nodes) >= {clique.outside for clique in self.cliques}:
            raise ValueError(
                "the tree for events without a point joins the member of each clique that answers for them"
            )
        for zone, tree in zip(self.tree_zones.partition.zones, self.tree_zones.owners, strict=True):
            if tree == OUTSIDE or tree not in self.trees:
                raise ValueError(f"zone {zone.index} belongs to tree {tree}, which is not among the trees")
            for clique in self.cliques:
                joined = {clique.zones.owners[place] for place in clique.zones.partition.zones_of(zone.box)}
                if not joined <= set(self.trees[tree].nodes):
                    missing = sorted(joined - set(self.trees[tree].nodes))
                    raise ValueError(
                        f"the zones of servers {missing} overlap that of tree {tree}, which does not join them"
                    )

    def renamed(self, names: Sequence[int]) -> KyraLayout:
        """The layout with `names[server]` in place of each server."""
        cliques = tuple(
            Clique(
                tuple(names[member] for member in clique.members),
                OwnedZones(clique.zones.partition, tuple(names[owner] for owner in clique.zones.owners)),
                names[clique.outside],
            )
            for clique in self.cliques
        )
        trees = {number: tree.renamed(names) for number, tree in self.trees.items()}
        return KyraLayout(cliques, self.tree_zones, trees, self.outside_tree.renamed(names))

    @property
    def space(self) -> ContentSpace:
        """The space that is divided."""
        return self.tree_zones.partition.space

    @property
    def servers(self) -> tuple[int, ...]:
        """All servers, ascending."""
        return tuple(sorted(member for clique in self.cliques for member in clique.members))

    def clique_of(self, server: int) -> Clique:
        """The clique a server is in."""
        for clique in self.cliques:
            if server in clique.members:
                return clique
        raise ValueError(f"server {server} is in no clique of the layout")

    def tree_of(self, event: Mapping[str, object]) -> int:
        """The tree an event travels on."""
        tree = self.tree_zones.owner_of_event(event)
        return OUTSIDE if tree is None else tree
