"""How soon a crash is noticed, and who was accused although it ran.

A node says what it found out about a peer: its runtime that a connection broke (`peer lost`), or its own failure
detector that the peer is silent (`reported`, with the peer: `suspected`, `lost`, `found`). A crash is detected when the
first node says that the peer is lost. A word against a node that runs and is not cut off from who says it is false: as
a suspicion it does little harm, as a loss it costs a neighbour.

Crashes of nodes that nobody watches, because all who did crashed at the same time, are nobody's to detect: they count
as undetected, and a run that asserts on that must leave them time to come back.

Cost: one pass over the rows about peers and nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from siftcast.overlays.contract import NodeId
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim.checkers.columns import Floats, rows_of
from siftcast.runtimes.sim.checkers.outcomes import Outcome, outcome_of

_DOWN = ("crashed", "left")
_BACK = ("restarted", "joined")
_FOREVER = float("inf")
_KINDS = (*_DOWN, *_BACK, "cut", "healed", "peer lost", "reported")


@dataclass(frozen=True, slots=True)
class Detection:
    """Crashes and the time until the first node noticed; accusations, true and false."""

    delays_ms: Floats
    undetected: tuple[NodeId, ...]
    suspicions: int
    losses: int
    false_suspicions: int
    false_losses: int

    @property
    def outcome(self) -> Outcome:
        """Passed, if every crash was detected and nobody was lost that ran; vacuous without any crash."""
        crashes = len(self.delays_ms) + len(self.undetected)
        return outcome_of(faults=len(self.undetected) + self.false_losses, required=crashes)


def detection(trace: Trace, *, settle_ms: float = 0.0) -> Detection:
    """What nodes found out about each other in a run.

    Accusations are not judged while a cut stands, and for `settle_ms` after it was healed or the accused came back.
    """
    down: dict[NodeId, float] = {}
    waiting: set[NodeId] = set()
    delays: list[float] = []
    said = {"suspected": 0, "lost": 0}
    false = {"suspected": 0, "lost": 0}
    is_cut, healed_ms = False, -_FOREVER
    back_ms: dict[NodeId, float] = {}
    for row in rows_of(trace, _KINDS).to_pylist():
        kind, node, peer = row["kind"], row["node"], row["peer"]
        if kind == "crashed":
            down[node] = row["time_ms"]
            waiting.add(node)
        elif kind in _DOWN:
            down[node] = row["time_ms"]
        elif kind in _BACK:
            if down.pop(node, None) is not None:
                back_ms[node] = row["time_ms"]
            waiting.discard(node)
        elif kind in ("cut", "healed"):
            is_cut, healed_ms = kind == "cut", row["time_ms"]
        elif (word := _word(row)) in said and peer is not None:
            said[word] += kind == "reported"
            if peer in down:
                if word == "lost" and peer in waiting:
                    waiting.discard(peer)
                    delays.append(row["time_ms"] - down[peer])
            elif kind == "reported" and not is_cut:
                calm_ms = row["time_ms"] - settle_ms
                false[word] += calm_ms >= healed_ms and calm_ms >= back_ms.get(peer, -_FOREVER)
    return Detection(
        np.array(delays, dtype=np.float64),
        tuple(sorted(waiting)),
        said["suspected"],
        said["lost"],
        false["suspected"],
        false["lost"],
    )


def _word(row: Mapping[str, object]) -> str:
    """What a row says about a peer."""
    if row["kind"] == "peer lost":
        return "lost"
    return str(row["message"]).partition(":")[0]
