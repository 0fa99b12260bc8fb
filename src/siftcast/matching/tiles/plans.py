"""Loading subscriptions by columns: from the literals of one template to intervals, many filters at a time.

A plan exists for templates that are one comparison, or a conjunction of comparisons and BETWEENs of attributes with
literals (`!=` aside). Anything else goes through `boxes_of`, one filter at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np

from siftcast.matching.contract import Int32Array, Int64Array
from siftcast.matching.tiles.boxes import SIDES_MAX, Box, Side
from siftcast.matching.tiles.keys import EXACT_MAX, KEY_MAX, KEY_MIN, Dimension, Mask, number_key, number_keys
from siftcast.model.expression import MIRRORED, And, Between, Comparison, Literal, Predicate, Reference
from siftcast.model.template import Hole, Template
from siftcast.model.values import Kind, Value, microseconds

_RAISING, _LOWERING = frozenset({"=", ">=", ">"}), frozenset({"=", "<=", "<"})  # a low end, a high end
_PLANNED = _RAISING | _LOWERING


class Leaf(NamedTuple):
    """One comparison of a dimension with the literal in a hole."""

    dimension: Dimension
    operator: str
    hole: int


@dataclass(frozen=True, slots=True)
class Columns:
    """The interval of each of many filters on one dimension, as keys or, for strings, as values.

    `rows` numbers the filters that have one, from 0; None means all of them.
    """

    dimension: Dimension
    lows: Int64Array | list[str]
    highs: Int64Array | list[str | None]
    rows: Int32Array | None = None


def plan_of(template: Template) -> list[Leaf] | None:
    """How the literals of a template bound its dimensions, or None where they do more than that."""
    leaves: list[Leaf] = []
    terms = template.tree.terms if isinstance(template.tree, And) else (template.tree,)
    for term in terms:
        found = _leaves(term)
        if found is None:
            return None
        leaves += found
    strings = [leaf for leaf in leaves if leaf.dimension[1] is Kind.STRING]
    if any(leaf.operator != "=" for leaf in strings) or len({leaf.dimension for leaf in strings}) < len(strings):
        return None
    kinds = {leaf.dimension[0]: leaf.dimension[1] for leaf in leaves}
    if len(kinds) > SIDES_MAX:
        return None
    if any(kinds[leaf.dimension[0]] is not leaf.dimension[1] for leaf in leaves):
        return None
    return leaves


def _leaves(term: Predicate) -> list[Leaf] | None:
    # Written out instead of as patterns, which take three times as long: every new form of filter comes here.
    if type(term) is Comparison:
        left, right, operator = term.left, term.right, term.operator
        if type(left) is Hole and type(right) is Reference:
            left, right, operator = right, left, MIRRORED[operator]
        if type(left) is Reference and type(right) is Hole and operator in _PLANNED:
            return [Leaf((left.path, right.kind), operator, right.index)]
    elif type(term) is Between and not term.negated:
        operand, low, high = term.operand, term.low, term.high
        if type(operand) is Reference and type(low) is Hole and type(high) is Hole:
            dimension = (operand.path, low.kind)
            return [Leaf(dimension, ">=", low.index), Leaf(dimension, "<=", high.index)]
    elif type(term) is Literal and term.constant is True:
        return []
    return None


def apply_plan(plan: Sequence[Leaf], rows: Sequence[Sequence[Value]]) -> tuple[list[Columns], Mask]:
    """Intervals of many filters of one template, and which filters they decide; the others take the general way."""
    count = len(rows)
    decided = np.ones(count, np.bool_)
    bounds: dict[Dimension, tuple[Int64Array, Int64Array]] = {}
    columns: list[Columns] = []
    for leaf in plan:
        literals = [row[leaf.hole] for row in rows]
        if leaf.dimension[1] is Kind.STRING:
            columns.append(Columns(leaf.dimension, literals, literals))  # type: ignore[arg-type]
            continue
        keys = _literal_keys(leaf.dimension, literals, decided)
        if leaf.dimension not in bounds:
            bounds[leaf.dimension] = np.full(count, KEY_MIN, np.int64), np.full(count, KEY_MAX, np.int64)
        low, high = bounds[leaf.dimension]
        if leaf.operator in _RAISING:
            np.maximum(low, keys + (leaf.operator == ">"), out=low)
        if leaf.operator in _LOWERING:
            np.minimum(high, keys - (leaf.operator == "<"), out=high)
    for dimension, (low, high) in bounds.items():
        decided &= low <= high  # an empty interval matches nothing, which an index has no row for
        columns.append(Columns(dimension, low, high))
    return columns, decided


def box_by_plan(plan: Sequence[Leaf], values: Sequence[Value]) -> Box | None:
    """The box of one filter, or None where its literals need the general way: the same as `apply_plan` on one row."""
    sides: list[Side] = []
    bounds: dict[Dimension, tuple[int, int]] = {}
    for dimension, operator, hole in plan:
        value = values[hole]
        if isinstance(value, str):
            sides.append((dimension, value, value))
            continue
        if isinstance(value, datetime):
            key = microseconds(value)
        elif -EXACT_MAX < value < EXACT_MAX:
            key = number_key(value)
        else:
            return None
        low, high = bounds.get(dimension, (KEY_MIN, KEY_MAX))
        if operator in _RAISING:
            low = max(low, key + (operator == ">"))
        if operator in _LOWERING:
            high = min(high, key - (operator == "<"))
        bounds[dimension] = low, high
    for dimension, (low, high) in bounds.items():
        if low > high:
            return None
        sides.append((dimension, low, high))
    return Box(sides)


def _literal_keys(dimension: Dimension, literals: Sequence[Value], decided: Mask) -> Int64Array:
    if dimension[1] is Kind.TIMESTAMP:
        return np.array([microseconds(moment) for moment in literals if isinstance(moment, datetime)], np.int64)
    numbers = np.array(literals, np.float64)
    decided &= np.abs(numbers) < EXACT_MAX
    return number_keys(numbers)
