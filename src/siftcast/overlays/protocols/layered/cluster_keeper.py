"""A matcher that finds clusters of subscriptions instead of single ones (thesis, chapter 3, as a matching layer).

Subscriptions that want the same events are in one cluster. If an event satisfies one of them, all nodes of the cluster
are found: so there are few different lists of destinations, which trees and groups can be made for, and some of those
who are found do not want the event. They find out when they match it for themselves.
"""

from __future__ import annotations

from collections.abc import Iterable

from siftcast.model import Event
from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.layered.keeper import Keeper
from siftcast.overlays.routing_rows import Entry
from siftcast.overlays.tables import TableFactory
from siftcast.space import ClusterAssignment


class ClusterKeeper(Keeper):
    """One of the rendezvous, which knows what each cluster wants."""

    __slots__ = ("_assignment", "_cluster_of", "_members")

    def __init__(
        self,
        assignment: ClusterAssignment,
        labels: Iterable[int],
        others: Iterable[NodeId],
        tables: TableFactory,
    ) -> None:
        super().__init__(labels, others, tables)
        self._assignment = assignment
        self._cluster_of: dict[str, int] = {}
        self._members: dict[int, dict[NodeId, int]] = {}
        """The nodes of each cluster, with how many subscriptions of it they have."""

    def _enter(self, key: str, origin: NodeId, entry: Entry) -> None:
        super()._enter(key, origin, entry)
        cluster = self._cluster_of[key] = self._assignment.cluster(entry[0], entry[1])
        members = self._members.setdefault(cluster, {})
        members[origin] = members.get(origin, 0) + 1

    def _forget(self, key: str) -> None:
        members = self._members[self._cluster_of.pop(key)]
        origin = self._owners[key]
        members[origin] -= 1
        if not members[origin]:
            del members[origin]
        super()._forget(key)

    def match(self, event: Event, labels: Iterable[int]) -> tuple[NodeId, ...]:
        clusters = dict.fromkeys(self._cluster_of[key] for key in self._matched(event, labels))
        return tuple(dict.fromkeys(node for cluster in clusters for node in self._members[cluster]))
