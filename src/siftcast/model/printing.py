"""Writes a tree as SQL text that parses back into the same tree, here and in Spark."""

from __future__ import annotations

import re
from datetime import datetime

from siftcast.model.errors import FilterTypeError
from siftcast.model.expression import And, Between, Comparison, In, IsNull, Like, Literal, Not, Or, Reference
from siftcast.model.lexer import KEYWORDS, escape
from siftcast.model.values import Value

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\Z")
_SPARK_WORDS = frozenset({"SELECT", "FROM", "VALUES"})  # free here, but before IN ( Spark takes them for a query
_LOOSEST, _AND, _NOT = 0, 1, 2  # how tightly the surroundings bind


def to_sql(node: object) -> str:
    """The text of a predicate or operand."""
    return _write(node, _LOOSEST)


def _write(node: object, around: int) -> str:
    match node:
        case Or(terms):
            return _parenthesised(_joined(" OR ", terms, _AND), around > _LOOSEST)
        case And(terms):
            return _parenthesised(_joined(" AND ", terms, _NOT), around > _AND)
        case Not(term):
            return f"NOT {_write(term, _NOT)}"
        case Comparison(operator, left, right):
            return f"{to_sql(left)} {operator} {to_sql(right)}"
        case Between(operand, low, high, negated):
            return f"{to_sql(operand)}{_not(negated)} BETWEEN {to_sql(low)} AND {to_sql(high)}"
        case In(operand, options, negated):
            return f"{to_sql(operand)}{_not(negated)} IN ({', '.join(map(to_sql, options))})"
        case Like(operand, pattern, negated):
            return f"{to_sql(operand)}{_not(negated)} LIKE {escape(pattern.source)}"
        case IsNull(operand, negated):
            return f"{to_sql(operand)} IS{_not(negated)} NULL"
        case Reference(path):
            return ".".join(map(quote_name, path))
        case Literal(constant):
            return write_value(constant)
    raise FilterTypeError(f"{type(node).__name__} cannot be written in the SQL dialect")


def _joined(joint: str, terms: tuple[object, ...], around: int) -> str:
    written = []
    for term in terms:  # no generator: a frame less for each level
        written.append(_write(term, around))
    return joint.join(written)


def text_depth(node: object) -> int:
    """How deep the text of a tree nests, counted as the parser does: each NOT and each pair of parentheses."""
    deepest = 0
    pending: list[tuple[object, int, int]] = [(node, 0, _LOOSEST)]
    while pending:  # not by recursion, since this is what guards against too much of it
        current, depth, around = pending.pop()
        kind = type(current)
        if kind is Or or kind is And:
            own = _AND if kind is Or else _NOT
            depth += around >= own
            pending += [(term, depth, own) for term in current.terms]  # type: ignore[attr-defined]
        elif kind is Not:
            depth += 1
            pending.append((current.term, depth, _NOT))  # type: ignore[attr-defined]
        deepest = max(deepest, depth)
    return deepest


def _parenthesised(text: str, needed: bool) -> str:
    return f"({text})" if needed else text


def _not(negated: bool) -> str:
    return " NOT" if negated else ""


def quote_name(name: str) -> str:
    """A name as it must be written: plain where possible, otherwise in backquotes."""
    if _PLAIN_NAME.match(name) and name.upper() not in KEYWORDS | _SPARK_WORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def write_value(constant: Value | None) -> str:
    """A literal as SQL text."""
    if constant is None:
        return "NULL"
    if isinstance(constant, bool):
        return "TRUE" if constant else "FALSE"
    if isinstance(constant, str):
        return escape(constant)
    if isinstance(constant, datetime):
        return f"TIMESTAMP '{constant.replace(tzinfo=None).isoformat(sep=' ')}Z'"
    text = repr(constant)
    if text in ("inf", "-inf", "nan"):
        raise FilterTypeError(f"SQL has no literal for {text}")
    return text
