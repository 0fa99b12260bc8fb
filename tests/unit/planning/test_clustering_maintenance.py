"""Placing, refreshing and comparing clusters."""

import numpy as np
import pytest

from siftcast.model import ClusteringError
from siftcast.planning.clustering import (
    UNMATCHED,
    EmbeddingPlan,
    GroupPlacement,
    align,
    build_hierarchy,
    centre_shift,
    connected_groups,
    embed_levels,
    matched_events,
    place,
    refresh_group,
    rename_clusters,
    subscriber_clusters,
)

METHODS = ["rassoc", "ncut"]


def traffic(classes, seed):
    """Matches of subscriptions by class: each class has thirty events, one match in ten is anybody's."""
    rng = np.random.default_rng(seed)
    own = classes[:, None] * 30 + rng.integers(0, 30, (len(classes), 12))
    events = np.where(rng.random(own.shape) < 0.1, rng.integers(0, 90, own.shape), own)
    return matched_events(np.repeat(np.arange(len(classes)), 12), events.ravel())


def grouped(method, count=240):
    classes = np.random.default_rng(1).integers(0, 3, count)
    matched = traffic(classes, 2)
    rng = np.random.default_rng(3)
    plan = EmbeddingPlan(method=method, dimensions=3)
    base = connected_groups(matched, np.arange(count), 3, rng)
    found = embed_levels(matched, build_hierarchy(base, rng, levels=2, landmarks=0.5, dimensions=3), plan)
    group = found.hierarchy.base[0]
    placement = GroupPlacement(matched.take(group.landmarks), found.local[0, 0], found.projections[0, 0], plan)
    points = plan.points(found.of_all(count))
    centres = np.array([points[classes == each].mean(axis=0) for each in range(3)])
    return classes, matched, group, placement, centres


@pytest.mark.parametrize("method", METHODS)
def test_new_subscriptions_are_placed_from_the_landmarks_of_one_group(method):
    _, _, _, placement, centres = grouped(method)
    late = np.random.default_rng(7).integers(0, 3, 60)
    assert (place(traffic(late, 8), placement, centres) == late).mean() > 0.95


def test_a_subscription_without_a_match_is_not_placed():
    _, _, _, placement, centres = grouped("rassoc")
    late = matched_events([1, 1], [0, 1], count=3)
    assert place(late, placement, centres)[[0, 2]].tolist() == [UNMATCHED, UNMATCHED]


@pytest.mark.parametrize("method", METHODS)
def test_a_subscription_that_shares_nothing_with_the_landmarks_is_placed_somewhere(method):
    _, _, _, placement, centres = grouped(method)
    assert place(matched_events([0], [9_999]), placement, centres)[0] in range(3)


@pytest.mark.parametrize("method", METHODS)
def test_a_refresh_under_the_same_matches_changes_nothing(method):
    _, matched, group, placement, _ = grouped(method)
    own = matched.take(group.members)
    again = refresh_group(own, group.landmark_places(), placement, np.random.default_rng(9))
    np.testing.assert_allclose(again.coordinates(own), placement.coordinates(own), atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_a_refresh_follows_members_whose_interests_changed(method):
    classes, _, group, placement, centres = grouped(method)
    changed = classes.copy()
    moving = group.members[::8]
    changed[moving] = (changed[moving] + 1) % 3
    # Landmarks stand for what they were, so it is the other members that change.
    changed[group.landmarks] = classes[group.landmarks]
    fresh = traffic(changed, 11).take(group.members)
    refreshed = refresh_group(fresh, group.landmark_places(), placement, np.random.default_rng(9))
    labels = place(fresh, refreshed, centres)
    assert (labels == changed[group.members]).mean() > 0.93


def test_a_refresh_needs_the_landmarks_it_knows():
    _, matched, group, placement, _ = grouped("rassoc")
    with pytest.raises(ClusteringError, match="embed it anew"):
        refresh_group(matched.take(group.members), group.landmark_places()[1:], placement, np.random.default_rng(0))


def test_alignment_undoes_rotation_reflection_shift_and_scale():
    rng = np.random.default_rng(0)
    old = rng.standard_normal((30, 4))
    turn, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    fresh = 3.0 * old @ turn + 5.0
    np.testing.assert_allclose(align(fresh, old)(fresh), old, atol=1e-9)


def test_alignment_without_scale_keeps_distances():
    rng = np.random.default_rng(0)
    old, fresh = rng.standard_normal((2, 30, 4))
    moved = align(fresh, old, with_scale=False)(fresh)
    before, after = (np.linalg.norm(points[1:] - points[0], axis=1) for points in (fresh, moved))
    np.testing.assert_allclose(after, before)


def test_centres_in_another_order_have_not_moved():
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]])
    shift = centre_shift(centres, centres[[2, 0, 1]], threshold=0.1)
    assert shift.deviation == 0.0
    assert not shift.worth_installing


def test_new_clusters_are_worth_installing_beyond_the_threshold_only():
    centres = np.array([[-1.0, 0.0], [1.0, 0.0]])
    moved = centres + np.array([0.0, 0.5])
    assert centre_shift(centres, moved, threshold=0.4).worth_installing
    assert not centre_shift(centres, moved, threshold=0.6).worth_installing


def test_a_changed_number_of_centres_is_always_worth_installing():
    assert centre_shift(np.zeros((2, 1)), np.zeros((3, 1)), threshold=1e9).worth_installing


@pytest.mark.parametrize(("new", "deviation"), [(1.0, 0.0), (2.0, np.inf)])
def test_one_deployed_centre_has_no_spread_to_compare_with(new, deviation):
    assert centre_shift(np.array([[1.0]]), np.array([[new]]), threshold=0.1).deviation == deviation


def test_a_negative_threshold_is_refused():
    with pytest.raises(ClusteringError, match="threshold"):
        centre_shift(np.zeros((1, 1)), np.zeros((1, 1)), threshold=-0.1)


def test_renaming_counts_who_moves_joins_and_leaves():
    renamed = rename_clusters([0, 0, 0, 1, 1, -1, 1], [1, 1, 0, 0, 0, 0, -1])
    assert renamed.labels.tolist() == [0, 0, 1, 1, 1, 1, -1]
    assert (renamed.moved, renamed.joined, renamed.left, renamed.changes) == (1, 1, 1, 3)


def test_names_of_clusters_may_be_large_numbers():
    renamed = rename_clusters([7, 7, 10**12, 10**12], [10**12, 10**12, 5, 10**15])
    assert renamed.labels.tolist() == [7, 7, 10**12, 0]
    assert renamed.names.tolist() == [10**12, 7, 0]
    assert renamed.moved == 1


def test_labels_of_different_subscriptions_cannot_be_compared():
    with pytest.raises(ClusteringError, match="one length"):
        rename_clusters([0, 1], [0])


def test_a_subscriber_is_in_the_clusters_of_all_its_subscriptions():
    members = subscriber_clusters([0, 0, 1, 1, 3], [2, 0, 1, 1, UNMATCHED])
    assert members.toarray().tolist() == [
        [True, False, True],
        [False, True, False],
        [False, False, False],
        [False, False, False],
    ]


def test_every_subscription_needs_a_subscriber():
    with pytest.raises(ClusteringError, match="subscriber"):
        subscriber_clusters([0], [0, 1])
