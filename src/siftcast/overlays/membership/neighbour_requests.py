"""Requests to be neighbours that were not answered yet, and refusals that count until the next shuffle.

Whoever is asked is watched meanwhile, so that one that is down is noticed by its connection and not by the clock; where
no connection says so, `request_ms` does. One timer serves all requests: it is set for the first that is due.

Invariant: as long as a request is open, a timer runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from siftcast.overlays.contract import Effect, Message, NodeId, SendMessage, SetTimer, Watch
from siftcast.overlays.membership.view_messages import NeighbourRequest

REQUESTS_TIMER = "view/requests"


class NeighbourRequests:
    """Who was asked, until when to wait, and how urgently."""

    __slots__ = ("_is_timed", "_open", "_request_ms", "refused")

    def __init__(self, request_ms: float) -> None:
        self.refused: set[NodeId] = set()
        """Who need not be asked again before the next shuffle."""
        self._request_ms = request_ms
        self._open: dict[NodeId, tuple[float, bool]] = {}
        self._is_timed = False

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, peer: object) -> bool:
        return peer in self._open

    def __iter__(self) -> Iterator[NodeId]:
        return iter(self._open)

    def ask(self, peer: NodeId, now: float, *, urgent: bool, message: Message | None = None) -> list[Effect]:
        """Asks a peer, by a request or by another message that is answered alike."""
        self._open[peer] = now + self._request_ms, urgent
        effects: list[Effect] = [Watch(peer), SendMessage(message or NeighbourRequest(urgent), (peer,))]
        if not self._is_timed:
            self._is_timed = True
            effects.append(SetTimer(REQUESTS_TIMER, self._request_ms))
        return effects

    def close(self, peer: NodeId) -> bool | None:
        """Nothing is asked of a peer any more; says whether what was asked was urgent, None if nothing was."""
        request = self._open.pop(peer, None)
        return None if request is None else request[1]

    def expire(self, now: float) -> list[NodeId]:
        """Closes the requests that were not answered in time; whose they were."""
        overdue = [peer for peer, (until_ms, _) in self._open.items() if until_ms <= now]
        for peer in overdue:
            del self._open[peer]
        return overdue

    def wait(self, now: float) -> list[Effect]:
        """Sets the timer again after it fired, if requests are open."""
        self._is_timed = bool(self._open)
        if not self._open:
            return []
        return [SetTimer(REQUESTS_TIMER, max(1.0, min(until_ms for until_ms, _ in self._open.values()) - now))]
