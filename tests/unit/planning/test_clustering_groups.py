"""Matches, similarities, groups run one by one, repairs of the printed formulas, k-means and baselines by example."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from siftcast.model import ClusteringError
from siftcast.planning.clustering import (
    EMBEDDINGS,
    EmbeddingPlan,
    Projection,
    accuracy,
    build_hierarchy,
    centroid_clusters,
    connected_groups,
    embed_group,
    embed_levels,
    frame_below,
    kmeans,
    matched_events,
    neighbourhoods,
    overlap_clusters,
    project_group,
    refine_centres,
    root_frame,
    rtree_clusters,
    similarities,
    stress,
)
from siftcast.planning.clustering.distributed import linear_projection
from siftcast.planning.clustering.embedding import cut_weights

METHODS = ["rassoc", "ncut"]


def random_matches(count=600, events=60, seed=0):
    rng = np.random.default_rng(seed)
    place = rng.random(count) * (events - 12)
    drawn = (place[:, None] + rng.random((count, 8)) * 12).astype(int)
    return matched_events(np.repeat(np.arange(count), 8), drawn.ravel())


@pytest.mark.parametrize(
    ("rows", "events", "options", "problem"),
    [
        ([0, 1], [0], {}, "2 subscriptions in pairs"),
        ([0, 5], [0, 1], {"count": 3}, "numbered from 0, and there are 3; found 0 to 5"),
        ([-1], [0], {}, "numbered from 0"),
        ([0.5], [0], {}, "whole numbers"),
        ([0], [0], {"recent": 0}, "recent.* at least 1, not 0"),
        ([0], [0], {"recent": 2.5}, "recent.* whole number"),
        ([], [], {"count": -1}, "count must be a whole number of at least 0, not -1"),
        ([0], [0], {"count": 1.5}, "count must be a whole number"),
        ([0], [0], {"count": True}, "count must be a whole number"),
        ([0, 0], [0, 1], {"positions": [0.0, np.nan]}, "position of pair 1 is NaN"),
        ([0], [0], {"positions": np.array(["NaT"], "datetime64[s]")}, "position of pair 0 is NaN"),
        ([0], [0], {"positions": ["noon"]}, "numbers or times"),
    ],
)
def test_pairs_that_make_no_sense_are_refused(rows, events, options, problem):
    with pytest.raises(ClusteringError, match=problem):
        matched_events(rows, events, **options)


def test_no_pairs_leave_empty_rows():
    matched = matched_events([], [], count=3)
    assert (len(matched), matched.universe, matched.own.tolist()) == (3, 0, [0, 0, 0])
    assert similarities(matched).nnz == 0


def test_event_numbers_may_be_huge():
    matched = matched_events([0, 0, 70_000], [2**62, 5, 2**62])
    assert matched.events.tolist() == [5, 2**62]
    assert matched.own[[0, 70_000]].tolist() == [2, 1]


@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix])
@pytest.mark.parametrize("method", METHODS)
def test_similarities_that_are_not_symmetric_are_refused(method, form):
    with pytest.raises(ClusteringError, match="symmetric"):
        EMBEDDINGS[method](form([[1.0, 0.9, 0.0], [0.2, 1.0, 0.3], [0.0, 0.3, 1.0]]), 2, np.random.default_rng(0))


def test_weights_of_a_cut_grow_with_similarity_and_are_nothing_for_strangers():
    similarity = np.array([0.0, 0.1, 0.5, 1.0])
    weights = cut_weights(similarity[None, :])[0]
    assert weights[0] == 0.0
    assert weights[-1] == 1.0
    assert (np.diff(weights) > 0).all()
    np.testing.assert_allclose(cut_weights(sparse.csr_matrix(similarity[None, :])).toarray()[0], weights)
    # As printed, exp(-sim/σ²), the less two have in common the larger is their weight.
    assert (np.diff(np.exp(-similarity)) < 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_iterative_and_direct_decomposition_agree(method):
    """Many points go through ARPACK, few through LAPACK: the same spectrum, and the same space."""
    similarity = similarities(random_matches()).astype(np.float64)
    rng = np.random.default_rng(0)
    found = EMBEDDINGS[method](similarity, 6, rng)
    direct = EMBEDDINGS[method](similarity, 250, rng)
    np.testing.assert_allclose(found.spectrum, direct.spectrum[:6], rtol=1e-6)
    np.testing.assert_allclose(np.abs(found.coordinates), np.abs(direct.coordinates[:, :6]), atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_one_group_is_the_centralized_embedding_up_to_rotation_also_for_many_points(method):
    matched = random_matches()
    rng, plan = np.random.default_rng(0), EmbeddingPlan(method=method, dimensions=5)
    everyone = (np.arange(len(matched)),)
    found = [
        embed_levels(matched, build_hierarchy(everyone, rng, levels=levels, landmarks=1.0, dimensions=5), plan).of_all(
            len(matched)
        )
        for levels in (1, 2, 3)
    ]
    np.testing.assert_allclose(found[1], found[0], atol=1e-5)
    np.testing.assert_allclose(found[2], found[0], atol=1e-5)


def test_as_printed_one_group_under_ncut_is_not_the_centralized_embedding():
    matched = random_matches(count=200)
    rng = np.random.default_rng(0)
    hierarchy = build_hierarchy((np.arange(200),), rng, levels=2, landmarks=1.0, dimensions=5)
    repaired, printed = (
        embed_levels(matched, hierarchy, EmbeddingPlan(method="ncut", dimensions=5, as_printed=flag))
        for flag in (False, True)
    )
    central = repaired.coordinates[1, 0]
    np.testing.assert_allclose(repaired.coordinates[0, 0], central, atol=1e-5)
    shrunk = np.linalg.norm(printed.coordinates[0, 0], axis=0) / np.linalg.norm(central, axis=0)
    np.testing.assert_allclose(shrunk, repaired.local[1, 0].landmarks.spectrum, atol=1e-3)
    assert shrunk.min() < 0.9


def test_the_projection_under_ncut_is_the_least_of_its_cost_and_the_printed_one_is_not():
    """No other map lowers Σ w_ij |y_i/λ - M x_j|², which is (3.4) in coordinates of the generalised problem."""
    matched = random_matches(count=200)
    rng = np.random.default_rng(0)
    base = connected_groups(matched, np.arange(200), 2, rng)
    hierarchy = build_hierarchy(base, rng, levels=2, landmarks=0.3, dimensions=3)
    plan = EmbeddingPlan(method="ncut", dimensions=3)
    found = embed_levels(matched, hierarchy, plan)
    group, root = hierarchy.base[0], hierarchy.root
    weights = cut_weights(similarities(matched.take(group.members), matched.take(root.members))).toarray()
    assert found.local[1, 0].landmarks.tie == 0.0
    wanted = found.coordinates[1, 0] / found.local[1, 0].landmarks.spectrum
    local = found.local[0, 0]

    def cost(projection):
        apart = wanted[None] - projection(local.coordinates)[:, None]
        return float((weights * (apart**2).sum(axis=2)).sum())

    least = cost(found.projections[0, 0])
    for _ in range(20):
        nudge = Projection(
            found.projections[0, 0].matrix + 0.01 * rng.standard_normal((3, 3)),
            found.projections[0, 0].offset + 0.01 * rng.standard_normal(3),
        )
        assert cost(nudge) > least
    by_degree = linear_projection(
        local.coordinates, weights @ wanted / weights.sum(axis=1, keepdims=True), weights=local.degrees
    )
    assert cost(by_degree) > least * (1 + 1e-6)


def test_as_printed_a_group_of_one_kind_cannot_leave_the_origin():
    """A base group all of whose members belong to one side: a linear map keeps its mean where it was."""
    matched = random_matches(count=300)
    order = np.argsort(matched.events[matched.matrix.indices[matched.matrix.indptr[:-1]]], kind="stable")
    base = tuple(np.sort(part) for part in np.array_split(order, 3))
    hierarchy = build_hierarchy(base, np.random.default_rng(0), levels=2, landmarks=0.5, dimensions=3)

    def error(as_printed):
        plan = EmbeddingPlan(dimensions=3, as_printed=as_printed)
        found = embed_levels(matched, hierarchy, plan)
        root = dict(zip(hierarchy.root.members.tolist(), found.coordinates[1, 0], strict=True))
        rows = found.of_all(300)
        return np.sqrt(np.mean([((rows[member] - place) ** 2).sum() for member, place in root.items()]))

    assert error(as_printed=False) < 0.6 * error(as_printed=True)


@pytest.mark.parametrize("method", METHODS)
def test_groups_run_one_by_one_with_values_only_give_the_same_as_all_at_once(method):
    """What Spark does: each call gets copies of plain values, and nothing else."""
    matched = random_matches()
    rng, plan = np.random.default_rng(0), EmbeddingPlan(method=method, dimensions=4, seed=5)
    base = connected_groups(matched, np.arange(len(matched)), 4, rng)
    hierarchy = build_hierarchy(base, rng, levels=3, landmarks=0.5, dimensions=4)
    expected = embed_levels(matched, hierarchy, plan)

    def apart(function, *values):
        return pickle.loads(pickle.dumps(function(*pickle.loads(pickle.dumps(values)))))

    frames = {}
    for level in reversed(hierarchy.levels):
        for group in level:
            own, places = matched.take(group.members), group.landmark_places()
            local = apart(embed_group, own, places, plan, plan.generator(*group.key))
            if group.parent is None:
                frames[group.key] = root_frame(group.members, own, local)
                continue
            parent = frames[group.parent_key]
            projection = apart(project_group, local, group.members, places, own, parent, plan)
            frame = frame_below(parent, group.members, own, projection(local.coordinates))
            frames[group.key] = frame
            np.testing.assert_array_equal(frame.coordinates, expected.coordinates[group.key])


def test_a_chain_of_subscriptions_is_cut_into_connected_groups():
    rows = np.repeat(np.arange(1_000), 2)
    events = np.column_stack([np.arange(1_000), np.arange(1_000) + 1]).ravel()
    matched = matched_events(rows, events)
    groups = connected_groups(matched, np.arange(1_000), 10, np.random.default_rng(0))
    assert sorted(np.concatenate(groups).tolist()) == list(range(1_000))
    for group in groups:
        assert (np.diff(group) == 1).all()
        assert len(group) <= 200
    assert len(groups) <= 12


def test_one_level_holds_one_group_only():
    with pytest.raises(ClusteringError, match="one level is one group"):
        build_hierarchy((np.arange(3),) * 2, np.random.default_rng(0), levels=1, landmarks=0.5, dimensions=1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "events",
    [np.arange(600) // 3, np.arange(600), np.zeros(600, dtype=int), np.arange(600) % 2],
    ids=["two hundred triples", "nobody shares", "everybody shares", "two halves"],
)
def test_equal_eigenvalues_in_any_number_do_no_harm(method, events):
    """ARPACK gives up on some of these; what replaces it must satisfy the same identities."""
    similarity = similarities(matched_events(np.arange(600), events)).astype(np.float64)
    embedding = EMBEDDINGS[method](similarity, 6, np.random.default_rng(0))
    assert np.isfinite(embedding.coordinates).all()
    np.testing.assert_allclose(embedding.extend(similarity), embedding.coordinates, atol=1e-5)
    direct = EMBEDDINGS[method](similarity, 250, np.random.default_rng(0))
    np.testing.assert_allclose(embedding.spectrum, direct.spectrum[:6], atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_embeddings_refuse_similarities_that_are_not_square(method):
    with pytest.raises(ClusteringError, match="all to all"):
        EMBEDDINGS[method](np.ones((2, 3)), 1, np.random.default_rng(0))


@pytest.mark.parametrize("method", METHODS)
def test_where_nobody_shares_anything_not_even_with_itself_all_are_at_the_origin(method):
    assert not EMBEDDINGS[method](np.zeros((3, 3)), 2, np.random.default_rng(0)).coordinates.any()


def test_centres_without_points_stay_and_count_nothing():
    centres = refine_centres(np.array([[0.0], [1.0]]), np.array([[0.0], [50.0]]))
    assert centres.points.tolist() == [[0.5], [50.0]]
    assert centres.counts.tolist() == [2.0, 0.0]


def test_weights_pull_centres():
    centres = refine_centres(np.array([[0.0], [1.0]]), np.array([[0.0]]), weights=np.array([1.0, 3.0]))
    assert (centres.points.tolist(), centres.counts.tolist()) == ([[0.75]], [4.0])


def test_kmeans_on_a_sample_counts_everyone():
    points = np.random.default_rng(0).standard_normal((500, 2)) + np.repeat([[0.0, 0.0], [20.0, 0.0]], 250, axis=0)
    centres = kmeans(points, 2, np.random.default_rng(1), sample_max=50)
    assert sorted(centres.counts.tolist()) == [250.0, 250.0]
    np.testing.assert_allclose(np.sort(centres.points[:, 0]), [0.0, 20.0], atol=0.3)


def test_stress_is_nothing_for_as_many_dimensions_as_the_similarities_have():
    similarity = similarities(random_matches(count=80, events=30)).astype(np.float64)
    full, thin = (EMBEDDINGS["rassoc"](similarity, size, np.random.default_rng(0)).coordinates for size in (80, 2))
    assert stress(similarity, full) < 1e-6 < stress(similarity, thin)


def test_hscore_of_the_true_neighbourhoods_is_one_and_less_for_chance():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((200, 3))
    nearness = 1.0 / (1.0 + ((points[:, None] - points[None]) ** 2).sum(axis=2))
    assert neighbourhoods(nearness, points).hscore == pytest.approx(1.0)
    assert neighbourhoods(nearness, rng.permutation(points)).hscore < 0.75


def test_neighbourhoods_need_enough_points():
    with pytest.raises(ClusteringError, match="50 neighbours need more than 75 points, not 60"):
        neighbourhoods(np.eye(60), np.zeros((60, 2)))


def separate_boxes(count=90):
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 3, count)
    low = np.array([[0, 0], [40, 0], [0, 40]])[classes] + rng.integers(0, 5, (count, 2))
    return classes, low, low + rng.integers(3, 8, (count, 2))


@pytest.mark.parametrize(
    "cluster",
    [
        lambda low, high: centroid_clusters(low, high, 3, np.random.default_rng(1)),
        lambda low, high: overlap_clusters(low, high, 3, np.random.default_rng(1)),
        lambda low, high: rtree_clusters(low, high, 3),
    ],
    ids=["centroids", "overlaps", "rtree"],
)
def test_baselines_tell_separate_boxes_apart(cluster):
    classes, low, high = separate_boxes()
    assert accuracy(classes, cluster(low, high)) == 1.0


@pytest.mark.parametrize(
    ("low", "high", "k", "problem"),
    [
        ([[1, 1]], [[0, 2]], 1, "box 0 ends before it begins"),
        ([[0, 0]], [[1, 1]], 2, "1 subscriptions cannot form 2 clusters"),
        ([[0, 0]], [[1]], 1, "one shape"),
        ([[0.0]], [[np.inf]], 1, "finite"),
    ],
)
def test_boxes_that_make_no_sense_are_refused(low, high, k, problem):
    with pytest.raises(ClusteringError, match=problem):
        rtree_clusters(low, high, k)
