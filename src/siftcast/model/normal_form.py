"""A filter as alternatives of conjunctions, each a set of allowed values for each attribute.

This is what covering, overlap and every index work on. Because unknown never matches and NOT is exact
(see `values`), "is true" distributes over AND, OR and NOT, and a leaf and its negation are both plain sets
of values. What is not a set of values of one attribute (a general LIKE, a comparison of two attributes, a node of a
later dialect) stays behind as *residue*, to be evaluated on the event itself.

Alternatives multiply under AND. Past a budget they are replaced by their hull, one conjunction that allows
at least as much, marked inexact. So the result always allows every matching event: exact conjunctions allow no
other, inexact ones and those with residue must be verified.

Cost: n log n in the terms of the filter, whatever they are: sets are united and intersected all at once or in pairs
of similar size, never one by one into a growing one, and alternatives that can be joined are found by their hashes.
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
_MEETS_FACTOR = 4  # times the budget: how many meets one AND may take, however many of them come to nothing
_SHORT_MAX = 4  # ranges of sets that are met only to see whether they have anything in common
_MERGES_MAX = 4


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
    # Holding both keeps their identities from being reused.
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
        """The products of all parts; what has no alternatives, and what would have too many, is met at once."""
        common = _meet_all([part[0] for part in parts if len(part) == 1])
        if common is None or not all(parts):
            return []
        result, hulls, meets = [_ALWAYS], list[Conjunction](), 0
        for part in sorted((part for part in parts if len(part) > 1), key=len):
            if common.constraints:
                part = [alternative for alternative in part if not _apart(alternative, common)]
                if not part:
                    return []
            meets += len(result) * len(part)
            if len(part) == 1 or len(result) * len(part) > self._budget or meets > self._budget * _MEETS_FACTOR:
                hulls.append(hull(part))
                continue
            met = [left.meet(right) for left in result for right in part]
            result = [conjunction for conjunction in met if conjunction is not None]
        common = _meet_all([common, *hulls])
        if common is None or result == [_ALWAYS]:
            return [] if common is None else [common]
        met = [common.meet(alternative) for alternative in result]
        result = [conjunction for conjunction in met if conjunction is not None]
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


def _meet_all(conjunctions: Sequence[Conjunction]) -> Conjunction | None:
    """All at once, or None where no event can satisfy them; in n log n, which meeting one after the other is not."""
    if len(conjunctions) < 3:
        met = conjunctions[0] if conjunctions else _ALWAYS
        return met if len(conjunctions) < 2 else met.meet(conjunctions[1])
    by_path: dict[Path, list[Constraint]] = {}
    for conjunction in conjunctions:
        for path, constraint in conjunction.constraints.items():
            by_path.setdefault(path, []).append(constraint)
    constraints: dict[Path, Constraint] = {}
    for path, wanted in by_path.items():
        while len(wanted) > 1:  # in pairs, pairs of pairs, …: neither grows long before the other does
            pairs = [_meet(*wanted[at : at + 2]) for at in range(0, len(wanted) - 1, 2)]
            left = [constraint for constraint in pairs if constraint is not None]
            if len(left) < len(pairs):
                return None
            wanted = left + wanted[len(wanted) & ~1 :]
        constraints[path] = wanted[0]
    residue = _NOTHING.union(*(conjunction.residue for conjunction in conjunctions))
    return Conjunction(constraints, residue, all(conjunction.exact for conjunction in conjunctions))


def _apart(one: Conjunction, other: Conjunction) -> bool:
    """Whether no event can satisfy both, as far as that is soon told."""
    for path, constraint in one.constraints.items():
        present = other.constraints.get(path)
        if present is not None and _is_short(constraint) and _is_short(present) and _meet(constraint, present) is None:
            return True
    return False


def _is_short(constraint: Constraint) -> bool:
    return not isinstance(constraint, Within) or len(constraint.values.ranges) <= _SHORT_MAX


def hull(alternatives: Sequence[Conjunction]) -> Conjunction:
    """One conjunction that allows whatever any of the alternatives allows, and perhaps more."""
    if len(alternatives) == 1:
        return alternatives[0]
    smallest = min((alternative.constraints for alternative in alternatives), key=len)
    shared: dict[Path, Constraint] = {}
    for path in smallest:
        joined = _join_all([alternative.constraints.get(path) for alternative in alternatives])
        if joined is not None:
            shared[path] = joined
    return Conjunction(shared, _NOTHING, False)


def _join_all(constraints: Sequence[Constraint | None]) -> Constraint | None:
    """What allows all that any of some constraints allows; None where nothing but everything does."""
    distinct = set(constraints)
    if len(distinct) == 1:
        return constraints[0]
    if None in distinct or Presence.NULL in distinct:
        return None
    within = [constraint for constraint in distinct if isinstance(constraint, Within)]
    if len(within) == len(distinct) and len({constraint.kind for constraint in within}) == 1:
        return _union(within)
    return Presence.PRESENT


def _union(within: Sequence[Within]) -> Within:
    ranges = [bounds for constraint in within for bounds in constraint.values.ranges]
    return Within(within[0].kind, IntervalSet.of(ranges))


def merged(alternatives: list[Conjunction], budget: int = BUDGET) -> list[Conjunction]:
    """Fewer alternatives for the same events: those that differ in one attribute only become one."""
    result = alternatives
    for _ in range(
        _MERGES_MAX if len(alternatives) > 1 else 0
    ):  # what differed in two attributes may differ in one after the first time
        fewer = _merged_once(result)
        if len(fewer) == len(result):
            break
        result = fewer
    return [hull(alternatives)] if len(result) > budget else result


def _merged_once(alternatives: list[Conjunction]) -> list[Conjunction]:
    """Joins alternatives that agree on all attributes but one, each with the first that it agrees with.

    Agreeing ones are found by a hash of all attributes but one, so that this takes time linear in what is given.
    """
    groups: list[_Group] = []
    by_others: dict[tuple[Path, int], _Group] = {}
    if len({frozenset(alternative.constraints) for alternative in alternatives}) == len(
        alternatives
    ):  # the usual case: no two ask about the same attributes
        return alternatives
    for candidate in alternatives:
        if not candidate.decides:
            groups.append(_Group(candidate))
            continue
        hashes = {path: hash((path, constraint)) for path, constraint in candidate.constraints.items()}
        whole = len(hashes)
        for one in hashes.values():
            whole ^= one
        keys = [(path, whole ^ one) for path, one in hashes.items()]
        if not any((group := by_others.get(key)) is not None and group.take(candidate, key[0]) for key in keys):
            group = _Group(candidate)
            groups.append(group)
            for key in keys:
                by_others.setdefault(key, group)
    return [group.joined() for group in groups]


class _Group:
    """Alternatives that agree with the first of them on all attributes but one, the same for all."""

    __slots__ = ("_first", "_path", "_within")

    def __init__(self, first: Conjunction) -> None:
        self._first = first
        self._path: Path | None = None
        self._within: list[Within] = []

    def take(self, candidate: Conjunction, path: Path) -> bool:
        """Takes in an alternative that differs in this attribute, if it belongs here."""
        first, one, other = self._first, self._first.constraints.get(path), candidate.constraints[path]
        if self._path not in (None, path) or one is None or len(first.constraints) != len(candidate.constraints):
            return False
        if any(first.constraints.get(at) != wanted for at, wanted in candidate.constraints.items() if at != path):
            return False
        if one == other:
            return True
        if not isinstance(one, Within) or not isinstance(other, Within) or one.kind is not other.kind:
            return False
        self._path = path
        self._within.append(other)
        return True

    def joined(self) -> Conjunction:
        """All of them as one."""
        path = self._path
        if path is None:
            return self._first
        one = self._first.constraints[path]
        assert isinstance(one, Within)
        return Conjunction({**self._first.constraints, path: _union([one, *self._within])})
