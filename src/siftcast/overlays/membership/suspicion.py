"""A suspicion: how long a silent peer is given, which shrinks with every independent node that misses it too.

                       log(confirmations + 1)
    max - (max - min) · ──────────────────────      after `expected` confirmations it is `min`
                         log(expected + 1)

One node alone may be wrong for reasons of its own, so it waits long; the first who agree count most. A suspicion is
about one incarnation of the peer: what helps or refutes another one says nothing about it.

Invariants: a confirmer counts once; the deadline never moves back; it lies in [begin + min, begin + max].

Paper: Lifeguard (see `health`), section IV.B; memberlist's `suspicion.go` is the model.
"""

from __future__ import annotations

from math import log

from siftcast.overlays.contract import NodeId


class Suspicion:
    """What is held against one peer."""

    __slots__ = ("_begun_ms", "_confirmers", "_expected", "_max_ms", "_min_ms", "incarnation", "probes_before")

    def __init__(
        self, incarnation: int, *, begun_ms: float, min_ms: float, max_ms: float, expected: int, probes_before: int
    ) -> None:
        self.incarnation = incarnation
        self.probes_before = probes_before
        """The number of the last probe before it began; an answer to a later one refutes it."""
        self._begun_ms = begun_ms
        self._min_ms = min_ms
        self._max_ms = max(min_ms, max_ms)
        self._expected = expected
        self._confirmers: set[NodeId] = set()

    def confirm(self, node: NodeId, incarnation: int) -> bool:
        """Takes in that another node misses the peer, too; says whether that is news."""
        if incarnation != self.incarnation or node in self._confirmers:
            return False
        self._confirmers.add(node)
        return True

    @property
    def confirmations(self) -> int:
        """How many other nodes miss the peer."""
        return len(self._confirmers)

    @property
    def deadline_ms(self) -> float:
        """When it is acted on."""
        if self._expected <= 0:
            return self._begun_ms + self._min_ms
        share = min(1.0, log(self.confirmations + 1) / log(self._expected + 1))
        return self._begun_ms + self._max_ms - share * (self._max_ms - self._min_ms)
