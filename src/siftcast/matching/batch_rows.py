"""How many events the next call of a matcher takes, judged by the call before.

Enough that a fast engine is not held up by the cost of a call; so few that a slow one shows progress and notices an
interrupt several times per second; and never so many that their pairs fill the memory: a thousand events may match
nothing, or have a thousand million matches.
"""

from __future__ import annotations

_ROWS_FIRST, _ROWS_MAX = 256, 65_536
_GROWTH_MAX, _SHRINKING_MAX = 8.0, 0.5
_CALL_S = 0.2
_PAIRS_MAX = 4_000_000


class BatchRows:
    """A number of events, `count`, that follows what matching them costs."""

    def __init__(self) -> None:
        self.count = _ROWS_FIRST

    def adapt(self, rows: int, pairs: int, took_s: float) -> None:
        """Learns from a call: how many events it had, how many pairs it found, and how long it took."""
        wanted = rows * min(_GROWTH_MAX, max(_SHRINKING_MAX, _CALL_S / max(took_s, 1e-6)))
        affordable = rows * _PAIRS_MAX / max(pairs, 1)
        self.count = int(min(_ROWS_MAX, max(1, min(wanted, affordable))))
