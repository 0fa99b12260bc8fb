"""Where events enter: a rendezvous knows what each cluster wants, and hands an event to the roots of those that do.

It follows the coordinator's commits in order, and stamps every event with the version it was handled at; everyone
down the trees then handles it as things were at that version. So an event has one version, and a subscription one
cluster at each version: it gets the event there, and nowhere else.

Cost: all subscriptions of the network; one table matched an event, and a message for each cluster that wants it.
"""

from __future__ import annotations

from siftcast.model import Event
from siftcast.overlays.contract import Effect, NodeId, SendMessage, Spent
from siftcast.overlays.protocols.clustered.messages import Cast, Commit, Flush
from siftcast.overlays.tables import TableFactory


class Rendezvous:
    """One of the nodes that publishers hand their events to."""

    __slots__ = ("_cluster_of", "_earlier", "_roots", "_table", "_tables", "_version")

    def __init__(self, tables: TableFactory) -> None:
        self._tables = tables
        self._table = tables()
        self._cluster_of: dict[str, int] = {}
        self._roots: dict[int, NodeId] = {}
        self._earlier: dict[int, set[NodeId]] = {}  # the roots that a cluster had since it was flushed
        self._version = 0

    def commit(self, commit: Commit) -> list[Effect]:
        """Moves on to a version; behind the last events of the one before, flushes follow."""
        if commit.anew:
            self._table = self._tables()
            self._cluster_of.clear()
            self._roots.clear()
        for id in commit.removed:
            if self._cluster_of.pop(id, None) is not None:
                self._table.remove(id)
        for id, filter_, cluster in commit.added:
            if id in self._cluster_of:
                self._table.remove(id)
            self._table.add(id, filter_)
            self._cluster_of[id] = cluster
        effects: list[Effect] = []
        for cluster in commit.flush:
            if roots := sorted(self._earlier.pop(cluster, ())):
                effects.append(SendMessage(Flush(commit.version, cluster, entering=True), roots))
        self._roots.update(commit.roots)
        for cluster, root in commit.roots:
            self._earlier.setdefault(cluster, set()).add(root)
        self._version = commit.version
        return effects

    def offer(self, event: Event, publisher: NodeId) -> list[Effect]:
        """Sends an event to all clusters in which somebody wants it."""
        wanting = sorted({self._cluster_of[id] for id in self._table.match(event)})
        casts: list[Effect] = [
            SendMessage(Cast(event, publisher, cluster, self._version), (self._roots[cluster],)) for cluster in wanting
        ]
        return [Spent(1), *casts]

    def __len__(self) -> int:
        return len(self._cluster_of)
