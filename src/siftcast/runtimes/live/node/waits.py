"""How much longer than usual a message took from another node, without a common clock.

A message says when it was sent by the monotonic clock of its sender. Taken from the clock here, that is the difference
of the two clocks and the way; the least of the last minute is the difference and the way as it is when nothing waits.
What is above it has waited: in the buffers of a node that stood still or was busy, or of a line that was.

    here − sent      4,000,012    4,000,011    4,005,013    4,000,012
    least            4,000,012    4,000,011    4,000,011    4,000,011
    waited, ms               0            0        5,002            1

The least is that of one to two minutes, because clocks drift: by some 3 ms in a minute, if they are bad. Nothing is
known before the first message of a connection; that one counts as one that did not wait.
"""

from __future__ import annotations

from math import inf

from siftcast.overlays.contract import NodeId

_WINDOW_S = 60.0


class _Least:
    """The least difference of a window, and of the one before."""

    __slots__ = ("before", "now", "since_s")

    def __init__(self, since_s: float) -> None:
        self.before = self.now = inf
        self.since_s = since_s


class Waits:
    """What is known of each node that sends."""

    def __init__(self) -> None:
        self._least: dict[NodeId, _Least] = {}

    def of(self, sender: NodeId, sent_ms: float, now_s: float) -> float:
        """How long a message has waited on its way, in ms."""
        least = self._least.get(sender)
        if least is None:
            least = self._least[sender] = _Least(now_s)
        elif now_s - least.since_s >= _WINDOW_S:
            # Where nothing came for long, the last window is all there is.
            least.before, least.now, least.since_s = least.now, inf, now_s
        took_ms = now_s * 1_000 - sent_ms
        least.now = min(least.now, took_ms)
        return took_ms - min(least.now, least.before)

    def clear(self) -> None:
        """Nobody wants to know for now."""
        self._least.clear()

    def forget(self, sender: NodeId) -> None:
        """A connection is new: it may be another process, with another clock."""
        self._least.pop(sender, None)
