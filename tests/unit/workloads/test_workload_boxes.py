"""Boxes and hot spots: is a box hit as often as asked, and are hot spots 80/20?"""

import numpy as np
import pytest

from siftcast.model import WorkloadError
from siftcast.workloads import (
    NO_SPOT,
    Boxes,
    HotSpots,
    IntegerDomain,
    Streams,
    calibrate_length,
    draw_boxes,
    draw_hot_spots,
    moving_points,
    uniform_length,
    unit_boxes,
    zipf_weights,
)
from siftcast.workloads.lookup_reuse import DENSITIES

QOS = IntegerDomain(1, 128, 10)
CLUSTERING = IntegerDomain(0, 30, 5)
UNDERLAY = IntegerDomain(0, 10, 5)
STREAMS = Streams(5)


def test_a_box_holds_its_bounds_and_nothing_outside() -> None:
    boxes = Boxes(np.array([[1, 1], [3, 0]]), np.array([[2, 4], [3, 0]]))
    points = np.array([[1, 4], [2, 5], [3, 0]])
    assert boxes.contains(points).tolist() == [[True, False, False], [False, False, True]]
    assert boxes.match_rate(points) == pytest.approx(2 / 6)


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_unit_boxes_are_hit_at_the_asked_density(density: float, spread: float) -> None:
    boxes = unit_boxes(10_000, 5, density=density, rng=STREAMS.generator("boxes"), spread=spread)
    points = STREAMS.generator("points").random((1_000, 5))
    assert boxes.match_rate(points) == pytest.approx(density, rel=0.12)
    assert boxes.low.min() >= 0.0
    assert boxes.high.max() <= 1.0


def test_without_spread_all_unit_boxes_have_one_size() -> None:
    lengths = [
        boxes.high - boxes.low
        for spread in (0.0, 1.0)
        for boxes in [unit_boxes(500, 5, density=0.01, rng=STREAMS.generator("size"), spread=spread)]
    ]
    assert np.ptp(lengths[0]) < 3e-6
    assert np.ptp(lengths[1]) > 0.5
    assert lengths[0].mean() == pytest.approx(0.01**0.2, abs=1e-5)


@pytest.mark.parametrize("domain", [QOS, CLUSTERING, UNDERLAY])
@pytest.mark.parametrize("rate", [0.05, 0.2])
def test_integer_boxes_match_uniform_points_at_the_asked_rate(domain: IntegerDomain, rate: float) -> None:
    draws = draw_boxes(domain, 4_000, rng=STREAMS.generator("integer-boxes"))
    boxes = draws.boxes(uniform_length(rate, domain.dimensions))
    points = domain.uniform_points(2_000, STREAMS.generator("integer-points"))
    assert boxes.match_rate(points) == pytest.approx(rate, rel=0.06)
    assert boxes.low.min() >= domain.low
    assert boxes.high.max() <= domain.high
    assert (boxes.low <= boxes.high).all()


def test_calibration_finds_the_width_for_skewed_points_and_says_when_there_is_none() -> None:
    spots = draw_hot_spots(CLUSTERING, 5, rng=STREAMS.generator("spots"))
    points = spots.draw(1_500, STREAMS.generator("p")).points
    centres = spots.draw(1_500, STREAMS.generator("c")).points
    draws = draw_boxes(CLUSTERING, 1_500, rng=STREAMS.generator("b"), centres=centres)
    length = calibrate_length(draws, points, match_rate=0.05)
    assert draws.boxes(length).match_rate(points) == pytest.approx(0.05, rel=0.02)
    with pytest.raises(WorkloadError, match="match_rate"):
        calibrate_length(draws, points, match_rate=1e-9)


def test_every_point_lies_in_all_boxes_of_full_length() -> None:
    draws = draw_boxes(UNDERLAY, 50, rng=STREAMS.generator("full"), spread=0.0)
    assert draws.boxes(1.0).match_rate(UNDERLAY.uniform_points(50, STREAMS.generator("any"))) == 1.0


@pytest.mark.parametrize(("domain", "count"), [(QOS, 4), (QOS, 6), (CLUSTERING, 5), (UNDERLAY, 5)])
def test_eighty_percent_of_points_lie_in_hot_regions_of_a_fifth_of_the_domain(
    domain: IntegerDomain, count: int
) -> None:
    spots = draw_hot_spots(domain, count, rng=STREAMS.generator("regions"))
    drawn = spots.draw(40_000, STREAMS.generator("draw"))
    assert (drawn.spots != NO_SPOT).mean() == pytest.approx(0.8, abs=0.01)
    labelled = drawn.spots != NO_SPOT
    assert np.array_equal(spots.in_region(drawn.points)[labelled], drawn.spots[labelled])
    width = 2 * spots.reach + 1
    assert abs(width - 0.2 * domain.size) <= 1.0
    assert drawn.points.min() >= domain.low
    assert drawn.points.max() <= domain.high


def test_hot_spots_draw_in_proportion_to_one_over_rank() -> None:
    spots = draw_hot_spots(CLUSTERING, 5, rng=STREAMS.generator("weights"))
    drawn = spots.draw(100_000, STREAMS.generator("many")).spots
    shares = np.bincount(drawn[drawn != NO_SPOT], minlength=5) / np.count_nonzero(drawn != NO_SPOT)
    assert shares == pytest.approx(zipf_weights(5), abs=0.01)


def test_points_of_a_hot_spot_thin_out_with_distance() -> None:
    spots = HotSpots(QOS, np.full((1, 10), 64), share=1.0, reach=12)
    distances = np.abs(spots.draw(20_000, STREAMS.generator("thin")).points - 64).ravel()
    counts = np.bincount(distances, minlength=13)
    assert counts / counts.sum() == pytest.approx(zipf_weights(13), abs=0.005)


@pytest.mark.parametrize("seed", range(20))
def test_hot_regions_do_not_meet(seed: int) -> None:
    spots = draw_hot_spots(CLUSTERING, 5, rng=Streams(seed).generator("apart"))
    first, second = np.triu_indices(5, 1)
    gaps = np.abs(spots.centres[first] - spots.centres[second]).max(axis=1)
    assert gaps.min() > 2 * spots.reach


def test_moving_hot_spots_change_after_every_block_and_only_then() -> None:
    first = draw_hot_spots(CLUSTERING, 5, rng=STREAMS.generator("move"))
    drawn = moving_points(first, 5_000, move_every=2_000, streams=STREAMS)
    assert drawn.points.shape == (5_000, 5)
    inside = first.in_region(drawn.points) != NO_SPOT
    assert inside[:2_000].mean() == pytest.approx(0.8, abs=0.03)
    assert inside[2_000:4_000].mean() < 0.3
    assert inside[4_000:].mean() < 0.3
    again = moving_points(first, 3_000, move_every=2_000, streams=STREAMS)
    assert np.array_equal(again.points[:2_000], drawn.points[:2_000])
    assert moving_points(first, 0, move_every=10, streams=STREAMS).points.shape == (0, 5)


def test_a_space_too_small_for_separate_spots_still_gets_them() -> None:
    tiny = IntegerDomain(0, 1, 1)
    spots = draw_hot_spots(tiny, 5, rng=STREAMS.generator("tiny"))
    points = spots.draw(100, STREAMS.generator("tiny-points")).points
    assert set(points.ravel().tolist()) <= {0, 1}
