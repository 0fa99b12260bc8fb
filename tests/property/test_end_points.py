"""The table of end points through additions and removals: its rows are the living filters, and no others."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.matching import end_points
from siftcast.matching.end_points import EndPoints
from siftcast.model import Filter

TEXTS = [
    "x < 3",
    "x BETWEEN 2 AND 4",
    "x < 1 OR y > 4",
    "x < 1 OR y > 4 OR s = 'a'",
    "x != 2",
    "s = 'a' AND y < 3",
    "s LIKE '%b'",
    "x IS NULL",
    "x IS NOT NULL",
    "x > 1 AND x < 1",
    "TRUE",
    "n.x = 1",
    "s IN ('a', 'longer than six')",
]
EVENTS = [
    {},
    {"x": 0, "y": 5, "s": "a"},
    {"x": 2, "y": 2, "s": "ab"},
    {"x": 3.5, "s": "longer than six", "n": {"x": 1}},
    {"x": "a", "y": 9, "n": {"x": 2}},
]


def dominated(points, event):
    """What an engine does, without an index: all rows, live ones, below the event."""
    query = points.query(event)
    rows = np.flatnonzero((points.ends[: points.rows] <= query).all(axis=1))
    return rows[points.alive[rows]]


def assert_right(points, known):
    points.absorb()
    assert points.filters == known
    # A row for each alternative of each filter that is there, and those of removed ones as long as they are counted.
    assert len(points.live_rows()) == points.rows - points.dead == sum(len(f.alternatives) for f in known.values())
    for event in EVENTS:
        expected = {slot for slot, filter_ in known.items() if filter_.matches(event)}
        rows = dominated(points, event)
        found = points.matching(iter([rows]), event, None)
        assert len(found) == len(set(found))
        assert set(found) == expected
        half = len(rows) // 2
        batches = [rows[:half], rows[half:]]
        for limit in (1, 2):
            some = points.matching(iter(batches), event, limit)
            assert len(some) == len(set(some)) == min(limit, len(expected))
            assert set(some) <= expected


@given(st.integers(0, 2**32), st.sampled_from([1, 2, 256]))
def test_table_holds_what_was_added_and_not_removed(seed, axes):
    draw = Random(seed)
    points, known = EndPoints(), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(end_points, "AXES_MAX", axes)
        for _ in range(30):
            slot = draw.randrange(12)  # slots are used again, as a matcher does
            if slot in known:
                points.remove(slot)
                del known[slot]
            else:
                known[slot] = Filter.parse(draw.choice(TEXTS))
                points.add(slot, known[slot])
            if draw.random() < 0.5:
                assert_right(points, known)
            if draw.random() < 0.3:
                points.absorb()
                order = points.live_rows()
                draw.shuffle(order)
                points.keep(order)
                assert (points.rows, points.dead) == (len(order), 0)
                assert_right(points, known)
        assert points.axes <= axes
        assert_right(points, known)


def test_what_is_removed_before_it_was_absorbed_leaves_no_row():
    points = EndPoints()
    points.add(0, Filter.parse("x < 1"))
    points.remove(0)
    points.absorb()
    assert (points.rows, points.dead, dict(points.filters)) == (0, 0, {})


def test_removal_kills_all_rows_of_a_filter_and_no_other():
    points = EndPoints()
    for slot, text in enumerate(["x < 1 OR y < 1 OR z < 1", "x < 2", "y < 2 OR z < 2"]):
        points.add(slot, Filter.parse(text))
    points.absorb()
    points.remove(0)
    assert (points.rows, points.dead, points.live_rows().tolist()) == (6, 3, [3, 4, 5])
    points.remove(2)
    assert (points.rows, points.dead, points.live_rows().tolist()) == (6, 5, [3])
    points.keep(points.live_rows())
    assert (points.rows, points.dead, points.live_rows().tolist()) == (1, 0, [0])
    points.remove(1)
    assert (points.rows, points.dead, points.live_rows().tolist()) == (1, 1, [])


def test_a_filter_that_was_removed_and_added_again_in_the_same_slot_is_the_new_one():
    points = EndPoints()
    points.add(0, Filter.parse("x < 1"))
    points.absorb()
    points.remove(0)
    points.add(0, Filter.parse("x > 5"))
    points.absorb()
    assert (points.rows, points.dead) == (2, 1)
    for value, expected in ((0, []), (6, [0])):
        assert points.matching([dominated(points, {"x": value})], {"x": value}, None) == expected
    with pytest.raises(KeyError):
        points.remove(1)


def test_only_what_a_row_does_not_decide_is_verified():
    points = EndPoints()
    for slot, text in enumerate(["x < 5", "x < 1 OR y < 5", "x != 3", "x < 5 AND s LIKE '%a'"]):
        points.add(slot, Filter.parse(text))
    points.absorb()
    event = {"x": 2, "y": 2, "s": "a"}
    assert sorted(points.matching([dominated(points, event)], event, None)) == [0, 1, 2, 3]
    assert points.verifications == 2


def test_bounds_on_an_axis_too_many_are_verified():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(end_points, "AXES_MAX", 1)
        points = EndPoints()
        points.add(0, Filter.parse("x < 5 AND y < 5"))
        points.absorb()
        assert (points.axes, points.ends.shape[1]) == (1, 2)
        for y, expected in ((4, [0]), (6, [])):
            assert points.matching([dominated(points, {"x": 1, "y": y})], {"x": 1, "y": y}, None) == expected
        assert points.verifications == 2


def test_table_grows_only_when_its_rows_do_not_fit():
    points = EndPoints()
    heights = []
    for slot in range(40):
        points.add(slot, Filter.parse("x < 1"))
        points.absorb()
        heights.append(len(points.ends))
    assert heights == [16] * 16 + [32] * 16 + [64] * 8
    at_once = EndPoints()
    for slot in range(40):
        at_once.add(slot, Filter.parse(f"x < {slot}"))
    at_once.absorb()
    assert (at_once.rows, len(at_once.ends)) == (40, 40)
    assert at_once.matching([dominated(at_once, {"x": 37})], {"x": 37}, None) == [38, 39]


def test_no_further_batch_is_taken_once_enough_was_found():
    points = EndPoints()
    for slot in range(3):
        points.add(slot, Filter.parse("x < 1"))
    points.absorb()
    batches = iter([np.array([0, 1]), np.array([2])])
    assert points.matching(batches, {"x": 0}, 2) == [0, 1]
    assert len(list(batches)) == 1
