"""Who has confirmed what: events that were handed to a delivery, and the destinations that have not confirmed them.

A matcher that hands an event on opens an account for its search; when all destinations have confirmed, or are out of
reach, it is closed, and the publisher's node is answered. If that asks again meanwhile, because an answer or a receipt
was lost, only those who have not confirmed are sent the event once more, and a closed account is answered at once.
Accounts that nobody asks about any more go when there are too many.
"""

from __future__ import annotations

from collections.abc import Iterable

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.layered.messages import Search

_OPEN_MAX = 65_536
_CLOSED_MAX = 16_384


class ReceiptBook:
    """Destinations that are awaited, by search."""

    __slots__ = ("_closed", "_open")

    def __init__(self) -> None:
        self._open: dict[Search, set[NodeId]] = {}
        self._closed: dict[Search, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    def open(self, search: Search, destinations: Iterable[NodeId]) -> set[NodeId]:
        """Awaits these, if the search is not known; says who has not confirmed, nobody if it is closed."""
        waiting = self._open.get(search)
        if waiting is None:
            listed = () if search in self._closed else set(destinations)
            if not listed:
                return set()
            waiting = self._open[search] = set(listed)
            if len(self._open) > _OPEN_MAX:
                del self._open[next(iter(self._open))]
        return set(waiting)

    def confirm(self, search: Search, node: NodeId) -> bool:
        """A destination has it; True if it was the last one."""
        waiting = self._open.get(search)
        if waiting is None:
            return False
        waiting.discard(node)
        if waiting:
            return False
        del self._open[search]
        self._closed[search] = None
        if len(self._closed) > _CLOSED_MAX:
            del self._closed[next(iter(self._closed))]
        return True

    def lose(self, node: NodeId) -> list[Search]:
        """A destination cannot be reached: nobody waits for it. The searches that are through by this."""
        return [
            search
            for search in [each for each, waiting in self._open.items() if node in waiting]
            if self.confirm(search, node)
        ]
