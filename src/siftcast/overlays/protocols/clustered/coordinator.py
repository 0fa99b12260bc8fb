"""Who keeps the clusters: one node that takes in every change, and makes it a new version of the whole.

    requests ──▶ pending ──▶ Prepare to each node that is concerned ──▶ all Prepared ──▶ Commit to every rendezvous
                    ▲                                                                         │
                    └──────── what comes in meanwhile waits, and is one change together ◀─────┘

A change is complete at all nodes before any event is of its version, so an event never meets a node that does not know
its version yet. What goes is kept for events of earlier versions, until a flush has passed down the trees. Clusters
that lose subscriptions to others, or whose tree is grown anew, are flushed at once; where only subscribers come and
go, it can wait, and is done after so many changes.

Only differences are sent: the coordinator remembers what each node was told. A node that joins a cluster becomes a
leaf, and a leaf without subscriptions goes. A node in the middle without any stays and passes events on, until
more than a quarter of a tree is such nodes, or a node is lost to a move: then the tree is grown anew.

Cost: a request is one message, a Prepare and a Prepared for each node concerned (its parent and itself; if events are
filtered all nodes above), and a Commit for each rendezvous; requests that come together share them. To flush a
cluster costs a message for each edge of its tree and each rendezvous.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from siftcast.model import Filter
from siftcast.overlays.contract import Effect, NodeId, SendMessage
from siftcast.overlays.protocols.clustered.cluster_tables import Account, ClusterTables
from siftcast.overlays.protocols.clustered.messages import ClusterChange, Commit, Enrol, Prepare
from siftcast.space import ClusterAssignment, ClusterLayout

_UNFLUSHED_MAX = 32
"""After so many changes a cluster is flushed, so that what nodes keep of earlier versions stays small."""
Request = tuple[NodeId, Enrol] | tuple[NodeId, tuple[str, ...]] | ClusterAssignment | NodeId
"""Subscriptions of a node; ids that it drops; new clusters; a node that was lost."""


@dataclass(slots=True)
class _Draft:
    """One version in the making: clusters, ids and nodes that it is about."""

    touched: set[int] = field(default_factory=set)
    losing: set[int] = field(default_factory=set)  # clusters from which somebody is taken who is owed events
    changed: set[str] = field(default_factory=set)  # ids that every table must take in again
    removed: set[str] = field(default_factory=set)
    anew: set[NodeId] = field(default_factory=set)


class Coordinator:
    """Takes in requests, one version after the other."""

    __slots__ = (
        "_assignment", "_awaited", "_commit", "_fresh", "_lost", "_pending", "_rendezvous", "_tables",
        "_unflushed", "moves", "version",
    )  # fmt: skip

    def __init__(self, layout: ClusterLayout, *, filtering: bool) -> None:
        self._assignment = layout.assignment
        self._rendezvous = layout.rendezvous
        self._tables = ClusterTables(
            layout.distances, layout.degree_max, filtering=filtering, shortest_ways=layout.shortest_ways
        )
        self._pending: list[Request] = []
        self._awaited: set[NodeId] = set()
        self._lost: set[NodeId] = set()
        self._fresh: set[NodeId] = set()  # rendezvous that must be told everything
        self._commit: Commit | None = None
        self._unflushed: Counter[int] = Counter()  # changes of each cluster since it was flushed
        self.version = 0
        self.moves = 0

    # -- what comes in -----------------------------------------------------------------------------------

    def request(self, request: Request) -> list[Effect]:
        """Takes in a request; it is worked on as soon as the change before is through."""
        self._pending.append(request)
        return self._begin()

    def prepared(self, node: NodeId, version: int) -> list[Effect]:
        """A node is ready for a version."""
        if version == self.version:
            self._awaited.discard(node)
        return self._proceed()

    def lose(self, node: NodeId) -> list[Effect]:
        """A node is gone, with all its subscriptions; if it is still there, it will enrol again."""
        self._lost.add(node)
        self._awaited.discard(node)
        self._pending.append(node)
        return self._proceed()

    def find(self, node: NodeId) -> list[Effect]:
        """A node is back, and may know nothing."""
        self._lost.discard(node)
        if node in self._rendezvous:
            self._fresh.add(node)
        return self.request(node)

    # -- a change ----------------------------------------------------------------------------------------

    def _proceed(self) -> list[Effect]:
        """Commits when everybody is ready, and goes on with what came in meanwhile."""
        if self._awaited or self._commit is None:
            return self._begin()
        commit, self._commit = self._commit, None
        effects: list[Effect] = []
        for node in self._rendezvous:
            effects.append(SendMessage(self._whole(commit) if node in self._fresh else commit, (node,)))
        self._fresh.clear()
        return [*effects, *self._begin()]

    def _whole(self, commit: Commit) -> Commit:
        entries = tuple((id, each.filter, each.cluster) for id, each in self._tables.accounts.items())
        return Commit(self.version, entries, (), tuple(self._tables.roots().items()), commit.flush, anew=True)

    def _begin(self) -> list[Effect]:
        if self._commit is not None or not self._pending:
            return []
        requests, self._pending = self._pending, []
        self.version += 1
        draft = _Draft()
        for request in requests:
            self._apply(request, draft)
        if not (draft.touched or draft.anew or self._fresh):
            return self._begin()
        changes: dict[NodeId, list[ClusterChange]] = {node: [] for node in draft.anew}
        for cluster in sorted(draft.touched):
            self._unflushed[cluster] += 1
            if self._tables.shape(cluster, anew=cluster in draft.losing) or cluster in draft.losing:
                self._unflushed[cluster] = _UNFLUSHED_MAX
            for node, change in self._tables.differences(cluster, draft.changed):
                changes.setdefault(node, []).append(change)
        return self._send(draft, changes)

    def _send(self, draft: _Draft, changes: dict[NodeId, list[ClusterChange]]) -> list[Effect]:
        flush = tuple(sorted(cluster for cluster in draft.touched if self._unflushed[cluster] >= _UNFLUSHED_MAX))
        for cluster in flush:
            del self._unflushed[cluster]
        roots = self._tables.roots()
        accounts = self._tables.accounts
        self._commit = Commit(
            self.version,
            tuple((id, accounts[id].filter, accounts[id].cluster) for id in sorted(draft.changed) if id in accounts),
            tuple(sorted(id for id in draft.removed if id not in accounts)),
            tuple((cluster, roots[cluster]) for cluster in sorted(draft.touched) if cluster in roots),
            flush,
        )
        self._awaited = {node for node in changes if node not in self._lost}
        effects: list[Effect] = [
            SendMessage(Prepare(self.version, tuple(changes[node]), anew=node in draft.anew), (node,))
            for node in sorted(self._awaited)
        ]
        return effects if self._awaited else self._proceed()

    # -- requests ----------------------------------------------------------------------------------------

    def _apply(self, request: Request, draft: _Draft) -> None:
        match request:
            case ClusterAssignment():
                self._install(request, draft)
            case int():
                self._forget(request, draft)
            case (node, Enrol() as enrol):
                self.version = max(self.version, enrol.version + 1)
                if enrol.anew:
                    listed = {id for id, _ in enrol.entries}
                    self._drop((id for id in self._owned(node) if id not in listed), draft)
                    self._tell_anew(node, draft)
                for id, filter_ in enrol.entries:
                    self._take(id, filter_, node, draft)
            case (node, ids):
                self._drop((id for id in ids if self._is_of(id, node)), draft)

    def _take(self, id: str, filter_: Filter, owner: NodeId, draft: _Draft) -> None:
        known = self._tables.accounts.get(id)
        cluster = known.cluster if known is not None else self._assignment.cluster(id, filter_)
        if known is not None:
            draft.touched.add(known.cluster)
        self._tables.put(id, Account(filter_, owner, cluster))
        draft.touched.add(cluster)
        draft.changed.add(id)

    def _drop(self, ids: Iterable[str], draft: _Draft) -> None:
        for id in list(ids):
            draft.touched.add(self._tables.accounts[id].cluster)
            draft.removed.add(id)
            self._tables.remove(id)

    def _install(self, assignment: ClusterAssignment, draft: _Draft) -> None:
        """Moves exactly the subscriptions whose cluster is another one."""
        self._assignment = assignment
        for id, account in list(self._tables.accounts.items()):
            cluster = assignment.cluster_of.get(id, account.cluster)
            if cluster == account.cluster:
                continue
            self._tables.put(id, Account(account.filter, account.owner, cluster))
            draft.touched |= {account.cluster, cluster}
            draft.losing.add(account.cluster)
            draft.changed.add(id)
            self.moves += 1

    def _forget(self, node: NodeId, draft: _Draft) -> None:
        """A node that was lost takes its subscriptions with it; one that is back is told all it must know."""
        if node in self._lost:
            self._drop(self._owned(node), draft)
            for cluster in self._tables.clusters_with(node):
                draft.touched.add(cluster)
                draft.losing.add(cluster)
        else:
            self._tell_anew(node, draft)

    def _tell_anew(self, node: NodeId, draft: _Draft) -> None:
        draft.anew.add(node)
        draft.touched |= self._tables.forget_told(node)

    def _owned(self, node: NodeId) -> list[str]:
        return [id for id, account in self._tables.accounts.items() if account.owner == node]

    def _is_of(self, id: str, node: NodeId) -> bool:
        return id in self._tables.accounts and self._tables.accounts[id].owner == node

    def state(self) -> dict[str, int]:
        """Facts for people and checkers."""
        return {"version": self.version, "moves": self.moves, "clusters": len(self._tables.roots())}
