"""When something was broken: servers that were down, and cuts of the network.

    crashed 3 ────────── restarted 3        a disturbance with an end
    cut ───────────────────────────▶        one without: it lasts to the end of the run
    joined 9                                a server that was not there before: a moment
    leaving 4 ─── left 4                    one that leaves in peace: it is missed only while it hands over

A server that is down is back when it restarts or joins, whichever it is; a cut ends when it is healed. To heal what is
whole changes nothing, and is no disturbance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim.checkers.columns import Flags, Floats, rows_of
from siftcast.runtimes.sim.recording import NOBODY

_DOWN = ("crashed", "left")
_BACK = ("restarted", "joined")
_FOREVER = float("inf")


@dataclass(frozen=True, slots=True)
class Disturbance:
    """`kind` is how it began: `crashed`, `left`, `leaving`, `joined` or `cut`; `node` is -1 for a cut."""

    kind: str
    node: int
    start_ms: float
    end_ms: float = _FOREVER

    @property
    def is_over(self) -> bool:
        """Whether it ended before the run did."""
        return self.end_ms < _FOREVER

    def __str__(self) -> str:
        if self.kind == "cut":
            what, back = "the network was cut", "healed"
        elif self.kind == "leaving":
            what, back = f"server {self.node} was asked to leave", "left"
        else:
            what, back = f"server {self.node} {self.kind}", "came back"
        if self.kind == "joined":
            return f"{what} at {self.start_ms:,.0f} ms"
        end = f"and {back} at {self.end_ms:,.0f} ms" if self.is_over else f"and never {back}"
        return f"{what} at {self.start_ms:,.0f} ms {end}"


def disturbances(trace: Trace) -> tuple[Disturbance, ...]:
    """All that was broken in a run, in the order in which it began."""
    begun: dict[int, Disturbance] = {}
    found: list[Disturbance] = []
    for row in rows_of(trace, (*_DOWN, *_BACK, "leaving", "cut", "healed")).to_pylist():
        kind, time = row["kind"], row["time_ms"]
        node = NOBODY if kind in ("cut", "healed") else row["node"]
        first = begun.pop(node, None)
        if first is not None:
            found.append(Disturbance(first.kind, node, first.start_ms, time))
        in_peace = kind == "left" and first is not None and first.kind == "leaving"
        if (kind in _DOWN and not in_peace) or kind in ("leaving", "cut"):  # a cut may also replace another
            begun[node] = Disturbance(kind, node, time)
        elif kind == "joined" and first is None:
            found.append(Disturbance(kind, node, time, time))
    return tuple(sorted([*found, *begun.values()], key=lambda each: (each.start_ms, each.node)))


def disturbed(found: Sequence[Disturbance], times: Floats, settle_ms: float, repair_ms: float | None) -> Flags:
    """Which times lie within a disturbance, or shortly before or after it.

    With `repair_ms`, a network has recovered so long after something broke, even if it is still broken.
    """
    flags: Flags = np.zeros(len(times), dtype=np.bool_)
    for each in found:
        last = each.end_ms if repair_ms is None else min(each.end_ms, each.start_ms + repair_ms)
        flags |= (times >= each.start_ms - settle_ms) & (times <= last + settle_ms)
        if repair_ms is not None and each.is_over:
            flags |= (times >= each.end_ms - settle_ms) & (times <= each.end_ms + settle_ms)
    return flags
