"""Nodes that are not watched: connections that last while they are used, and what waits for one to be made.

A connection that neither end had a use for within IDLE_S ends: an end that has none says so (`Unneeded`), and the other
closes it if it has none either. So an end that watches the other is never hung up on. What is sent to a node that has
to be called first waits: WAITING_MAX messages, for DEMAND_S.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from siftcast.overlays.contract import NodeId
from siftcast.runtimes.live.wire.connection import Connection
from siftcast.runtimes.live.wire.node_frames import Unneeded

IDLE_S = 30.0
Pending = bytes | Callable[[], bytes]
"""A frame, or what makes one when it is sent, because it says how old its event is by then."""
WAITING_MAX = 256
DEMAND_S = 10.0


class Guests(dict[NodeId, Connection]):
    """The connections, and when each was used last."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop
        self._used_at: dict[NodeId, float] = {}

    def receive(self, number: NodeId, connection: Connection) -> None:
        """Has a connection last while it is used."""
        self[number] = connection
        self._used_at[number] = self._loop.time()

    def remove(self, number: NodeId) -> Connection | None:
        """The connection of a node that is no guest any more, if it was one."""
        self._used_at.pop(number, None)
        return self.pop(number, None)

    def use(self, number: NodeId) -> None:
        """Something came from a guest, or goes to it."""
        if number in self:
            self._used_at[number] = self._loop.time()

    def end_unneeded(self, number: NodeId) -> None:
        """The other end has no use for a connection; it ends, if this one has none either."""
        if number in self and self._is_idle(number):
            self[number].close("nobody uses it")

    def say_unneeded(self) -> None:
        """Tells those that were not used for a while."""
        for number, connection in self.items():
            if self._is_idle(number) and not connection.blocked:
                connection.send(Unneeded())

    def _is_idle(self, number: NodeId) -> bool:
        return self._loop.time() - self._used_at[number] >= IDLE_S


class Waiting:
    """What waits for nodes that are called; `on_dropped` counts what waited too long."""

    def __init__(self, loop: asyncio.AbstractEventLoop, on_dropped: Callable[[int], None]) -> None:
        self._loop = loop
        self._on_dropped = on_dropped
        self._frames: dict[NodeId, list[Pending]] = {}

    def __contains__(self, number: NodeId) -> bool:
        return number in self._frames

    def __iter__(self) -> Iterator[NodeId]:
        return iter(tuple(self._frames))

    def put(self, number: NodeId, frame: Pending) -> None:
        """Keeps a frame until its node is called; drops it if too many wait."""
        frames = self._frames.get(number)
        if frames is None:
            frames = self._frames[number] = []
            self._loop.call_later(DEMAND_S, self._end, number, frames)
        if len(frames) < WAITING_MAX:
            frames.append(frame)
        else:
            self._on_dropped(1)

    def take(self, number: NodeId) -> list[bytes]:
        """What waits for a node, which is there now."""
        return [each if isinstance(each, bytes) else each() for each in self._frames.pop(number, ())]

    def drop(self, number: NodeId) -> None:
        """Nothing waits for a node any more."""
        self._end(number, self._frames.get(number))

    def _end(self, number: NodeId, frames: list[Pending] | None) -> None:
        if frames is not None and self._frames.get(number) is frames:
            del self._frames[number]
            self._on_dropped(len(frames))
