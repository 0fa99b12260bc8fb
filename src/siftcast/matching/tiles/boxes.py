"""Filters as boxes: for each dimension at most one interval, ready to be rows of an index.

A filter is a set of alternatives (`normal_form`), an alternative allows a set of intervals for each attribute, and
a box takes one of them each: `a IN (1, 2) AND b > 0 OR c IS NULL` is three boxes. Past a budget the longest list of
intervals stays together as a set. What intervals cannot say stays with the box: sets that keys must lie in, patterns
that strings must match, and doubt, which only the filter itself can settle on the event.

Subscriptions by the million share few templates. For a template that is a plain conjunction of comparisons, the
way from literals to intervals is worked out once (`plan_of`) and then applied to columns of literals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

from siftcast.matching.tiles.keys import (
    PRESENCE,
    Dimension,
    Path,
    integer_range,
    number_range,
    string_range,
)
from siftcast.matching.tiles.sets import Intervals
from siftcast.model.expression import Like, Reference
from siftcast.model.filter import Filter
from siftcast.model.intervals import Range
from siftcast.model.like import LikePattern
from siftcast.model.normal_form import Conjunction, Constraint, Presence, Within, normal_form
from siftcast.model.values import Kind

BOXES_MAX = 64

# An interval in the terms of its dimension: keys, or (start, end) strings as `string_range` has them.
Side = tuple[Dimension, int | str, int | str | None]
SetDemand = tuple[Dimension, Intervals]  # the key of a dimension must lie in one of several intervals
Demand = tuple[Path, LikePattern, bool]  # the string of an attribute must match a pattern, or must not


@dataclass(slots=True)
class Box:
    """One interval or one set a dimension, patterns that strings must match, and whether doubt remains even then."""

    sides: Sequence[Side]
    demands: Sequence[Demand] = ()
    sets: Sequence[SetDemand] = ()
    doubtful: bool = False

    @property
    def plain(self) -> bool:
        """Whether the intervals are all there is to it."""
        return not self.doubtful and not self.demands and not self.sets


@dataclass(slots=True)
class _Open:
    """What one alternative leaves open while its intervals are worked out."""

    doubtful: bool
    demands: list[Demand] = field(default_factory=list)
    sets: list[SetDemand] = field(default_factory=list)


def boxes_of(filter_: Filter) -> list[Box]:
    """The boxes of any filter; none where nothing can match."""
    return [box for alternative in normal_form(filter_.expression) for box in _alternative_boxes(alternative)]


def _alternative_boxes(alternative: Conjunction) -> Iterator[Box]:
    result = _Open(not alternative.exact)
    for predicate, negated in alternative.residue:
        match predicate:
            case Like(Reference(path), pattern, inverted):
                result.demands.append((path, pattern, inverted is negated))
            case _:
                result.doubtful = True
    choices = [_sides(path, constraint, result) for path, constraint in alternative.constraints.items()]
    if not all(len(choice) == 1 for choice in choices):
        choices = _within_budget(choices, result)
    for sides in product(*choices):
        yield Box(sides, result.demands, result.sets, result.doubtful)


def _sides(path: Path, constraint: Constraint, result: _Open) -> list[Side]:
    if not isinstance(constraint, Within):
        present = int(constraint is Presence.PRESENT)
        return [((path, PRESENCE), present, present)]
    dimension = (path, constraint.kind)
    if constraint.kind is Kind.NUMBER:
        sides: list[Side] = []
        for low, high in constraint.values.ranges:
            first, last, decided = number_range(low, high)
            result.doubtful = result.doubtful or not decided
            if first <= last:  # between neighbouring floats there is nothing
                sides.append((dimension, first, last))
        return sides
    return [(dimension, *_ends(constraint.kind, bounds)) for bounds in constraint.values.ranges]


def _ends(kind: Kind, bounds: Range) -> tuple[int | str, int | str | None]:
    return string_range(*bounds) if kind is Kind.STRING else integer_range(*bounds)


def _within_budget(choices: list[list[Side]], result: _Open) -> list[list[Side]]:
    """Takes the longest choices out as sets until there are few enough combinations of the others."""
    choices = sorted(choices, key=len)
    while prod(map(len, choices)) > BOXES_MAX:
        sides = choices.pop()
        result.sets.append((sides[0][0], tuple(side[1:] for side in sides)))
    return choices
