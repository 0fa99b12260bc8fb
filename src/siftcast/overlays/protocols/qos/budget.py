"""The bandwidth of a place: what it may receive, so that it can pass all of it on to as many children as there may be.

    R(s) ≤ B(s) / (m + 1)        the thesis, section 2.2: an event is received once and passed on up to m times

It is compared with rates (`rates.py`) whenever a child wants more than is received already, and each round. Its own
subscriptions are never cut: if they alone are too much, that is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


@dataclass(slots=True)
class Budget:
    """Bytes per second: what may be received, what is, and how much of that its own subscriptions want."""

    limit: float = inf
    rate: float = 0.0
    own_rate: float = 0.0

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return self.limit < inf

    @property
    def spare(self) -> float:
        """How much more may be taken on."""
        return max(0.0, self.limit - self.rate) if self.is_limited else inf

    @property
    def is_exceeded(self) -> bool:
        """Whether its own subscriptions alone are too much."""
        return self.own_rate > self.limit
