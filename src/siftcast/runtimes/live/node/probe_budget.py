"""How much a node may measure: so many probes in a minute, and whoever wants more waits for their turn.

A scheme may want to know how far a thousand nodes are, and a person may ask all nodes to measure all others. Neither
must become a storm, so both take from one budget:

    protocol  ─┐ in turn
    people    ─┴────────▶ budget: `per_minute` at once, and as much again in each minute ──▶ begin

Of the two who ask, each is served after the other, and each in the order in which it asked; so nobody starves, and the
protocol is answered sooner or later. What is not wanted any more when its turn comes costs nothing.

Not counted are heartbeats on connections that stand anyway, which keep them alive (`echoes`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Literal

PER_MINUTE = 600
_ROUNDING = 1e-6
"""What is missing because numbers are rounded is not waited for."""
Asker = Literal["protocol", "people"]
Begin = Callable[[], bool]
"""Begins what was asked for; says whether it was still wanted."""


class ProbeBudget:
    """The budget of one node."""

    def __init__(self, loop: asyncio.AbstractEventLoop, per_minute: int = PER_MINUTE) -> None:
        self._loop = loop
        self.per_minute = per_minute
        self._left = float(per_minute)
        self._counted_s = loop.time()
        self._lines: dict[Asker, deque[tuple[int, Begin]]] = {"protocol": deque(), "people": deque()}
        self._timer: asyncio.TimerHandle | None = None

    def ask(self, asker: Asker, probes: int, begin: Begin) -> None:
        """Begins something that takes so many probes, at once or when it is its turn."""
        self._lines[asker].append((probes, begin))
        if self._timer is None:
            self._serve()

    def charge(self, probes: int) -> None:
        """Something took so many more than it said; less, if negative, and then others may begin sooner."""
        self._left -= probes
        if probes < 0 and self._timer is not None:
            self._timer.cancel()
            self._serve()

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        return sum(map(len, self._lines.values()))

    def stop(self) -> None:
        """Begins nothing any more."""
        for line in self._lines.values():
            line.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _serve(self) -> None:
        self._timer = None
        self._refill()
        while (asker := next((each for each, line in self._lines.items() if line), None)) is not None:
            probes, begin = self._lines[asker][0]
            missing = min(probes, self.per_minute) - self._left
            if missing > _ROUNDING:
                self._timer = self._loop.call_later(60 * missing / self.per_minute, self._serve)
                return
            line = self._lines.pop(asker)
            self._lines[asker] = line  # the other comes first next time
            line.popleft()
            self._left -= probes
            if not begin():
                self._left += probes

    def _refill(self) -> None:
        now_s = self._loop.time()
        gained = (now_s - self._counted_s) * self.per_minute / 60
        self._left = min(self._left + gained, float(self.per_minute))
        self._counted_s = now_s
