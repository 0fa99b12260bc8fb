"""Spare names: a bounded list of nodes to draw from, HyParView's passive view.

A name that comes in when the list is full takes the place of one that was sent away in exchange, as long as there are
some, and else of one drawn at random; so two nodes that exchange names lose none of them between each other.

Invariants: never over `size`, never a name twice. A list, because it is short (30 names) and drawn from: a set takes
four times the memory and cannot be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random

from siftcast.overlays.contract import NodeId


class SpareNames:
    """Nodes that are known and cost nothing."""

    __slots__ = ("_names", "_random", "_size")

    def __init__(self, size: int, random: Random) -> None:
        self._names: list[NodeId] = []
        self._random = random
        self._size = size

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[NodeId]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def sample(self, count: int, without: NodeId | None = None) -> tuple[NodeId, ...]:
        """So many names at random, or all there are."""
        names = self._names if without not in self._names else [name for name in self._names if name != without]
        return tuple(self._random.sample(names, min(count, len(names))))

    def add(self, name: NodeId) -> None:
        """Keeps a name, in place of any other if there is no room."""
        self.take((name,))

    def take(self, names: Iterable[NodeId], sent: Iterable[NodeId] = ()) -> None:
        """Keeps names, in place of those that were sent away, if there is no room."""
        kept = self._names
        replaceable = [name for name in sent if name in kept]
        for name in names:
            if name in kept:
                continue
            if len(kept) < self._size:
                kept.append(name)
                continue
            place = kept.index(replaceable.pop()) if replaceable else self._random.randrange(len(kept))
            if kept[place] in replaceable:
                replaceable.remove(kept[place])
            kept[place] = name

    def discard(self, name: NodeId) -> None:
        """Forgets a name, if it is there."""
        if name in self._names:
            self._names.remove(name)
