"""Who has talked with whom, and who must therefore be told when a node is gone or back.

A node learns `PeerLost` and `PeerFound` of those it sent messages to or got messages from, as it would from the
connections to them. A message that reaches nobody counts as a broken connection too. Both ends of a connection that
stands again are told, also an end that was down meanwhile and knows nothing.

Cost: a crash, O(nodes + the node's own contacts); a cut, O(all contacts).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from siftcast.overlays.contract import NodeId, PeerFound, PeerLost, Stimulus


class Contacts:
    """Connections that were made, and which of them are broken."""

    __slots__ = ("_joins", "_lost", "_met", "_running")

    def __init__(self, running: Collection[NodeId], joins: Callable[[NodeId, NodeId], bool]) -> None:
        self._running = running
        self._joins = joins
        self._met: dict[NodeId, set[NodeId]] = {}
        self._lost: set[tuple[NodeId, NodeId]] = set()

    def of(self, node: NodeId) -> set[NodeId]:
        """Whom a node has sent something to; whoever sends adds to it."""
        met = self._met.get(node)
        if met is None:
            met = self._met[node] = set()
        return met

    def miss(self, node: NodeId, other: NodeId) -> bool:
        """Takes note of a message that did not get through; says whether this is news to its sender."""
        if (node, other) in self._lost:
            return False
        self._lost.add((node, other))
        self._lost.add((other, node))
        return True

    def news(self, subject: NodeId | None = None) -> Iterator[tuple[NodeId, Stimulus]]:
        """Who must be told what, after something happened to one node, or to the whole network."""
        for node, other in self._pairs(subject):
            reachable = other in self._running and self._joins(node, other)
            if node not in self._running:
                self._lost.add((node, other))  # when it is back, it must find out anew
            elif not reachable and (node, other) not in self._lost:
                self._lost.add((node, other))
                yield node, PeerLost(other)
            elif reachable and (node, other) in self._lost:
                self._lost.discard((node, other))
                yield node, PeerFound(other)

    def _pairs(self, subject: NodeId | None) -> list[tuple[NodeId, NodeId]]:
        """Connections in both directions, in an order that does not change from run to run."""
        if subject is None:
            pairs = {(node, other) for node, others in self._met.items() for other in others}
        else:
            pairs = {(subject, other) for other in self.of(subject)}
            pairs |= {(node, subject) for node, others in self._met.items() if subject in others}
        return sorted(pairs | {(b, a) for a, b in pairs})
