"""SubscriptionClusters: planted clusters are found, and odd input has the outcome that is written down."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from siftcast.planning.clustering import (
    UNMATCHED,
    SubscriptionClusters,
    accuracy,
    entropy,
    false_positives,
    matched_events,
    nearest_centres,
    unit_rows,
)
from siftcast.planning.clustering import estimator as estimator_module

SHAPES = {
    "whole": {},
    "from landmarks": {"landmarks": 120},
    "two levels": {"levels": 2, "groups": 4, "landmarks": 0.5},
    "three levels": {"levels": 3, "groups": 9, "landmarks": 0.5},
}


def planted(count=400, clusters=5, *, seed=0, background=0.1):
    """Subscriptions of a class match events of their class, but for a few drawn from all."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, clusters, count)
    own = classes[:, None] * 40 + rng.integers(0, 40, (count, 15))
    events = np.where(rng.random(own.shape) < background, rng.integers(0, 40 * clusters, own.shape), own)
    rows = np.repeat(np.arange(count), 15)
    return classes, rows, events.ravel()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", ["rassoc", "ncut"])
def test_planted_clusters_are_found(method, shape):
    classes, rows, events = planted()
    found = SubscriptionClusters(5, method=method, **SHAPES[shape]).fit(matched_events(rows, events))
    assert found.n_clusters_ == 5
    assert accuracy(classes, found.labels_) > 0.95
    assert entropy(classes, found.labels_) < 0.15


@pytest.mark.parametrize("kmeans", ["central", "sampling", "hierarchical", "hp2pc"])
def test_every_kmeans_beats_chance_by_far(kmeans):
    classes, rows, events = planted()
    found = SubscriptionClusters(5, levels=2, groups=4, landmarks=0.5, kmeans=kmeans)
    assert accuracy(classes, found.fit_predict(matched_events(rows, events))) > 0.55


@pytest.mark.parametrize("method", ["rassoc", "ncut"])
def test_found_clusters_cost_hardly_more_false_positives_than_the_true_classes(method):
    classes, rows, events = planted()
    pairs = np.unique(np.column_stack([rows, events]), axis=0)
    found = SubscriptionClusters(5, method=method).fit(matched_events(rows, events))
    assert false_positives(*pairs.T, found.labels_).count <= 1.05 * false_positives(*pairs.T, classes).count


@pytest.mark.parametrize("shape", ["whole", "from landmarks"])
@pytest.mark.parametrize("method", ["rassoc", "ncut"])
def test_predicting_known_subscriptions_gives_their_labels(method, shape):
    _, rows, events = planted()
    matched = matched_events(rows, events)
    found = SubscriptionClusters(5, method=method, **SHAPES[shape]).fit(matched)
    assert (found.predict(matched) == found.labels_).mean() > 0.99


def test_predicting_within_its_own_group_gives_a_subscription_its_label():
    _, rows, events = planted()
    matched = matched_events(rows, events)
    found = SubscriptionClusters(5, **SHAPES["two levels"]).fit(matched)
    group_of = np.empty(400, dtype=int)
    for group in found.hierarchy_.base:
        group_of[group.members] = group.number
    assert (found.predict(matched, group_of) == found.labels_).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", ["rassoc", "ncut"])
def test_new_subscriptions_join_the_cluster_of_their_class(method, shape):
    classes, rows, events = planted()
    found = SubscriptionClusters(5, method=method, **SHAPES[shape]).fit(matched_events(rows, events))
    late_classes, late_rows, late_events = planted(count=60, seed=9)
    late = found.predict(matched_events(late_rows, late_events))
    both = accuracy(np.concatenate([classes, late_classes]), np.concatenate([found.labels_, late]))
    assert both > 0.95


@pytest.mark.parametrize("method", ["rassoc", "ncut"])
def test_many_subscriptions_are_embedded_from_landmarks_by_default(method, monkeypatch):
    monkeypatch.setattr(estimator_module, "CENTRAL_MAX", 100)
    monkeypatch.setattr(estimator_module, "PAIRS_MAX", 1_000)
    monkeypatch.setattr(estimator_module, "LANDMARKS", 150)
    classes, rows, events = planted()
    found = SubscriptionClusters(5, method=method).fit(matched_events(rows, events))
    assert len(found.hierarchy_.levels) == 2
    assert len(found.hierarchy_.root.members) == 150
    assert accuracy(classes, found.labels_) > 0.97


def test_rare_events_call_for_more_landmarks(monkeypatch):
    monkeypatch.setattr(estimator_module, "CENTRAL_MAX", 100)
    monkeypatch.setattr(estimator_module, "PAIRS_MAX", 1_000)
    monkeypatch.setattr(estimator_module, "LANDMARKS", 10)
    rows = np.repeat(np.arange(400), 2)
    events = np.column_stack([np.arange(400) // 2, np.arange(400) // 2 + 1]).ravel()
    found = SubscriptionClusters(2).fit(matched_events(rows, events))
    assert len(found.hierarchy_.root.members) == 400


@pytest.mark.parametrize("method", ["rassoc", "ncut"])
def test_subscriptions_that_matched_nothing_are_in_no_cluster(method):
    _, rows, events = planted()
    matched = matched_events(rows, events, count=410)
    found = SubscriptionClusters(5, method=method).fit(matched)
    assert (found.labels_[400:] == UNMATCHED).all()
    assert (found.labels_[:400] >= 0).all()
    assert np.isnan(found.coordinates_[400:]).all()
    assert (found.predict(matched)[400:] == UNMATCHED).all()


def test_without_any_match_there_are_no_clusters():
    found = SubscriptionClusters(2).fit(np.zeros((4, 3)))
    assert found.labels_.tolist() == [UNMATCHED] * 4
    assert found.n_clusters_ == 0
    assert found.predict(np.ones((2, 3))).tolist() == [UNMATCHED] * 2


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", ["rassoc", "ncut"])
def test_duplicates_share_a_cluster(method, shape):
    _, rows, events = planted(count=150, background=0.9)
    twice = matched_events(np.concatenate([rows, rows + 150]), np.concatenate([events, events]))
    found = SubscriptionClusters(8, method=method, **SHAPES[shape]).fit(twice)
    assert (found.labels_[:150] == found.labels_[150:]).all()
    assert sorted(set(found.labels_.tolist())) == list(range(found.n_clusters_))
    assert len(found.centres_) == found.n_clusters_


def test_many_duplicates_are_as_many_clusters_as_there_are_different_ones():
    """More than are embedded as a whole: rounding tells landmarks from those that were extended to them."""
    matrix = np.repeat([[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 1]], 2_000, axis=0)
    found = SubscriptionClusters(10).fit(matrix)
    assert found.n_clusters_ == 4
    assert (found.labels_ == np.repeat(found.labels_[::2_000], 2_000)).all()


@pytest.mark.parametrize("method", ["rassoc", "ncut"])
def test_fewer_distinct_subscriptions_than_k_give_fewer_clusters(method):
    matrix = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 1, 0]], 5, axis=0)
    found = SubscriptionClusters(7, method=method).fit(matrix)
    assert found.n_clusters_ == 3
    assert len(set(found.labels_[:5])) == len(set(found.labels_[5:10])) == len(set(found.labels_[10:])) == 1


@pytest.mark.parametrize("method", ["rassoc", "ncut"])
def test_where_everyone_is_alike_there_is_one_giant_cluster(method):
    found = SubscriptionClusters(5, method=method).fit(np.ones((50, 8)))
    assert found.n_clusters_ == 1
    assert (found.labels_ == 0).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", ["rassoc", "ncut"])
def test_pieces_of_a_disconnected_graph_are_not_mixed(method, shape):
    classes, rows, events = planted(background=0.0)
    found = SubscriptionClusters(5, method=method, **SHAPES[shape]).fit(matched_events(rows, events))
    assert accuracy(classes, found.labels_) > 0.99


@pytest.mark.parametrize("method", ["rassoc", "ncut"])
def test_pieces_that_are_small_beside_another_one_share_a_cluster(method):
    """Ten pieces and ten clusters; directions go to the large piece's own differences first."""
    _, rows, events = planted(count=400)
    small = np.arange(9 * 5)
    rows = np.concatenate([rows, np.repeat(400 + small, 2)])
    events = np.concatenate([events, np.repeat(1_000 + 2 * (small // 5), 2) + np.tile([0, 1], len(small))])
    found = SubscriptionClusters(10, method=method).fit(matched_events(rows, events))
    pieces = found.labels_[400:].reshape(9, 5)
    assert (pieces == pieces[:, :1]).all()
    assert len(set(pieces[:, 0].tolist())) < 9
    assert not set(pieces[:, 0].tolist()) & set(found.labels_[:400].tolist())


@pytest.mark.parametrize("count", [200, 400])
@pytest.mark.parametrize("method", ["rassoc", "ncut"])
def test_tiny_pieces_do_not_use_up_all_clusters(method, count):
    """Forty subscriptions that share nothing with anyone must not keep five large classes together."""
    classes, rows, events = planted(count)
    alone = np.arange(40)
    rows = np.concatenate([rows, count + alone])
    events = np.concatenate([events, 10_000 + alone])
    found = SubscriptionClusters(6, method=method).fit(matched_events(rows, events))
    assert accuracy(classes, found.labels_[:count]) > 0.9


def test_with_fewer_clusters_than_disjoint_interests_equal_ones_at_random_cost_less():
    """What docs/clustering.md warns of: all interests that no direction is left for are one cluster."""
    rng = np.random.default_rng(0)
    symbols = np.concatenate([np.arange(76), rng.integers(0, 76, 224)])
    rows, events = np.nonzero(rng.random((300, 20)) < 0.7)
    events = symbols[rows] * 20 + events
    matched = matched_events(rows, events)
    cost = {k: false_positives(rows, events, SubscriptionClusters(k).fit(matched).labels_) for k in (30, 100)}
    equal = {k: false_positives(rows, events, rng.permutation(np.arange(300) % k)) for k in cost}
    assert cost[30].count > 2 * equal[30].count
    assert cost[100].count < 0.2 * equal[100].count


def test_one_subscription_is_one_cluster():
    for method in ("rassoc", "ncut"):
        found = SubscriptionClusters(1, method=method).fit([[1, 0, 1]])
        assert found.labels_.tolist() == [0]


def test_the_seed_decides_everything():
    _, rows, events = planted(background=0.5)
    matched = matched_events(rows, events)
    first, second = (SubscriptionClusters(5, levels=2, groups=4, seed=3).fit(matched) for _ in range(2))
    assert (first.labels_ == second.labels_).all()
    np.testing.assert_array_equal(first.coordinates_, second.coordinates_)


def test_it_can_be_cloned_and_pickled_as_scikit_learn_expects():
    _, rows, events = planted(count=60)
    matched = matched_events(rows, events)
    found = SubscriptionClusters(3, method="ncut", sigma=0.9).fit(matched)
    assert clone(found).get_params() == found.get_params()
    again = pickle.loads(pickle.dumps(found))
    assert (again.predict(matched) == found.predict(matched)).all()


def test_labels_are_of_the_nearest_centre_by_direction_or_by_distance():
    _, rows, events = planted(background=0.4)
    matched = matched_events(rows, events)
    by_direction, by_distance = (SubscriptionClusters(5, spherical=flag).fit(matched) for flag in (True, False))
    directions = unit_rows(by_direction.coordinates_)
    assert (nearest_centres(directions, by_direction.centres_) == by_direction.labels_).all()
    assert (nearest_centres(by_distance.coordinates_, by_distance.centres_) == by_distance.labels_).all()
    assert (by_distance.predict(matched) == by_distance.labels_).mean() > 0.99
