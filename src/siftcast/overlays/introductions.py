"""Who was introduced to whom: the contacts a node began with, senders of what it received, and whom that introduced.

A protocol that talks to anybody else works where a number is enough to be reached, as in the simulator, and nowhere
else. So runs can be strict: then they stop at the first such message. What was introduced once stays so, also over a
crash, because runtimes keep addresses; a node that has left begins from nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from siftcast.overlays.contract import Message, NodeId


class Introductions:
    """For each node, those it may talk to."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[NodeId, set[NodeId]] = {}

    def meet(self, node: NodeId, peers: Iterable[NodeId]) -> None:
        """Introduces peers to a node."""
        self._known.setdefault(node, set()).update(peers)

    def hear(self, node: NodeId, sender: NodeId, message: Message) -> None:
        """Takes note of whom a message introduces to its receiver, its sender among them."""
        known = self._known.setdefault(node, set())
        known.add(sender)
        known.update(message.introduces)

    def check(self, node: NodeId, peers: Iterable[NodeId], what: str) -> None:
        """Raises AssertionError if one of the peers was never introduced to a node."""
        known = self._known.get(node, set())
        for peer in peers:
            if peer not in known:
                raise AssertionError(f"node {node} wants {what} for node {peer}, which was never introduced to it")

    def forget(self, node: NodeId) -> None:
        """Forgets all that a node knew."""
        self._known.pop(node, None)
