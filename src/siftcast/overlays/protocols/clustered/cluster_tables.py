"""What the coordinator knows of each cluster: its subscriptions, its tree, and what each node was told of it.

A change is the difference between what a node was told and what it should know now. Because it is worked out from
the two, and not kept up by every request on its own, requests may come in any mixture, and a node that lost its memory
is told everything by forgetting that it was told anything.

Cost: O(nodes of the tree) a cluster that is touched; if events are filtered, times the depth of each subscription.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from siftcast.model import Filter
from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.clustered.messages import ClusterChange, Place
from siftcast.space import RootedTree, grow
from siftcast.space.rooted_tree import Distances

_RELAYS_MAX = 0.25
"""The share of a tree that may pass events on without wanting any, before it is grown anew."""


@dataclass(frozen=True, slots=True)
class Account:
    """A subscription: what it wants, whose it is, and its cluster."""

    filter: Filter
    owner: NodeId
    cluster: int


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a node knows of a cluster: its place, its own subscriptions, and what lies below each child."""

    place: Place | None = None
    own: frozenset[str] = frozenset()
    below: Mapping[NodeId, frozenset[str]] = field(default_factory=dict)


_STRANGER = Knowledge()


class ClusterTables:
    """All clusters."""

    __slots__ = ("_degree_max", "_distances", "_filtering", "_owned", "_shortest_ways", "_told", "_trees", "accounts")

    def __init__(self, distances: Distances, degree_max: int, *, filtering: bool, shortest_ways: bool = False) -> None:
        self._distances = distances
        self._shortest_ways = shortest_ways
        self._degree_max = degree_max
        self._filtering = filtering
        self.accounts: dict[str, Account] = {}
        self._owned: dict[int, dict[NodeId, set[str]]] = {}
        self._trees: dict[int, RootedTree] = {}
        self._told: dict[int, dict[NodeId, Knowledge]] = {}

    # -- subscriptions -----------------------------------------------------------------------------------

    def put(self, id: str, account: Account) -> None:
        """Takes a subscription in, or gives it another filter, owner or cluster."""
        if id in self.accounts:
            self.remove(id)
        self.accounts[id] = account
        self._owned.setdefault(account.cluster, {}).setdefault(account.owner, set()).add(id)

    def remove(self, id: str) -> None:
        """Drops a subscription."""
        account = self.accounts.pop(id)
        owners = self._owned[account.cluster]
        owners[account.owner].discard(id)
        if not owners[account.owner]:
            del owners[account.owner]

    # -- trees -------------------------------------------------------------------------------------------

    def roots(self) -> dict[int, NodeId]:
        """The root of each cluster that has subscriptions."""
        return {cluster: tree.root for cluster, tree in self._trees.items()}

    def clusters_with(self, node: NodeId) -> list[int]:
        """The clusters in whose tree a node is."""
        return [cluster for cluster, tree in self._trees.items() if node in tree]

    def shape(self, cluster: int, *, anew: bool) -> bool:
        """Fits a tree to the members; says whether it is another one now. With `anew`, nobody else stays in it."""
        members, tree = set(self._owned.get(cluster, ())), self._trees.get(cluster)
        if not members:
            return self._trees.pop(cluster, None) is not None
        if tree is None:
            self._trees[cluster] = self._grow(members)
            return False
        tree = tree if anew else self._pruned(tree, members)
        relays = len(tree.parents.keys() - members)
        if relays and (anew or relays > _RELAYS_MAX * len(tree)):
            root = tree.root if tree.root in members else None
            self._trees[cluster] = self._grow(members, root)
            return True
        for node in sorted(members - tree.parents.keys()):
            tree = tree.with_leaf(node, self._distances, self._degree_max, shortest_ways=self._shortest_ways)
        self._trees[cluster] = tree
        return False

    def _grow(self, members: set[NodeId], root: NodeId | None = None) -> RootedTree:
        return grow(members, self._distances, self._degree_max, root, shortest_ways=self._shortest_ways)

    def _pruned(self, tree: RootedTree, members: set[NodeId]) -> RootedTree:
        for node in reversed(tree.downwards):
            if node not in members and node != tree.root and not tree.children[node]:
                tree = tree.without_leaf(node)
        return tree

    # -- what nodes are told -----------------------------------------------------------------------------

    def differences(self, cluster: int, changed: set[str]) -> Iterator[tuple[NodeId, ClusterChange]]:
        """What each node must be told, and from now on counts as told. Filters of `changed` ids are told again."""
        told, wanted = self._told.get(cluster, {}), self._knowledge(cluster)
        self._told[cluster] = wanted
        for node in sorted(told.keys() | wanted.keys()):
            old, new = told.get(node), wanted.get(node)
            change = self._change(cluster, old or _STRANGER, new or _STRANGER, changed)
            if old != new or change.below_added:
                yield node, change

    def forget_told(self, node: NodeId) -> set[int]:
        """A node knows nothing any more; returns the clusters in which that matters."""
        known = {cluster for cluster, told in self._told.items() if told.pop(node, None) is not None}
        return known | set(self.clusters_with(node))

    def _change(self, cluster: int, old: Knowledge, new: Knowledge, changed: set[str]) -> ClusterChange:
        added: list[tuple[NodeId, tuple[tuple[str, Filter], ...]]] = []
        removed: list[tuple[NodeId, tuple[str, ...]]] = []
        for child in sorted(old.below.keys() | new.below.keys()):
            before, after = old.below.get(child, frozenset()), new.below.get(child, frozenset())
            if fresh := sorted((after - before) | (after & changed)):
                added.append((child, tuple((id, self.accounts[id].filter) for id in fresh)))
            if gone := sorted(before - after):
                removed.append((child, tuple(gone)))
        return ClusterChange(
            cluster,
            new.place,
            tuple(sorted(new.own - old.own)),
            tuple(sorted(old.own - new.own)),
            tuple(added),
            tuple(removed),
        )

    def _knowledge(self, cluster: int) -> dict[NodeId, Knowledge]:
        tree = self._trees.get(cluster)
        if tree is None:
            return {}
        owned = self._owned[cluster]
        within: dict[NodeId, frozenset[str]] = {}  # all that is wanted at a node and below it
        if self._filtering:
            for node in reversed(tree.downwards):
                within[node] = frozenset(owned.get(node, ())).union(*(within[child] for child in tree.children[node]))
        return {
            node: Knowledge(
                (tree.parents[node], tree.children[node]),
                frozenset(owned.get(node, ())),
                {child: within[child] for child in tree.children[node]} if self._filtering else {},
            )
            for node in tree.downwards
        }
