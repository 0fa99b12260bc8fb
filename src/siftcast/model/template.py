"""A filter without its literals, and the places they go.

Standing subscriptions come by the million and from few forms: `symbol = ? AND price < ?`. A `Template`
is the tree with a `Hole` where each literal was; a filter is a template plus its literal values. Filters that
differ only in their literals share the template (`template_cache`), and engines load them by columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from siftcast.model.expression import (
    And,
    Attributes,
    Between,
    Comparison,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Operand,
    Or,
    Predicate,
    Reference,
)
from siftcast.model.like import LikePattern
from siftcast.model.values import Kind, Value


class Hole(msgspec.Struct, frozen=True, gc=False):
    """The place of a literal in a template."""

    index: int
    kind: Kind

    def value(self, attributes: Attributes) -> object:
        raise LookupError("a template must be bound to literals before it can be evaluated")


class PatternHole(msgspec.Struct, frozen=True, gc=False):
    """The place of a LIKE pattern in a template."""

    index: int


class Template(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """A parsed filter without its literals; compared by identity."""

    tree: Predicate
    depth: int
    terms: int

    def bind(self, values: Sequence[Value]) -> Predicate:
        """The tree with its literals put in."""
        return _rebuild(
            self.tree,
            lambda hole: Literal(values[hole.index]),
            lambda hole: LikePattern(str(values[hole.index])),
        )


def shifted(tree: Predicate, by: int) -> Predicate:
    """The tree with all its holes so many places further on."""
    if by == 0:
        return tree
    return _rebuild(tree, lambda hole: Hole(hole.index + by, hole.kind), lambda hole: PatternHole(hole.index + by))


def renamed(term: Predicate, name: str) -> Predicate | None:
    """The term about another attribute, where an attribute stands at its beginning."""
    reference = Reference((name,))
    match term:
        case Comparison(operator, Reference(), right):
            return Comparison(operator, reference, right)
        case Between(Reference(), low, high, negated):
            return Between(reference, low, high, negated)
        case In(Reference(), options, negated):
            return In(reference, options, negated)
        case Like(Reference(), pattern, negated):
            return Like(reference, pattern, negated)
        case IsNull(Reference(), negated):
            return IsNull(reference, negated)
    return None


Fill = Callable[[Hole], Hole | Literal]
FillPattern = Callable[[PatternHole], PatternHole | LikePattern]


def _rebuild(node: Predicate, fill: Fill, fill_pattern: FillPattern) -> Predicate:
    def put(operand: Operand) -> Operand:
        return fill(operand) if type(operand) is Hole else operand

    match node:
        case Comparison(operator, left, right):
            return Comparison(operator, put(left), put(right))
        case And(terms):
            return And(tuple([_rebuild(term, fill, fill_pattern) for term in terms]))
        case Or(terms):
            return Or(tuple([_rebuild(term, fill, fill_pattern) for term in terms]))
        case Not(term):
            return Not(_rebuild(term, fill, fill_pattern))
        case Between(operand, low, high, negated):
            return Between(put(operand), put(low), put(high), negated)
        case In(operand, options, negated):
            return In(put(operand), tuple([put(option) for option in options]), negated)  # type: ignore[misc]
        case Like(operand, PatternHole() as hole, negated):
            return Like(put(operand), fill_pattern(hole), negated)  # type: ignore[arg-type]
        case IsNull(operand, negated):
            return IsNull(put(operand), negated)
    return node
