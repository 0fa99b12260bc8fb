"""The bound of a place: whether it is kept, since when it is not, and whether anybody could keep it."""

from __future__ import annotations

from math import inf


class Bound:
    """How late events may come to one place."""

    __slots__ = ("bound_ms", "is_impossible", "missed_since_ms")

    def __init__(self, bound_ms: float) -> None:
        self.bound_ms = bound_ms
        self.missed_since_ms: float | None = None
        """Since when it has been missed; None while it is kept."""
        self.is_impossible = False
        """Whether even a publisher itself is farther away."""

    @property
    def is_finite(self) -> bool:
        """Whether there is one."""
        return self.bound_ms < inf

    def check(self, reach_ms: float, direct_ms: float, now: float) -> None:
        """Events come after `reach_ms`, and could come after `direct_ms` at best."""
        self.is_impossible = direct_ms > self.bound_ms
        if reach_ms <= self.bound_ms:
            self.missed_since_ms = None
        elif self.missed_since_ms is None:
            self.missed_since_ms = now
