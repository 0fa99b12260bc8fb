"""A filter as a tree of typed nodes: what every dialect parses into and every engine reads.

Two families meet here. *Operands* stand for values (`Reference`, `Literal`), *predicates* for truth
values (`Comparison`, `Between`, `In`, `Like`, `IsNull`, `And`, `Or`, `Not`). The tree is open: a dialect
with arithmetic or functions adds an operand class of its own; code that does not know the class treats the predicate
around it as undecided and evaluates it per event.

Truth has three values, as in SQL: True, False and None for "unknown". A filter matches an event when the
tree evaluates to True. `evaluate` is that definition, written as plainly as possible; the compiled
predicates and all engines are tested against it.

Nodes are immutable and compare by structure (msgspec structs: made three times faster than dataclasses).
`And` and `Or` hold two or more terms and never nest directly within their own kind, so equal texts give
equal trees however they were parenthesised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Protocol, runtime_checkable

import msgspec

from siftcast.model.errors import FilterTypeError
from siftcast.model.like import LikePattern
from siftcast.model.values import Value, kind_of, lookup, normalise

Attributes = Mapping[str, object]
Truth = bool | None

COMPARATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge,
}  # fmt: skip
NEGATED = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
MIRRORED = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


@runtime_checkable
class Operand(Protocol):
    """Something with a value under an event; None stands for NULL and for whatever compares with nothing."""

    def value(self, attributes: Attributes) -> object: ...


@runtime_checkable
class Predicate(Protocol):
    """Something that is true, false or unknown under an event."""

    def evaluate(self, attributes: Attributes) -> Truth: ...


class Reference(msgspec.Struct, frozen=True, gc=False):
    """An attribute of the event, by its path: `a.b` reaches the key `a.b`, else `b` inside `a`.

    Used alone as a predicate, it asks whether a boolean attribute is true.
    """

    path: tuple[str, ...]

    @property
    def name(self) -> str:
        return ".".join(self.path)

    def raw(self, attributes: Attributes) -> object:
        return lookup(attributes, self.name, self.path)

    def value(self, attributes: Attributes) -> object:
        return normalise(self.raw(attributes))

    def evaluate(self, attributes: Attributes) -> Truth:
        value = self.value(attributes)
        return value if isinstance(value, bool) else None


class Literal(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A constant; None is NULL. TRUE, FALSE and NULL are predicates as well.

    Equality distinguishes types, since Python holds `1 == 1.0 == True` and a filter does not.
    """

    constant: Value | None

    def __post_init__(self) -> None:
        if self.constant != self.constant:
            raise FilterTypeError("NaN compares with nothing, so it cannot be a literal; use IS NULL or leave it out")

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Literal)
            and type(self.constant) is type(other.constant)
            and repr(self.constant) == repr(other.constant)
        )

    def __hash__(self) -> int:
        return hash((type(self.constant), repr(self.constant)))

    def value(self, attributes: Attributes) -> object:
        return self.constant

    def evaluate(self, attributes: Attributes) -> Truth:
        return self.constant if isinstance(self.constant, bool) else None


class Comparison(msgspec.Struct, frozen=True, gc=False):
    """`left operator right`; unknown unless both sides are values of one kind."""

    operator: str
    left: Operand
    right: Operand

    def evaluate(self, attributes: Attributes) -> Truth:
        return compare(self.operator, self.left.value(attributes), self.right.value(attributes))


class Between(msgspec.Struct, frozen=True, gc=False):
    """`operand [NOT] BETWEEN low AND high`, both ends included: `low <= operand AND operand <= high`."""

    operand: Operand
    low: Operand
    high: Operand
    negated: bool = False

    def evaluate(self, attributes: Attributes) -> Truth:
        value = self.operand.value(attributes)
        above = compare(">=", value, self.low.value(attributes))
        below = compare("<=", value, self.high.value(attributes))
        return negate(conjoin((above, below)), self.negated)


class In(msgspec.Struct, frozen=True, gc=False):
    """`operand [NOT] IN (option, …)`: the disjunction of equalities, so a NULL option leaves "no" unknown."""

    operand: Operand
    options: tuple[Literal, ...]
    negated: bool = False

    def evaluate(self, attributes: Attributes) -> Truth:
        value = self.operand.value(attributes)
        return negate(disjoin(compare("=", value, option.constant) for option in self.options), self.negated)


class Like(msgspec.Struct, frozen=True, gc=False):
    """`operand [NOT] LIKE 'pattern'`, with `%` for any text, `_` for one character, `\\` to escape either."""

    operand: Operand
    pattern: LikePattern
    negated: bool = False

    def evaluate(self, attributes: Attributes) -> Truth:
        value = self.operand.value(attributes)
        return negate(self.pattern.matches(value), self.negated) if isinstance(value, str) else None


class IsNull(msgspec.Struct, frozen=True, gc=False):
    """`operand IS [NOT] NULL`: missing and null are alike; any other value, comparable or not, is not null."""

    operand: Operand
    negated: bool = False

    def evaluate(self, attributes: Attributes) -> Truth:
        operand = self.operand
        value = operand.raw(attributes) if isinstance(operand, Reference) else operand.value(attributes)
        return (value is None) is not self.negated


class Not(msgspec.Struct, frozen=True, gc=False):
    """True where the term is false; unknown stays unknown."""

    term: Predicate

    def evaluate(self, attributes: Attributes) -> Truth:
        return negate(self.term.evaluate(attributes), True)


class And(msgspec.Struct, frozen=True, gc=False):
    """False where any term is false, true where all are true, unknown otherwise."""

    terms: tuple[Predicate, ...]

    def evaluate(self, attributes: Attributes) -> Truth:
        # Written out: `conjoin` of a generator takes three frames per level, and trees may have three hundred levels.
        result: Truth = True
        for term in self.terms:
            truth = term.evaluate(attributes)
            if truth is False:
                return False
            result = None if truth is None else result
        return result


class Or(msgspec.Struct, frozen=True, gc=False):
    """True where any term is true, false where all are false, unknown otherwise."""

    terms: tuple[Predicate, ...]

    def evaluate(self, attributes: Attributes) -> Truth:
        result: Truth = False
        for term in self.terms:
            truth = term.evaluate(attributes)
            if truth is True:
                return True
            result = None if truth is None else result
        return result


def compare(operator: str, left: object, right: object) -> Truth:
    """Compares two normalised values: unknown unless both are of one kind."""
    kind = kind_of(left)
    if kind is None or kind is not kind_of(right):
        return None
    return COMPARATORS[operator](left, right)


def negate(truth: Truth, wanted: bool) -> Truth:
    """The opposite truth where `wanted`; unknown has none."""
    return truth if truth is None or not wanted else not truth


def conjoin(truths: Iterator[Truth] | tuple[Truth, ...]) -> Truth:
    """Three-valued AND."""
    result: Truth = True
    for truth in truths:
        if truth is False:
            return False
        if truth is None:
            result = None
    return result


def disjoin(truths: Iterator[Truth] | tuple[Truth, ...]) -> Truth:
    """Three-valued OR."""
    result: Truth = False
    for truth in truths:
        if truth is True:
            return True
        if truth is None:
            result = None
    return result


def conjunction(terms: Iterator[Predicate] | list[Predicate]) -> Predicate:
    """The AND of terms, flattened; of one term, that term."""
    return _flattened(And, terms)


def disjunction(terms: Iterator[Predicate] | list[Predicate]) -> Predicate:
    """The OR of terms, flattened; of one term, that term."""
    return _flattened(Or, terms)


def _flattened(node: type[And] | type[Or], terms: Iterator[Predicate] | list[Predicate]) -> Predicate:
    flat: list[Predicate] = []
    for term in terms:
        if isinstance(term, node):
            flat.extend(term.terms)
        else:
            flat.append(term)
    return flat[0] if len(flat) == 1 else node(tuple(flat))


def children(node: object) -> tuple[object, ...]:
    """The operands or terms below a node, in the order they are written."""
    match node:
        case And(terms) | Or(terms):
            return terms
        case Not(term):
            return (term,)
        case Comparison(_, left, right):
            return (left, right)
        case Between(operand, low, high, _):
            return (operand, low, high)
        case In(operand, options, _):
            return (operand, *options)
        case Like(operand, _, _) | IsNull(operand, _):
            return (operand,)
    return ()


def references(node: object) -> Iterator[Reference]:
    """Every attribute a tree mentions, with repetitions, from left to right."""
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, Reference):
            yield current
        else:
            pending.extend(reversed(children(current)))
