"""How far away other nodes are: half the time that a heartbeat takes there and back.

Two ask for it: the protocol (`MeasureDelay`), which is answered each time, with None if the node cannot be reached in
time; and others (`siftcast members`, `siftcast network replan`, `ages`), for whom each connection is measured now and
then. They are told the median of the last `REMEMBERED`: one heartbeat may have waited behind much else. The same goes
for clients whose subscriptions have a bound (`bounds`). `ages` goes by the least of these instead: it adds how long
each message has waited, and would count a busy moment twice.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from statistics import median
from time import monotonic

from siftcast.overlays.contract import DelayMeasured, NodeId, Stimulus
from siftcast.runtimes.live.wire.connection import Connection
from siftcast.runtimes.live.wire.frames import Heartbeat

REMEMBERED = 5


class Echoes:
    """Heartbeats that are on their way there and back."""

    def __init__(self, loop: asyncio.AbstractEventLoop, tell: Callable[[Stimulus], object]) -> None:
        self._recent_ms: dict[NodeId, deque[float]] = {}
        self.delays_ms: dict[NodeId, float] = {}
        """How far away each node is that was measured, connected or not."""
        self.least_ms: dict[NodeId, float] = {}
        """How far away each was when nothing waited, by the same measurements."""
        self.wanted: dict[NodeId, int] = {}
        """How many measurements wait for a node to be reached."""
        self._loop = loop
        self._tell = tell
        self._asked: dict[int, tuple[NodeId, float, bool]] = {}
        self._looked_at: set[NodeId] = set()
        """Those to whom a heartbeat is on its way that nobody has to be told of."""
        self._count = 0

    def ask(self, number: NodeId, connection: Connection, *, for_protocol: bool = True) -> None:
        """Sends a heartbeat that comes back."""
        self._count += 1
        self._asked[self._count] = number, monotonic(), for_protocol  # a loop reads its clock once a turn
        connection.send(Heartbeat(self._count, echo=True))

    def look(self, number: NodeId, connection: Connection) -> None:
        """Measures for people, unless such a heartbeat is on its way already."""
        if number not in self._looked_at:
            self._looked_at.add(number)
            self.ask(number, connection, for_protocol=False)

    def want(self, number: NodeId, within_s: float) -> None:
        """Measures a node once it is connected; if it is not by then, the answer is that nobody knows."""
        self.wanted[number] = self.wanted.get(number, 0) + 1
        self._loop.call_later(within_s, self._give_up, number)

    def _give_up(self, number: NodeId) -> None:
        for _ in range(self.wanted.pop(number, 0)):
            self._tell(DelayMeasured(number, None))

    def joined(self, number: NodeId, connection: Connection) -> None:
        """A node is connected; what went over another connection may never be answered."""
        self._looked_at.discard(number)
        for _ in range(self.wanted.pop(number, 0)):
            self.ask(number, connection)
        self.look(number, connection)

    def answered(self, echo: int, number: NodeId) -> None:
        """A heartbeat came back."""
        asked = self._asked.pop(echo, None)
        if asked is None or asked[0] != number:
            return
        if not asked[2]:
            self._looked_at.discard(number)
        delay_ms = (monotonic() - asked[1]) * 1_000 / 2
        recent = self._recent_ms.setdefault(number, deque(maxlen=REMEMBERED))
        recent.append(delay_ms)
        self.delays_ms[number], self.least_ms[number] = median(recent), min(recent)
        if asked[2]:
            self._tell(DelayMeasured(number, delay_ms))

    def lost(self, number: NodeId) -> None:
        """A node is not connected any more."""
        self._looked_at.discard(number)
        for echo, (asked, _, for_protocol) in tuple(self._asked.items()):
            if asked == number:
                del self._asked[echo]
                if for_protocol:
                    self._tell(DelayMeasured(number, None))

    def forget(self, number: NodeId) -> None:
        """A node is gone for good."""
        self._recent_ms.pop(number, None)
        self.delays_ms.pop(number, None)
        self.least_ms.pop(number, None)
