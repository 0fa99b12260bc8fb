"""How well a node itself keeps up, so that a slow node blames itself before others. Lifeguard's local health.

A node that was paused, or whose own link is bad, hears from nobody in time and would accuse everyone. What hints at
that raises a score: its timers come late, its helpers do not answer either, others accuse it. Probes that succeed lower
it. All patience is multiplied by 1 + score, so that a node in doubt about itself accuses late.

Invariant: 0 ≤ score ≤ `worst`.

Paper: Dadgar, Phillips, Currey, "Lifeguard: local health awareness for more accurate failure detection", DSN-W 2018,
section IV.A.
"""

from __future__ import annotations

_WORST = 8


class Health:
    """A score that is 0 as long as nothing speaks against this node itself."""

    __slots__ = ("score",)

    def __init__(self) -> None:
        self.score = 0

    def worsen(self, by: int = 1) -> None:
        """Something hints at this node being slow."""
        self.score = min(_WORST, self.score + by)

    def improve(self) -> None:
        """A peer answered in time."""
        self.score = max(0, self.score - 1)

    def patient(self, time_ms: float) -> float:
        """How long to wait for what a healthy node would wait for so long."""
        return time_ms * (1 + self.score)
