"""Laws of single filters: they print and parse back, and compile into what they mean.

The strategies for trees and events live here; the other `test_filter_*` files borrow them. Literals and event
values come from small pools of awkward values, so that comparisons meet, and only now and then from everywhere.
"""

import re
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import Event, Filter
from siftcast.model.expression import (
    COMPARATORS,
    Between,
    Comparison,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Reference,
    conjunction,
    disjunction,
)
from siftcast.model.like import LikePattern
from siftcast.model.values import Kind

NAMES = ["a", "b", "c", "Price", "in", "TIMESTAMP", "größe", "a b", "n.x", "`", "select"]
PATHS = [(name,) for name in NAMES] + [("n", "x"), ("n", "y", "z"), ("a", "and"), ("e5", "x")]

NUMBERS = [0, 1, -1, 2, 0.0, -0.0, 0.5, 1.0, 1e-320, 1e300, 2**53, 2**53 + 1, float(2**53), 2**63 - 1, -(2**63)]
STRINGS = [
    "",
    "a",
    "ab",
    "b",
    "%",
    "_",
    "\\",
    "it's",
    '"',
    "é",
    "e\u0301",
    "\U0001f600",
    "\ud800",
    "\0",
    "\uffff",
    "\n",
]
MOMENTS = [
    datetime(2024, 5, 1, 10, 30, tzinfo=UTC),
    datetime(2024, 5, 1, 10, 30, 0, 1, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
]
HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")

strings = st.sampled_from(STRINGS) | st.text(max_size=6).filter(lambda text: not HALVES.search(text))
constants: dict[Kind, st.SearchStrategy] = {
    Kind.NUMBER: st.sampled_from(NUMBERS)
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False),
    Kind.STRING: strings,
    Kind.BOOLEAN: st.booleans(),
    Kind.TIMESTAMP: st.sampled_from(MOMENTS)
    | st.datetimes(timezones=st.just(UTC)).map(lambda moment: moment.replace(fold=0)),
}
references = st.sampled_from(PATHS).map(Reference)
patterns = st.lists(st.sampled_from(["%", "_", "\\%", "\\_", "\\\\", "a", "b", "é", "'", '"', "\n"]), max_size=5).map(
    lambda pieces: LikePattern("".join(pieces))
)


def literals(kind: Kind) -> st.SearchStrategy[Literal]:
    return (constants[kind] | st.none()).map(Literal)


@st.composite
def leaves(draw: st.DrawFn, *, alike: bool = True):
    """A predicate without AND, OR and NOT; `alike` keeps to literals of one kind, as the parser demands."""
    kind = draw(st.sampled_from(Kind))

    def literal() -> Literal:
        return draw(literals(kind if alike else draw(st.sampled_from(Kind))))

    def operand():
        return draw(references) if draw(st.integers(0, 3)) else literal()

    match draw(st.integers(0, 6)):
        case 0:
            return draw(references)
        case 1:
            return draw(st.sampled_from([Literal(True), Literal(False), Literal(None)]))
        case 2:
            return Between(operand(), operand(), operand(), draw(st.booleans()))
        case 3:
            options = tuple(literal() for _ in range(draw(st.integers(1, 4))))
            return In(operand(), options, draw(st.booleans()))
        case 4:
            text = draw(strings.map(Literal))
            return Like(draw(references | st.just(text)), draw(patterns), draw(st.booleans()))
        case 5:
            return IsNull(operand(), draw(st.booleans()))
    return Comparison(draw(st.sampled_from(list(COMPARATORS))), operand(), operand())


def trees(leaf: st.SearchStrategy | None = None, max_leaves: int = 8) -> st.SearchStrategy:
    def grown(inner: st.SearchStrategy) -> st.SearchStrategy:
        several = st.lists(inner, min_size=2, max_size=3)
        return several.map(conjunction) | several.map(disjunction) | inner.map(Not)

    return st.recursive(leaves() if leaf is None else leaf, grown, max_leaves=max_leaves)


ELSEWHERE = [timezone(timedelta(hours=2)), timezone(timedelta(hours=-11, minutes=-30))]
odd_values = st.sampled_from(
    [
        None,
        float("nan"),
        float("inf"),
        float("-inf"),
        10**30,
        -(10**400),
        Decimal("0.5"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("-Infinity"),
        Fraction(1, 2),
        np.float64(0.5),
        np.float32("nan"),
        np.int8(1),
        np.uint64(2**63 - 1),
        np.bool_(True),
        np.str_("a"),
        date(2024, 5, 1),
        datetime(2024, 5, 1, 10, 30),
        datetime(2024, 5, 1, 12, 30, tzinfo=ELSEWHERE[0]),
        datetime.max.replace(tzinfo=ELSEWHERE[1]),
        b"a",
        [],
        [1],
        {},
        {"x": 1},
        (1,),
        1j,
    ]
)
values = st.one_of(odd_values, *constants.values())
nested = st.fixed_dictionaries(
    {}, optional={"x": values, "and": values, "y": st.fixed_dictionaries({}, optional={"z": values}) | values}
)
events = st.fixed_dictionaries({}, optional=dict.fromkeys([*NAMES, "n", "e5", "n.y.z"], values | nested))


@given(trees())
def test_printed_tree_parses_into_an_equal_tree(tree):
    assert Filter.parse(str(Filter.of(tree))).expression == tree


@given(trees())
def test_printing_what_was_printed_changes_nothing(tree):
    text = str(Filter.of(tree))
    assert str(Filter.parse(text)) == text


@given(trees(leaves(alike=False)), events)
def test_compiled_predicate_is_true_exactly_where_the_tree_is(tree, event):
    assert Filter.of(tree).matches(event) is (tree.evaluate(event) is True)


@given(trees(leaves(alike=False)), events)
def test_event_object_matches_as_its_attributes_do(tree, event):
    assert Filter.of(tree).matches(Event(event)) is Filter.of(tree).matches(event)


@given(leaves(alike=False), events)
def test_one_leaf_compiles_right_with_and_without_not(leaf, event):
    truth = leaf.evaluate(event)
    assert Filter.of(leaf).matches(event) is (truth is True)
    assert Filter.of(Not(leaf)).matches(event) is (truth is False)


@given(references, st.sampled_from(list(COMPARATORS)), st.sampled_from(Kind), st.data(), events)
def test_negated_comparison_is_the_opposite_comparison(reference, operator, kind, data, event):
    opposite = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}[operator]
    literal = data.draw(literals(kind))
    negation = Filter.of(Not(Comparison(operator, reference, literal)))
    assert negation.matches(event) is Filter.of(Comparison(opposite, reference, literal)).matches(event)


@given(trees(), trees(), events)
def test_operators_on_filters_are_the_three_valued_connectives(left, right, event):
    one, other = Filter.of(left), Filter.of(right)
    assert (one & other).matches(event) is (one.matches(event) and other.matches(event))
    assert (one | other).matches(event) is (one.matches(event) or other.matches(event))
    assert (~one).matches(event) is (left.evaluate(event) is False)
    assert Filter.parse(str(one & other)) == one & other


@given(trees(leaves(alike=False)), events)
def test_explanation_gives_the_verdict_of_every_node(tree, event):
    explanation = Filter.of(tree).explain(event)
    assert explanation.verdict is tree.evaluate(event)
    assert str(explanation)[0] == {True: "✓", False: "✗", None: "?"}[explanation.verdict]
