"""Boxes: the laws that cutting a space relies on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.space import Box

places = st.integers(-4, 4).map(float)
pairs = st.tuples(places, places)
boxes = st.tuples(pairs, pairs).map(lambda s: Box((s[0][0], s[1][0]), (s[0][1], s[1][1])))
points = st.tuples(places, places)


@given(boxes, boxes, points)
def test_intersection_holds_exactly_the_common_points(left: Box, right: Box, point: tuple[float, float]) -> None:
    assert (left & right).contains(point) == (left.contains(point) and right.contains(point))


@given(boxes.filter(lambda box: not box.empty), st.integers(0, 1), places, points)
def test_splitting_neither_shares_nor_loses_a_point(
    box: Box, axis: int, place: float, point: tuple[float, float]
) -> None:
    if not box.lows[axis] <= place <= box.highs[axis]:
        with pytest.raises(ValueError, match="does not lie"):
            box.split(axis, place)
        return
    below, above = box.split(axis, place)
    assert below.contains(point) + above.contains(point) == box.contains(point)
    assert below.volume + above.volume == pytest.approx(box.volume)


def test_boxes_need_as_many_lows_as_highs() -> None:
    with pytest.raises(ValueError, match="as many lows as highs"):
        Box((0.0,), (1.0, 2.0))
