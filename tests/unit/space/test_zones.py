"""Zones: a partition neither shares nor loses a point, and a filter knows every zone its events can lie in."""

import pickle
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import Attribute, DataError, Filter, Schema
from siftcast.space import Box, ContentSpace, Cuts, Partition, regions
from siftcast.space.zones import describe

SCHEMA = Schema(
    [
        Attribute("level", "int", (0, 10)),
        Attribute("price", "float", (0.0, 5.0)),
        Attribute("tick", "float", (0.0, 1.0), 0.1),
        Attribute("symbol", "string", ("IBM", "A", "MSFT", "X")),
    ]
)
SPACE = ContentSpace(SCHEMA)
PLACES = [
    [float(place) for place in range(1, 11)],
    [0.5, 1.0, 2.5, float(np.nextafter(2.5, 9)), 4.0],
    [index / 10 for index in range(1, 11)],
    [1.0, 2.0, 3.0],
]
LINE = Partition.along(ContentSpace(Schema([Attribute("value", "int", (0, 9))])), 0, (4.0, 7.0))
FILTERS = [
    "level > 3", "level IN (1, 9)", "level != 5", "price <= 2.5", "price > 2.5 OR level = 1", "tick < 0.3",
    "tick > 0.25", "symbol = 'IBM'", "symbol IN ('A', 'X')", "symbol LIKE 'M%'", "NOT symbol = 'A'",
    "level IS NULL OR price < 1", "TRUE", "level BETWEEN 2 AND 4 AND symbol >= 'IBM'", "FALSE", "level IS NOT NULL",
    "level = 'x' OR tick = 0.3",
]  # fmt: skip


@st.composite
def cuts(draw: st.DrawFn, box: Box = SPACE.box, depth: int = 3) -> Cuts | None:
    axis = draw(st.integers(0, 3))
    allowed = [place for place in PLACES[axis] if box.lows[axis] < place < box.highs[axis]]
    if depth == 0 or not allowed:
        return None
    places = tuple(sorted(draw(st.sets(st.sampled_from(allowed), min_size=1, max_size=3))))
    parts = []
    for place in places:
        below, box = box.split(axis, place)
        parts.append(draw(cuts(below, depth - 1)))
    return Cuts(axis, places, (*parts, draw(cuts(box, depth - 1))))


partitions = cuts().map(lambda tree: Partition(SPACE, tree))
events = st.fixed_dictionaries(
    {
        "level": st.integers(0, 10),
        "price": st.sampled_from([0.0, 0.5, 1.0, 2.5, 2.5000001, 4.0, 5.0]),
        "tick": st.integers(0, 10).map(lambda step: step / 10),
        "symbol": st.sampled_from(["A", "IBM", "MSFT", "X"]),
    }
)


@given(partitions, events)
def test_every_point_lies_in_exactly_one_zone(partition: Partition, event: dict[str, object]) -> None:
    point = SPACE.point(event)
    assert point is not None
    holding = [zone.index for zone in partition.zones if zone.box.contains(point)]
    assert holding == [partition.zone_of(point)] == [partition.zone_of_event(event)]


@given(partitions, st.lists(events, min_size=1, max_size=20))
def test_many_points_are_found_where_single_ones_are(partition: Partition, sample: list[dict[str, object]]) -> None:
    points = [SPACE.point(event) for event in sample]
    assert partition.zones_of_points(np.array(points)).tolist() == [partition.zone_of(p) for p in points if p]


@given(partitions)
def test_zones_are_disjoint_and_cover_the_space(partition: Partition) -> None:
    boxes = [zone.box for zone in partition.zones]
    assert all(not one.intersects(other) for one in boxes for other in boxes if one is not other)
    assert not any(box.empty for box in boxes)
    assert sum(box.volume for box in boxes) == pytest.approx(SPACE.box.volume)


@given(partitions, events, st.sampled_from(FILTERS))
def test_a_matching_event_lies_in_a_zone_of_its_filter(
    partition: Partition, event: dict[str, object], text: str
) -> None:
    filter_ = Filter.parse(text)
    if filter_.matches(event):
        assert partition.zone_of_event(event) in partition.zones_of(filter_)


@given(partitions, st.sampled_from(FILTERS))
def test_zones_of_a_filter_are_among_those_of_its_boxes(partition: Partition, text: str) -> None:
    filter_ = Filter.parse(text)
    assert set(partition.zones_of(filter_)) <= set(partition.zones_of(SPACE.boxes(filter_)))


@given(partitions)
def test_a_partition_survives_json_and_pickle(partition: Partition) -> None:
    again = Partition.from_json(partition.to_json())
    assert again == partition == pickle.loads(pickle.dumps(partition))
    assert again.zones == partition.zones


def test_a_set_of_values_touches_only_the_zones_that_hold_one() -> None:
    assert LINE.zones_of("value IN (1, 9)") == [0, 2]
    assert LINE.zones_of("value BETWEEN 3 AND 4") == [0, 1]
    assert LINE.zones_of("value < 0") == []
    assert LINE.zones_of(Box((3.5,), (4.0,))) == [0]
    assert regions(LINE.space, Filter.parse("value IN (1, 2, 9)")) == [(((1.0, 3.0), (9.0, 10.0)),)]


def test_points_outside_the_space_have_no_zone() -> None:
    assert LINE.zone_of((-1.0,)) is None
    assert LINE.zone_of_event({"value": None}) is None
    assert LINE.zones_of_points(np.array([[-1.0], [10.0], [np.nan], [7.0]])).tolist() == [-1, -1, -1, 2]


@pytest.mark.parametrize(
    ("text", "outside"),
    [
        ("level = 3 AND price < 1 AND price >= 0 AND tick = 0.1 AND symbol = 'A'", False),
        ("level = 30 AND price = 1 AND tick = 0.1 AND symbol = 'A'", True),
        ("level = 3 AND price < 1 AND tick = 0.1 AND symbol = 'A'", True),
        ("level = 3 AND price = 1 AND tick = 0.1 AND symbol LIKE 'A%'", True),
        ("level = 3", True),
        ("level IS NULL", True),
        ("FALSE", False),
    ],
)
def test_a_filter_knows_whether_events_without_a_zone_may_match(text: str, outside: bool) -> None:
    assert Partition(SPACE).reaches_outside(Filter.parse(text)) is outside


def test_an_explanation_names_values_of_the_schema() -> None:
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    space = ContentSpace(Schema([SCHEMA["symbol"], Attribute("at", "timestamp", (moment, moment.replace(day=2)))]))
    noon = space.axes[1].place(moment.replace(hour=12))
    assert noon is not None
    partition = Partition(
        space, Cuts(0, (1.0,), (None, Cuts(1, (noon,), (None, None)))), loads=(1, 1, 2), reason="Because."
    )
    assert partition.explain().splitlines() == [
        "Because.",
        "zone   0   25.00 % of the load  symbol = 'A'",
        "zone   1   25.00 % of the load  symbol 'IBM' … 'X', "
        "2024-01-01T00:00:00.000000 <= at < 2024-01-01T12:00:00.000000",
        "zone   2   50.00 % of the load  symbol 'IBM' … 'X', "
        "2024-01-01T12:00:00.000000 <= at < 2024-01-02T00:00:00.000001",
    ]
    assert Partition(space).explain() == "zone   0  everything"


def test_wrong_cuts_are_refused() -> None:
    with pytest.raises(ValueError, match="ascend"):
        Partition.along(LINE.space, 0, (7.0, 4.0))
    with pytest.raises(ValueError, match="inside"):
        Partition.along(LINE.space, 0, (0.0, 4.0))
    with pytest.raises(ValueError, match="parts"):
        Cuts(0, (1.0,), (None,))
    with pytest.raises(ValueError, match="loads"):
        Partition(LINE.space, loads=(1.0, 2.0))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "siftcast-partition-1"}'])
def test_what_is_no_partition_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="partition"):
        Partition.from_json(text)


def test_a_damaged_partition_is_refused() -> None:
    plain = LINE.to_dict()
    plain["cuts"]["attribute"] = "price"
    with pytest.raises(DataError, match="damaged"):
        Partition.from_dict(plain)


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (2.5, np.nextafter(2.5, 9), "price = 2.5"),
        (2.0, 2.5, "2 <= price < 2.5"),
        (2.5, np.nextafter(5.0, 9), "2.5 <= price <= 5"),
        (2.5, 2.5 + 1e-14, "2.5 <= price < 2.50000000000001"),
    ],
)
def test_a_box_reads_as_what_it_holds_however_thin(low, high, text):
    assert describe(ContentSpace(Schema([SCHEMA["price"]])), Box((low,), (float(high),))) == text


def test_a_truth_value_is_named():
    assert describe(ContentSpace(Schema([Attribute("open", "bool")])), Box((1.0,), (2.0,))) == "open = TRUE"
