"""Hot spots that move among sets: interests around all, events around one at a time."""

import numpy as np
import pytest

from siftcast.model.errors import WorkloadError
from siftcast.workloads import NO_SPOT, IntegerDomain, Streams, draw_hot_spot_sets, generate

CLUSTERING = IntegerDomain(0, 30, 5)
STREAMS = Streams(11)


def sets_of(count=3, spots=5):
    return draw_hot_spot_sets(CLUSTERING, count, spots, rng=STREAMS.generator("sets"))


def test_regions_of_all_sets_are_apart():
    centres = np.concatenate([each.centres for each in sets_of().sets])
    assert centres.shape == (15, 5)
    first, second = np.triu_indices(15, 1)
    assert np.abs(centres[first] - centres[second]).max(axis=1).min() > 2 * sets_of().sets[0].reach


def test_interests_lie_around_all_sets_in_equal_parts():
    drawn = sets_of().draw(9_000, STREAMS.generator("draw"))
    hot = drawn.spots[drawn.spots != NO_SPOT]
    assert len(hot) / 9_000 == pytest.approx(0.8, abs=0.02)
    assert np.bincount(hot // 5) / len(hot) == pytest.approx([1 / 3] * 3, abs=0.03)
    assert set(hot.tolist()) == set(range(15))


def test_labels_name_the_spot_in_whose_region_a_point_lies():
    spots = sets_of()
    drawn = spots.draw(500, STREAMS.generator("labels"))
    for point, label in zip(drawn.points, drawn.spots, strict=True):
        if label != NO_SPOT:
            centre = spots.sets[label // 5].centres[label % 5]
            assert np.abs(point - centre).max() <= spots.sets[0].reach


def test_events_go_from_set_to_set_and_begin_again():
    drawn = sets_of(2).draw_moving(5_000, move_every=1_000, streams=STREAMS, name="moving")
    for epoch in range(5):
        labels = drawn.spots[1_000 * epoch : 1_000 * (epoch + 1)]
        assert set((labels[labels != NO_SPOT] // 5).tolist()) == {epoch % 2}
    shorter = sets_of(2).draw_moving(1_500, move_every=1_000, streams=STREAMS, name="moving")
    assert np.array_equal(shorter.points[:1_000], drawn.points[:1_000])
    assert sets_of(2).draw_moving(0, move_every=5, streams=STREAMS, name="moving").points.shape == (0, 5)


def match_rates(workload, every):
    bounds = np.array([text.replace(" AND ", " ").split() for text in workload.subscriptions["filter"].to_pylist()])
    low, high = bounds[:, 2::4].astype(int), bounds[:, 3::4].astype(int)
    hits = np.ones((len(bounds), workload.events.num_rows), dtype=bool)
    for axis, name in enumerate(workload.schema.names):
        column = workload.events[name].to_numpy()
        hits &= (low[:, axis, None] <= column) & (column <= high[:, axis, None])
    return hits.mean(axis=0).reshape(-1, every).mean(axis=1)


@pytest.mark.parametrize("options", [{}, {"subscription_distribution": "uniform"}], ids=["hot spots", "uniform"])
def test_events_of_the_thesis_match_five_percent_wherever_they_move(options):
    workload = generate(
        "clustering-hotspots", events=4_000, subscriptions=1_500, seed=3, move_every=1_000, hot_spot_sets=4, **options
    )
    rates = match_rates(workload, 1_000)
    assert rates.mean() == pytest.approx(0.05, rel=0.15)
    assert rates.min() > 0.02


def test_hot_spots_that_move_anywhere_leave_the_interests_behind():
    workload = generate("clustering-hotspots", events=2_000, subscriptions=1_500, seed=3, move_every=1_000)
    before, after = match_rates(workload, 1_000)
    assert before == pytest.approx(0.05, rel=0.2)
    assert after < before / 10


def test_subscriptions_are_labelled_through_all_sets_and_without_background_all_of_them():
    options = {"move_every": 10, "hot_spot_sets": 2, "hot_share": 1.0}
    labels = generate("clustering-hotspots", events=0, subscriptions=800, seed=1, **options).subscriptions["hot_spot"]
    assert labels.null_count == 0
    assert set(labels.to_pylist()) == set(range(10))


@pytest.mark.parametrize("sets", [0, 65])
def test_a_wrong_number_of_sets_is_refused(sets):
    with pytest.raises(WorkloadError, match="hot_spot_sets"):
        generate("clustering-hotspots", events=1, subscriptions=1, seed=1, hot_spot_sets=sets)
