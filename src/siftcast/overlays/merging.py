"""Perfect merging: two filters as one simple filter that matches exactly what either matches.

Two conjunctions merge if they agree on all attributes but one and differ there only in which numbers or strings they
allow: `a = 1 AND p IN (1, 2)` and `a = 1 AND p = 3` become `a = 1 AND p IN (1, 2, 3)`. Unions that need more than a few
ranges are left alone, as a filter that grows without end helps nobody; single values may be many.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import xor

from siftcast.model import Filter
from siftcast.model.expression import Comparison, In, Literal, Predicate, Reference, conjunction, disjunction
from siftcast.model.intervals import BOTTOM, TOP, Cut, IntervalSet, single_place
from siftcast.model.limits import CEILING
from siftcast.model.normal_form import Conjunction, Path, Within
from siftcast.model.values import Kind

RANGES_MAX = 4
VALUES_MAX = 4_096


Agreement = tuple[Path, int]  # all attributes but one, and a hash of what is asked of them


def agreements(filter_: Filter) -> list[Agreement]:
    """In what a filter must agree with another to be merged with it: two that can be merged share one of these."""
    only = _only_conjunction(filter_)
    if only is None:
        return []
    if len(only.constraints) < 2:
        return [(path, 0) for path in only.constraints or ((),)]
    hashes = {path: hash((path, constraint)) for path, constraint in only.constraints.items()}
    together = reduce(xor, hashes.values())
    return [(path, together ^ own) for path, own in hashes.items()]


def merge(one: Filter, other: Filter) -> Filter | None:
    """The union of two filters, or None where it is no simple filter."""
    left, right = _only_conjunction(one), _only_conjunction(other)
    if left is None or right is None or left.constraints.keys() != right.constraints.keys():
        return None
    differing = [path for path, constraint in left.constraints.items() if right.constraints[path] != constraint]
    if not differing:
        return one
    if len(differing) > 1:
        return None
    path = differing[0]
    a, b = left.constraints[path], right.constraints[path]
    if not isinstance(a, Within) or not isinstance(b, Within) or a.kind is not b.kind:
        return None
    values = a.values | b.values
    union = _as_predicate(path, a.kind, values)
    if union is None:
        return None
    others = [
        term
        for at, constraint in left.constraints.items()
        if at != path and isinstance(constraint, Within)
        for term in [_as_predicate(at, constraint.kind, constraint.values)]
        if term is not None
    ]
    if len(others) != len(left.constraints) - 1:
        return None
    form = Conjunction({**left.constraints, path: Within(a.kind, values)})
    return Filter.of(conjunction([*others, union]), (form,), limits=CEILING)


def _only_conjunction(filter_: Filter) -> Conjunction | None:
    alternatives = filter_.alternatives
    return alternatives[0] if len(alternatives) == 1 and alternatives[0].decides else None


def _as_predicate(path: Path, kind: Kind, values: IntervalSet) -> Predicate | None:
    """A set of numbers or strings in the words of the language."""
    if kind not in (Kind.NUMBER, Kind.STRING):
        return None
    reference = Reference(path)
    points: list[Literal] = []
    ranges: list[Predicate] = []
    for low, high in values.ranges:
        point = single_place(kind, low, high)
        if point is not None:
            points.append(Literal(point))
        else:
            ranges.append(conjunction(list(_bounds(reference, low, high))))
    if len(ranges) > RANGES_MAX or len(points) > VALUES_MAX:
        return None
    if points:
        ranges.insert(0, Comparison("=", reference, points[0]) if len(points) == 1 else In(reference, tuple(points)))
    return disjunction(ranges)


def _bounds(reference: Reference, low: Cut, high: Cut) -> Iterator[Predicate]:
    if low != BOTTOM:
        yield Comparison(">" if low[2] else ">=", reference, Literal(low[1]))
    if high != TOP:
        yield Comparison("<=" if high[2] else "<", reference, Literal(high[1]))
    if low == BOTTOM and high == TOP:  # any number; NaN and null are none
        yield disjunction([Comparison(">=", reference, Literal(0)), Comparison("<", reference, Literal(0))])
