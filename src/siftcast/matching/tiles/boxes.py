"""Filters as boxes: for each dimension at most one interval, ready to be rows of an index.

A filter is a set of alternatives (`normal_form`). An alternative allows a set of intervals per attribute, and a box
takes one interval of each: `a IN (1, 2) AND b > 0 OR c IS NULL` is three boxes. Past a budget, the longest list of
intervals stays together as a set. What intervals cannot express stays with the box: sets that keys must lie in,
patterns that strings must match, and doubt, which only the filter itself can settle on the event.

An attribute is a dimension, with arrays of its own for all rows of a segment. So a filter of very many attributes is
found by a few of them and then evaluated; otherwise thirty such filters would take half a minute to index.

Subscriptions by the million share few templates. For a template that is a plain conjunction of comparisons, the
path from literals to intervals is worked out once (`plan_of`) and then applied to columns of literals.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, product

from siftcast.matching.tiles.keys import (
    PRESENCE,
    Dimension,
    Path,
    integer_range,
    number_range,
    string_range,
)
from siftcast.matching.tiles.sets import Intervals
from siftcast.model.expression import And, Comparison, Like, Predicate, Reference, conjunction, references
from siftcast.model.filter import Filter
from siftcast.model.intervals import Range
from siftcast.model.like import LikePattern
from siftcast.model.normal_form import Conjunction, Constraint, Presence, Within, hull, normal_form
from siftcast.model.values import Kind

BOXES_MAX = 64
SIDES_MAX = 64  # attributes of a filter that an index knows all of
SIDES_FEW = 8  # those by which it knows one that has more
CELLS_MAX = 4_096  # attributes of all its alternatives together

# An interval in the terms of its dimension: keys, or (start, end) strings as `string_range` has them.
Side = tuple[Dimension, int | str, int | str | None]
SetDemand = tuple[Dimension, Intervals]  # the key of a dimension must lie in one of several intervals
Demand = tuple[Path, LikePattern, bool]  # the string of an attribute must match a pattern, or must not


@dataclass(slots=True)
class Box:
    """One interval or set per dimension, patterns that strings must match, and whether doubt remains even then."""

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
    few = _few_attributes(filter_.expression)
    alternatives = normal_form(filter_.expression if few is None else few)
    if few is not None:
        alternatives = [replace(alternative, exact=False) for alternative in alternatives]
    elif sum(len(alternative.constraints) for alternative in alternatives) > CELLS_MAX:
        alternatives = [hull(alternatives)]
    return [box for alternative in alternatives for box in _alternative_boxes(alternative)]


def _few_attributes(node: Predicate) -> Predicate | None:
    """What a conjunction of thousands of attributes says about a few of them; None of any other filter.

    Its whole normal form would take 40 ms, and hardly anything of it would be used.
    """
    if not isinstance(node, And) or len(node.terms) <= SIDES_MAX:
        return None
    by_attribute: dict[Path, list[Predicate]] = {}
    for term in node.terms:
        (path, *others) = {reference.path for reference in references(term)} or [()]
        if path and not others:
            by_attribute.setdefault(path, []).append(term)
    if len(by_attribute) <= SIDES_MAX:
        return None
    first = sorted(by_attribute.values(), key=lambda terms: not any(map(_is_equality, terms)))[:SIDES_FEW]
    return conjunction([term for terms in first for term in terms])


def _is_equality(term: Predicate) -> bool:
    return isinstance(term, Comparison) and term.operator == "="


def _alternative_boxes(alternative: Conjunction) -> Iterator[Box]:
    result = _Open(not alternative.exact)
    for predicate, negated in alternative.residue:
        match predicate:
            case Like(Reference(path), pattern, inverted):
                result.demands.append((path, pattern, inverted is negated))
            case _:
                result.doubtful = True
    choices = [_sides(path, constraint, result) for path, constraint in alternative.constraints.items()]
    budget = BOXES_MAX
    if len(choices) > SIDES_MAX:
        choices, budget, result.doubtful = _few(choices), 1, True
    if not all(len(choice) == 1 for choice in choices):
        choices = _within_budget(choices, result, budget)
    for sides in product(*choices):
        yield Box(sides, result.demands, result.sets, result.doubtful)


def _few(choices: list[list[Side]]) -> list[list[Side]]:
    """The choices by which a filter of very many attributes is found: single values first, then ranges, then lists."""
    return sorted(choices, key=lambda sides: (len(sides), sides != [] and sides[0][1] != sides[0][2]))[:SIDES_FEW]


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


def _within_budget(choices: list[list[Side]], result: _Open, budget: int) -> list[list[Side]]:
    """Takes the longest choices out as sets until there are few enough combinations of the others."""
    choices = sorted(choices, key=len)
    combinations = list(accumulate(map(len, choices), lambda boxes, more: min(boxes * more, budget + 1)))
    kept = bisect_right(combinations, budget)
    for sides in choices[kept:]:
        result.sets.append((sides[0][0], tuple(side[1:] for side in sides)))
    return choices[:kept]
