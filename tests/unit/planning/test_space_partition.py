"""Several axes in zones: k-d cuts for any number of zones, even where the cells allow it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import Attribute, Filter, Schema
from siftcast.planning import Cells, CellTable, axis_edges, choose_zones, joint_cells, partition_space, quality
from siftcast.planning.zone_choice import candidates
from siftcast.space import ContentSpace

SIDE = 8
SCHEMA = Schema([Attribute("x", "int", (0, SIDE - 1)), Attribute("y", "int", (0, SIDE - 1))])
SPACE = ContentSpace(SCHEMA)
GRID = np.array([(x, y) for x in range(SIDE) for y in range(SIDE)], dtype=np.float64)
grids = st.lists(st.integers(0, 50).map(float), min_size=SIDE * SIDE, max_size=SIDE * SIDE)


@given(grids, st.integers(1, 20))
def test_every_cell_lies_in_one_zone_and_loads_add_up(cells: list[float], zones: int) -> None:
    partition = partition_space(SPACE, GRID, GRID + 1, cells, zones)
    assert len(partition) == zones
    found = partition.zones_of_points(GRID)
    assert found.min() == 0
    assert np.bincount(found, weights=cells, minlength=zones) == pytest.approx(partition.loads)


@pytest.mark.parametrize("zones", [2, 3, 5, 7, 12, 20])
def test_even_cells_give_even_zones_for_any_number(zones: int) -> None:
    side = 60
    cells = np.array([(x, y) for x in range(side) for y in range(side)], dtype=np.float64)
    space = ContentSpace(Schema([Attribute("x", "int", (0, side - 1)), Attribute("y", "int", (0, side - 1))]))
    partition = partition_space(space, cells, cells + 1, np.ones(len(cells)), zones)
    assert len(partition) == zones
    assert quality(partition.loads).imbalance <= 1.1


def test_a_hot_cell_is_cut_out() -> None:
    cells = np.ones(SIDE * SIDE)
    cells[27] = 1_000.0
    partition = partition_space(SPACE, GRID, GRID + 1, cells, 12)
    assert max(partition.loads) == 1_000.0


def test_fewer_cells_than_zones_make_fewer_zones() -> None:
    assert len(partition_space(SPACE, [[0, 0]], [[SIDE, SIDE]], [1.0], 5)) == 1
    assert len(partition_space(SPACE, [[0, 0], [4, 0]], [[4, SIDE], [SIDE, SIDE]], [1.0, 1.0], 5)) == 2


def test_of_equally_even_cuts_the_one_that_splits_fewer_subscriptions_is_taken() -> None:
    places = np.arange(SIDE, dtype=np.float64)
    for axis in (0, 1):
        crossings = [(places, np.full(SIDE, 0.0 if each == axis else 9.0)) for each in (0, 1)]
        cuts = partition_space(SPACE, GRID, GRID + 1, np.ones(len(GRID)), 2, crossings=crossings).cuts
        assert cuts is not None
        assert (cuts.axis, cuts.places) == (axis, (4.0,))


def table_of(filters: list[str], points: np.ndarray = GRID) -> CellTable:
    edges = [axis_edges(axis) for axis in SPACE.axes]
    cells = Cells(SPACE, tuple(edges), joint_cells(SPACE, edges, points))
    return CellTable.count(cells, points, map(Filter.parse, filters))


def test_the_attribute_that_separates_the_subscriptions_is_cut() -> None:
    filters = [f"y = {value}" for value in range(SIDE)]
    partition = choose_zones(table_of(filters), 4, sample=[Filter.parse(text) for text in filters])
    assert [axis.attribute.name for axis in partition.space.axes] == ["y"]
    assert quality(partition.loads).imbalance == pytest.approx(1.0)
    assert "→ y" in partition.reason
    assert "touches 1.00 zones" in partition.explain()
    assert partition.zone_of_event({"y": 7}) == 3  # the other attribute is not asked for


def test_several_attributes_are_cut_where_one_does_not_do() -> None:
    points = np.repeat(GRID[(GRID[:, 0] == 3) | (GRID[:, 1] == 3)], 10, axis=0)
    filters = [f"x = {x} AND y = {y}" for x, y in GRID.astype(int) if 3 in (x, y)]
    sample = [Filter.parse(text) for text in filters]
    table = table_of(filters, points)
    partition = choose_zones(table, 8, sample=sample)
    assert [axis.attribute.name for axis in partition.space.axes] == ["x", "y"]
    cost = {each.attributes: each.cost for each in candidates(table, 8, sample=sample)}
    assert cost["x", "y"] < cost["x",]


def test_zones_that_an_attribute_lacks_count_against_it() -> None:
    schema = Schema([Attribute("flag", "bool")])
    space = ContentSpace(schema)
    cells = Cells(space, (axis_edges(space.axes[0]),))
    table = CellTable.count(cells, np.array([[0.0], [1.0]]), [Filter.parse("flag"), Filter.parse("NOT flag")])
    (only,) = candidates(table, 10)
    assert (only.quality.zones, only.quality.imbalance, only.excess) == (2, 1.0, 5.0)
    assert "asked for 10" in choose_zones(table, 10).reason
