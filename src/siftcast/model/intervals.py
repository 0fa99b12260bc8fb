"""Sets of values of one kind, as unions of intervals, closed under AND, OR and NOT.

An interval lies between two *cuts*. A cut is a place between neighbouring values, never a value itself,
so open and closed ends need no cases of their own: `x > 5` begins at the cut after 5, `x >= 5` at the cut
before it.

        4          5          6
    ────┼──────────┼──────────┼────      before(5) < after(5) < before(6)

Where every value has a next one, the cut after a value *is* the cut before the next, so that `x > 4` and
`x >= 5` are the same set of integers. That holds for strings (the next one after "a" is "a\\0"), booleans,
timestamps (microseconds) and for numbers on a schema's granularity. Numbers without a schema are dense.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from math import ceil, floor, isinf
from operator import itemgetter
from typing import Any

from siftcast.model.values import Kind, Value, microseconds

# A cut is (-1,) below everything, (1,) above everything, or (0, place, side) with side 0 before and 1 after
# the value at that place. Tuples of one kind compare as the cuts do.
Cut = tuple[Any, ...]
BOTTOM: Cut = (-1,)
TOP: Cut = (1,)


@dataclass(frozen=True, slots=True)
class Scale:
    """How the values of one kind are laid out on a line.

    `step` and `origin` describe a grid of numbers; without a step, numbers are dense.
    """

    kind: Kind
    step: Fraction | None = None
    origin: Fraction = Fraction(0)

    @property
    def bottom(self) -> Cut:
        if self.kind is Kind.STRING:
            return (0, "", 0)
        return (0, 0, 0) if self.kind is Kind.BOOLEAN else BOTTOM

    @property
    def top(self) -> Cut:
        return (0, 2, 0) if self.kind is Kind.BOOLEAN else TOP

    def before(self, value: Value) -> Cut:
        """The cut just below a value."""
        if self.step is not None:
            if self._is_whole(value):
                return (0, -((self.origin.numerator - value) // self.step.numerator), 0)  # type: ignore[operator]
            return (0, value, 0) if _is_infinite(value) else (0, ceil(self._place(value)), 0)
        if isinstance(value, datetime):
            return (0, microseconds(value), 0)
        return (0, int(value) if isinstance(value, bool) else value, 0)

    def after(self, value: Value) -> Cut:
        """The cut just above a value."""
        if self.step is not None:
            if self._is_whole(value):
                return (0, (value - self.origin.numerator) // self.step.numerator + 1, 0)  # type: ignore[operator]
            return (0, value, 1) if _is_infinite(value) else (0, floor(self._place(value)) + 1, 0)
        if isinstance(value, str):
            return (0, value + "\0", 0)
        if isinstance(value, datetime):
            return (0, microseconds(value) + 1, 0)
        return (0, int(value) + 1, 0) if isinstance(value, bool) else (0, value, 1)

    def _is_whole(self, value: Value) -> bool:
        """Whether integers can do what fractions do a hundred times slower, as on most grids."""
        return type(value) is int and self.step.denominator == 1 == self.origin.denominator  # type: ignore[union-attr]

    def _place(self, value: Value) -> Fraction:
        # A float is read as the decimal it prints as: 0.07 lies on the grid of 0.01, its binary form does not.
        number = Fraction(repr(value)) if isinstance(value, float) else Fraction(int(value))  # type: ignore[arg-type]
        assert self.step is not None
        return (number - self.origin) / self.step


def _is_infinite(value: Value) -> bool:
    """Whether a number lies beyond any grid, and is its own place there."""
    return isinstance(value, float) and isinf(value)


SCALES = {kind: Scale(kind) for kind in Kind}

Range = tuple[Cut, Cut]
_FEWER = 8  # so many times fewer ranges are looked up one by one rather than walked along with the others


@dataclass(frozen=True, slots=True)
class IntervalSet:
    """Disjoint, non-touching ranges of cuts in ascending order; equal sets have equal ranges."""

    ranges: tuple[Range, ...]

    @classmethod
    def of(cls, ranges: Sequence[Range]) -> IntervalSet:
        """Any ranges, in any order, overlapping or empty."""
        if len(ranges) == 1:
            return cls(tuple(ranges) if ranges[0][0] < ranges[0][1] else ())
        merged: list[Range] = []
        for low, high in sorted(item for item in ranges if item[0] < item[1]):
            if merged and low <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], high))
            else:
                merged.append((low, high))
        return cls(tuple(merged))

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __or__(self, other: IntervalSet) -> IntervalSet:
        return IntervalSet.of(self.ranges + other.ranges)

    def __and__(self, other: IntervalSet) -> IntervalSet:
        if len(self.ranges) == 1 and len(other.ranges) == 1:
            return IntervalSet.of(
                [(max(self.ranges[0][0], other.ranges[0][0]), min(self.ranges[0][1], other.ranges[0][1]))]
            )
        common: list[Range] = []
        left = right = 0
        while left < len(self.ranges) and right < len(other.ranges):
            low = max(self.ranges[left][0], other.ranges[right][0])
            high = min(self.ranges[left][1], other.ranges[right][1])
            if low < high:
                common.append((low, high))
            if self.ranges[left][1] < other.ranges[right][1]:
                left += 1
            else:
                right += 1
        return IntervalSet(tuple(common))

    def __le__(self, other: IntervalSet) -> bool:
        """Whether every value here is there as well; builds nothing, and mostly ends at the first range that is not."""
        ranges, wider = self.ranges, other.ranges
        if ranges is wider or not ranges:
            return True
        if not wider or ranges[0][0] < wider[0][0] or wider[-1][1] < ranges[-1][1]:
            return False
        if len(wider) == 1:
            return True
        if len(ranges) * _FEWER < len(wider):
            return all(_holds(wider, low, high) for low, high in ranges)
        following = iter(wider)
        bottom, top = next(following)
        for low, high in ranges:
            while top < high:  # there is a further one, as the last reaches at least as high
                bottom, top = next(following)
            if low < bottom:
                return False
        return True

    def complement(self, scale: Scale) -> IntervalSet:
        """Every value of the scale that is not here."""
        gaps: list[Range] = []
        reached = scale.bottom
        for low, high in self.ranges:
            gaps.append((reached, low))
            reached = high
        gaps.append((reached, scale.top))
        return IntervalSet.of(gaps)


def _holds(ranges: tuple[Range, ...], low: Cut, high: Cut) -> bool:
    """Whether one of the ranges reaches over both cuts: if any, the last that begins no higher."""
    place = bisect_right(ranges, low, key=itemgetter(0)) - 1
    return place >= 0 and high <= ranges[place][1]


def single_place(kind: Kind, low: Cut, high: Cut) -> Any:
    """The place of the only value between two cuts without a grid; None where there are more, or may be."""
    if len(low) == 1 or len(high) == 1:
        return None
    first, end = low[1], high[1]
    if kind is Kind.NUMBER:
        return first if first == end else None
    return first if end == (first + "\0" if kind is Kind.STRING else first + 1) else None


def everything(scale: Scale) -> IntervalSet:
    """All values of a scale."""
    return IntervalSet(((scale.bottom, scale.top),))


def comparison_set(operator: str, value: Value, scale: Scale) -> IntervalSet:
    """The values x of a scale for which `x operator value` holds."""
    before, after = scale.before(value), scale.after(value)
    match operator:
        case "=":
            return IntervalSet.of([(before, after)])
        case "!=":
            return IntervalSet.of([(scale.bottom, before), (after, scale.top)])
        case "<":
            return IntervalSet.of([(scale.bottom, before)])
        case "<=":
            return IntervalSet.of([(scale.bottom, after)])
        case ">":
            return IntervalSet.of([(after, scale.top)])
    return IntervalSet.of([(before, scale.top)])


def prefix_set(prefix: str) -> IntervalSet:
    """The strings that begin with a prefix: from the prefix up to the next string that does not."""
    end = prefix.rstrip("\U0010ffff")
    top: Cut = (0, end[:-1] + chr(ord(end[-1]) + 1), 0) if end else TOP
    return IntervalSet(((SCALES[Kind.STRING].before(prefix), top),))
