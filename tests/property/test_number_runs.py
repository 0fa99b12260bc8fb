"""Runs of numbers against plain sets."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from siftcast.overlays.durability.runs import RunSet, both, joined, minus, numbers_in, sound

sets = st.sets(st.integers(1, 40))


def runs_of(numbers):
    return RunSet(numbers).runs


def check_form(runs):
    assert all(count > 0 for _, count in runs)
    assert all(first + count < following for (first, count), (following, _) in itertools.pairwise(runs))


@given(sets, sets)
def test_operations_on_runs_are_those_on_sets(a, b):
    for operation, expected in ((minus, a - b), (both, a & b), (joined, a | b)):
        found = operation(runs_of(a), runs_of(b))
        assert list(numbers_in(found)) == sorted(expected)
        check_form(found)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 25))))
def test_a_set_of_runs_changes_like_a_set(steps):
    numbers: set[int] = set()
    runs = RunSet()
    for adds, number in steps:
        (numbers.add if adds else numbers.discard)(number)
        (runs.add if adds else runs.discard)(number)
        assert list(numbers_in(runs.runs)) == sorted(numbers)
        check_form(runs.runs)
        assert runs.next == max(numbers, default=-1) + 1


@given(st.lists(st.tuples(st.integers(-30, 30), st.integers(-5, 30))), st.integers(0, 40))
def test_runs_that_somebody_sent_are_put_in_order_up_to_the_last(runs, last):
    expected = {number for first, count in runs for number in range(first, first + count) if 1 <= number <= last}
    found = sound(tuple(runs), last)
    assert set(numbers_in(found)) == expected
    check_form(found)


def test_runs_that_make_no_sense_cost_nothing():
    assert sound(((-5, 10**18), (2**60, 2**60)), 3) == ((1, 3),)
