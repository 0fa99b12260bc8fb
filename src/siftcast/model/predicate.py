"""Compiles a tree into one Python function from event to bool.

The three truth values need not exist at run time. NOT is pushed down to the leaves, where it turns into
the opposite comparison, and each leaf then asks one question: is this surely true? Unknown answers no,
as false does. The function is Python source made of our own words only: attribute names and literals
are passed to it as arguments, never written into it, so no user's text is ever executed. Filters of one
shape share the compiled code and differ in those arguments.

Nested closures were rejected: with one call per node they were two to three times slower.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from types import CodeType, FunctionType
from typing import cast

from siftcast.model.bounded_cache import remember
from siftcast.model.expression import (
    MIRRORED,
    NEGATED,
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
    compare,
    negate,
)
from siftcast.model.values import Kind, kind_of, lookup, normalise

CompiledPredicate = Callable[[Attributes], bool]

_NESTING_MAX = 12  # deeper parts become functions of their own: CPython limits nested parentheses
_CODES_MAX = 4_096
_TERMS_MAX = 256
_ASKED_MAX = 50
_SOURCE_MAX = 8_192  # what is longer rarely comes again, and thousands of them would fill the memory
_codes: dict[str, CodeType] = {}


def compile_predicate(node: Predicate) -> CompiledPredicate:
    """A function that is True exactly where the tree evaluates to True.

    For the first events, a large tree is evaluated directly: compiling thousands of terms takes as long as fifty
    events.
    """
    if isinstance(node, And | Or) and len(node.terms) > _TERMS_MAX:
        return _late(node)
    return _compile(node, False)


def _late(node: And | Or) -> CompiledPredicate:
    asked, decide = 0, all if isinstance(node, And) else any
    compiled: CompiledPredicate | None = None

    def predicate(event: Attributes) -> bool:
        nonlocal asked, compiled
        if compiled is not None:
            return compiled(event)
        asked += 1
        if asked > _ASKED_MAX:
            compiled = _compile(node, False)
        return decide(term.evaluate(event) is True for term in node.terms)

    return predicate


def _compile(node: Predicate, negated: bool) -> CompiledPredicate:
    writer = _Writer()
    body = writer.write(node, negated, 0)
    parameters = "".join(f", c{index}" for index in range(len(writer.constants)))
    source = f"def predicate(e{parameters}):\n return {body}\n"
    code = _codes.get(source)
    if code is None:
        module = compile(source, "<siftcast predicate>", "exec")
        code = next(part for part in module.co_consts if isinstance(part, CodeType))
        if len(source) <= _SOURCE_MAX:
            remember(_codes, source, code, _CODES_MAX)
    function = FunctionType(code, _NAMES, "predicate", tuple(writer.constants))
    return cast(CompiledPredicate, function)


def _number(value: object) -> object:
    value = normalise(value)
    return value if kind_of(value) is Kind.NUMBER else None


def _string(value: object) -> object:
    value = normalise(value)
    return value if type(value) is str else None


def _boolean(value: object) -> object:
    value = normalise(value)
    return value if type(value) is bool else None


def _moment(value: object) -> object:
    value = normalise(value)
    return value if type(value) is datetime else None


_NAMES: dict[str, object] = {
    "lookup": lookup, "number": _number, "string": _string, "boolean": _boolean, "moment": _moment,
}  # fmt: skip

# What must hold of the fetched value v before it is compared; each leaves the normalised value in v.
# The first clause is the common case and calls nothing; a NaN passes it and fails every comparison.
_GUARDS = {
    Kind.NUMBER: "(type(v := {0}) is float or type(v) is int or v is not None and (v := number(v)) is not None)",
    Kind.STRING: "(type(v := {0}) is str or v is not None and (v := string(v)) is not None)",
    Kind.BOOLEAN: "(type(v := {0}) is bool or v is not None and (v := boolean(v)) is not None)",
    Kind.TIMESTAMP: "((v := {0}) is not None and (v := moment(v)) is not None)",
}


class _Writer:
    """Collects the constants of one function while its body is written."""

    __slots__ = ("_places", "constants")

    def __init__(self) -> None:
        self.constants: list[object] = []
        self._places: dict[str, str] = {}

    def write(self, node: Predicate, negated: bool, depth: int) -> str:
        if isinstance(node, Not):
            return self.write(node.term, not negated, depth)
        if isinstance(node, And | Or):
            if depth >= _NESTING_MAX:
                return f"{self._constant(_compile(node, negated))}(e)"
            joint = " or " if isinstance(node, Or) is not negated else " and "
            written = []
            for term in node.terms:  # no generator: a frame less for each level
                written.append(self.write(term, negated, depth + 1))
            return f"({joint.join(written)})"
        return self._leaf(node, negated) or self._evaluated(node, negated)

    def _leaf(self, node: Predicate, negated: bool) -> str | None:
        """The source of a leaf whose form is known, else None."""
        match node:
            case Comparison(operator, Reference() as left, Literal(constant)):
                return self._comparison(NEGATED[operator] if negated else operator, left, constant)
            case Comparison(operator, Literal(constant), Reference() as right):
                operator = MIRRORED[operator]
                return self._comparison(NEGATED[operator] if negated else operator, right, constant)
            case Comparison(operator, Literal(left_constant), Literal(right_constant)):
                return str(negate(compare(operator, left_constant, right_constant), negated) is True)
            case Between(Reference() as operand, Literal(low), Literal(high), inverted):
                return self._between(operand, low, high, inverted is not negated)
            case In(Reference() as operand, options, inverted):
                return self._membership(operand, [option.constant for option in options], inverted is not negated)
            case Like(Reference() as operand, pattern, inverted):
                test = f"{self._constant(pattern.matches)}(v)"
                guard = self._guard(Kind.STRING, operand)
                return f"({guard} and {'not ' if inverted is not negated else ''}{test})"
            case IsNull(Reference() as operand, inverted):
                return f"({self._fetch(operand)} is {'not ' if inverted is not negated else ''}None)"
            case Reference():
                return f"({self._guard(Kind.BOOLEAN, node)} and {'not ' if negated else ''}v)"
            case Literal(constant):
                return str(constant is (not negated))
        return None

    def _comparison(self, operator: str, reference: Reference, constant: object) -> str:
        kind = kind_of(constant)
        if kind is None:
            return "False"
        place = self._constant(constant)
        # Written as two inequalities, "not equal" is false for NaN, as unknown must be.
        test = f"(v < {place} or v > {place})" if operator == "!=" else f"v {_PYTHON[operator]} {place}"
        return f"({self._guard(kind, reference)} and {test})"

    def _between(self, operand: Operand, low: object, high: object, negated: bool) -> str | None:
        kind = kind_of(low)
        if not isinstance(operand, Reference) or kind is None or kind_of(high) is not kind:
            return None
        first, last = self._constant(low), self._constant(high)
        test = f"(v < {first} or v > {last})" if negated else f"{first} <= v <= {last}"
        return f"({self._guard(kind, operand)} and {test})"

    def _membership(self, operand: Reference, options: list[object], negated: bool) -> str | None:
        known = frozenset(option for option in options if option is not None)
        if not known or (negated and None in options):
            return "False"
        kinds = {kind_of(option) for option in options if option is not None}  # not of `known`: there TRUE is 1
        kind = kinds.pop()
        if kinds or kind is None:
            return None
        place = self._constant(known)
        test = f"v == v and v not in {place}" if negated else f"v in {place}"
        return f"({self._guard(kind, operand)} and {test})"

    def _evaluated(self, node: Predicate, negated: bool) -> str:
        """Any other node, including those of later dialects, answers for itself."""
        return f"({self._constant(node.evaluate)}(e) is {not negated})"

    def _guard(self, kind: Kind, reference: Reference) -> str:
        return _GUARDS[kind].format(self._fetch(reference))

    def _fetch(self, reference: Reference) -> str:
        name = self._shared(reference.name)
        if len(reference.path) == 1:
            return f"e.get({name})"
        return f"lookup(e, {name}, {self._constant(reference.path)})"

    def _shared(self, name: str) -> str:
        place = self._places.get(name)
        if place is None:
            place = self._places[name] = self._constant(name)
        return place

    def _constant(self, value: object) -> str:
        self.constants.append(value)
        return f"c{len(self.constants) - 1}"


_PYTHON = {"=": "==", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
