"""Events and filters whose types agree, so that Spark's own answer to the text of a filter must be ours.

Columns are compared with values and columns of their own kind. Integers stay below 2^53 where they meet doubles, and
there is no NaN: those are the places where we differ on purpose (see test_spark_differences).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime

import pyarrow as pa

from siftcast import Filter
from siftcast.model.expression import And, Between, Comparison, In, IsNull, Like, Literal, Not, Or, Predicate, Reference
from siftcast.model.like import LikePattern

INTEGERS = [-(2**63), -(2**53) - 1, -2, -1, 0, 1, 2, 3, 5, 2**53 + 1, 2**63 - 1]
SMALL = [-2, -1, 0, 1, 2, 3, 5]
FLOATS = [-1e300, -2.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.25, 1e300]
STRINGS = ["", "a", "ab", "abc", "abd", "b", "ba", "B", "it's", "100%", "é", "日本", "𝄞", "\\", "a b", "x\ny"]
PATTERNS = ["", "%", "a%", "ab%", "%b", "a%c", "_", "a_", "%b%", "_b%", "a%b%", "100\\%", "abc", "日_", "%\\\\", "x%y"]
MOMENTS = [
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2024, 5, 1, tzinfo=UTC),
    datetime(2024, 5, 1, 0, 0, 0, 1, tzinfo=UTC),
    datetime(2024, 5, 1, 12, tzinfo=UTC),
]
# Columns by kind; the literals a column meets are those of its pool.
COLUMNS: dict[tuple[str, ...], list[object]] = {
    ("i",): [*INTEGERS],
    ("j",): [*SMALL],
    ("n", "x"): [*SMALL],
    ("x",): [*FLOATS, *SMALL],
    ("y",): [*FLOATS],
    ("s",): [*STRINGS],
    ("n", "s"): [*STRINGS],
    ("b",): [True, False],
    ("t",): [*MOMENTS],
    ("u",): [*MOMENTS],
}
ALIKE: list[list[tuple[str, ...]]] = [
    [("j",), ("n", "x"), ("x",), ("y",)],
    [("i",), ("j",), ("n", "x")],
    [("s",), ("n", "s")],
    [("t",), ("u",)],
]
SCHEMA = pa.schema(
    {
        "row": pa.int64(), "i": pa.int64(), "j": pa.int32(), "x": pa.float64(), "y": pa.float32(), "s": pa.string(),
        "b": pa.bool_(), "t": pa.timestamp("us", "UTC"), "u": pa.timestamp("us", "UTC"),
        "n": pa.struct({"x": pa.int64(), "s": pa.string()}),
    }
)  # fmt: skip


def make_events(rng: random.Random, count: int) -> pa.Table:
    """Rows with a tenth of nulls in every column, in the struct and inside it."""

    def draw(pool: list[object]) -> object:
        return None if rng.random() < 0.1 else rng.choice(pool)

    rows = []
    for row in range(count):
        event: dict[str, object] = {"row": row}
        for path, pool in COLUMNS.items():
            if path == ("x",):
                event["x"] = draw([float(value) for value in pool])  # type: ignore[arg-type]
            elif path == ("y",):
                event["y"] = draw([-2.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.25])
            elif len(path) == 1:
                event[path[0]] = draw(pool)
        event["n"] = draw([{"x": draw([*SMALL]), "s": draw([*STRINGS])}])
        rows.append(event)
    return pa.Table.from_pylist(rows, SCHEMA)


def make_filters(rng: random.Random, count: int) -> list[str]:
    """Texts of filters, as Siftcast prints them; the first ones are single tests, one of each form for each column."""
    made = [form(rng, path) for path in COLUMNS for form in _FORMS]
    while len(made) < count:
        made.append(_tree(rng, 3))
    return [str(Filter.of(predicate)) for predicate in made]


def _tree(rng: random.Random, depth: int) -> Predicate:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(_FORMS)(rng, rng.choice(list(COLUMNS)))
    terms = tuple(_tree(rng, depth - 1) for _ in range(rng.randint(2, 3)))
    return rng.choice([lambda: And(terms), lambda: Or(terms), lambda: Not(terms[0])])()


def _literal(rng: random.Random, path: tuple[str, ...]) -> Literal:
    return Literal(rng.choice(COLUMNS[path]))  # type: ignore[arg-type]


def _comparison(rng: random.Random, path: tuple[str, ...]) -> Predicate:
    return Comparison(rng.choice(["=", "!=", "<", "<=", ">", ">="]), Reference(path), _literal(rng, path))


def _turned(rng: random.Random, path: tuple[str, ...]) -> Predicate:
    return Comparison(rng.choice(["=", "!=", "<", "<=", ">", ">="]), _literal(rng, path), Reference(path))


def _two_columns(rng: random.Random, path: tuple[str, ...]) -> Predicate:
    others = rng.choice([group for group in ALIKE if path in group] or [[path]])
    return Comparison(rng.choice(["=", "!=", "<", "<=", ">", ">="]), Reference(path), Reference(rng.choice(others)))


def _between(rng: random.Random, path: tuple[str, ...]) -> Predicate:
    return Between(Reference(path), _literal(rng, path), _literal(rng, path), rng.random() < 0.3)


def _in(rng: random.Random, path: tuple[str, ...]) -> Predicate:
    options = [_literal(rng, path) for _ in range(rng.randint(1, 4))]
    if rng.random() < 0.2:
        options.append(Literal(None))
    return In(Reference(path), tuple(options), rng.random() < 0.3)


def _is_null(rng: random.Random, path: tuple[str, ...]) -> Predicate:
    return IsNull(Reference(path), rng.random() < 0.5)


def _like(rng: random.Random, path: tuple[str, ...]) -> Predicate:
    subject = path if path[-1] == "s" else ("s",)
    return Like(Reference(subject), LikePattern(rng.choice(PATTERNS)), rng.random() < 0.3)


def _flag(rng: random.Random, path: tuple[str, ...]) -> Predicate:
    return Reference(("b",)) if path == ("b",) else Not(_comparison(rng, path))


_FORMS: list[Callable[[random.Random, tuple[str, ...]], Predicate]] = [
    _comparison, _turned, _two_columns, _between, _in, _is_null, _like, _flag,
]  # fmt: skip
