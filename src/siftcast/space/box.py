"""Axis-aligned boxes, closed below and open above, so that cutting one in two neither shares nor loses a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

Point = Sequence[float]


@dataclass(frozen=True, slots=True)
class Box:
    """All points p with `lows[i] <= p[i] < highs[i]` on every axis."""

    lows: tuple[float, ...]
    highs: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.lows) != len(self.highs):
            raise ValueError(f"a box has as many lows as highs, not {len(self.lows)} and {len(self.highs)}")

    @property
    def empty(self) -> bool:
        """Whether no point lies inside."""
        return any(low >= high for low, high in zip(self.lows, self.highs, strict=True))

    @property
    def volume(self) -> float:
        """The product of the side lengths; 0 for an empty box, 1 for a box without axes."""
        return prod(max(high - low, 0.0) for low, high in zip(self.lows, self.highs, strict=True))

    def contains(self, point: Point) -> bool:
        """Whether a point lies inside."""
        return all(low <= place < high for low, place, high in zip(self.lows, point, self.highs, strict=True))

    def intersects(self, other: Box) -> bool:
        """Whether some point lies in both."""
        return not (self & other).empty

    def __and__(self, other: Box) -> Box:
        """The points in both, perhaps none."""
        return Box(tuple(map(max, self.lows, other.lows)), tuple(map(min, self.highs, other.highs)))

    def split(self, axis: int, place: float) -> tuple[Box, Box]:
        """The part below a place on an axis, and the part from there on."""
        if not self.lows[axis] <= place <= self.highs[axis]:
            raise ValueError(f"{place} does not lie within the box on axis {axis}")
        below = (*self.highs[:axis], place, *self.highs[axis + 1 :])
        above = (*self.lows[:axis], place, *self.lows[axis + 1 :])
        return Box(self.lows, below), Box(above, self.highs)
