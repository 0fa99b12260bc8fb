"""Network coordinates: how far two nodes are, predicted from what each has measured to a few others. Vivaldi.

A node is a point and a height: the point stands for where it is in the core of the network, the height for its own last
mile, which every message crosses. The delay between two nodes is the distance of their points and both heights.

    measured > predicted     it moves away from the other        o ◀── ● ┄┄┄┄ x
    measured < predicted     it moves towards the other              ● ──▶ o ┄ x

It moves by a share of the difference: more, the less it trusts itself beside the other (`error`, the mean of relative
errors, weighted likewise). So newcomers come to their place quickly, and do not push those around who stand well.

A measured delay says nothing about a third node and is always right; a coordinate says something about all of them and
is wrong where the network is no such space, as where routes make detours. So it is for choosing whom to measure.

Paper: Dabek, Cox, Kaashoek, Morris, "Vivaldi: a decentralized network coordinate system", SIGCOMM 2004: two dimensions
and a height, c_e = c_c = 0.25.

Cost: three additions and a root for each measurement; 32 bytes in a message.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import hypot, isfinite
from random import Random

_GAIN = 0.25
_HEIGHT_MIN_MS = 1e-3
_ERROR_MAX = 1.0


@dataclass(frozen=True, slots=True)
class Coordinate:
    """Where a node is, in milliseconds, and how wrong its predictions were lately: 0 is never, 1 is entirely."""

    x_ms: float = 0.0
    y_ms: float = 0.0
    height_ms: float = _HEIGHT_MIN_MS
    error: float = _ERROR_MAX

    @property
    def is_sound(self) -> bool:
        """Whether it is a place at all; what comes over a network may be anything."""
        numbers = (self.x_ms, self.y_ms, self.height_ms, self.error)
        return all(map(isfinite, numbers)) and self.height_ms > 0 and 0 <= self.error <= _ERROR_MAX

    def delay_ms(self, other: Coordinate) -> float:
        """The delay that is predicted to another node, one way."""
        return hypot(self.x_ms - other.x_ms, self.y_ms - other.y_ms) + (self.height_ms + other.height_ms)

    def moved(self, other: Coordinate, delay_ms: float, random: Random) -> Coordinate:
        """Where the node is after it has measured the delay to another; nodes at one place part in any direction."""
        delay_ms = max(delay_ms, 2 * _HEIGHT_MIN_MS)
        predicted_ms = self.delay_ms(other)
        weight = self.error / (self.error + other.error) if self.error + other.error > 0 else 0.5
        share = _GAIN * weight
        error = abs(predicted_ms - delay_ms) / delay_ms * share + self.error * (1 - share)
        force_ms = share * (delay_ms - predicted_ms)
        away_x, away_y = self.x_ms - other.x_ms, self.y_ms - other.y_ms
        apart_ms = hypot(away_x, away_y)
        if apart_ms < _HEIGHT_MIN_MS:
            away_x, away_y, apart_ms = random.uniform(-1, 1), random.uniform(-1, 1), 1.0
        height_ms = self.height_ms + force_ms * (self.height_ms + other.height_ms) / predicted_ms
        return replace(
            self,
            x_ms=self.x_ms + force_ms * away_x / apart_ms,
            y_ms=self.y_ms + force_ms * away_y / apart_ms,
            height_ms=max(height_ms, _HEIGHT_MIN_MS),
            error=min(error, _ERROR_MAX),
        )
