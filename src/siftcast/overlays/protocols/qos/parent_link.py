"""What a peer knows of one parent, of all of them together, and of those that might become one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.qos.messages import PeerId, Profile, Rank
from siftcast.overlays.protocols.qos.regions import NOTHING, Pieces
from siftcast.space.dz import DzSet

_DELAYS = 3
"""An answer is waited for three times as long as a message takes on its way, if that is longer than `request_ms`."""
_UNSERVED_REQUESTS = 2
"""For how long a parent may lack what it passes on; what it takes on comes from above, level by level."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a place sees of the others."""

    known: Callable[[], Sequence[Profile]]
    delays: Mapping[NodeId, float]
    lasts: Mapping[NodeId, Rank | None]
    """Of each publisher, the child that would have to go; None, if it has room."""
    now: float
    request_ms: float
    least: Mapping[NodeId, float]
    """How far away nodes are at the best of times."""

    def patience_ms(self, peer: PeerId) -> float:
        """How long an answer is waited for."""
        return max(self.request_ms, _DELAYS * self.delays.get(peer[0], 0.0))


@dataclass(slots=True)
class Parent:
    """A link to a parent."""

    asked: DzSet
    sent_ms: float
    granted: DzSet = NOTHING
    lacking: DzSet = NOTHING
    """What of it the parent does not get itself."""
    above: frozenset[PeerId] = frozenset()
    reach_ms: float = 0.0
    depth: int = 0
    number: int = 0
    stamp: int = -1
    answered: int = -1
    """The last number that the parent has answered."""
    tries: int = 0
    unserved_ms: float | None = None
    """Since when it has been lacking something."""
    asked_number: int = 0
    """The number with which this region was asked for first."""
    left_ms: float | None = None
    """Since when it is about to stop, as it said or as it seems."""
    is_sated: bool = False
    """Whether it has taken on as much as its bandwidth allows."""
    insists: bool = False
    is_modest: bool = False

    @property
    def is_leaving(self) -> bool:
        return self.left_ms is not None

    @property
    def is_waiting(self) -> bool:
        return self.answered < self.number and not self.is_leaving

    @property
    def is_good(self) -> bool:
        """Whether it supplies something, and will go on."""
        return bool(self.granted) and self.lacking != self.granted and not self.is_leaving

    @property
    def has_place(self) -> bool:
        """Whether there is a place already."""
        return bool(self.granted) and not self.is_leaving

    @property
    def is_trying(self) -> bool:
        """Whether it was asked for something and has not answered, or has nothing to pass on yet."""
        asked = self.is_waiting and self.granted != self.asked
        return not self.is_leaving and (asked or self.unserved_ms is not None)

    def served(self, pieces: Pieces) -> int:
        """What it passes on and gets itself."""
        granted = pieces.mask(self.granted)
        return granted & ~pieces.touched(self.lacking) if self.lacking else granted

    def is_given_up(self, patience_ms: float, now: float) -> bool:
        """Whether it has been lacking something for so long that others are asked."""
        return self.unserved_ms is not None and now - self.unserved_ms >= _UNSERVED_REQUESTS * patience_ms


@dataclass(frozen=True, slots=True)
class Supply:
    """What the links of a peer come to: what lacks a parent, through whom the rest comes, how late, and how far."""

    unserved: DzSet = NOTHING
    above: frozenset[PeerId] = frozenset()
    reach_ms: float = 0.0
    depth: int = 0
