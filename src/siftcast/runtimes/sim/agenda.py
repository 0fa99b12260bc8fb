"""What is to happen, ordered by time and, at equal times, by the order in which it was put there.

Times are cut into slots of a millisecond. What belongs to a later slot is only appended to the list of that slot; a
list is sorted when its slot comes, and read from its end:

    soon (a heap)        slot 17 (sorted)         slots 18, 19, 31 … (lists, in no order)
    ┌ put there while    ┌ whatever was put       ┌ whatever is put there
    └ slot 17 is read    └ there before           └ for later

One heap of everything costs twice as much with ten thousand nodes: tens of thousands of entries lie all over the
memory, and each that is taken out moves fifteen others. Cost: O(1) to put something there, O(log of a slot) to take it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import chain
from typing import Any

from siftcast.overlays.contract import NodeId

Entry = tuple[float, int, NodeId, Any]
_LAST_SLOT = 2**53
"""Of times beyond this, which no run reaches, the order is decided when it comes."""


class Agenda:
    """Entries of (time, number, node, item)."""

    __slots__ = ("_near", "_slot", "_slots", "_slots_ahead", "_soon", "count")

    def __init__(self) -> None:
        self.count = 0
        self._slot = -1
        self._near: list[Entry] = []  # in descending order
        self._soon: list[Entry] = []
        self._slots: dict[int, list[Entry]] = {}
        self._slots_ahead: list[int] = []

    def push(self, time_ms: float, node: NodeId, item: Any) -> int:
        """Puts something there; returns its number, which is its own."""
        self.count = count = self.count + 1
        self._put(int(time_ms) if time_ms < _LAST_SLOT else _LAST_SLOT, (time_ms, count, node, item))
        return count

    def push_all(
        self, now: float, latency_ms: Callable[[NodeId], float], destinations: Iterable[NodeId], item: Any
    ) -> None:
        """Puts the same thing there for each destination, after its latency: what a simulation does most often."""
        count, slots, current = self.count, self._slots, self._slot
        for node in destinations:
            count += 1
            time = now + latency_ms(node)
            slot = int(time)
            waiting = slots.get(slot)
            if waiting is not None and slot > current:
                waiting.append((time, count, node, item))
            else:
                self._put(slot, (time, count, node, item))
        self.count = count

    def due(self, limit_ms: float) -> Iterator[Entry]:
        """Takes out what is next, one after the other, until it is after a time; more may be put there meanwhile.

        A generator, because a call for each entry would take as long as all the rest of it.
        """
        soon = self._soon
        while True:
            near = self._near
            while near or soon:
                if near and not (soon and soon[0] < near[-1]):
                    if near[-1][0] > limit_ms:
                        return
                    yield near.pop()
                elif soon[0][0] > limit_ms:
                    return
                else:
                    yield heappop(soon)
            if not self._slots_ahead or self._slots_ahead[0] > limit_ms:
                return
            self._advance()

    def __iter__(self) -> Iterator[Entry]:
        """All entries, in no order."""
        return chain(self._near, self._soon, *self._slots.values())

    def _put(self, slot: int, entry: Entry) -> None:
        if slot <= self._slot:
            heappush(self._soon, entry)
            return
        waiting = self._slots.get(slot)
        if waiting is None:
            self._slots[slot] = [entry]
            heappush(self._slots_ahead, slot)
        else:
            waiting.append(entry)

    def _advance(self) -> None:
        self._slot = slot = heappop(self._slots_ahead)
        self._near = self._slots.pop(slot)
        self._near.sort(reverse=True)
