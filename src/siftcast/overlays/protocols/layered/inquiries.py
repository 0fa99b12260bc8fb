"""What a publisher's node keeps until all clusters that an event visits have answered.

    begin ─▶ Inquire to one matcher of each cluster ─▶ answered by all ─▶ forgotten
                       │ busy, lost, or silent for `retry_ms`, twice that, …
                       └▶ InquireAgain to another matcher

A matcher is drawn at random from those of a cluster that can be reached and have not said that they are busy; where
nobody can be reached one is asked all the same, for a durable node keeps what waits for it, and whoever can be reached
first is asked, too. So with two replicas one may be killed at any time: what was asked of it is asked of the other, and
receivers drop what comes twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random

from siftcast.model import Event
from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.layered.messages import Inquire, InquireAgain, Visit

_PATIENCE_MAX = 32.0  # times `retry_ms`


@dataclass(slots=True)
class Inquiry:
    """One search: the clusters that have not answered, with the labels matched there, and who was asked."""

    event: Event
    number: int
    waiting: dict[int, tuple[int, ...]]
    due_ms: float
    patience: float = 1.0
    asked: dict[int, NodeId] = field(default_factory=dict)
    found: dict[NodeId, None] = field(default_factory=dict)


class Inquiries:
    """All searches of a node that are not through."""

    def __init__(
        self, node: NodeId, clusters: tuple[tuple[NodeId, ...], ...], rng: Random, *, retry_ms: float, walk: bool
    ) -> None:
        self._node = node
        self._clusters = clusters
        self._rng = rng
        self._retry_ms = retry_ms
        self._walk = walk
        self._lost: set[NodeId] = set()
        self._busy: set[NodeId] = set()
        self._open: dict[int, Inquiry] = {}

    def __len__(self) -> int:
        return len(self._open)

    @property
    def is_settled(self) -> bool:
        """Whether all that is open waits for clusters of which nobody can be reached."""
        return all(
            self._lost.issuperset(self._clusters[cluster]) for each in self._open.values() for cluster in each.waiting
        )

    # -- whom to ask -------------------------------------------------------------------------------------

    def choose(self, cluster: int, but: NodeId | None = None) -> NodeId:
        """A matcher of a cluster: one that can be reached and is not busy, and another one than `but`, if there is."""
        matchers = self._clusters[cluster]
        if but is None and not self._lost and not self._busy:
            return self._rng.choice(matchers) if len(matchers) > 1 else matchers[0]
        for rejected in (self._lost | self._busy | {but}, self._lost | {but}, self._lost):
            able = [node for node in matchers if node not in rejected]
            if able:
                return self._rng.choice(able) if len(able) > 1 else able[0]
        return self._rng.choice(matchers)

    # -- searches ----------------------------------------------------------------------------------------

    def begin(
        self, event: Event, number: int, visits: Mapping[int, tuple[int, ...]], now: float
    ) -> list[tuple[NodeId, Inquire]]:
        """Opens a search; says whom to ask what."""
        inquiry = Inquiry(event, number, dict(visits), now + self._retry_ms)
        self._open[number] = inquiry
        if self._walk:
            return self._set_out(inquiry)
        return self._ask(inquiry, visits)

    def _set_out(self, inquiry: Inquiry) -> list[tuple[NodeId, Inquire]]:
        """One message through all clusters."""
        way: list[Visit] = []
        for cluster, labels in inquiry.waiting.items():
            matcher = inquiry.asked[cluster] = self.choose(cluster)
            way.append((cluster, matcher, labels))
        cluster, matcher, labels = way[0]
        return [(matcher, Inquire(inquiry.event, self._node, inquiry.number, cluster, labels, tuple(way[1:])))]

    def _ask(self, inquiry: Inquiry, clusters: Iterable[int], *, again: bool = False) -> list[tuple[NodeId, Inquire]]:
        asked: list[tuple[NodeId, Inquire]] = []
        kind = InquireAgain if again else Inquire
        for cluster in clusters:
            matcher = inquiry.asked[cluster] = self.choose(cluster, inquiry.asked.get(cluster))
            labels = inquiry.waiting[cluster]
            asked.append((matcher, kind(inquiry.event, self._node, inquiry.number, cluster, labels)))
        return asked

    def answer(self, number: int, cluster: int, found: Iterable[NodeId]) -> Inquiry | None:
        """A cluster has answered; the search, if it is through by this."""
        inquiry = self._open.get(number)
        if inquiry is None or inquiry.waiting.pop(cluster, None) is None:
            return None
        inquiry.found.update(dict.fromkeys(found))
        if inquiry.waiting:
            return None
        del self._open[number]
        return inquiry

    # -- what goes wrong -----------------------------------------------------------------------------------

    def note_busy(self, matcher: NodeId, number: int, cluster: int) -> list[tuple[NodeId, Inquire]]:
        """A matcher has not caught up: another one is asked, if there is one."""
        self._busy.add(matcher)
        inquiry = self._open.get(number)
        if inquiry is None or inquiry.asked.get(cluster) != matcher or cluster not in inquiry.waiting:
            return []
        if self._lost.union((matcher,)).issuperset(self._clusters[cluster]):
            return []
        return self._ask(inquiry, (cluster,), again=True)

    def note_ready(self, matcher: NodeId) -> None:
        """A matcher answers, so it is busy no longer."""
        self._busy.discard(matcher)

    def lose(self, node: NodeId) -> list[tuple[NodeId, Inquire]]:
        """A node cannot be reached: what it was asked is asked of others, where there are any."""
        self._lost.add(node)
        return self._again(
            (inquiry, [cluster for cluster, matcher in inquiry.asked.items() if matcher == node])
            for inquiry in self._open.values()
        )

    def recover(self, node: NodeId) -> list[tuple[NodeId, Inquire]]:
        """A node can be reached again: what waits for others of its clusters, who cannot, is asked of it."""
        self._lost.discard(node)
        return self._again(
            (inquiry, [cluster for cluster, asked in inquiry.asked.items() if asked in self._lost])
            for inquiry in self._open.values()
        )

    def retry(self, now: float) -> list[tuple[NodeId, Inquire]]:
        """Asks once more what was not answered in time."""
        overdue = [inquiry for inquiry in self._open.values() if inquiry.due_ms <= now]
        for inquiry in overdue:
            inquiry.patience = min(_PATIENCE_MAX, 2 * inquiry.patience)
            inquiry.due_ms = now + self._retry_ms * inquiry.patience
        return self._again((inquiry, list(inquiry.waiting)) for inquiry in overdue)

    def next_due_ms(self) -> float | None:
        """When the first search is overdue; None if there is none."""
        return min((inquiry.due_ms for inquiry in self._open.values()), default=None)

    def _again(self, concerned: Iterable[tuple[Inquiry, list[int]]]) -> list[tuple[NodeId, Inquire]]:
        asked: list[tuple[NodeId, Inquire]] = []
        for inquiry, clusters in list(concerned):
            able = [
                cluster
                for cluster in clusters
                if cluster in inquiry.waiting and not self._lost.issuperset(self._clusters[cluster])
            ]
            asked += self._ask(inquiry, able, again=True)
        return asked
