"""A filter as alternatives of conjunctions, each a set of allowed values for each attribute.

This is what covering, overlap and every index work on. Because unknown never matches and NOT is exact
(see `values`), "is true" distributes over AND, OR and NOT, and a leaf and its negation are both plain sets
of values. What is no set of values of one attribute (a general LIKE, a comparison of two attributes, a node
of a later dialect) stays behind as *residue*, to be evaluated on the event itself.

Alternatives multiply under AND. Past a budget they are replaced by their hull, one conjunction that allows
at least as much, marked inexact. So the result always allows every matching event: exact conjunctions allow no
other, inexact ones and those with residue must be verified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from siftcast.model.bounded_cache import remember
from siftcast.model.expression import (
    MIRRORED,
    NEGATED,
    And,
    Between,
    Comparison,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    Predicate,
    Reference,
    compare,
    negate,
    references,
)
from siftcast.model.intervals import SCALES, IntervalSet, Scale, comparison_set, everything, prefix_set
from siftcast.model.like import LikePattern
from siftcast.model.values import Kind, Value, kind_of

Path = tuple[str, ...]
Scales = Mapping[Path, Scale]
BUDGET = 64


class Presence(Enum):
    """Constraints that do not look at the value: missing or null, or anything but."""

    NULL = "null"
    PRESENT = "present"


@dataclass(frozen=True, slots=True)
class Within:
    """The attribute has a value of this kind, and it lies in this set."""

    kind: Kind
    values: IntervalSet


Constraint = Presence | Within
Residue = frozenset[tuple[Predicate, bool]]
_NOTHING: Residue = frozenset()


@dataclass(frozen=True, slots=True)
class Conjunction:
    """All constraints must hold, and all residue (a predicate, and whether it is negated) be true."""

    constraints: Mapping[Path, Constraint] = field(default_factory=dict)
    residue: Residue = _NOTHING
    exact: bool = True

    @property
    def decides(self) -> bool:
        """Whether the constraints alone say which events match."""
        return self.exact and not self.residue

    def meet(self, other: Conjunction) -> Conjunction | None:
        """Both at once, or None where no event can satisfy both."""
        merged = dict(self.constraints)
        for path, constraint in other.constraints.items():
            present = merged.get(path)
            if present is not None:
                both = _meet(present, constraint)
                if both is None:
                    return None
                constraint = both
            merged[path] = constraint
        return Conjunction(merged, self.residue | other.residue, self.exact and other.exact)


_ALWAYS = Conjunction()

_RECENT_MAX = 16
_recent: dict[tuple[int, int, int], tuple[Predicate, Scales | None, list[Conjunction]]] = {}
"""The last few, since whoever divides the space asks about one filter many times in a row."""


def normal_form(node: Predicate, *, scales: Scales | None = None, budget: int = BUDGET) -> list[Conjunction]:
    """The alternatives of a filter, none where nothing can match; each event that matches satisfies one."""
    key = id(node), id(scales), budget
    known = _recent.get(key)
    if known is not None:
        return list(known[2])
    found = _Normaliser(scales or {}, budget).alternatives(node, False)
    # Holding both keeps their identities from being used again.
    remember(_recent, key, (node, scales, found), _RECENT_MAX)
    return list(found)


def _meet(left: Constraint, right: Constraint) -> Constraint | None:
    if isinstance(left, Within) and isinstance(right, Within):
        if left.kind is not right.kind:
            return None
        values = left.values & right.values
        return Within(left.kind, values) if values else None
    if left is Presence.NULL or right is Presence.NULL:
        return left if left is right else None
    return left if isinstance(left, Within) else right


class _Normaliser:
    """Carries the scales and the budget through the recursion."""

    __slots__ = ("_budget", "_scales")

    def __init__(self, scales: Scales, budget: int) -> None:
        self._scales = scales
        self._budget = budget

    def alternatives(self, node: Predicate, negated: bool) -> list[Conjunction]:
        if isinstance(node, Not):
            return self.alternatives(node.term, not negated)
        if isinstance(node, And | Or):
            parts = [self.alternatives(term, negated) for term in node.terms]
            return self._any(parts) if isinstance(node, Or) is not negated else self._all(parts)
        return self._leaf(node, negated)

    def _any(self, parts: Sequence[list[Conjunction]]) -> list[Conjunction]:
        return merged([alternative for part in parts for alternative in part], self._budget)

    def _all(self, parts: Sequence[list[Conjunction]]) -> list[Conjunction]:
        result = [_ALWAYS]
        for part in sorted(parts, key=len):
            if len(result) * len(part) > self._budget:
                part = [hull(part)]
            met = [left.meet(right) for left in result for right in part]
            result = [conjunction for conjunction in met if conjunction is not None]
            if not result:
                break
        return merged(result, self._budget) if len(result) > 1 else result

    def _leaf(self, node: Predicate, negated: bool) -> list[Conjunction]:
        match node:
            case Comparison(operator, Reference(path), Literal(constant)):
                return self._comparison(path, NEGATED[operator] if negated else operator, constant)
            case Comparison(operator, Literal(constant), Reference(path)):
                operator = MIRRORED[operator]
                return self._comparison(path, NEGATED[operator] if negated else operator, constant)
            case Comparison(operator, Literal(left), Literal(right)):
                return [_ALWAYS] if negate(compare(operator, left, right), negated) else []
            case Between(operand, low, high, inverted):
                bounds = (Comparison(">=", operand, low), Comparison("<=", operand, high))
                return self.alternatives(And(bounds), inverted is not negated)
            case In(Reference(path), options, inverted):
                return self._membership(path, [option.constant for option in options], inverted is not negated)
            case Like(Reference(path), pattern, inverted):
                return self._like(path, pattern, inverted is not negated, node)
            case IsNull(Reference(path), inverted):
                return [Conjunction({path: Presence.PRESENT if inverted is not negated else Presence.NULL})]
            case Reference(path):
                return self._comparison(path, "=", not negated)
            case Literal(constant):
                return [_ALWAYS] if constant is (not negated) else []
        return [self._residue(node, negated)]

    def _comparison(self, path: Path, operator: str, constant: Value | None) -> list[Conjunction]:
        kind = kind_of(constant)
        if constant is None or kind is None:
            return []
        return _within(path, kind, comparison_set(operator, constant, self._scale(path, kind)))

    def _membership(self, path: Path, options: Sequence[Value | None], negated: bool) -> list[Conjunction]:
        if negated and None in options:
            return []
        by_kind: dict[Kind, list[Value]] = {}
        for option in options:
            kind = kind_of(option)
            if option is not None and kind is not None:
                by_kind.setdefault(kind, []).append(option)
        if negated and len(by_kind) > 1:
            return []
        found: list[Conjunction] = []
        for kind, values in by_kind.items():
            scale = self._scale(path, kind)
            chosen = IntervalSet.of([(scale.before(value), scale.after(value)) for value in values])
            found += _within(path, kind, chosen.complement(scale) if negated else chosen)
        return found

    def _like(self, path: Path, pattern: LikePattern, negated: bool, node: Predicate) -> list[Conjunction]:
        scale = SCALES[Kind.STRING]
        exact = pattern.exact_text
        if exact is not None:
            return self._comparison(path, "!=" if negated else "=", exact)
        matching = prefix_set(pattern.prefix)
        if pattern.is_prefix:
            return _within(path, Kind.STRING, matching.complement(scale) if negated else matching)
        allowed = everything(scale) if negated else matching
        base_negated = negated is not (isinstance(node, Like) and node.negated)
        return [Conjunction({path: Within(Kind.STRING, allowed)}, frozenset({(node, base_negated)}))]

    def _residue(self, node: Predicate, negated: bool) -> Conjunction:
        # Only a comparison is known to need both its sides; a node of another dialect may accept nulls.
        known = isinstance(node, Comparison)
        paths = {reference.path for reference in references(node)} if known else set()
        return Conjunction(dict.fromkeys(paths, Presence.PRESENT), frozenset({(node, negated)}))

    def _scale(self, path: Path, kind: Kind) -> Scale:
        scale = self._scales.get(path)
        return scale if scale is not None and scale.kind is kind else SCALES[kind]


def _within(path: Path, kind: Kind, values: IntervalSet) -> list[Conjunction]:
    return [Conjunction({path: Within(kind, values)})] if values else []


def hull(alternatives: Sequence[Conjunction]) -> Conjunction:
    """One conjunction that allows whatever any of the alternatives allows, and perhaps more."""
    shared: dict[Path, Constraint] = dict(alternatives[0].constraints)
    for alternative in alternatives[1:]:
        for path in list(shared):
            joined = _join(shared[path], alternative.constraints.get(path))
            if joined is None:
                del shared[path]
            else:
                shared[path] = joined
    exact = len(alternatives) == 1 and alternatives[0].exact
    return Conjunction(shared, alternatives[0].residue if len(alternatives) == 1 else _NOTHING, exact)


def _join(left: Constraint, right: Constraint | None) -> Constraint | None:
    if right is None:
        return None
    if isinstance(left, Within) and isinstance(right, Within) and left.kind is right.kind:
        return Within(left.kind, left.values | right.values)
    if left is Presence.NULL or right is Presence.NULL:
        return left if left is right else None
    return Presence.PRESENT


def merged(alternatives: list[Conjunction], budget: int = BUDGET) -> list[Conjunction]:
    """Fewer alternatives for the same events: those that differ in one attribute only become one."""
    result: list[Conjunction] = []
    for candidate in alternatives[: budget * 4]:
        for index, kept in enumerate(result):
            joined = _merge_pair(kept, candidate)
            if joined is not None:
                result[index] = joined
                break
        else:
            result.append(candidate)
    if len(result) > budget or len(alternatives) > budget * 4:
        return [hull(alternatives)]
    return result


def _merge_pair(left: Conjunction, right: Conjunction) -> Conjunction | None:
    if not (left.decides and right.decides) or left.constraints.keys() != right.constraints.keys():
        return None
    differing = [path for path, value in left.constraints.items() if right.constraints[path] != value]
    if not differing:
        return left
    if len(differing) > 1:
        return None
    one, other = left.constraints[differing[0]], right.constraints[differing[0]]
    if isinstance(one, Within) and isinstance(other, Within) and one.kind is other.kind:
        union = Within(one.kind, one.values | other.values)
        return Conjunction({**left.constraints, differing[0]: union})
    return None
