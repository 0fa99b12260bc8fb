"""`Filter`: an interest, as users see it. Parsing, matching, algebra and explanation behind one name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from siftcast.model import algebra
from siftcast.model.errors import ArgumentError, FilterError, FilterLimitError, FilterTypeError
from siftcast.model.event import Event, check_event
from siftcast.model.explanation import Explanation, explain
from siftcast.model.expression import And, Attributes, Not, Or, Predicate, conjunction, disjunction, references
from siftcast.model.limits import CEILING, DEFAULT_LIMITS, FilterLimits
from siftcast.model.normal_form import Conjunction, Scales, normal_form
from siftcast.model.predicate import CompiledPredicate, compile_predicate
from siftcast.model.printing import text_depth, to_sql
from siftcast.model.schema import Schema, checked_schema
from siftcast.model.showing import shown
from siftcast.model.sql import parse_sql
from siftcast.model.template import Template
from siftcast.model.tree_codec import tree_from_bytes, tree_to_bytes
from siftcast.model.typecheck import check
from siftcast.model.values import Value

Parsed = tuple[Template, list[Value]]

# A dialect turns text into a template and its literals. Later dialects are one entry here and one module.
DIALECTS: dict[str, Callable[[str, FilterLimits], Parsed]] = {"sql": parse_sql}


class Filter:
    """A predicate over the attributes of events; immutable.

    Holds the template and the literals it was parsed into; the tree and the compiled predicate are made when
    first needed, so that a million filters can be read without building a million trees. So is the normal form, which
    covering and overlap use again and again; a matcher does not use it, so its filters keep none.
    """

    __slots__ = ("__weakref__", "_alternatives", "_expression", "_hash", "_predicate", "template", "values")

    template: Template
    values: list[Value]
    _alternatives: tuple[Conjunction, ...]
    _expression: Predicate
    _hash: int
    _predicate: CompiledPredicate

    def __init__(self, template: Template, values: list[Value]) -> None:
        """Used by dialects; users call `parse` or `of`."""
        self.template = template
        self.values = values

    @classmethod
    def parse(cls, text: str, dialect: str = "sql", *, limits: FilterLimits = DEFAULT_LIMITS) -> Filter:
        """Reads a filter; raises FilterSyntaxError, FilterTypeError or FilterLimitError."""
        parser = DIALECTS.get(dialect) if isinstance(dialect, str) else None
        if parser is None:
            raise FilterError(f"unknown dialect {shown(dialect)}; known: {', '.join(DIALECTS)}")
        if not isinstance(text, str):
            raise FilterError(f"a filter is text, not {type(text).__name__}")
        if not isinstance(limits, FilterLimits):
            raise FilterError(f"limits are FilterLimits, not {shown(limits)}")
        self = cls.__new__(cls)  # a million filters are made here; calling __init__ would add a tenth
        self.template, self.values = parser(text, limits)
        return self

    @classmethod
    def of(
        cls,
        expression: Predicate,
        alternatives: tuple[Conjunction, ...] | None = None,
        *,
        limits: FilterLimits = DEFAULT_LIMITS,
    ) -> Filter:
        """A filter from a tree, and its normal form if the caller has it.

        Raises FilterLimitError where its text would nest too deeply to be read.
        """
        if not hasattr(expression, "evaluate"):
            raise FilterError(f"a filter is made of an expression, not {shown(expression)}; Filter.parse reads text")
        if not isinstance(limits, FilterLimits):
            raise ArgumentError(f"limits are FilterLimits, not {shown(limits)}")
        self = cls._nested(expression, text_depth(expression), limits)
        if alternatives is not None:
            self._alternatives = alternatives
        return self

    @classmethod
    def _nested(cls, expression: Predicate, depth: int, limits: FilterLimits) -> Filter:
        """A filter from a tree of at most this depth, so that putting two together looks at neither as a whole."""
        if depth > limits.depth_max:
            depth = text_depth(expression)  # the text it was read from may have had parentheses that it does not need
            if depth > limits.depth_max:
                raise FilterLimitError("nesting", depth, limits.depth_max)
        self = cls(Template(expression, depth, 0), [])
        self._expression = expression  # it has no holes to fill
        return self

    @property
    def _limits(self) -> FilterLimits:
        """What may be made of this: a filter read under wider limits keeps them."""
        return DEFAULT_LIMITS if self.template.depth <= DEFAULT_LIMITS.depth_max else CEILING

    @property
    def expression(self) -> Predicate:
        """The tree."""
        try:
            return self._expression
        except AttributeError:
            self._expression = self.template.bind(self.values)
            return self._expression

    def matches(self, event: Attributes | Event) -> bool:
        """Whether the event satisfies the filter: whether the tree is TRUE on it."""
        try:
            predicate = self._predicate
        except AttributeError:
            predicate = self._predicate = compile_predicate(self.expression)
        if type(event) is not dict:
            check_event(event)
        return predicate(event)  # type: ignore[arg-type]  # an Event answers get() as a mapping does

    def explain(self, event: Attributes | Event) -> Explanation:
        """A tree of verdicts that a person can read: `print(f.explain(event))`."""
        check_event(event)
        attributes = event.attributes if isinstance(event, Event) else event
        return explain(self.expression, attributes)

    @property
    def alternatives(self) -> tuple[Conjunction, ...]:
        """The normal form, over dense numbers; made once and kept."""
        try:
            return self._alternatives
        except AttributeError:
            self._alternatives = tuple(normal_form(self.expression))
            return self._alternatives

    def covers(self, other: AnyFilter, schema: Schema | None = None) -> bool:
        """Whether every event that matches `other` matches this; "no" where it cannot be decided."""
        if self is other:
            return True
        narrower = as_filter(other)
        wide, narrow = self._forms(narrower, schema)
        if algebra.covers(wide, narrow):
            return True
        # A hull covers nothing for certain, and yet a filter covers its equal.
        return not all(alternative.exact for alternative in narrow) and self == narrower

    def overlaps(self, other: AnyFilter, schema: Schema | None = None) -> bool:
        """Whether an event can match both; "yes" where it cannot be decided."""
        return algebra.overlaps(*self._forms(as_filter(other), schema))

    def _forms(self, other: Filter, schema: Schema | None) -> tuple[Sequence[Conjunction], Sequence[Conjunction]]:
        if schema is None:
            return self.alternatives, other.alternatives
        scales = scales_of(schema)
        return normal_form(self.expression, scales=scales), normal_form(other.expression, scales=scales)

    def check(self, schema: Schema) -> None:
        """Raises FilterTypeError where the filter does not fit the schema."""
        check(self.expression, checked_schema(schema))

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes the filter looks at, each once, in order of appearance."""
        return tuple(dict.fromkeys(reference.name for reference in references(self.expression)))

    def __and__(self, other: AnyFilter) -> Filter:
        sides = self, as_filter(other)
        depths = [side.template.depth + isinstance(side.expression, Or) for side in sides]
        deeper = sides[0] if depths[0] >= depths[1] else sides[1]
        return Filter._nested(conjunction([side.expression for side in sides]), max(depths), deeper._limits)

    def __rand__(self, other: str) -> Filter:
        return as_filter(other) & self

    def __or__(self, other: AnyFilter) -> Filter:
        sides = self, as_filter(other)
        deeper = max(sides, key=lambda side: side.template.depth)
        joined = disjunction([side.expression for side in sides])
        return Filter._nested(joined, deeper.template.depth, deeper._limits)

    def __ror__(self, other: str) -> Filter:
        return as_filter(other) | self

    def __invert__(self) -> Filter:
        expression, depth = self.expression, self.template.depth
        if isinstance(expression, Not):  # unknown stays unknown, so two negations are none
            return Filter._nested(expression.term, depth - 1 - isinstance(expression.term, And | Or), self._limits)
        return Filter._nested(Not(expression), depth + 1 + isinstance(expression, And | Or), self._limits)

    def to_bytes(self) -> bytes:
        """The filter unchanged, even where SQL cannot express it; raises FilterTypeError for other dialects' nodes."""
        return tree_to_bytes(self.expression)

    @classmethod
    def from_bytes(cls, data: bytes) -> Filter:
        """The filter that `to_bytes` wrote, whatever limits it was made under; raises FilterError for other bytes."""
        return cls.of(tree_from_bytes(data), limits=CEILING)

    def __str__(self) -> str:
        return to_sql(self.expression)

    def __repr__(self) -> str:
        return f"Filter.parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Filter) and self.expression == other.expression)

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            self._hash = hash(self.expression)
            return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            return Filter.from_bytes, (self.to_bytes(),)
        except FilterTypeError:  # a node of another dialect
            return Filter.of, (self.expression,)


def scales_of(schema: Schema | None) -> Scales | None:
    """The layouts of a schema's attributes, by path."""
    return None if schema is None else checked_schema(schema).scales


AnyFilter = Filter | str


def as_filter(given: AnyFilter) -> Filter:
    """A filter from a filter or its text."""
    return given if isinstance(given, Filter) else Filter.parse(given)
