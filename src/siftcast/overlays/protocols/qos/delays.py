"""How far away other nodes are, by the last measurements: one that was taken while a machine was busy does not stay.

    known     the middle of the last three; of two, the less
    least     the least of them

What is said to be impossible goes by the least: a node that was busy twice in a row is no farther than before.

Each round somebody is measured again (`to_measure`): a parent, and while a bound is missed somebody else that was
measured before, because a publisher that is taken for farther than it is makes a bound look impossible.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from random import Random

from siftcast.overlays.contract import NodeId

_REMEMBERED = 3


class Delays:
    """What one node has measured."""

    __slots__ = ("_last", "_random", "asked", "known", "least")

    def __init__(self, random: Random) -> None:
        self.known: dict[NodeId, float] = {}
        """How far away each node is."""
        self.least: dict[NodeId, float] = {}
        """How far away each node was at the best of times, not long ago."""
        self.asked: set[NodeId] = set()
        """Those that were measured, or are being."""
        self._last: dict[NodeId, deque[float]] = {}
        self._random = random

    def note(self, node: NodeId, delay_ms: float | None) -> bool:
        """A measurement has ended, with nothing if the node could not be reached; whether that changes anything."""
        if delay_ms is None:
            self.asked.discard(node)
            return False
        last = self._last.setdefault(node, deque(maxlen=_REMEMBERED))
        last.append(delay_ms)
        before = self.known.get(node), self.least.get(node)
        self.known[node], self.least[node] = sorted(last)[(len(last) - 1) // 2], min(last)
        return before != (self.known[node], self.least[node])

    def to_measure(self, parents: Collection[NodeId], is_missed: bool) -> list[NodeId]:
        """Whom to measure again in a round."""
        found = [self._random.choice(sorted(parents))] if parents else []
        others = sorted(self.asked.difference(parents)) if is_missed else []
        if others:
            found.append(self._random.choice(others))
        return found

    def keep(self, nodes: Collection[NodeId]) -> None:
        """Drops all but some nodes."""
        self.asked.intersection_update(nodes)
        for node in [node for node in self._last if node not in nodes]:
            del self._last[node], self.known[node], self.least[node]
