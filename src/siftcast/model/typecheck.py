"""Checks a filter against a schema when a subscription is added, so that no event runs into an error later."""

from __future__ import annotations

from difflib import get_close_matches

from siftcast.model.columns import elsewhere
from siftcast.model.errors import FilterTypeError
from siftcast.model.expression import (
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
    children,
)
from siftcast.model.printing import to_sql
from siftcast.model.schema import Schema
from siftcast.model.values import Kind, kind_of


def check(node: object, schema: Schema) -> None:
    """Raises FilterTypeError where the filter names an unknown attribute or compares unlike types."""
    match node:
        case And() | Or() | Not():
            for part in children(node):
                check(part, schema)
        case Reference():
            _expect(node, Kind.BOOLEAN, schema, node)
        case Like(operand, _, _):
            _expect(operand, Kind.STRING, schema, node)
        case Comparison() | Between() | In():
            _check_alike(node, schema)
        case IsNull(Reference() as operand, _):
            _kind(operand, schema)


def _check_alike(node: object, schema: Schema) -> None:
    known: tuple[object, Kind] | None = None
    for operand in children(node):
        kind = _kind(operand, schema)
        if kind is None:
            continue
        if known is not None and known[1] is not kind:
            raise _mismatch(known[0], known[1], operand, kind, schema, node)
        known = operand, kind


def _expect(operand: object, wanted: Kind, schema: Schema, node: object) -> None:
    kind = _kind(operand, schema)
    if kind is not None and kind is not wanted:
        raise FilterTypeError(f"in '{to_sql(node)}': {_described(operand, kind, schema)}, not a {wanted.value}")


def _kind(operand: object, schema: Schema) -> Kind | None:
    """The kind an operand surely has: None for NULL and for attributes inside nested ones."""
    if isinstance(operand, Literal):
        return kind_of(operand.constant)
    if not isinstance(operand, Reference):
        return None
    if operand.name in schema:
        path = schema.nested_path(operand.name)
        if path is not None and path != operand.path:
            raise FilterTypeError(f"the schema has no attribute '{operand.name}'{elsewhere(path)}")
        return schema[operand.name].kind
    nearest = get_close_matches(operand.name, schema.names, 1)
    hint = f"; did you mean '{nearest[0]}'?" if nearest else f"; it has {', '.join(schema.names)}"
    raise FilterTypeError(f"the schema has no attribute '{operand.name}'{hint}")


def _described(operand: object, kind: Kind, schema: Schema) -> str:
    if isinstance(operand, Reference):
        return f"'{operand.name}' is of type {schema[operand.name].type}"
    return f"{to_sql(operand)} is a {kind.value}"


def _mismatch(
    left: object, left_kind: Kind, right: object, right_kind: Kind, schema: Schema, node: object
) -> FilterTypeError:
    message = f"in '{to_sql(node)}': {_described(left, left_kind, schema)}, but {_described(right, right_kind, schema)}"
    kinds = {left_kind, right_kind}
    if kinds == {Kind.TIMESTAMP, Kind.STRING}:
        message += "; write TIMESTAMP before the string"
    elif kinds == {Kind.NUMBER, Kind.STRING}:
        message += "; numbers are written without quotes"
    return FilterTypeError(message)
