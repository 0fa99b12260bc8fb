"""Trees of filters as bytes and back, exactly: what matchers save and what a pickled filter is.

The text of a filter says less than its tree can hold. SQL has no literal for an infinity or for an integer beyond 64
bits, which bounds in a column of floats or of unsigned integers have; names and strings may hold half a surrogate pair,
which UTF-8 cannot; and an attribute may have an empty name. A tree is nested msgpack arrays, each with its kind in
front; texts are the bytes of their UTF-8, in which half a pair is passed through.

    a >= 5 AND b LIKE 'x%'     ─▶     ["and", [">=", ["name", a], ["value", 5]], ["like", false, ["name", b], x%]]

Rejected: pickle, which runs what it reads. Nodes of other dialects have no such form, as they have none in SQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from siftcast.model.errors import FilterError, FilterTypeError
from siftcast.model.expression import (
    COMPARATORS,
    And,
    Between,
    Comparison,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    Reference,
)
from siftcast.model.like import LikePattern
from siftcast.model.values import Value, microseconds

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INTEGER_MIN, _INTEGER_MAX = -(2**63), 2**64 - 1  # what msgpack holds
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


def tree_to_bytes(node: object) -> bytes:
    """The bytes of a tree; raises FilterTypeError where it has a node of another dialect."""
    return _encode(_written(node))


def tree_from_bytes(data: bytes) -> Any:
    """The tree that `tree_to_bytes` wrote; raises FilterError for anything else."""
    try:
        return _read(_decode(data))
    except (
        msgspec.DecodeError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        OverflowError,
        BufferError,
        RecursionError,
    ) as error:
        raise FilterError(f"these bytes are no saved filter: {error}") from None


def _written(node: object) -> list[Any]:
    match node:
        case And(terms):
            return ["and", *map(_written, terms)]
        case Or(terms):
            return ["or", *map(_written, terms)]
        case Not(term):
            return ["not", _written(term)]
        case Comparison(operator, left, right):
            return [operator, _written(left), _written(right)]
        case Between(operand, low, high, negated):
            return ["between", negated, _written(operand), _written(low), _written(high)]
        case In(operand, options, negated):
            return ["in", negated, _written(operand), *(_written_value(option.constant) for option in options)]
        case Like(operand, pattern, negated):
            return ["like", negated, _written(operand), _bytes(pattern.source)]
        case IsNull(operand, negated):
            return ["null", negated, _written(operand)]
        case Reference(path):
            return ["name", *map(_bytes, path)]
        case Literal(constant):
            return ["value", _written_value(constant)]
    raise FilterTypeError(f"{type(node).__name__} belongs to another dialect and cannot be saved")


def _written_value(constant: Value | None) -> object:
    if isinstance(constant, str):
        return _bytes(constant)
    if isinstance(constant, datetime):
        return ["moment", microseconds(constant)]
    if isinstance(constant, int) and not _INTEGER_MIN <= constant <= _INTEGER_MAX:
        return ["integer", f"{constant:x}"]
    return constant


def _read(written: Sequence[Any]) -> Any:
    kind, *parts = written
    if kind == "and":
        return And(tuple(map(_read, parts)))
    if kind == "or":
        return Or(tuple(map(_read, parts)))
    if kind == "not":
        return Not(_read(parts[0]))
    if kind in COMPARATORS:
        return Comparison(kind, _read(parts[0]), _read(parts[1]))
    if kind == "name":
        return Reference(tuple(map(_text, parts)))
    if kind == "value":
        return Literal(_read_value(parts[0]))
    negated, operand = parts[0], _read(parts[1])
    if kind == "between":
        return Between(operand, _read(parts[2]), _read(parts[3]), negated)
    if kind == "in":
        return In(operand, tuple(Literal(_read_value(part)) for part in parts[2:]), negated)
    if kind == "like":
        return Like(operand, LikePattern(_text(parts[2])), negated)
    if kind == "null":
        return IsNull(operand, negated)
    raise LookupError(f"no node '{kind}'")


def _read_value(written: Any) -> Value | None:
    if isinstance(written, bytes):
        return _text(written)
    if isinstance(written, list):
        kind, value = written
        return _EPOCH + timedelta(microseconds=value) if kind == "moment" else int(value, 16)
    constant: Value | None = written
    return constant


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(written: bytes) -> str:
    return written.decode("utf-8", "surrogatepass")
