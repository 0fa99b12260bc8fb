"""What a node sends and whom it watches while it handles one stimulus.

Two places of a node may be each other's contacts. What one sends to the other does not leave the node: it waits here
until the node has done with what it is at.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable

from siftcast.overlays.contract import Effect, Message, NodeId, SendMessage, Unwatch, Watch
from siftcast.overlays.protocols.homed.cube import Place


class Post:
    """Effects of a turn, and messages of the node to itself."""

    __slots__ = ("_node", "_watched", "effects", "inner")

    def __init__(self, node: NodeId) -> None:
        self._node = node
        self._watched: dict[NodeId, Counter[int]] = {}
        """How often each of a node's places is wanted: several places of this one may have the same contact."""
        self.effects: list[Effect] = []
        self.inner: deque[Message] = deque()

    def send(self, node: NodeId, message: Message) -> None:
        """To a node, or to this one."""
        if node == self._node:
            self.inner.append(message)
        else:
            self.effects.append(SendMessage(message, (node,)))

    def send_all(self, nodes: Iterable[NodeId], message: Message) -> None:
        """To each of these but this one."""
        others = tuple(node for node in dict.fromkeys(nodes) if node != self._node)
        if others:
            self.effects.append(SendMessage(message, others))

    def add(self, effect: Effect) -> None:
        """Whatever else is wanted."""
        self.effects.append(effect)

    def watch(self, place: Place) -> None:
        """Wants to hear when the node of a place cannot be reached."""
        node, serial = place
        if node == self._node:
            return
        places = self._watched.get(node)
        if places is None:
            places = self._watched[node] = Counter()
            self.effects.append(Watch(node))
        places[serial] += 1

    def unwatch(self, place: Place) -> None:
        """Does not want to any more, once for each time it wanted to."""
        node, serial = place
        places = self._watched.get(node)
        if places is None or serial not in places:
            return
        places[serial] -= 1
        if not places[serial]:
            del places[serial]
        if not places:
            del self._watched[node]
            self.effects.append(Unwatch(node))

    def take(self) -> list[Effect]:
        """The effects of the turn, which is over."""
        effects, self.effects = self.effects, []
        return effects
