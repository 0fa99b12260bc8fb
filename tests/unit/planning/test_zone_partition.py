"""One axis in zones: no contiguous zones have a smaller largest load, and Kyra's data models come out even."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import Attribute, Schema
from siftcast.planning import bottleneck, cell_loads, partition_line, quality, split_line
from siftcast.space import ContentSpace
from siftcast.workloads import (
    draw_peaks,
    draw_weights,
    multimodal_values,
    plane_distances,
    regional_model,
    uniform_values,
    zipf_values,
)

VALUES, ZONES, SERVERS = 1_000, 20, 500
loads = st.lists(st.integers(0, 20).map(float), min_size=1, max_size=9)
real_loads = st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=60)


def largest(cells: list[float], cuts: list[int]) -> float:
    return max(float(part.sum()) for part in np.split(np.array(cells), cuts))


@given(loads, st.integers(1, 6))
def test_the_largest_zone_is_as_small_as_any_cuts_can_make_it(cells: list[float], zones: int) -> None:
    count = min(zones, len(cells))
    best = min(largest(cells, list(cuts)) for cuts in combinations(range(1, len(cells)), count - 1))
    assert largest(cells, split_line(cells, zones)) == best == bottleneck(cells, zones)


@given(real_loads, st.integers(1, 70))
def test_zones_are_contiguous_and_none_is_empty(cells: list[float], zones: int) -> None:
    cuts = split_line(cells, zones)
    assert len(cuts) == min(zones, len(cells)) - 1
    assert [0, *cuts, len(cells)] == sorted({0, *cuts, len(cells)})
    assert largest(cells, cuts) == pytest.approx(bottleneck(cells, zones), rel=1e-9, abs=1e-9)


@given(real_loads, st.integers(1, 20))
def test_more_zones_never_make_the_largest_larger(cells: list[float], zones: int) -> None:
    assert bottleneck(cells, zones + 1) <= bottleneck(cells, zones) * (1 + 1e-9)


def test_loads_are_spread_evenly_where_the_bottleneck_leaves_a_choice() -> None:
    assert split_line([10, 1, 1, 1, 1, 1, 1], 3) == [1, 4]
    assert split_line([0, 0, 0, 0], 2) == [2]


def kyra_models(interest: float, seed: int) -> dict[str, np.ndarray]:
    """The expected load of every value, under each of the paper's data models, without and with its weights."""
    rng = np.random.default_rng(seed)
    models = {
        "uniform": uniform_values(VALUES, interest),
        "zipf-uniform": zipf_values(VALUES, interest, rng=rng),
        "zipf-uniform in order": zipf_values(VALUES, interest),
        "multimodal": multimodal_values(VALUES, interest, peaks=draw_peaks(VALUES, rng)),
        "regional": regional_model(plane_distances(SERVERS, rng), interest, values=VALUES, rng=rng),
    }
    weights = draw_weights(VALUES, rng)
    found = {name: cell_loads(model.popularity, model.volume) for name, model in models.items()}
    return found | {f"{name}, weighted": load * weights for name, load in found.items()}


@pytest.mark.parametrize("interest", [0.01, 0.1, 0.5])
def test_twenty_zones_of_the_papers_data_models_are_even_or_the_largest_is_a_single_value(interest: float) -> None:
    for seed in range(10):
        for name, cells in kyra_models(interest, seed).items():
            parts = np.split(cells, split_line(cells, ZONES))
            sums = np.array([part.sum() for part in parts])
            assert len(sums) == ZONES
            even = quality(sums).imbalance <= 1.1
            assert even or len(parts[int(sums.argmax())]) == 1, (name, seed, quality(sums))


def test_a_hot_value_gets_a_zone_of_its_own() -> None:
    cells = np.ones(100)
    cells[40] = 1_000.0
    parts = np.split(cells, split_line(cells, ZONES))
    assert [1_000.0] in [part.tolist() for part in parts]


def test_a_line_becomes_a_partition_that_knows_its_loads() -> None:
    space = ContentSpace(Schema([Attribute("value", "int", (0, 9))]))
    partition = partition_line(space, np.arange(11), np.ones(10), 3)
    assert sorted(partition.loads) == [3.0, 3.0, 4.0]
    assert [partition.zone_of((float(value),)) for value in (0, 9)] == [0, 2]


def test_load_is_popularity_to_alpha_times_volume_times_weight() -> None:
    assert cell_loads([0.25, 0.0], [2.0, 2.0], [3.0, 3.0], alpha=0.5).tolist() == [3.0, 0.0]
    assert cell_loads(1.0, [1.0, 2.0]).tolist() == [1.0, 2.0]


def test_quality_says_how_uneven_and_how_spread() -> None:
    figures = quality([1.0, 3.0], [1, 2, 2])
    assert (figures.zones, figures.imbalance, figures.spans_max) == (2, 1.5, 2)
    assert figures.spans_mean == pytest.approx(5 / 3)
    assert quality([0.0, 0.0]).imbalance == 1.0


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
def test_impossible_figures_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        split_line([1.0, bad], 2)
    with pytest.raises(ValueError, match="popularity"):
        cell_loads([bad], [1.0])


def test_impossible_numbers_of_zones_and_cells_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one zone"):
        split_line([1.0], 0)
    with pytest.raises(ValueError, match="no cells"):
        split_line([], 1)
    with pytest.raises(ValueError, match="edges"):
        partition_line(ContentSpace(Schema([Attribute("v", "int", (0, 9))])), [0, 1], [1, 1], 2)
