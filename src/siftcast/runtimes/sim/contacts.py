"""Who hears when a node cannot be reached, can be again, or is gone.

A node that watches (it was given contacts, or has said `Watch` or `Unwatch`) hears of those it watches and of nobody
else. What it watches ends with its life; its next one begins with its contacts.

All others hear of those they sent messages to or got messages from, as they would from the connections to them. A
message that reaches nobody counts as a broken connection too. Both ends of a connection that stands again hear of it,
also an end that was down meanwhile and knows nothing. Such a connection is forgotten when an end has left in peace or
was declared gone. It is *not* forgotten for being silent: two brokers that had nothing to say for an hour must tell
each other what they know when one of them comes back without its tables, and nobody but they could say that they need
not. A scheme that meets many and keeps few says so by watching the few.

Cost: a crash, O(those who watch the node), and O(nodes) where nodes do not watch; a cut, O(all pairs).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from siftcast.overlays.contract import NodeId, PeerFound, PeerGone, PeerLost

_UNWATCHED = 0


class News(NamedTuple):
    """What a node is to hear about another, unless it has ceased to `watch` it when the news comes."""

    node: NodeId
    stimulus: PeerLost | PeerFound | PeerGone
    watch: int = _UNWATCHED


class Contacts:
    """Connections that were made, whom nodes watch, and what of it is broken."""

    __slots__ = ("_count", "_joins", "_lost", "_met", "_running", "_watched", "_watchers")

    def __init__(self, running: Collection[NodeId], joins: Callable[[NodeId, NodeId], bool]) -> None:
        self._running = running
        self._joins = joins
        self._met: dict[NodeId, set[NodeId]] = {}
        self._lost: set[tuple[NodeId, NodeId]] = set()
        self._watched: dict[NodeId, dict[NodeId, int]] = {}
        """For each node that watches: whom, and a number that is this watch's own."""
        self._watchers: dict[NodeId, set[NodeId]] = {}
        self._count = _UNWATCHED

    def of(self, node: NodeId) -> set[NodeId]:
        """Whom a node has sent something to; whoever sends adds to it."""
        met = self._met.get(node)
        if met is None:
            met = self._met[node] = set()
        return met

    def miss(self, node: NodeId, other: NodeId) -> bool:
        """Takes note of a message that did not get through; says whether its sender is to hear of it."""
        if node in self._watched or (node, other) in self._lost:
            return False
        self._lost.add((node, other))
        self._lost.add((other, node))
        return True

    def news(self, subject: NodeId | None = None) -> Iterator[News]:
        """Who is to hear what, after something happened to one node, or to the whole network."""
        for node, other, watch in self._pairs(subject):
            reachable = self._reaches(node, other)
            if node not in self._running:
                self._lost.add((node, other))  # when it is back, it must find out again
            elif not reachable and (node, other) not in self._lost:
                self._lost.add((node, other))
                yield News(node, PeerLost(other), watch)
            elif reachable and (node, other) in self._lost:
                self._lost.discard((node, other))
                yield News(node, PeerFound(other), watch)

    # -- watching ------------------------------------------------------------------------------------

    def begin(self, node: NodeId) -> None:
        """From now on a node hears of those it watches only."""
        self._watched.setdefault(node, {})

    def watch(self, node: NodeId, peer: NodeId) -> News | None:
        """Watches a peer; says what its watcher is to hear of it first, nothing if it was watched before."""
        watched = self._watched.setdefault(node, {})
        if peer in watched:
            return None
        self._count += 1
        watched[peer] = self._count
        self._watchers.setdefault(peer, set()).add(node)
        if self._reaches(node, peer):
            self._lost.discard((node, peer))
            return News(node, PeerFound(peer), self._count)
        self._lost.add((node, peer))
        return News(node, PeerLost(peer), self._count)

    def unwatch(self, node: NodeId, peer: NodeId) -> None:
        """Ends a watch; what was on its way to the watcher is not heard any more."""
        self.begin(node)
        self.forget(node, peer)

    def end(self, node: NodeId) -> None:
        """Forgets whom a node watches, because its life is over."""
        for peer in tuple(self._watched.get(node, ())):
            self._unwatch(node, peer)

    # -- ends that are final ---------------------------------------------------------------------------

    def gone(self, subject: NodeId) -> Iterator[News]:
        """Who is to hear that a node leaves in peace: whoever can be reached now and is not cut off from it."""
        for node, other, watch in self._pairs(subject):
            if other == subject and node in self._running and (node, other) not in self._lost:
                self._lost.add((node, other))
                yield News(node, PeerGone(subject), watch)

    def counts(self, news: News) -> bool:
        """Whether news that comes in is still to be heard; after the last of a peer, it is forgotten."""
        node, stimulus, watch = news
        if watch != _UNWATCHED and self._watched.get(node, {}).get(stimulus.peer) != watch:
            return False
        if type(stimulus) is PeerGone:
            self.forget(node, stimulus.peer)
        return True

    def forget(self, node: NodeId, peer: NodeId) -> None:
        """Ends a watch and a connection, as if they had never been."""
        self._unwatch(node, peer)
        self._met.get(node, set()).discard(peer)
        self._met.get(peer, set()).discard(node)
        self._lost.discard((node, peer))

    def _unwatch(self, node: NodeId, peer: NodeId) -> None:
        if self._watched.get(node, {}).pop(peer, None) is not None:
            self._watchers[peer].discard(node)
            self._lost.discard((node, peer))

    # -- pairs ---------------------------------------------------------------------------------------

    def _reaches(self, node: NodeId, other: NodeId) -> bool:
        return other in self._running and self._joins(node, other)

    def _pairs(self, subject: NodeId | None) -> list[tuple[NodeId, NodeId, int]]:
        """Who may hear of whom, and under which watch, in an order that does not change from run to run."""
        if subject is None:
            met = {(node, other) for node, others in self._met.items() for other in others}
            watches = [(node, peer, watch) for node, of in self._watched.items() for peer, watch in of.items()]
        else:
            met = {(subject, other) for other in self._met.get(subject, ())}
            met |= {(node, subject) for node, others in self._met.items() if subject in others}
            watches = [(node, subject, self._watched[node][subject]) for node in self._watchers.get(subject, ())]
        both_ways = met | {(b, a) for a, b in met}
        return sorted([*watches, *((a, b, _UNWATCHED) for a, b in both_ways if a not in self._watched)])
