"""How far away other nodes are: half the time that a heartbeat takes there and back.

Two ask for it: the protocol and people, who are answered with the median of several (`measuring`); and whoever is shown
the network or has it planned (`siftcast members`, `siftcast network replan`, `ages`), for whom each connection is
looked at now and then. They see the median of the last `REMEMBERED`, whoever asked for them: one heartbeat may have
waited behind much else. The same goes for clients whose subscriptions have a bound (`bounds`). `ages` goes by the least
of these instead: it adds how long each message has waited, and would count a busy moment twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from statistics import median
from time import monotonic

from siftcast.overlays.contract import NodeId
from siftcast.runtimes.live.wire.connection import Connection
from siftcast.runtimes.live.wire.frames import Heartbeat

REMEMBERED = 5
Heard = Callable[[float | None], None]
"""Is given the delay, or None if the heartbeat does not come back."""


class Echoes:
    """Heartbeats that are on their way there and back."""

    def __init__(self) -> None:
        self._recent_ms: dict[NodeId, deque[float]] = {}
        self.delays_ms: dict[NodeId, float] = {}
        """How far away each node is that was measured, connected or not."""
        self.least_ms: dict[NodeId, float] = {}
        """How far away each was when nothing waited, by the same measurements."""
        self._asked: dict[int, tuple[NodeId, float, Heard | None]] = {}
        self._looked_at: set[NodeId] = set()
        """Those to whom a heartbeat is on its way that nobody has to be told of."""
        self._count = 0

    def ask(self, number: NodeId, connection: Connection, heard: Heard | None) -> None:
        """Sends a heartbeat that comes back."""
        self._count += 1
        self._asked[self._count] = number, monotonic(), heard  # a loop reads its clock once a turn
        connection.send(Heartbeat(self._count, echo=True))

    def look(self, number: NodeId, connection: Connection) -> None:
        """Measures for whoever is shown it, unless such a heartbeat is on its way already."""
        if number not in self._looked_at:
            self._looked_at.add(number)
            self.ask(number, connection, None)

    def joined(self, number: NodeId, connection: Connection) -> None:
        """A node is connected; what went over another connection may never be answered."""
        self.lost(number)
        self.look(number, connection)

    def answered(self, echo: int, number: NodeId) -> float | None:
        """A heartbeat came back; how far its node is, by all that were not long ago. None if it was none of these."""
        asked = self._asked.get(echo)
        if asked is None or asked[0] != number:
            return None
        del self._asked[echo]
        _, sent_s, heard = asked
        if heard is None:
            self._looked_at.discard(number)
        delay_ms = (monotonic() - sent_s) * 1_000 / 2
        recent = self._recent_ms.setdefault(number, deque(maxlen=REMEMBERED))
        recent.append(delay_ms)
        self.delays_ms[number], self.least_ms[number] = median(recent), min(recent)
        if heard is not None:
            heard(delay_ms)
        return self.delays_ms[number]

    def lost(self, number: NodeId) -> None:
        """A node is not connected any more."""
        self._looked_at.discard(number)
        for echo, (asked, _, heard) in tuple(self._asked.items()):
            if asked == number:
                del self._asked[echo]
                if heard is not None:
                    heard(None)

    def forget(self, number: NodeId) -> None:
        """A node is gone for good."""
        self._recent_ms.pop(number, None)
        self.delays_ms.pop(number, None)
        self.least_ms.pop(number, None)
