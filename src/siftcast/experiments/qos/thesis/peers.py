"""What a subscriber and a publisher of the thesis keep (section 2.4.2.1).

An expression is a cube of `space.dz`: its bits, and which places are fixed. A *want* is one expression of a subscriber
and what supplies it: a parent that wants at least as much, or the publishers of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from siftcast.space.dz.cubes import Cube, volume

WHOLE = volume(0)


@dataclass(slots=True)
class Want:
    """One expression of a subscriber."""

    since: int
    """The round in which its supply changed last."""
    parent: int | None = None
    through: Cube | None = None
    """The expression of the parent that covers it."""
    direct: set[int] = field(default_factory=set)
    """Publishers that supply it."""
    lacking: int = 0
    """For how many rounds it has lacked a supply, as far as the peer knows."""


@dataclass(slots=True)
class Subscriber:
    """A subscriber: what it wants, from whom it gets it, and for whom it passes events on."""

    id: int
    bound: float
    exact: tuple[Cube, ...]
    """The mapping of its subscription, without what it takes on."""
    wants: dict[Cube, Want] = field(default_factory=dict)
    children: dict[int, set[Cube]] = field(default_factory=dict)
    publishers: set[int] = field(default_factory=set)
    """Those it has heard of."""
    hints: dict[Cube, list[int]] = field(default_factory=dict)
    volume: float = 0.0
    experienced: float = float("inf")
    """The largest delay from any publisher that is relevant, as of the last round."""
    delays: dict[Cube, dict[int, float]] = field(default_factory=dict)
    """For each want, how late the events of each publisher came in the last round."""
    connects: int = 0
    """Requests for connection that it has sent."""
    joined: int = 0

    def parents(self) -> set[int]:
        """Those subscribers and publishers it gets events from; publishers as -1, -2, …"""
        found: set[int] = {want.parent for want in self.wants.values() if want.parent is not None}
        for want in self.wants.values():
            found |= {-1 - publisher for publisher in want.direct}
        return found

    def measure(self) -> None:
        """Says how much it wants, after its wants have changed."""
        self.volume = volume_of(self.wants)


@dataclass(slots=True)
class Publisher:
    """A publisher: what it advertises, and whom it sends it to."""

    id: int
    advert: Cube
    children: dict[int, set[Cube]] = field(default_factory=dict)


def volume_of(cubes: Iterable[Cube]) -> float:
    """The share of the space that disjoint expressions hold."""
    return sum(volume(fixed) for _, fixed in cubes) / WHOLE
