"""Popularity and volume of one-dimensional values: have the four Kyra models the shape the paper states?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import WorkloadError
from siftcast.workloads import (
    Streams,
    draw_peaks,
    draw_weights,
    multimodal_values,
    plane_distances,
    regional_model,
    scale_to_mean,
    uniform_values,
    zipf_values,
)

RATES = (0.01, 0.1, 0.5)


def generator(name: str = "test") -> np.random.Generator:
    return Streams(11).generator(name)


@given(
    shape=st.lists(st.floats(0.001, 1000.0), min_size=1, max_size=60),
    mean=st.floats(0.001, 1.0),
)
def test_scaling_reaches_the_mean_and_never_exceeds_one(shape: list[float], mean: float) -> None:
    scaled = scale_to_mean(np.array(shape), mean)
    assert scaled.max() <= 1.0
    assert scaled.mean() == pytest.approx(mean, rel=1e-9)


def test_scaling_refuses_a_mean_that_zeros_make_unreachable() -> None:
    with pytest.raises(WorkloadError, match="mean"):
        scale_to_mean(np.array([1.0, 0.0, 0.0, 0.0]), 0.5)


@pytest.mark.parametrize("rate", RATES)
def test_uniform_values_are_all_alike(rate: float) -> None:
    model = uniform_values(1_000, rate)
    assert (model.popularity == rate).all()
    assert model.volume.sum() == pytest.approx(1.0)
    assert np.ptp(model.volume) == 0.0


@pytest.mark.parametrize("rate", RATES)
def test_zipf_popularity_has_the_asked_mean_and_falls_with_rank(rate: float) -> None:
    popularity = zipf_values(1_000, rate).popularity
    assert popularity.mean() == pytest.approx(rate, rel=1e-12)
    below_cap = np.flatnonzero(popularity < 1.0)
    constants = popularity[below_cap] * (below_cap + 1)
    assert constants == pytest.approx(np.full(below_cap.size, constants[0]))
    assert (popularity[: below_cap[0]] == 1.0).all()


def test_scattering_keeps_the_zipf_popularities_and_moves_them() -> None:
    ordered = zipf_values(1_000, 0.1).popularity
    scattered = zipf_values(1_000, 0.1, rng=generator()).popularity
    assert not np.array_equal(ordered, scattered)
    assert np.array_equal(np.sort(scattered)[::-1], ordered)


@pytest.mark.parametrize("rate", RATES)
def test_zipf_interest_drawn_for_servers_meets_the_rate(rate: float) -> None:
    interest = zipf_values(1_000, rate).interest(500, generator())
    assert interest.shape == (500, 1_000)
    assert interest.mean() == pytest.approx(rate, rel=0.02)


def test_exact_interest_gives_every_value_its_number_of_takers() -> None:
    model = zipf_values(200, 0.1)
    takers = model.interest(500, generator(), exact=True).sum(axis=0)
    assert np.array_equal(takers, np.rint(model.popularity * 500))


def test_multimodal_has_one_maximum_at_each_separate_peak() -> None:
    peaks = (100.0, 300.0, 500.0, 700.0, 900.0)
    model = multimodal_values(1_000, 0.01, peaks=peaks)
    inner = model.volume[1:-1]
    maxima = np.flatnonzero((inner > model.volume[:-2]) & (inner > model.volume[2:])) + 1
    assert maxima == pytest.approx(np.array(peaks), abs=2)


def test_multimodal_deviation_is_a_quarter_of_the_mean_peak_distance() -> None:
    # Far from the other peaks the mixture is one Gaussian, whose log falls by 1/2 after one deviation (50).
    model = multimodal_values(1_000, 0.01, peaks=(200.0, 400.0, 600.0))
    assert np.log(model.volume[200] / model.volume[150]) == pytest.approx(0.5, abs=0.01)
    pairs = multimodal_values(1_000, 0.01, peaks=(200.0, 400.0, 600.0), peak_distance="pairs")
    deviation = (200.0 + 200.0 + 400.0) / 3.0 / 4.0
    expected = 0.5 * ((150.0 / deviation) ** 2 - (100.0 / deviation) ** 2)
    assert np.log(pairs.volume[100] / pairs.volume[50]) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("rate", RATES)
def test_multimodal_volume_follows_popularity_and_interest_is_met(rate: float) -> None:
    peaks = draw_peaks(1_000, generator("peaks"))
    model = multimodal_values(1_000, rate, peaks=peaks)
    assert len(model.peaks) == 5
    assert model.popularity.mean() == pytest.approx(rate, rel=1e-9)
    assert model.volume.sum() == pytest.approx(1.0)
    uncapped = model.popularity < 1.0
    ratio = model.popularity[uncapped] / model.volume[uncapped]
    assert ratio == pytest.approx(np.full(ratio.size, ratio[0]))


def test_events_follow_the_volume() -> None:
    model = multimodal_values(100, 0.1, peaks=(10.0, 30.0, 50.0, 70.0, 90.0))
    counts = np.bincount(model.draw_values(200_000, generator()), minlength=100)
    assert counts / 200_000 == pytest.approx(model.volume, abs=0.002)


def test_stratified_draws_publish_each_value_once_a_block() -> None:
    values = uniform_values(1_000, 0.1).draw_values(2_500, generator(), draw="stratified")
    for start in (0, 1_000):
        block = values[start : start + 1_000]
        assert np.array_equal(np.sort(block), np.arange(1_000))
        assert not np.array_equal(block, np.arange(1_000))
    assert np.unique(values[2_000:]).size == 500


def test_independent_draws_repeat_values() -> None:
    values = uniform_values(1_000, 0.1).draw_values(1_000, generator())
    assert np.unique(values).size == pytest.approx(1_000 * (1 - np.exp(-1)), rel=0.05)


def test_weights_are_uniform_and_never_zero() -> None:
    weights = draw_weights(20_000, generator())
    assert 0.0 < weights.min() < weights.max() <= 1.0
    assert weights.mean() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("rate", RATES)
def test_regional_probability_is_inverse_to_distance(rate: float) -> None:
    rng = generator("regional")
    distances = plane_distances(120, rng)
    model = regional_model(distances, rate, values=1_000, rng=rng)
    probability = model.match_probability
    assert probability.mean() == pytest.approx(rate, rel=1e-9)
    free = (probability < 1.0) & (distances > 0.0)
    products = probability[free] * distances[free]
    assert products == pytest.approx(np.full(products.size, products[0]))
    assert model.interest(rng).mean() == pytest.approx(rate, rel=0.05)


def test_regional_homes_are_dealt_out_evenly() -> None:
    rng = generator("homes")
    model = regional_model(plane_distances(30, rng), 0.1, values=100, rng=rng)
    counts = np.bincount(model.home, minlength=30)
    assert counts.max() - counts.min() == 1
    assert model.popularity.shape == (100,)
    assert np.array_equal(model.popularity, model.match_probability.mean(axis=0)[model.home])


@pytest.mark.parametrize("bad", [np.ones((2, 3)), np.full((2, 2), -1.0), np.full((2, 2), np.inf)])
def test_regional_refuses_a_matrix_that_holds_no_distances(bad: np.ndarray) -> None:
    with pytest.raises(WorkloadError, match="distances"):
        regional_model(bad, 0.1, values=10, rng=generator())


def test_bad_value_models_name_their_parameter() -> None:
    with pytest.raises(WorkloadError, match="interest_rate"):
        zipf_values(10, 1.5)
    with pytest.raises(WorkloadError, match="values"):
        uniform_values(0, 0.5)
    with pytest.raises(WorkloadError, match="peaks"):
        multimodal_values(10, 0.5, peaks=(3.0,))
    with pytest.raises(WorkloadError, match="draw"):
        uniform_values(10, 0.5).draw_values(5, generator(), draw="sideways")
