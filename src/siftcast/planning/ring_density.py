"""How many nodes there are, estimated where no node knows all: from how dense identities are around one of them.

Identities are drawn at random from a circle (the layering paper's, 4.2, and Chord's), so the k nodes that follow one of
them are k arrivals of a Poisson process: over the arc to the k-th there are k - 1 between, and

    N ≈ 1 + (k - 1) / arc        without bias, with a relative error of 1 / √(k - 2)

A node must know *all* of its k successors; the far entries of a routing table are sparse by design and say nothing.

Only who proposes a plan needs N. Rejected: that each node estimates it for itself and finds its cluster by that, as
printed; nodes whose estimates differ by 1 % put an event and its subscriptions into different clusters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf, sqrt

IDENTITY_BITS = 63


@dataclass(frozen=True, slots=True)
class NodeEstimate:
    """How many nodes there probably are, and the relative standard error of that."""

    nodes: float
    error: float

    @property
    def likely(self) -> tuple[int, int]:
        """Between these the number lies in about two of three cases."""
        return max(1, round(self.nodes * (1 - self.error))), round(self.nodes * (1 + self.error))

    def __str__(self) -> str:
        if not self.error:
            return f"{round(self.nodes):,} nodes"
        return f"about {round(self.nodes):,} nodes ± {self.error:.0%}"


def estimate_nodes(
    own: int, known: Iterable[int], *, near: int | None = None, bits: int = IDENTITY_BITS
) -> NodeEstimate:
    """From the identities that a node knows, of which it knows all of its `near` successors; without it, all nodes."""
    size = 1 << bits
    distances = sorted({(identity - own) % size for identity in known} - {0})
    if near is None or near > len(distances):
        return NodeEstimate(1.0 + len(distances), 0.0)  # who has fewer than so many successors knows all nodes
    if near < 3:
        raise ValueError(f"the number of nodes is estimated from three successors or more, not {near}")
    arc = distances[near - 1] / size
    return NodeEstimate(1 + (near - 1) / arc if arc else inf, 1 / sqrt(near - 2))
