"""Laws of sets of values: they are what their members say, on a line, on a grid, and between timestamps."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model.expression import COMPARATORS
from siftcast.model.intervals import (
    BOTTOM,
    SCALES,
    TOP,
    IntervalSet,
    Scale,
    comparison_set,
    everything,
    prefix_set,
    single_place,
)
from siftcast.model.values import Kind, microseconds

PLACES = range(14)
cuts = st.sampled_from([BOTTOM, TOP, *((0, place, 0) for place in PLACES)])
interval_sets = st.lists(st.tuples(cuts, cuts), max_size=8).map(IntervalSet.of)
points = st.lists(st.sampled_from(PLACES), max_size=14).map(
    lambda some: IntervalSet.of([((0, place, 0), (0, place, 1)) for place in some])
)
sets = interval_sets | points
# A place, and what lies between it and the next.
HERE = [((0, place, 0), (0, place, 1)) for place in PLACES] + [((0, place, 1), (0, place + 1, 0)) for place in PLACES]


def members(values):
    """The stretches of the line that a set holds; a stretch is held wholly or not at all."""
    return {
        here for here in [(BOTTOM, (0, 0, 0)), *HERE, ((0, 14, 0), TOP)] if any(within(here, r) for r in values.ranges)
    }


def within(inner, outer):
    return outer[0] <= inner[0] and inner[1] <= outer[1]


@given(sets, sets)
def test_operations_on_sets_are_those_on_their_members(one, other):
    assert members(one | other) == members(one) | members(other)
    assert members(one & other) == members(one) & members(other)
    assert (one <= other) is (members(one) <= members(other))
    assert bool(one) is bool(members(one))
    everywhere = everything(SCALES[Kind.NUMBER])
    assert members(one.complement(SCALES[Kind.NUMBER])) == members(everywhere) - members(one)


@given(sets, sets)
def test_sets_with_equal_members_are_equal(one, other):
    assert (one == other) is (members(one) == members(other))
    assert IntervalSet.of(one.ranges[::-1] + one.ranges) == one
    for (low, high), (following, _) in zip(one.ranges, one.ranges[1:], strict=False):
        assert low < high < following


@given(st.integers(0, 40), st.integers(0, 40))
def test_few_ranges_are_found_among_many(low, width):
    many = IntervalSet.of([((0, 4 * n, 0), (0, 4 * n + 2, 1)) for n in range(10)])
    few = IntervalSet.of([((0, low, 0), (0, low + width, 1))])
    assert (few <= many) is (low % 4 + width <= 2 and low < 40)
    assert not many <= few or width >= 38


GRIDS = [
    Scale(Kind.NUMBER, Fraction(1)),
    Scale(Kind.NUMBER, Fraction(5), Fraction(3)),
    Scale(Kind.NUMBER, Fraction(2), Fraction(-7)),
    Scale(Kind.NUMBER, Fraction("0.05"), Fraction("0.1")),
    Scale(Kind.NUMBER, Fraction(5), Fraction("0.5")),
    Scale(Kind.NUMBER, Fraction("2.5"), Fraction(3)),
]
numbers = (
    st.integers(-40, 40) | st.integers(-80, 80).map(lambda half: half / 2) | st.sampled_from([0.07, 0.1, 0.15, 0.2])
)


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: f"{grid.origin} + n · {grid.step}")
@given(data=st.data())
def test_on_a_grid_two_comparisons_are_equal_that_hold_for_the_same_of_its_values(grid, data):
    operators = st.sampled_from(list(COMPARATORS))
    (one, value), (other, bound) = data.draw(st.tuples(operators, numbers)), data.draw(st.tuples(operators, numbers))
    step, origin = grid.step, grid.origin
    on_grid = (
        [origin + step * n for n in range(-1000, 1001)] if step < 1 else [origin + step * n for n in range(-90, 91)]
    )
    held = [
        [COMPARATORS[operator](place, Fraction(repr(number))) for place in on_grid]
        for operator, number in ((one, value), (other, bound))
    ]
    left, right = comparison_set(one, value, grid), comparison_set(other, bound, grid)
    assert (left == right) is (held[0] == held[1])
    assert (left <= right) is all(second for first, second in zip(*held, strict=True) if first)
    assert bool(left & right) is any(first and second for first, second in zip(*held, strict=True))


@given(st.sampled_from(GRIDS), st.integers(-20, 20))
def test_the_cut_after_a_value_of_a_grid_is_the_cut_before_the_next(grid, number):
    here, following = (grid.origin + grid.step * n for n in (number, number + 1))
    if here.denominator == following.denominator == 1:
        here, following = int(here), int(following)
    else:
        here, following = float(here), float(following)
    assert grid.before(here) == (0, number, 0)
    assert grid.after(here) == grid.before(following) == (0, number + 1, 0)


NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
moments = st.integers(-3, 3).map(lambda ticks: NOON + timedelta(microseconds=ticks))


@given(moments, moments)
def test_between_neighbouring_timestamps_nothing_lies(one, other):
    scale = SCALES[Kind.TIMESTAMP]
    tick = timedelta(microseconds=1)
    assert comparison_set(">", one, scale) == comparison_set(">=", one + tick, scale)
    assert comparison_set("<=", one, scale) == comparison_set("<", one + tick, scale)
    both = comparison_set("=", one, scale) | comparison_set("=", other, scale)
    assert len(both.ranges) == (1 if abs(one - other) <= tick else 2)
    assert scale.before(one) == (0, microseconds(one), 0)
    assert bool(comparison_set("=", one, scale) & comparison_set("=", other, scale)) is (one == other)


def test_the_one_value_between_two_cuts_has_a_place():
    for kind, value, place, following in (
        (Kind.NUMBER, 5, 5, None),
        (Kind.NUMBER, 0.5, 0.5, None),
        (Kind.STRING, "a", "a", "a\0"),
        (Kind.STRING, "", "", "\0"),
        (Kind.BOOLEAN, True, 1, None),
        (Kind.TIMESTAMP, NOON, microseconds(NOON), NOON + timedelta(microseconds=1)),
    ):
        scale = SCALES[kind]
        assert single_place(kind, scale.before(value), scale.after(value)) == place
        if following is not None:
            assert single_place(kind, scale.before(value), scale.after(following)) is None
        assert single_place(kind, scale.before(value), TOP) is None
        assert single_place(kind, BOTTOM, scale.after(value)) is None
    assert single_place(Kind.BOOLEAN, *everything(SCALES[Kind.BOOLEAN]).ranges[0]) is None
    assert single_place(Kind.NUMBER, (0, 5, 1), (0, 6, 0)) is None


def test_scales_end_where_their_values_do():
    falsehood, truth = (comparison_set("=", value, SCALES[Kind.BOOLEAN]) for value in (False, True))
    assert falsehood | truth == everything(SCALES[Kind.BOOLEAN])
    assert truth.complement(SCALES[Kind.BOOLEAN]) == falsehood
    assert comparison_set(">=", "", SCALES[Kind.STRING]) == everything(SCALES[Kind.STRING]) == prefix_set("")
    assert everything(SCALES[Kind.NUMBER]).ranges == everything(SCALES[Kind.TIMESTAMP]).ranges == ((BOTTOM, TOP),)


def test_a_prefix_ends_before_the_next_string_that_does_not_begin_with_it():
    assert prefix_set("ab").ranges == (((0, "ab", 0), (0, "ac", 0)),)
    assert prefix_set("a\U0010ffff").ranges == (((0, "a\U0010ffff", 0), (0, "b", 0)),)
    assert prefix_set("\U0010ffff\U0010ffff").ranges == (((0, "\U0010ffff\U0010ffff", 0), TOP),)


def test_a_grid_begins_at_zero_unless_it_says_otherwise() -> None:
    even = Scale(Kind.NUMBER, Fraction(2))
    assert (even.before(4), even.after(4)) == ((0, 2, 0), (0, 3, 0))
    assert even.before(3) == even.before(4)


@pytest.mark.parametrize("grid", GRIDS)
def test_a_whole_grid_lies_between_the_infinite_numbers(grid):
    far = 10**30 * grid.step.numerator
    assert BOTTOM < grid.before(-inf) < grid.after(-inf) < grid.before(-far)
    assert grid.after(far) < grid.before(inf) < grid.after(inf) < TOP
    finite = comparison_set("<", inf, grid) & comparison_set(">", -inf, grid)
    assert finite & comparison_set("=", far, grid) == comparison_set("=", far, grid)
    assert finite | comparison_set("=", inf, grid) == comparison_set(">", -inf, grid) & comparison_set("<=", inf, grid)
