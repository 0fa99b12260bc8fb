"""Placing, refreshing and comparing clusters."""

from dataclasses import replace

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


def test_nobody_is_placed_without_matches_or_without_centres():
    _, matched, group, placement, centres = grouped("rassoc")
    nobody = matched_events([], [], count=3)
    assert place(nobody, placement, centres).tolist() == [UNMATCHED] * 3
    known = matched.take(group.members[:2])
    assert place(known, placement, centres[:0]).tolist() == [UNMATCHED] * 2


def test_coordinates_of_a_group_without_a_projection_are_its_own():
    _, matched, group, placement, _ = grouped("rassoc")
    own = matched.take(group.members)
    alone = replace(placement, projection=None)
    assert placement.projection is not None
    np.testing.assert_allclose(placement.projection(alone.coordinates(own)), placement.coordinates(own))
    assert not np.allclose(alone.coordinates(own), placement.coordinates(own))


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


def test_a_refresh_turns_the_fresh_embedding_and_does_not_stretch_it():
    classes, matched, group, placement, _ = grouped("rassoc")
    alone = replace(placement, projection=None)
    own = matched.take(group.members)
    again = refresh_group(own, group.landmark_places(), alone, np.random.default_rng(9))
    np.testing.assert_allclose(again.coordinates(own), alone.coordinates(own), atol=1e-5)
    fresh = traffic(classes, 11).take(group.members)
    refreshed = refresh_group(fresh, group.landmark_places(), alone, np.random.default_rng(9))
    assert refreshed.projection is not None
    np.testing.assert_allclose(refreshed.projection.matrix @ refreshed.projection.matrix.T, np.eye(3), atol=1e-9)


def test_a_refresh_needs_the_landmarks_it_knows():
    _, matched, group, placement, _ = grouped("rassoc")
    with pytest.raises(ClusteringError, match="embed it anew"):
        refresh_group(matched.take(group.members), group.landmark_places()[1:], placement, np.random.default_rng(0))


@pytest.mark.parametrize("scale", [3.0, 1e-3])
def test_alignment_undoes_rotation_reflection_shift_and_scale(scale):
    rng = np.random.default_rng(0)
    old = rng.standard_normal((30, 4))
    turn, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    fresh = scale * old @ turn + 5.0
    np.testing.assert_allclose(align(fresh, old)(fresh), old, atol=1e-9)


def test_points_that_coincide_are_only_shifted():
    fresh, old = np.full((5, 2), 3.0), np.full((5, 2), 8.0)
    np.testing.assert_allclose(align(fresh, old)(fresh), old)


@pytest.mark.parametrize(
    ("compare", "problem"),
    [
        (lambda: align(np.zeros((3, 2)), np.zeros((4, 2))), r"one shape, not \(3, 2\) and \(4, 2\)"),
        (lambda: centre_shift(np.zeros((1, 1)), np.zeros((1, 1)), threshold=float("nan")), "threshold"),
        (lambda: centre_shift(np.zeros((1, 1)), np.zeros((1, 1)), threshold=-0.1), "threshold"),
        (lambda: rename_clusters([0, 1], [0]), "one length"),
        (lambda: rename_clusters([[0, 1]], [[0, 1]]), "one length"),
        (lambda: subscriber_clusters([0], [0, 1]), "every subscription needs a subscriber"),
        (lambda: subscriber_clusters([-1, 3], [0, 0]), "from 0 on"),
        (lambda: subscriber_clusters([[0, 1]], [[0, 1]]), "subscriber"),
    ],
)
def test_what_cannot_be_compared_is_refused(compare, problem):
    with pytest.raises(ClusteringError, match=problem):
        compare()


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


def test_centres_that_were_only_turned_have_not_moved_once_they_are_aligned():
    rng = np.random.default_rng(0)
    centres, points = rng.standard_normal((5, 3)), rng.standard_normal((40, 3))
    turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    alignment = align(points @ turn + 2.0, points)
    turned = centres[::-1] @ turn + 2.0
    assert centre_shift(centres, turned, threshold=0.1, alignment=alignment).deviation < 1e-9
    assert centre_shift(centres, turned, threshold=0.1).worth_installing


@pytest.mark.parametrize(("threshold", "worth"), [(0.0, True), (0.4, True), (0.5, False), (0.6, False)])
def test_new_clusters_are_worth_installing_beyond_the_threshold_only(threshold, worth):
    centres = np.array([[-1.0, 0.0], [1.0, 0.0]])
    shift = centre_shift(centres, centres + np.array([0.0, 0.5]), threshold=threshold)
    assert (shift.deviation, shift.worth_installing) == (0.5, worth)


def test_a_changed_number_of_centres_is_always_worth_installing():
    assert centre_shift(np.zeros((2, 1)), np.zeros((3, 1)), threshold=1e9).worth_installing


@pytest.mark.parametrize(("new", "deviation"), [(1.0, 0.0), (2.0, np.inf)])
def test_one_deployed_centre_has_no_spread_to_compare_with(new, deviation):
    assert centre_shift(np.array([[1.0]]), np.array([[new]]), threshold=0.1).deviation == deviation


@pytest.mark.parametrize(
    ("old", "new", "labels", "changes"),
    [
        ([0, 0, 0, 1, 1, -1, 1], [1, 1, 0, 0, 0, 0, -1], [0, 0, 1, 1, 1, 1, -1], (1, 1, 1)),
        ([0, 0, 0, 1, 1], [3, 3, 3, 4, 5], [0, 0, 0, 1, 2], (1, 0, 0)),
        ([0, 1, 1], [-1, 7, 7], [-1, 1, 1], (0, 0, 1)),
        ([0, 1, -1, -1, -1], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4], (0, 3, 0)),
        ([7, 7, 10**12, 10**12], [10**12, 10**12, 5, 10**15], [7, 7, 10**12, 0], (1, 0, 0)),
    ],
    ids=["all kinds of changes", "new ones get names that are free", "a name stays vacant", "more names than before",
         "large numbers"],
)  # fmt: skip
def test_renaming_keeps_names_and_counts_who_moves_joins_and_leaves(old, new, labels, changes):
    renamed = rename_clusters(old, new)
    assert renamed.labels.tolist() == labels
    assert (renamed.moved, renamed.joined, renamed.left) == changes
    assert renamed.changes == sum(changes)
    now = np.unique(new)
    assert dict(zip(now[now >= 0].tolist(), renamed.names.tolist(), strict=True)) == {
        before: after for before, after in zip(new, labels, strict=True) if before >= 0
    }


def test_a_subscriber_is_in_the_clusters_of_all_its_subscriptions():
    members = subscriber_clusters([0, 0, 1, 1, 3], [2, 0, 1, 1, UNMATCHED])
    assert members.toarray().tolist() == [
        [True, False, True],
        [False, True, False],
        [False, False, False],
        [False, False, False],
    ]


def test_there_are_as_many_rows_and_columns_as_subscribers_and_clusters():
    assert subscriber_clusters([], []).shape == (0, 0)
    assert subscriber_clusters([0], [0]).toarray().tolist() == [[True]]
    assert subscriber_clusters([0, 1], [UNMATCHED, UNMATCHED]).shape == (2, 0)
