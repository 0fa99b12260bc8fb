"""Filters as boxes: for each dimension at most one interval, ready to be rows of an index.

A filter is a set of alternatives (`normal_form`), an alternative allows a set of intervals for each attribute, and
a box takes one of them each: `a IN (1, 2) AND b > 0 OR c IS NULL` is three boxes. Past a budget neighbouring
intervals are joined. A filter is *decided* if being in one of its boxes is the same as matching; otherwise being in
a box only makes it a candidate, and the filter itself is asked.

Subscriptions by the million share few templates. For a template that is a plain conjunction of comparisons, the
way from literals to intervals is worked out once (`plan_of`) and then applied to columns of literals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

from siftcast.matching.tiles.keys import (
    PRESENCE,
    Dimension,
    integer_range,
    number_range,
    string_range,
)
from siftcast.model.filter import Filter
from siftcast.model.intervals import Range
from siftcast.model.normal_form import Conjunction, Constraint, Presence, Within, normal_form
from siftcast.model.values import Kind

BOXES_MAX = 64

# An interval in the terms of its dimension: keys, or (start, end) strings as `string_range` has them.
Side = tuple[Dimension, int | str, int | str | None]
Box = list[Side]


@dataclass(slots=True)
class Boxes:
    """The boxes of one filter."""

    boxes: list[Box] = field(default_factory=list)
    decided: bool = True

    @property
    def plain(self) -> bool:
        """Whether one row of an index is the whole filter."""
        return self.decided and len(self.boxes) == 1


def boxes_of(filter_: Filter) -> Boxes:
    """The boxes of any filter; none where nothing can match."""
    result = Boxes()
    for alternative in normal_form(filter_.expression):
        _add_alternative(alternative, result)
    return result


def _add_alternative(alternative: Conjunction, result: Boxes) -> None:
    result.decided = result.decided and alternative.decides
    choices = [_sides(path, constraint, result) for path, constraint in alternative.constraints.items()]
    if not all(len(choice) == 1 for choice in choices):
        choices = _within_budget(choices, result)
    result.boxes.extend(list(combination) for combination in product(*choices))


def _sides(path: tuple[str, ...], constraint: Constraint, result: Boxes) -> list[Side]:
    if not isinstance(constraint, Within):
        present = int(constraint is Presence.PRESENT)
        return [((path, PRESENCE), present, present)]
    dimension = (path, constraint.kind)
    if constraint.kind is Kind.NUMBER:
        sides: list[Side] = []
        for low, high in constraint.values.ranges:
            first, last, decided = number_range(low, high)
            result.decided = result.decided and decided
            sides.append((dimension, first, last))
        return sides
    return [(dimension, *_ends(constraint.kind, bounds)) for bounds in constraint.values.ranges]


def _ends(kind: Kind, bounds: Range) -> tuple[int | str, int | str | None]:
    return string_range(*bounds) if kind is Kind.STRING else integer_range(*bounds)


def _within_budget(choices: list[list[Side]], result: Boxes) -> list[list[Side]]:
    """Joins neighbouring intervals of the longest choice until there are few enough combinations."""
    while _combinations(choices) > BOXES_MAX:
        longest = max(range(len(choices)), key=lambda index: len(choices[index]))
        sides = choices[longest]
        choices[longest] = [_join(sides[index : index + 2]) for index in range(0, len(sides), 2)]
        result.decided = False
    return choices


def _combinations(choices: list[list[Side]]) -> int:
    count = 1
    for choice in choices:
        count *= len(choice)
    return count


def _join(pair: Sequence[Side]) -> Side:
    """The hull of one or two neighbouring intervals."""
    first, last = pair[0], pair[-1]
    dimension, low, high = first[0], first[1], last[2]
    if len(pair) == 2 and isinstance(low, str) and high is not None and last[1] == high:
        high = f"{high}\0"  # the second was a single string, which an end that is excluded must exceed
    return dimension, low, high
