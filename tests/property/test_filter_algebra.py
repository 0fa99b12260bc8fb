"""Laws of covering and overlap: never wrong on any event, and exact on conjunctions of sets of values.

Exactness is decided by brute force. The filters draw their end points from a small grid, so that the values between
two neighbouring end points are all alike, and one witness from each such stretch stands for every event there is.
"""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import Attribute, Filter, Schema
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
from tests.property.test_filter_trees import events, trees

X, Y = Reference(("x",)), Reference(("n", "y"))
SOMETHING_ELSE = [1j]  # present, but comparable with nothing


def leaves(reference, points):
    """Every form of leaf that stands for a set of values of one attribute, with ends among the points."""
    point = st.sampled_from(points).map(Literal)
    operator = st.sampled_from(list(COMPARATORS))
    flag = st.booleans()
    plain = st.one_of(
        st.builds(Comparison, operator, st.just(reference), point),
        st.builds(Comparison, operator, point, st.just(reference)),
        st.builds(Between, st.just(reference), point, point, flag),
        st.builds(In, st.just(reference), st.lists(point, min_size=1, max_size=3).map(tuple), flag),
        st.builds(IsNull, st.just(reference), flag),
    )
    return plain | plain.map(Not)


def prefixes(reference, points):
    patterns = st.sampled_from(points).map(lambda text: LikePattern(text + "%"))
    exact = st.sampled_from(points).map(LikePattern)
    return st.builds(Like, st.just(reference), patterns | exact, st.booleans())


def conjunctions(leaf):
    return st.lists(leaf, min_size=1, max_size=4).map(conjunction)


GRID = [0, 1, 2, 2.0, 3]
REALS = [-1, 0, 0.5, 1, 1.5, 2, 2.5, 3, 4, None, "", SOMETHING_ELSE]
TEXTS = ["a", "ab", "b", "a\0", "a\U0010ffff", "\ud7ff"]
# Sets of strings begin and end at a text, just after it, or where the texts that begin with it end.
WITNESS_TEXTS = sorted(
    {"", "zz", "b\0", "a\U0010ffff\0"}
    | {text + end for text in TEXTS for end in ("", "\0")}
    | {text[:-1] + chr(ord(text[-1]) + 1) for text in TEXTS if text[-1] != "\U0010ffff"}
)
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
TICK = timedelta(microseconds=1)
FAMILIES = {
    "numbers": (leaves(X, GRID), REALS),
    "strings": (leaves(X, TEXTS) | prefixes(X, TEXTS), [*WITNESS_TEXTS, None, 0, SOMETHING_ELSE]),
    "booleans": (leaves(X, [False, True]) | st.just(X) | st.just(Not(X)), [False, True, None, 0, 1]),
    "timestamps": (leaves(X, [NOON, NOON + 2 * TICK]), [*(NOON + n * TICK for n in range(-1, 4)), None, 0]),
    "kinds": (leaves(X, [0, 1]) | leaves(X, ["a", "b"]), [-1, 0, 0.5, 1, 2, "", "a", "a\0", "b", "b\0", None, True]),
}


def assert_exact(wide, narrow, witnesses, schema=None):
    one, other = Filter.of(wide), Filter.of(narrow)
    both = [(one.matches(event), other.matches(event)) for event in witnesses]
    assert one.covers(other, schema) is all(general for general, special in both if special)
    assert one.overlaps(other, schema) is any(general and special for general, special in both)


@pytest.mark.parametrize("family", FAMILIES)
@given(data=st.data())
def test_algebra_is_exact_for_conjunctions_over_one_attribute(family, data):
    leaf, witnesses = FAMILIES[family]
    wide, narrow = data.draw(conjunctions(leaf)), data.draw(conjunctions(leaf))
    assert_exact(wide, narrow, [{"x": value} for value in witnesses])


@given(st.data())
def test_algebra_is_exact_for_conjunctions_over_two_attributes(data):
    leaf = leaves(X, GRID) | leaves(Y, TEXTS[:3]) | prefixes(Y, TEXTS[:3])
    texts = ["", "a", "a\0", "ab", "ab\0", "ac", "b", "b\0", "c", None, 0]
    witnesses = [{"x": x, "n": {"y": y}} for x, y in product(REALS, texts)]
    assert_exact(data.draw(conjunctions(leaf)), data.draw(conjunctions(leaf)), witnesses)


@given(st.data())
def test_algebra_is_exact_over_whole_numbers(data):
    schema = Schema([Attribute("x", "int")])
    leaf = leaves(X, [0, 0.5, 1, 2, 2.5])
    witnesses = [{"x": value} for value in (-1, 0, 1, 2, 3, None, "a")]
    assert_exact(data.draw(conjunctions(leaf)), data.draw(conjunctions(leaf)), witnesses, schema)


@given(st.data())
def test_algebra_is_exact_over_a_grid_that_starts_at_its_domain(data):
    schema = Schema([Attribute("x", "float", (0.1, 9.1), 0.05)])
    grid = [float(Decimal("0.1") + Decimal("0.05") * step) for step in range(-1, 5)]
    leaf = leaves(X, [*grid[1:4], 0.11, 0.1499])
    witnesses = [{"x": value} for value in (*grid, None, "a")]
    assert_exact(data.draw(conjunctions(leaf)), data.draw(conjunctions(leaf)), witnesses, schema)


@given(st.data())
def test_exactness_reaches_alternatives_that_fit_one_into_another(data):
    leaf = leaves(X, GRID)
    wide = data.draw(st.lists(leaf, min_size=1, max_size=3).map(disjunction))
    narrow = data.draw(conjunctions(leaf))
    witnesses = [{"x": value} for value in REALS]
    one, other = Filter.of(wide), Filter.of(narrow)
    if one.covers(other):
        assert all(one.matches(event) for event in witnesses if other.matches(event))
    assert one.overlaps(other) is any(one.matches(event) and other.matches(event) for event in witnesses)


@st.composite
def related(draw):
    """Two trees, often one made from the other, so that covering happens."""
    tree, other = draw(trees(max_leaves=5)), draw(trees(max_leaves=5))
    made = draw(st.sampled_from(["apart", "wider", "narrower", "same"]))
    match made:
        case "wider":
            return disjunction([tree, other]), tree
        case "narrower":
            return tree, conjunction([tree, other])
        case "same":
            return tree, tree
    return tree, other


@given(related(), st.lists(events, min_size=1, max_size=10))
def test_what_is_covered_matches_nothing_more(pair, some_events):
    general, special = map(Filter.of, pair)
    if general.covers(special):
        for event in some_events:
            assert general.matches(event) or not special.matches(event)


small = leaves(X, GRID) | leaves(Y, TEXTS[:3]) | prefixes(Y, TEXTS[:3])
small_events = st.fixed_dictionaries({"x": st.sampled_from(REALS), "n.y": st.sampled_from([*WITNESS_TEXTS, None, 0])})


@given(trees(small), trees(small), st.lists(small_events, min_size=5, max_size=20))
def test_algebra_is_sound_for_any_tree_over_small_domains(left, right, some_events):
    one, other = Filter.of(left), Filter.of(right)
    covers, overlaps = one.covers(other), one.overlaps(other)
    for event in some_events:
        first, second = one.matches(event), other.matches(event)
        assert first or not (covers and second)
        assert overlaps or not (first and second)


@given(related(), st.lists(events, min_size=1, max_size=10))
def test_filters_that_share_an_event_overlap(pair, some_events):
    one, other = map(Filter.of, pair)
    shared = any(one.matches(event) and other.matches(event) for event in some_events)
    assert one.overlaps(other) or not shared
    assert one.overlaps(other) is other.overlaps(one)


@given(trees(max_leaves=30))
def test_every_filter_covers_itself(tree):
    assert Filter.of(tree).covers(Filter.parse(str(Filter.of(tree))))


@given(trees(small, max_leaves=4), trees(small, max_leaves=4), trees(small, max_leaves=4), st.booleans())
def test_covering_is_transitive(first, second, third, widened):
    if widened:
        second, first = disjunction([second, third]), disjunction([first, second, third])
    one, two, three = Filter.of(first), Filter.of(second), Filter.of(third)
    assert one.covers(three) or not (one.covers(two) and two.covers(three))


@given(trees(small, max_leaves=4), trees(small, max_leaves=4))
def test_a_conjunction_is_covered_by_its_parts_and_overlaps_them_unless_empty(left, right):
    one, other = Filter.of(left), Filter.of(right)
    both = one & other
    assert one.covers(both)
    assert other.covers(both)
    assert both.overlaps(one) is both.overlaps(both)
