"""Laws of mapping filters, boxes and events to dz-expressions: they enclose, within θ, and exactly where promised."""

from datetime import UTC, datetime, timedelta
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siftcast.model import Attribute, EventError, Filter, Schema
from siftcast.model.expression import (
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
from siftcast.space import Box
from siftcast.space.dz import Dz, DzSpace

START = datetime(2024, 1, 1, tzinfo=UTC)
SCHEMA = Schema(
    [
        Attribute("whole", "int", (-5, 5), 1),
        Attribute("grid", "float", (0, 1), 0.1),
        Attribute("fine", "float", (0.0, 1.0)),
        Attribute("word", "string", ("ant", "bee", "bee\0", "dog")),
        Attribute("flag", "bool"),
        Attribute("time", "timestamp", (START, START + timedelta(days=1))),
        Attribute("text", "string"),
        Attribute("free", "float"),
        Attribute("count", "int"),
        Attribute("moment", "timestamp"),
    ]
)
SPACES = {
    "all with a domain": DzSpace.of(SCHEMA),
    "open ones": DzSpace.of(SCHEMA, ("text", "free", "count", "moment")),
    "short": DzSpace.of(SCHEMA, ("word", "whole", "free", "text"), bits=11),
    "two": DzSpace.of(SCHEMA, ("whole", "flag")),
}
POINTS = {
    "whole": [-7, -5, -1, 0, 2, 3, 3.0, 5, 6, 2**60],
    "grid": [-1, 0.0, 0.1, 0.3, 0.7, 1, 2],
    "fine": [-0.5, -0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1, 7],
    "word": ["", "ant", "antelope", "bee", "bee\0", "cow", "dog", "zebra"],
    "flag": [True, False],
    "time": [START - timedelta(days=1), START, START + timedelta(hours=5), START + timedelta(days=2)],
    "text": ["", "\0", "a", "a\0", "ab", "abcde", "abcdef", "ü", "\ud800", "\U0010ffff"],
    "free": [
        -1e300,
        -1.5,
        -0.0,
        0,
        5e-324,
        0.1,
        2,
        2**53,
        2**53 + 1,
        2**53 + 2,
        2**54 - 1,
        2**54,
        2**55 - 4,
        2**55 - 3,
        10**400,
    ],
    "count": [-(10**30), -1, 0, 1, 7, 2**53 + 1, 2**53 + 2, 2**53 + 3, 2**54 - 1, 2**54, 10**400],
    "moment": [datetime.min.replace(tzinfo=UTC), START, datetime.max.replace(tzinfo=UTC)],
}
ODD = [None, float("nan"), "text", 1, True, [1], {"a": 1}]
VALUES = {**POINTS, "whole": [*POINTS["whole"], float("inf")], "free": [*POINTS["free"], float("-inf"), float("inf")]}


@st.composite
def leaves(draw):
    name = draw(st.sampled_from(list(POINTS)))
    reference = Reference((name,))
    point = st.sampled_from([*POINTS[name], *draw(st.sampled_from([[], [], [], ["stray"], [4]]))]).map(Literal)
    other = Reference((draw(st.sampled_from(list(POINTS))),))
    return draw(
        st.one_of(
            st.builds(Comparison, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), st.just(reference), point),
            st.builds(Between, st.just(reference), point, point, st.booleans()),
            st.builds(In, st.just(reference), st.lists(point, min_size=1, max_size=3).map(tuple), st.booleans()),
            st.builds(IsNull, st.just(reference), st.booleans()),
            st.builds(
                Like,
                st.just(reference),
                st.sampled_from(["a%", "%t", "b_e", "bee", "%"]).map(LikePattern),
                st.booleans(),
            ),
            st.builds(Comparison, st.just("<"), st.just(reference), st.just(other)),
        )
    )


trees = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(conjunction),
        st.lists(inner, min_size=2, max_size=3).map(disjunction),
        inner.map(Not),
    ),
    max_leaves=4,
)
filters = trees.map(Filter.of)
events = st.fixed_dictionaries({}, optional={name: st.sampled_from([*points, *ODD]) for name, points in VALUES.items()})
thetas = st.sampled_from([1, 2, 3, 5, 8, 33])


@settings(max_examples=settings.default.max_examples * 3)
@given(filter_=filters, event=events, theta=thetas, wildcards=st.booleans())
def test_what_a_filter_matches_is_covered_by_at_most_theta_expressions(filter_, event, theta, wildcards):
    for name, space in SPACES.items():
        found = space.of_filter(filter_, theta, wildcards=wildcards)
        assert len(found) <= theta, name
        assert wildcards or not any(dz.stars for dz in found), name
        assert not filter_.matches(event) or found.covers(space.of_event(event)), name


@pytest.mark.parametrize("bits", [6, 128])
@pytest.mark.parametrize("name", list(POINTS))
def test_every_comparison_with_every_point_covers_all_values_that_it_matches(name, bits):
    space = DzSpace.of(SCHEMA, [name], bits=bits)
    placed = [(value, space.of_event({name: value})) for value in [*VALUES[name], *ODD[:3]]]
    for point in POINTS[name]:
        for operator in ("=", "!=", "<", "<=", ">", ">="):
            filter_ = Filter.of(Comparison(operator, Reference((name,)), Literal(point)))
            found = space.of_filter(filter_, 256)  # as fine as it gets, so that nothing is covered by chance
            for value, dz in placed:
                assert found.covers(dz) or not filter_.matches({name: value}), (str(filter_), value)


# -- exactness: spaces small enough to try every event ------------------------------------------------

SMALL = Schema([Attribute("x", "int", (1, 7)), Attribute("y", "float", (0, 1), 0.25), Attribute("z", "bool")])
SMALL_EVENTS = [{"x": x, "y": y, "z": z} for x, y, z in product(range(1, 8), (0, 0.25, 0.5, 0.75, 1.0), (False, True))]
ENOUGH = 4_096
numbers = st.integers(0, 8)
quarters = st.sampled_from([-0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.25])


@st.composite
def small_filters(draw):
    """Unions of boxes: lists, ranges, and what joins them."""
    low, high, low_y = draw(numbers), draw(numbers), draw(quarters)
    listed = ", ".join(map(str, draw(st.lists(numbers, min_size=1, max_size=4))))
    parts = [
        f"x BETWEEN {low} AND {high}",
        f"x IN ({listed})",
        f"x NOT IN ({listed})",
        f"y > {low_y}",
        f"NOT (y <= {low_y} OR x = {low})",
        "z",
        f"(x < {low} OR y >= {low_y} AND z = FALSE)",
    ]
    chosen = draw(st.lists(st.sampled_from(parts), min_size=1, max_size=3))
    return Filter.parse(draw(st.sampled_from([" AND ", " OR "])).join(chosen))


@given(filter_=small_filters(), wildcards=st.booleans(), elsewhere=st.booleans())
def test_unions_of_boxes_over_granular_attributes_are_mapped_exactly(filter_, wildcards, elsewhere):
    space = DzSpace.of(SMALL, elsewhere=elsewhere)
    assert space.exact
    found = space.of_filter(filter_, ENOUGH, wildcards=wildcards)
    assert found.exact
    for event in SMALL_EVENTS:
        assert found.covers(space.of_event(event)) == filter_.matches(event)


@given(filter_=small_filters(), wildcards=st.booleans(), theta=thetas, bits=st.integers(3, 9))
def test_a_set_that_says_it_is_exact_holds_no_other_event(filter_, wildcards, theta, bits):
    space = DzSpace.of(SMALL, bits=bits)
    found = space.of_filter(filter_, theta, wildcards=wildcards)
    assert len(found) <= theta
    for event in SMALL_EVENTS:
        held = found.covers(space.of_event(event))
        assert held or not filter_.matches(event)
        assert not found.exact or held == filter_.matches(event)


@given(wide=small_filters(), narrow=small_filters())
def test_exact_sets_cover_as_their_filters_do(wide, narrow):
    space = DzSpace.of(SMALL)
    for one, other in ((wide, narrow), (wide | narrow, narrow), (wide, wide & narrow)):
        if one.covers(other, SMALL):
            assert space.of_filter(one, ENOUGH).covers(space.of_filter(other, ENOUGH)), f"{one} covers {other}"


@given(event=st.sampled_from(SMALL_EVENTS), length=st.integers(0, 20), stars=st.integers(0, 2**20 - 1))
def test_boxes_hold_the_events_of_their_expressions(event, length, stars):
    space = DzSpace.of(SMALL, elsewhere=False)
    whole = space.of_event(event)
    length = min(length, space.length)
    stars &= (1 << length) - 1
    for dz in (whole.prefix(length), Dz(whole.prefix(length).bits & ~stars, length, stars)):
        box = space.box_of(dz)
        assert box is not None
        prefix = dz.selectivity == dz.length
        for other in SMALL_EVENTS:
            inside = box.contains((float(other["x"]), other["y"], float(other["z"])))
            covered = dz.covers(space.of_event(other))
            assert inside == covered if prefix else inside or not covered


# -- boxes in batches --------------------------------------------------------------------------------

BOXES = Schema(
    [
        Attribute("a", "int", (1, 128)),
        Attribute("b", "int", (0, 99)),
        Attribute("c", "float", (-1.0, 1.0), 0.01),
        Attribute("d", "float", (-1.0, 1.0)),
        Attribute("e", "bool"),
    ]
)
BATCH_SPACES = [
    DzSpace.of(BOXES, ("a",)),
    DzSpace.of(BOXES, ("a", "b"), elsewhere=False),
    DzSpace.of(BOXES, ("a", "b", "c")),
    DzSpace.of(BOXES, ("a", "e", "d", "b"), bits=17),
    DzSpace.of(BOXES, ("a", "b", "c", "d", "e")),
    DzSpace.of(
        Schema([Attribute("t", "string"), Attribute("f", "float"), Attribute("m", "timestamp")]), ("t", "f", "m")
    ),
]


def draw_boxes(space, rng, count):
    """Boxes that begin and end at values, between them, outside and nowhere."""
    lows, highs = np.empty((count, len(space.axes))), np.empty((count, len(space.axes)))
    for index, axis in enumerate(space.axes):
        low, high = axis.place(0), axis.place(1 << axis.inner)
        low, high = max(low, -1e6), min(high, 1e6)
        ends = np.sort(rng.uniform(low - 0.1 * (high - low), high + 0.1 * (high - low), (2, count)), axis=0)
        ends = np.where(rng.random((2, count)) < 0.5, np.round(ends, rng.integers(0, 3)), ends)
        lows[:, index] = np.where(rng.random(count) < 0.1, -np.inf, ends[0])
        highs[:, index] = np.where(rng.random(count) < 0.1, np.inf, ends[1])
    return lows, highs


def check_batch(space, lows, highs, theta, wildcards):
    batch = space.of_boxes(lows, highs, theta, wildcards=wildcards)
    assert len(batch) == len(lows)
    for row, (low, high) in enumerate(zip(lows.tolist(), highs.tolist(), strict=True)):
        one = space.of_box(Box(tuple(low), tuple(high)), theta, wildcards=wildcards)
        found = batch.set_at(row)
        assert (found.items, found.exact) == (one.items, one.exact), f"{low} to {high}, at most {theta}"
        assert len(found) <= theta


@settings(max_examples=settings.default.max_examples // 3)
@given(seed=st.integers(0, 2**32), theta=st.integers(1, 16), wildcards=st.booleans())
def test_many_boxes_at_once_get_the_expressions_that_each_gets(seed, theta, wildcards):
    rng = np.random.default_rng(seed)
    for space in BATCH_SPACES:
        check_batch(space, *draw_boxes(space, rng, 12), theta, wildcards)


@pytest.mark.full
@given(seed=st.integers(0, 2**32), theta=st.integers(1, 64), wildcards=st.booleans())
def test_many_more_boxes_at_once_get_the_expressions_that_each_gets(seed, theta, wildcards):
    rng = np.random.default_rng(seed)
    for space in BATCH_SPACES:
        check_batch(space, *draw_boxes(space, rng, 100), theta, wildcards)


@given(seed=st.integers(0, 2**32), theta=st.integers(1, 9))
def test_a_batch_holds_the_events_of_its_boxes(seed, theta):
    rng = np.random.default_rng(seed)
    space = BATCH_SPACES[1]
    lows, highs = draw_boxes(space, rng, 20)
    batch = space.of_boxes(lows, highs, theta)
    point = rng.integers(0, 100, 2)
    found = batch.holding(space.of_event({"a": int(point[0]) + 1, "b": int(point[1])}))
    place = np.array([point[0] + 1, point[1]])
    inside = ((lows <= place) & (place < highs)).all(axis=1)
    assert (found | ~inside).all()
    assert (found == inside)[batch.exact].all()


def test_an_event_off_the_grid_has_no_place():
    with pytest.raises(EventError, match="granularity"):
        SPACES["two"].of_event({"whole": 2.5, "flag": True})
