"""Depth is limited where filters are put together as it is where they are read."""

import pickle

import pytest

from siftcast import Filter, Matcher
from siftcast.matching.registry import ENGINES
from siftcast.model import FilterLimitError, FilterLimits
from siftcast.model.expression import Comparison, Literal, Not, Or, Reference
from siftcast.model.limits import CEILING, DEFAULT_LIMITS
from siftcast.model.printing import text_depth

A, B, C = (Filter.parse(f"{name} = 1") for name in "abc")


def turning(times: int) -> Filter:
    filter_ = A
    for _ in range(times):
        filter_ = (filter_ & B) | C
    return filter_


def test_a_filter_that_is_put_together_too_deeply_is_refused_with_its_depth():
    depth_max = DEFAULT_LIMITS.depth_max
    deepest = turning(depth_max + 1)  # the first parentheses are around the second AND
    assert deepest.matches({"c": 1})
    with pytest.raises(FilterLimitError) as refused:
        turning(depth_max + 2)
    assert (refused.value.what, refused.value.found, refused.value.limit) == ("nesting", depth_max + 1, depth_max)


def test_what_is_put_together_within_the_limit_can_be_read_from_its_text():
    for filter_ in (turning(65), ~turning(30), ~(~A & ~(B | ~C)), A & B | ~(A | B) & C):
        assert text_depth(filter_.expression) == filter_.template.depth
        assert Filter.parse(str(filter_)) == filter_


def test_a_tree_that_is_too_deep_is_refused():
    tree = Comparison("=", Reference(("a",)), Literal(1))
    for _ in range(5_000):
        tree = Not(tree)
    with pytest.raises(FilterLimitError):
        Filter.of(tree)
    with pytest.raises(FilterLimitError):
        Filter.of(Or((tree, tree)), limits=CEILING)


def test_joining_many_filters_of_one_kind_makes_nothing_deeper():
    joined, either = A, A
    for number in range(500):
        joined, either = joined & Filter.parse(f"b != {number}"), either | Filter.parse(f"b = {number}")
    assert joined.template.depth == either.template.depth == 0


def test_negating_twice_is_nothing():
    filter_ = A | B
    for _ in range(200):
        filter_ = ~filter_
    assert filter_ == A | B
    assert ~~~A == ~A


@pytest.mark.parametrize("engine", ENGINES)
def test_the_deepest_filter_that_any_limits_allow_works_throughout(engine):
    text = "a = 1"
    for number in range(CEILING.depth_max):
        text = f"({text} AND b = {number} OR c = {number})"
    filter_ = Filter.parse(text, limits=FilterLimits(depth_max=CEILING.depth_max))
    event = {"a": 1, "b": 3, "c": CEILING.depth_max - 1}
    assert filter_.expression.evaluate(event) is filter_.explain(event).verdict is filter_.matches(event) is True
    assert pickle.loads(pickle.dumps(filter_)) == filter_ == Filter.parse(str(filter_), limits=CEILING)
    matcher = Matcher(engine)
    matcher.add("deep", filter_)
    assert Matcher.from_bytes(matcher.to_bytes()).match(event) == matcher.match(event) == ["deep"]


def test_parentheses_that_are_not_needed_do_not_count_against_what_is_made_of_a_filter():
    padded = Filter.parse("(" * 64 + "a = 1 OR b = 1" + ")" * 64)
    assert str(~padded & C) == "NOT (a = 1 OR b = 1) AND c = 1"


def test_a_filter_that_was_read_under_wider_limits_can_be_made_part_of_another():
    text = "a = 1"
    for _ in range(80):
        text = f"({text} AND b = 1 OR c = 1)"
    deep = Filter.parse(text, limits=CEILING)
    assert text_depth((deep & A).expression) == 80
    assert (deep | A).matches({"a": 1})
    assert (~deep).matches({"a": 0, "b": 0, "c": 0})
