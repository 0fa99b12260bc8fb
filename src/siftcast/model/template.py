"""Filters that differ only in their literals share one parsed tree.

Standing subscriptions come by the million and from few forms: `symbol = ? AND price < ?`. A `Template`
is the tree with a `Slot` where each literal was; a filter is a template plus its literal values. One
regular expression splits a text into the literals and what lies between; where what lies between has been
seen before, nothing needs to be parsed again. Engines use the same split to load subscriptions by columns.

Invariant: a text takes the short way only if the full lexer, on the text that created the template, found
exactly the literals that the split finds. Anything unusual (escapes, quoted names, a literal of another kind)
takes the full way, which is the only one that reports errors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from siftcast.model.bounded_cache import remember
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
)
from siftcast.model.lexer import unescape
from siftcast.model.like import LikePattern
from siftcast.model.values import Kind, Value, parse_timestamp

INTEGER_MAX = 2**63 - 1
# Numbers of at most 18 digits cannot overflow; a string with a backslash or a doubled quote is left whole.
# It starts with a set of characters, by which the regular expression engine finds candidates twice as fast.
_LITERAL = re.compile(r"(['0-9](?:(?<=')[^'\\]*'|(?<=[0-9])(?<![\w.][0-9])[0-9]{0,17}(?:\.[0-9]{1,18})?(?![\w.])))")
_decode = msgspec.json.Decoder(list).decode
_CACHE_MAX = 16_384  # about 50 MB at worst
_CACHED_SLOTS_MAX = 64  # long IN lists rarely repeat; caching them would only hold on to their text


class Slot(msgspec.Struct, frozen=True, gc=False):
    """The place of a literal in a template."""

    index: int
    kind: Kind

    def value(self, attributes: Attributes) -> object:
        raise LookupError("a template must be bound to literals before it can be evaluated")


class PatternSlot(msgspec.Struct, frozen=True, gc=False):
    """The place of a LIKE pattern in a template."""

    index: int


def read_number(raw: str, integer_max: int = INTEGER_MAX) -> int | float:
    """An integer of 64 bits or a finite float; raises ValueError beyond."""
    if "." in raw or "e" in raw or "E" in raw:
        number = float(raw)
        if number in (float("inf"), float("-inf")):
            raise ValueError("the number is too large for a float")
        return number
    integer = int(raw) if len(raw) < 400 else integer_max + 1
    if integer > integer_max:
        raise ValueError("the integer does not fit 64 bits; write it as a float, as in 1e19")
    return integer


def read_negative(raw: str) -> int | float:
    """The same with a minus sign before it: 64 bits reach one further down than up."""
    return -read_number(raw, INTEGER_MAX + 1)


class Template(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """A parsed filter without its literals; compared by identity."""

    tree: Predicate
    depth: int
    terms: int

    def bind(self, values: Sequence[Value]) -> Predicate:
        """The tree with its literals put in."""
        return _bind(self.tree, values)


def _bind(node: Predicate, values: Sequence[Value]) -> Predicate:
    match node:
        case Comparison(operator, left, right):
            return Comparison(operator, _fill(left, values), _fill(right, values))
        case And(terms):
            return And(tuple(_bind(term, values) for term in terms))
        case Or(terms):
            return Or(tuple(_bind(term, values) for term in terms))
        case Not(term):
            return Not(_bind(term, values))
        case Between(operand, low, high, negated):
            return Between(_fill(operand, values), _fill(low, values), _fill(high, values), negated)
        case In(operand, options, negated):
            return In(_fill(operand, values), tuple(_literal(option, values) for option in options), negated)
        case Like(operand, PatternSlot(index), negated):
            return Like(_fill(operand, values), LikePattern(str(values[index])), negated)
        case IsNull(operand, negated):
            return IsNull(_fill(operand, values), negated)
    return node


def _fill(operand: Operand, values: Sequence[Value]) -> Operand:
    return Literal(values[operand.index]) if isinstance(operand, Slot) else operand


def _literal(option: object, values: Sequence[Value]) -> Literal:
    if isinstance(option, Slot):
        return Literal(values[option.index])
    assert isinstance(option, Literal)
    return option


class Literals:
    """The literals of one text as the parser meets them: as written, their types, and how they are to be read."""

    __slots__ = ("negative", "raws", "timestamps", "types", "values")

    def __init__(self) -> None:
        self.raws: list[str] = []
        self.values: list[Value] = []
        self.types: list[type] = []
        self.negative: list[int] = []
        self.timestamps: list[int] = []

    def add(self, raw: str, kind: Kind, negative: bool) -> Slot:
        """Reads a literal and gives it a slot; raises ValueError."""
        index = len(self.values)
        if kind is Kind.NUMBER:
            value: Value = read_negative(raw) if negative else read_number(raw)
            self.types.append(type(value))
            if negative:
                self.negative.append(index)
        else:
            value = unescape(raw)
            self.types.append(str)
            if kind is Kind.TIMESTAMP:
                value = parse_timestamp(value)
                self.timestamps.append(index)
        self.values.append(value)
        self.raws.append(raw)
        return Slot(index, kind)


class _Entry(msgspec.Struct, frozen=True, gc=False):
    template: Template
    negative: list[int]
    timestamps: list[int]
    as_read: bool  # whether literals need nothing further done to them


class TemplateCache:
    """Templates by the text between their literals and the types of these; the oldest goes when it is full.

    All literals of a text are read in one call, as a JSON array. A double quote would end a string of that array
    early, and two of them can even hide a number between; a text with one takes the full way.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[tuple[object, ...], _Entry] = {}

    def find(self, text: str) -> tuple[Template, list[Value]] | None:
        """The template of a text and the text's literals, where the short way is open."""
        if '"' in text:
            return None
        parts = _LITERAL.split(text)
        try:
            values = _decode(f"[{','.join(parts[1::2])}]".replace("'", '"'))
        except (msgspec.DecodeError, UnicodeError):  # UnicodeError: a lone surrogate
            return None
        entry = self._entries.get((*parts[::2], *map(type, values)))
        if entry is None:
            return None
        if entry.as_read:
            return entry.template, values
        for index in entry.negative:
            values[index] = -values[index]
        try:
            for index in entry.timestamps:
                values[index] = parse_timestamp(values[index])
        except ValueError:
            return None
        return entry.template, values

    def add(self, text: str, literals: Literals, template: Template) -> None:
        """Remembers a template, if the split of its text finds the very literals that the lexer found."""
        parts = _LITERAL.split(text)
        if parts[1::2] != literals.raws or len(literals.raws) > _CACHED_SLOTS_MAX or "`" in "".join(parts[::2]):
            return
        as_read = not literals.negative and not literals.timestamps
        entry = _Entry(template, literals.negative, literals.timestamps, as_read)
        remember(self._entries, (*parts[::2], *literals.types), entry, _CACHE_MAX)
