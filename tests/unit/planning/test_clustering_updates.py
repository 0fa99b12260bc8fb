"""SubscriptionClusters under changing traffic: what is installed, who moves, and where newcomers go meanwhile."""

import numpy as np
import pytest

from siftcast.model import ClusteringError
from siftcast.planning.clustering import SubscriptionClusters, accuracy, matched_events
from tests.unit.planning.test_clustering_estimator import SHAPES, planted


def test_an_update_under_the_same_traffic_installs_nothing():
    _, rows, events = planted()
    matched = matched_events(rows, events)
    found = SubscriptionClusters(5).fit(matched)
    before = found.labels_.copy()
    shift, renamed = found.update(matched)
    assert shift.deviation < 1e-6
    assert renamed is None
    assert (found.labels_ == before).all()


def test_an_update_under_similar_traffic_moves_centres_but_little():
    classes, rows, events = planted()
    found = SubscriptionClusters(5).fit(matched_events(rows, events))
    rng = np.random.default_rng(5)
    own = (classes[:, None] * 40 + rng.integers(0, 40, (400, 15))).ravel()
    shift, renamed = found.update(matched_events(rows, own), threshold=0.3)
    assert 0 < shift.deviation < 0.3
    assert renamed is None


def test_an_update_after_the_hot_spots_moved_installs_new_clusters_and_counts_the_moves():
    classes, rows, events = planted()
    found = SubscriptionClusters(5).fit(matched_events(rows, events))
    before = found.labels_.copy()
    # A fifth of the subscriptions take up the interests of another class.
    moving = np.flatnonzero(classes == 0)
    changed = classes.copy()
    changed[moving[::2]] = 1
    rng = np.random.default_rng(5)
    own = (changed[:, None] * 40 + rng.integers(0, 40, (400, 15))).ravel()
    shift, renamed = found.update(matched_events(rows, own), threshold=0.0)
    assert shift.worth_installing
    assert renamed is not None
    assert accuracy(changed, found.labels_) > 0.97
    assert renamed.moved == (found.labels_ != before).sum()
    assert abs(renamed.moved - len(moving[::2])) <= 12
    assert (found.predict(matched_events(rows, own)) == found.labels_).mean() > 0.99


def test_an_update_may_leave_a_name_vacant():
    matrix = np.repeat(np.eye(4), 10, axis=0)
    found = SubscriptionClusters(4).fit(matrix)
    fewer = np.repeat(np.eye(4)[[0, 1, 1, 3]], 10, axis=0)
    shift, renamed = found.update(fewer)
    assert shift.deviation == np.inf
    assert renamed is not None
    assert renamed.moved == 10
    assert found.n_clusters_ == 3
    assert (found.predict(fewer) == found.labels_).all()


def test_an_update_is_for_the_same_subscriptions():
    found = SubscriptionClusters(2).fit(np.eye(4))
    with pytest.raises(ClusteringError, match="the same 4 subscriptions, not 3"):
        found.update(np.eye(3))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", ["rassoc", "ncut"])
def test_newcomers_are_placed_by_what_landmarks_matched_in_the_last_update(method, shape):
    _, rows, events = planted()
    first, later = matched_events(rows, events), matched_events(rows, events + 1_000_000)
    found = SubscriptionClusters(5, method=method, **SHAPES[shape]).fit(first)
    placed = found.predict(first)
    _, renamed = found.update(later, threshold=0.5)
    assert renamed is None
    assert (found.predict(later) == placed).all()
    assert (placed == found.labels_).mean() > 0.95


@pytest.mark.parametrize("parameters", [{"k": 6}, {"dimensions": 3}, {"k": 4, "dimensions": 9}])
def test_other_parameters_are_installed_by_the_next_update(parameters):
    _, rows, events = planted()
    matched = matched_events(rows, events)
    found = SubscriptionClusters(5).fit(matched)
    before = found.labels_.copy()
    shift, renamed = found.set_params(**parameters).update(matched, threshold=1e9)
    assert shift.deviation == np.inf
    assert renamed is not None
    assert renamed.moved == (found.labels_ != before).sum()
    assert found.centres_.shape[1] == parameters.get("dimensions", parameters.get("k"))
    assert (found.predict(matched) == found.labels_).mean() > 0.99


def test_an_update_in_which_nobody_matched_keeps_the_clusters():
    matrix = np.repeat(np.eye(4), 5, axis=0)
    found = SubscriptionClusters(4).fit(matrix)
    shift, renamed = found.update(np.zeros((20, 4)))
    assert (shift.deviation, renamed) == (0.0, None)
    assert found.n_clusters_ == 4
    assert (found.predict(matrix) == found.labels_).all()


def test_the_first_matches_install_the_first_clusters():
    found = SubscriptionClusters(4).fit(np.zeros((20, 4)))
    _, renamed = found.update(np.repeat(np.eye(4), 5, axis=0))
    assert renamed is not None
    assert renamed.joined == 20
    assert found.n_clusters_ == 4


def test_an_update_refuses_what_a_fit_refuses():
    found = SubscriptionClusters(4).fit(np.eye(4))
    with pytest.raises(ClusteringError, match="threshold"):
        found.update(np.eye(4), threshold=-0.1)
    with pytest.raises(ClusteringError, match="cannot form 9"):
        found.set_params(k=9).update(np.eye(4))
