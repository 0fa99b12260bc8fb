"""What a peer has asked to be measured, and what for.

Several reasons to know a delay ask for one measurement; the answer goes to all of them. What was measured a moment ago
is not measured once more: a peer that is visited by a walk and becomes a target is measured once.
"""

from __future__ import annotations

from dataclasses import dataclass

from siftcast.overlays.contract import Effect, MeasureDelay, NodeId
from siftcast.overlays.discovery.messages import Walk
from siftcast.overlays.discovery.routes import Route

_REMEMBERED = 256
_FRESH_MS = 5_000.0


@dataclass(frozen=True, slots=True)
class Visit:
    """A walk has come by, and its walker is to hear how far it is.

    `ended` targets are not pursued, where the walk has gone on already; None where it waits for the measurement.
    """

    walk: Walk
    ended: int | None = None


@dataclass(frozen=True, slots=True)
class Errand:
    """Another peer wants to know."""

    asker: NodeId


@dataclass(frozen=True, slots=True)
class Placement:
    """A newcomer is to be placed."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """A peer is to be taken over from another."""

    route: Route | None
    replaced: NodeId


@dataclass(frozen=True, slots=True)
class Candidate:
    """A peer that a walk has visited was predicted to be near."""


@dataclass(frozen=True, slots=True)
class Suitor:
    """A peer may become the distant neighbour."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A parent or child in a landmark tree is to be a neighbour."""


@dataclass(frozen=True, slots=True)
class Upkeep:
    """A neighbour is measured now and then."""


Reason = Visit | Errand | Placement | Adoption | Candidate | Suitor | Edge | Upkeep


class Questions:
    """The measurements of one peer that are being made, and the last ones."""

    __slots__ = ("_open", "_recent", "measured")

    def __init__(self) -> None:
        self.measured = 0
        """How many measurements were made."""
        self._open: dict[NodeId, list[Reason]] = {}
        self._recent: dict[NodeId, tuple[float, float]] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    def __contains__(self, peer: object) -> bool:
        return peer in self._open

    def ask(self, peer: NodeId, reason: Reason) -> list[Effect]:
        """Has a peer measured."""
        reasons = self._open.setdefault(peer, [])
        reasons.append(reason)
        if len(reasons) > 1:
            return []
        self.measured += 1
        return [MeasureDelay(peer)]

    def answer(self, peer: NodeId, delay_ms: float | None, now: float) -> list[Reason]:
        """A measurement was made; what it was for."""
        self._recent.pop(peer, None)
        if delay_ms is not None:
            self._recent[peer] = now, delay_ms
            if len(self._recent) > _REMEMBERED:
                del self._recent[next(iter(self._recent))]
        return self._open.pop(peer, [])

    def known_ms(self, peer: NodeId, now: float) -> float | None:
        """How far a peer is, if that was measured a moment ago."""
        found = self._recent.get(peer)
        return found[1] if found is not None and now - found[0] <= _FRESH_MS else None
