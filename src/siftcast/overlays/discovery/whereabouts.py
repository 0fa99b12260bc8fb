"""Where a peer is in the network, as far as it has found out: its coordinate, and its last mile.

Coordinates (Vivaldi) are learned from delays that are measured anyway, between peers that tell each other where they
are in the messages they send anyway. The last mile is what every route begins with.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from siftcast.overlays.contract import RouteInferred
from siftcast.overlays.discovery.messages import Where, coordinate_of, is_delay, where
from siftcast.space.coordinates import Coordinate

_ROUNDS = 20


class Whereabouts:
    """Where one peer is."""

    __slots__ = ("_random", "coordinate", "last_mile_ms")

    def __init__(self, random: Random) -> None:
        self.coordinate = Coordinate()
        self.last_mile_ms = 0.0
        """How far the own first router is, as far as a route has said so."""
        self._random = random

    @property
    def place(self) -> Where:
        """The coordinate as messages have it."""
        return where(self.coordinate)

    def locate(self, place: Where, delay_ms: float | None) -> None:
        """Another peer is at a place and so far away: this one moves accordingly."""
        if is_delay(delay_ms):
            assert delay_ms is not None
            self.coordinate = self.coordinate.moved(coordinate_of(place), delay_ms, self._random)

    def settle_among(self, measured: Iterable[tuple[Coordinate, float]]) -> None:
        """Moves until it fits what was measured at once: a newcomer need not wait for many measurements over time."""
        known = list(measured)
        for _ in range(_ROUNDS):
            for coordinate, delay_ms in known:
                self.coordinate = self.coordinate.moved(coordinate, delay_ms, self._random)

    def learn(self, inferred: RouteInferred) -> None:
        """A route begins with the own last mile."""
        if inferred.status == "ok" and inferred.delays_ms and is_delay(inferred.delays_ms[0]):
            self.last_mile_ms = inferred.delays_ms[0] or 0.0
