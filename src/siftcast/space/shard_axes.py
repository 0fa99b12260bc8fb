"""An attribute cut into zones for shards, and where on it a filter can be true.

A shard axis needs no schema and no domain, unlike an axis of a content space: its zones divide *all* values of one
kind, numbers, strings, booleans or timestamps, in their own order, and the outer two are open.

    symbol: 'F', 'N'        zone 0  symbol < 'F'     zone 1  'F' <= symbol < 'N'     zone 2  'N' <= symbol

An event whose attribute is missing, null, NaN or of another kind has no zone. So a filter has zones only if it cannot
be true for such an event; otherwise `ranges` says None, and the filter belongs to no zone but to those that span.

`ranges` may give more than the filter allows, never less: a term of an AND that says nothing about the attribute is
left out. It reads templates, not trees: of `symbol = ? AND price < ?` only the first literal is looked at, which makes
it 15 times faster (2 µs) than the normal form of the whole filter. Other shapes take the slow path.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, reduce
from operator import and_, or_

from siftcast.model import Filter
from siftcast.model.bounded_cache import remember
from siftcast.model.expression import And, Between, Comparison, Not, Or, Predicate, Reference, references
from siftcast.model.intervals import SCALES, Cut, IntervalSet, Range
from siftcast.model.normal_form import Path, Within, normal_form
from siftcast.model.template import Hole, Template
from siftcast.model.values import Kind, kind_of, lookup, microseconds

CutValue = int | float | str  # a value as cuts hold it: timestamps in microseconds, booleans as 0 and 1
Ranges = tuple[Range, ...]
_Steps = tuple[tuple[str, int], ...]
_PLANS_MAX = 4_096
_BOUNDING = frozenset({"=", "<", "<=", ">", ">="})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class ShardAxis:
    """An attribute, the kind of its values, and the ascending values that begin every zone but the first."""

    attribute: str
    kind: Kind
    cuts: tuple[CutValue, ...]

    @property
    def path(self) -> Path:
        return tuple(self.attribute.split("."))

    def __len__(self) -> int:
        return len(self.cuts) + 1

    def zones_of(self, ranges: Ranges) -> list[int]:
        """The zones that hold a value of any of the ranges, ascending."""
        return zones_between(self._places, ranges)

    def zone_of(self, value: CutValue) -> int:
        """The zone of a value, as cuts hold it."""
        return bisect_right(self.cuts, value)

    @cached_property
    def _places(self) -> list[Cut]:
        return [(0, value, 0) for value in self.cuts]

    def describe(self, zone: int) -> str:
        """A zone in words: `4 <= price < 7`."""
        low = self._shown(self.cuts[zone - 1]) if zone else None
        high = self._shown(self.cuts[zone]) if zone < len(self.cuts) else None
        if low is None and high is None:
            return f"any {self.attribute}"
        if low is None:
            return f"{self.attribute} < {high}"
        return f"{low} <= {self.attribute}" + (f" < {high}" if high is not None else "")

    def _shown(self, value: CutValue) -> str:
        if self.kind is Kind.TIMESTAMP and isinstance(value, int):
            return (_EPOCH + timedelta(microseconds=value)).isoformat(" ")
        if isinstance(value, str) and len(value) > 24:
            value = value[:23] + "…"
        return repr(value)


def cut_value(attributes: Mapping[str, object], name: str, path: Path, kind: Kind) -> CutValue | None:
    """An attribute of an event as cuts hold it; None where it is missing, null, NaN or of another kind."""
    value = lookup(attributes, name, path)
    if kind_of(value) is not kind or value != value:
        return None
    if isinstance(value, datetime):
        return microseconds(value)
    return int(value) if isinstance(value, bool) else value  # type: ignore[return-value]


def zones_between(cuts: Sequence[Cut], ranges: Ranges) -> list[int]:
    """The parts of a line, cut at ascending values, that ranges touch."""
    if len(ranges) == 1:
        low, high = ranges[0]
        return list(range(bisect_right(cuts, low), bisect_left(cuts, high) + 1))
    found: list[int] = []
    for low, high in ranges:
        first = bisect_right(cuts, low)
        found += range(max(first, found[-1] + 1) if found else first, bisect_left(cuts, high) + 1)
    return found


class InterestReader:
    """Reads from filters what they want of one attribute and kind."""

    def __init__(self, path: Path, kind: Kind) -> None:
        self._path = path
        self._kind = kind
        self._plans: dict[Template, _Steps | None] = {}

    def ranges(self, filter_: Filter) -> Ranges | None:
        """Disjoint ascending ranges outside of which the filter is never true; None if there are no such limits."""
        template = filter_.template
        try:
            steps = self._plans[template]
        except KeyError:
            steps = self._steps(template)
            remember(self._plans, template, steps, _PLANS_MAX)
        if steps is None:
            wanted = self._wanted(filter_.expression, False)
            return None if wanted is None else wanted.ranges
        if not steps:
            return None
        return self._follow(steps, filter_.values)

    def _follow(self, steps: _Steps, values: Sequence[object]) -> Ranges:
        scale = SCALES[self._kind]
        low, high = scale.bottom, scale.top
        for operator, hole in steps:
            value = values[hole]
            if operator != "<" and operator != "<=":
                low = max(low, scale.after(value) if operator == ">" else scale.before(value))  # type: ignore[arg-type]
            if operator != ">" and operator != ">=":
                high = min(high, scale.before(value) if operator == "<" else scale.after(value))  # type: ignore[arg-type]
        return ((low, high),) if low < high else ()

    def _steps(self, template: Template) -> _Steps | None:
        """The comparisons that bound the attribute; none where it is not mentioned, None if there is more to it."""
        tree = template.tree
        if not self._mentioned(tree):
            return ()
        steps: list[tuple[str, int]] = []
        for term in tree.terms if isinstance(tree, And) else (tree,):
            if not self._mentioned(term):
                continue
            match term:
                case Comparison(operator, Reference(), Hole(hole, kind)) if (
                    kind is self._kind and operator in _BOUNDING
                ):
                    steps.append((operator, hole))
                case Between(Reference(), Hole(low, kind), Hole(high, other), False) if kind is other is self._kind:
                    steps += [(">=", low), ("<=", high)]
                case _:
                    return None
        return tuple(steps)

    def _mentioned(self, node: Predicate) -> bool:
        return any(reference.path == self._path for reference in references(node))

    def _wanted(self, node: Predicate, negated: bool) -> IntervalSet | None:
        """The values of the attribute without which the node (or its negation) is not true; None for any."""
        if isinstance(node, Not):
            return self._wanted(node.term, not negated)
        if isinstance(node, And | Or):
            parts = [self._wanted(term, negated) for term in node.terms]
            known = [part for part in parts if part is not None]
            if isinstance(node, Or) is not negated:
                return reduce(or_, known) if len(known) == len(parts) else None
            return reduce(and_, known) if known else None
        if not self._mentioned(node):
            return None
        ranges = IntervalSet(())
        for alternative in normal_form(Not(node) if negated else node):
            constraint = alternative.constraints.get(self._path)
            if not isinstance(constraint, Within) or constraint.kind is not self._kind:
                return None
            ranges = ranges | constraint.values
        return ranges
