"""Whom a node asks to make it a member, until one does.

The coordinator makes members; anybody else answers who that is. Whoever does not answer for a while may be down, so
another is asked in between: a contact that the node began with, or a member of the latest view it was shown. As soon as
one of them names another coordinator, that is asked. The coordinator itself is asked every other time, because it may
be back.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from siftcast.overlays.contract import Effect, NodeId
from siftcast.overlays.epochs.view import View

_PATIENCE_TICKS = 10


class Doors:
    """The nodes that one may ask, in turn."""

    def __init__(self, node: NodeId, tick_ms: float, absent_ms: float) -> None:
        self._node = node
        self._absent_ms = absent_ms
        self._open_ms = 0.0
        self._patience_ms = _PATIENCE_TICKS * tick_ms
        self._contacts: tuple[NodeId, ...] = ()
        self._known: tuple[NodeId, ...] = ()
        self._version = -1
        self._turn = 0
        self._since_ms: float | None = None
        self._unanswered: dict[NodeId, float] = {}
        self._now = 0.0
        self._asked = 0

    def begin(self, contacts: Sequence[NodeId], now: float) -> None:
        """Begins with the contacts of the node."""
        self._open_ms = now
        self._contacts = self._known = tuple(contacts)

    def learn(self, contacts: Sequence[NodeId]) -> list[Effect]:
        """There are further contacts, which are asked in their turn."""
        fresh = [node for node in contacts if node not in self._contacts]
        self._contacts += tuple(fresh)
        self._known += tuple(node for node in fresh if node not in self._known and node != self._node)
        return []

    @property
    def unanswered(self) -> tuple[NodeId, ...]:
        """Who was asked a while ago, and has not answered since."""
        return tuple(node for node, since in self._unanswered.items() if self._now - since >= self._patience_ms)

    def ask(self, now: float) -> tuple[NodeId, ...]:
        """Whom to ask now; nobody, if none is known."""
        self._now = now
        if not self._known:
            return ()
        self._since_ms = now if self._since_ms is None else self._since_ms
        if now - self._since_ms >= self._patience_ms:
            self._pass(now)
        asked = self._current
        self._unanswered.setdefault(asked, now)
        return (asked,)

    def hear_of(self, sender: NodeId, view: View, now: float) -> bool:
        """A node shows a view of which this one is no member; says whether another is to be asked at once."""
        before = self._current if self._known else None
        self._unanswered.pop(sender, None)
        if view.version > self._version:
            self._version = view.version
            members = (each.node for each in view.members if each.is_expected)
            known = dict.fromkeys((view.coordinator, *self._contacts, *members))
            self._known = tuple(node for node in known if node != self._node)
            self._turn, self._since_ms = 0, now
        elif sender == self._known[0]:
            self._turn += self._turn % 2
            self._since_ms = now
        elif sender == before:
            self._pass(now)
        return self._current != before

    def are_shut(self, now: float, watched: Collection[NodeId], found: Collection[NodeId]) -> bool:
        """Whether for some time a member has found none of those whom it watches."""
        if not watched or any(node in found for node in watched):
            self._open_ms = now
        return now - self._open_ms >= self._absent_ms

    def anybody(self, view: View) -> NodeId:
        """A member, another one each time, who may know what has become of the network."""
        others = [each.node for each in view.members if each.is_expected and each.node != self._node]
        self._asked += 1
        return others[self._asked % len(others)] if others else view.coordinator

    @property
    def _current(self) -> NodeId:
        others = self._known[1:]
        return others[self._turn // 2 % len(others)] if self._turn % 2 and others else self._known[0]

    def _pass(self, now: float) -> None:
        self._turn += 1
        self._since_ms = now
