"""`Filter`: an interest, as users see it. Parsing, matching, algebra and explanation behind one name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from siftcast.model import algebra
from siftcast.model.errors import FilterError
from siftcast.model.event import Event
from siftcast.model.explanation import Explanation, explain
from siftcast.model.expression import Attributes, Not, Predicate, conjunction, disjunction, references
from siftcast.model.limits import DEFAULT_LIMITS, FilterLimits
from siftcast.model.normal_form import Scales
from siftcast.model.predicate import CompiledPredicate, compile_predicate
from siftcast.model.printing import to_sql
from siftcast.model.schema import Schema
from siftcast.model.sql import parse_sql
from siftcast.model.template import Template
from siftcast.model.typecheck import check
from siftcast.model.values import Value

Parsed = tuple[Template, list[Value]]

# A dialect turns text into a template and its literals. Later dialects are one entry here and one module.
DIALECTS: dict[str, Callable[[str, FilterLimits], Parsed]] = {"sql": parse_sql}


class Filter:
    """A predicate over the attributes of events; immutable.

    Holds the template and the literals it was parsed into; the tree and the compiled predicate are made when
    first asked for, so that a million filters can be read without building a million trees.
    """

    __slots__ = ("__weakref__", "_expression", "_predicate", "template", "values")

    template: Template
    values: list[Value]
    _expression: Predicate
    _predicate: CompiledPredicate

    def __init__(self, template: Template, values: list[Value]) -> None:
        """Used by dialects; users call `parse` or `of`."""
        self.template = template
        self.values = values

    @classmethod
    def parse(cls, text: str, dialect: str = "sql", *, limits: FilterLimits = DEFAULT_LIMITS) -> Filter:
        """Reads a filter; raises FilterSyntaxError, FilterTypeError or FilterLimitError."""
        parser = DIALECTS.get(dialect)
        if parser is None:
            raise FilterError(f"unknown dialect '{dialect}'; known: {', '.join(DIALECTS)}")
        if not isinstance(text, str):
            raise FilterError(f"a filter is text, not {type(text).__name__}")
        self = cls.__new__(cls)  # a million filters are made here; calling __init__ would add a tenth
        self.template, self.values = parser(text, limits)
        return self

    @classmethod
    def of(cls, expression: Predicate) -> Filter:
        """A filter from a tree."""
        return cls(Template(expression, 0, 0), [])

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
        return predicate(event)  # type: ignore[arg-type]  # an Event answers get() as a mapping does

    def explain(self, event: Attributes | Event) -> Explanation:
        """A tree of verdicts that a person can read: `print(f.explain(event))`."""
        attributes = event.attributes if isinstance(event, Event) else event
        return explain(self.expression, attributes)

    def covers(self, other: Filter, schema: Schema | None = None) -> bool:
        """Whether every event that matches `other` matches this; "no" where it cannot be decided."""
        return algebra.covers(self.expression, other.expression, scales_of(schema))

    def overlaps(self, other: Filter, schema: Schema | None = None) -> bool:
        """Whether an event can match both; "yes" where it cannot be decided."""
        return algebra.overlaps(self.expression, other.expression, scales_of(schema))

    def check(self, schema: Schema) -> None:
        """Raises FilterTypeError where the filter does not fit the schema."""
        check(self.expression, schema)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes the filter looks at, each once, in order of appearance."""
        return tuple(dict.fromkeys(reference.name for reference in references(self.expression)))

    def __and__(self, other: Filter) -> Filter:
        return Filter.of(conjunction([self.expression, other.expression]))

    def __or__(self, other: Filter) -> Filter:
        return Filter.of(disjunction([self.expression, other.expression]))

    def __invert__(self) -> Filter:
        return Filter.of(Not(self.expression))

    def __str__(self) -> str:
        return to_sql(self.expression)

    def __repr__(self) -> str:
        return f"Filter.parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Filter) and self.expression == other.expression

    def __hash__(self) -> int:
        return hash(self.expression)

    def __reduce__(self) -> tuple[Any, ...]:
        return Filter.of, (self.expression,)


def scales_of(schema: Schema | None) -> Scales | None:
    """The layouts of a schema's attributes, by path."""
    return None if schema is None else schema.scales


AnyFilter = Filter | str


def as_filter(given: AnyFilter, dialect: str = "sql") -> Filter:
    """A filter from a filter or its text."""
    return given if isinstance(given, Filter) else Filter.parse(given, dialect)
