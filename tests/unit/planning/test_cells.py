"""Cells: what is counted into them is what a look at every event and every filter finds."""

from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import Attribute, Filter, Schema
from siftcast.planning import Cells, CellTable, axis_edges, grid_size, joint_cells, places_of
from siftcast.space import Axis, ContentSpace

SCHEMA = Schema([Attribute("level", "int", (0, 9)), Attribute("tick", "float", (0.0, 0.5), 0.1)])
SPACE = ContentSpace(SCHEMA)
EDGES = tuple(axis_edges(axis) for axis in SPACE.axes)
FILTERS = [
    "level > 3", "level IN (1, 2, 9)", "level != 5", "tick <= 0.3", "tick > 0.2 OR level = 1", "TRUE", "FALSE",
    "level BETWEEN 2 AND 4 AND tick = 0.1", "level IS NULL", "level = 50", "NOT (level = 2) AND tick < 0.1",
]  # fmt: skip
EVENTS = [{"level": level, "tick": tick / 10} for level in range(10) for tick in range(6)]


def axis_of(*attribute: object) -> Axis:
    axis = Axis.of(Attribute(*attribute))  # type: ignore[arg-type]
    assert axis is not None
    return axis


@given(st.lists(st.sampled_from(FILTERS), max_size=8), st.lists(st.sampled_from(EVENTS), max_size=30))
def test_cells_of_single_values_count_as_a_look_at_everything_does(
    texts: list[str], events: list[dict[str, float]]
) -> None:
    filters = [Filter.parse(text) for text in texts]
    points = np.array([SPACE.point(event) for event in events], dtype=np.float64).reshape(-1, 2)
    every = np.array([SPACE.point(event) for event in EVENTS])
    cells = Cells(SPACE, EDGES, joint_cells(SPACE, EDGES, every, most=len(EVENTS)))
    table = CellTable.count(cells, points, filters, weights=np.full(len(events), 2.0))
    assert table.subscriptions == len(filters)
    assert table.joint is not None
    assert cells.joint is not None
    assert len(table.joint) == len(EVENTS)
    for event in EVENTS:
        cell = cells.joint.zone_of_event(event)
        assert table.joint.touched[cell] == sum(filter_.matches(event) for filter_ in filters)
        assert table.joint.events[cell] == events.count(event)
    for axis, name in enumerate(("level", "tick")):
        values = sorted({event[name] for event in EVENTS})
        for cell, value in enumerate(values):
            matching = [any(f.matches(e) for e in EVENTS if e[name] == value) for f in filters]
            assert table.axes[axis].touched[cell] == sum(matching)
            assert table.axes[axis].covered[cell] == pytest.approx(sum(matching))
            assert table.axes[axis].events[cell] == sum(event[name] == value for event in events)
            assert table.axes[axis].weight[cell] == (2.0 if table.axes[axis].events[cell] else 1.0)


@given(st.lists(st.sampled_from(FILTERS), max_size=8), st.sets(st.integers(1, 9), max_size=5))
def test_cells_of_many_values_count_shares_and_splits(texts: list[str], places: set[int]) -> None:
    space = ContentSpace(Schema([SCHEMA["level"]]))
    edges = np.array([0.0, *sorted(places), 10.0])
    wanted = [
        [any(Filter.parse(text).matches(e) for e in EVENTS if e["level"] == level) for level in range(10)]
        for text in texts
    ]
    table = CellTable.count(Cells(space, (edges,)), np.zeros((0, 1)), map(Filter.parse, texts)).axes[0]
    for cell, (low, high) in enumerate(zip(edges[:-1].astype(int), edges[1:].astype(int), strict=True)):
        assert table.touched[cell] == sum(any(each[low:high]) for each in wanted)
        assert table.covered[cell] == pytest.approx(sum(sum(each[low:high]) / (high - low) for each in wanted))
        assert table.crossing[cell] == sum(any(each[:low]) and any(each[low:]) for each in wanted)


def test_vectors_of_parts_add_up_to_the_vector_of_the_whole() -> None:
    cells = Cells(SPACE, EDGES, joint_cells(SPACE, EDGES, np.array([(1.0, 0.1), (7.0, 0.3)]), most=2))
    points = np.array([SPACE.point(event) for event in EVENTS])
    whole = cells.count_events(points, np.ones(60))
    assert whole == pytest.approx(sum(cells.count_events(part, np.ones(20)) for part in np.split(points, 3)))
    filters = [Filter.parse(text) for text in FILTERS]
    parts = cells.count_interests(filters[:4]) + cells.count_interests(filters[4:])
    assert cells.count_interests(filters) == pytest.approx(parts)
    assert (len(whole), len(parts)) == (cells.event_entries, cells.interest_entries)


def test_few_values_have_a_cell_each_and_many_have_quantiles() -> None:
    assert axis_edges(axis_of("tick", "float", (0.0, 0.5), 0.1)).tolist() == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert axis_edges(axis_of("live", "bool")).tolist() == [0.0, 1.0, 2.0]
    wide = axis_of("level", "int", (0, 99_999))
    assert grid_size(wide) == 100_000
    assert axis_edges(wide, [5.0, 9.0, 9.0, 50.0]).tolist() == [0.0, 5.0, 9.0, 10.0, 50.0, 100_000.0]
    dense = axis_of("price", "float", (0.0, 1.0))
    assert grid_size(dense) is None
    after = float(np.nextafter(0.5, 1))
    assert axis_edges(dense, [0.5, 0.5, 0.5]).tolist() == [0.0, 0.5, after, float(np.nextafter(1.0, 2))]


def test_joint_cells_hold_about_as_many_points_each() -> None:
    rng = np.random.default_rng(1)
    points = np.column_stack((rng.integers(0, 10, 4_000), rng.integers(0, 6, 4_000) / 10)).astype(np.float64)
    joint = joint_cells(SPACE, EDGES, points, most=12)
    assert len(joint) == 12
    counts = np.bincount(joint.zones_of_points(points))
    assert counts.max() <= 1.7 * counts.mean()
    assert len(joint_cells(SPACE, EDGES, np.zeros((0, 2)))) == 1


@pytest.mark.parametrize(
    ("attribute", "column"),
    [
        (("a", "int", (0, 9)), pa.array([1, None, 50, 9])),
        (("a", "float", (0.0, 9.0)), pa.array([1.5, float("nan"), 9.0, None])),
        (("a", "float", (0.0, 9.0)), pa.array([Decimal("1.25"), None])),
        (("a", "int", (0, 9)), pa.array(["1"])),
        (("a", "string", ("x", "b")), pa.array(["x", "b", "c", None])),
        (("a", "string", ("x", "b")), pa.array(["x", "b"]).dictionary_encode()),
        (("a", "bool"), pa.array([True, False, None])),
        (
            ("a", "timestamp", (datetime(2024, 1, 1), datetime(2024, 1, 9))),
            pa.array([datetime(2024, 1, 2, tzinfo=UTC), None, datetime(2025, 1, 1, tzinfo=UTC)]),
        ),
        (
            ("a", "timestamp", (datetime(2024, 1, 1), datetime(2024, 1, 9))),
            pa.array([datetime(2024, 1, 2, 3)], pa.timestamp("ns")),
        ),
        (("a", "timestamp", (datetime(2024, 1, 1), datetime(2024, 1, 9))), pa.array([date(2024, 1, 2)])),
    ],
)
def test_columns_lie_where_their_values_do(attribute: tuple[object, ...], column: pa.Array) -> None:
    axis = axis_of(*attribute)
    single = [axis.place(value) for value in column.to_pylist()]
    expected = [np.nan if place is None else place for place in single]
    assert np.array_equal(places_of(axis, column), np.array(expected), equal_nan=True)


def test_figures_of_a_cell() -> None:
    space = ContentSpace(Schema([SCHEMA["level"]]))
    cells = Cells(space, (np.array([0.0, 5.0, 10.0]),))
    points = np.array([[1.0], [2.0], [7.0], [np.nan]])
    filters = [Filter.parse("level < 5"), Filter.parse("level = 7"), Filter.parse("TRUE"), Filter.parse("level < 0")]
    axis = CellTable.count(cells, points, filters, weights=np.array([1.0, 3.0, 5.0, 9.0])).axes[0]
    assert axis.volume.tolist() == pytest.approx([2 / 3, 1 / 3])
    assert axis.weight.tolist() == [2.0, 5.0]
    assert axis.popularity.tolist() == pytest.approx([0.5, 0.3])
    assert axis.selectivity.tolist() == pytest.approx([1.0, 0.6])
    assert axis.match_rate == pytest.approx(2 / 3 * 0.5 + 1 / 3 * 0.3)
    assert axis.loads(1.0).tolist() == pytest.approx([2 / 3 * 0.5 * 2.0, 1 / 3 * 0.3 * 5.0])
    assert axis.constrained == 3
    assert axis.quantiles([0.0, 0.5, 1.0]) == [0.0, 0.0, 5.0]
