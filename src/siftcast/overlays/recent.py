"""The events of the last seconds: what has been here already, and what a neighbour that comes late is still given.

A peer that changes its place in an overlay would miss what was on its way meanwhile. So whoever takes it in passes on
what it had not long ago and the other wants; whoever gets an event for the second time knows its id. A node keeps one
such memory for all its places; `places` says which of them have had an event. What else it must know of an event (QoS:
where it lies; core trees: who has it) is the scheme's own `note`.

Events are passed on late as long as they are younger than `linger_ms`, wherever they are, and ids are known for twice
as long. If both were one time, an event could come again to somebody who has just forgotten it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from siftcast.model import Event

Note = TypeVar("Note")
_EVENTS_MAX = 10_000


@dataclass(slots=True)
class Kept(Generic[Note]):
    """An event, when it came, how old it was then, and which places of the node have had it."""

    event: Event
    note: Note
    born_ms: float
    came_ms: float
    places: set[int]
    handed: set[str]
    """The subscriptions here that were handed it; they may have moved from place to place."""


class Recent(Generic[Note]):
    """What a node remembers of the events that came through it."""

    __slots__ = ("_kept", "_linger_ms")

    def __init__(self, linger_ms: float) -> None:
        self._linger_ms = linger_ms
        self._kept: dict[str, Kept[Note]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, event: Event, note: Note, elapsed_ms: float, now: float) -> Kept[Note]:
        """Remembers an event, if it is new."""
        kept = self._kept.get(event.id)
        if kept is None:
            self._kept[event.id] = kept = Kept(event, note, now - elapsed_ms, now, set(), set())
            if len(self._kept) > _EVENTS_MAX:
                del self._kept[next(iter(self._kept))]
        return kept

    def get(self, id: str) -> Kept[Note]:
        """An event that is remembered."""
        return self._kept[id]

    def at(self, place: int, now: float) -> Iterator[Kept[Note]]:
        """What a place has had not long ago."""
        youngest = now - self._linger_ms
        return (kept for kept in self._kept.values() if kept.born_ms > youngest and place in kept.places)

    def expire(self, now: float) -> None:
        """Forgets what came too long ago."""
        for id, kept in tuple(self._kept.items()):
            if now - kept.came_ms < 2 * self._linger_ms:
                break
            del self._kept[id]
