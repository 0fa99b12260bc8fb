"""Identities of embeddings, projections and k-means that hold for every set of matches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.planning.clustering import (
    EMBEDDINGS,
    Centres,
    EmbeddingPlan,
    build_hierarchy,
    connected_groups,
    embed_levels,
    hierarchical_kmeans,
    hp2pc_kmeans,
    matched_events,
    merge_centres,
    nearest_centres,
    sampling_kmeans,
    similarities,
)
from siftcast.planning.clustering.distributed import extend_rows, linear_projection

each_method = pytest.mark.parametrize("method", sorted(EMBEDDINGS))
seeds = st.integers(0, 2**32 - 1)


@st.composite
def matches(draw, count_max=24):
    """Up to `count_max` subscriptions, each with a match or more; many share events, some are alike, some alone."""
    count = draw(st.integers(2, count_max))
    rows = draw(st.lists(st.sets(st.integers(0, 12), min_size=1, max_size=6), min_size=count, max_size=count))
    pairs = [(row, event) for row, events in enumerate(rows) for event in sorted(events)]
    return matched_events([row for row, _ in pairs], [event for _, event in pairs])


@each_method
@given(matches(), st.integers(1, 6), seeds)
def test_extending_known_points_gives_their_own_coordinates(method, matched, dimensions, seed):
    similarity = similarities(matched).astype(np.float64)
    embedding = EMBEDDINGS[method](similarity, dimensions, np.random.default_rng(seed))
    assert embedding.coordinates.shape == (len(matched), dimensions)
    np.testing.assert_allclose(embedding.extend(similarity), embedding.coordinates, atol=1e-6)


@given(matches(), st.integers(1, 6), seeds)
def test_ratio_association_is_the_best_approximation_of_the_centred_similarities(matched, dimensions, seed):
    similarity = similarities(matched).toarray().astype(np.float64)
    embedding = EMBEDDINGS["rassoc"](similarity, dimensions, np.random.default_rng(seed))
    centred = similarity - similarity.mean(axis=0)
    told = embedding.coordinates @ embedding.directions.T
    lost = np.linalg.svd(centred, compute_uv=False)[dimensions:]
    np.testing.assert_allclose(((centred - told) ** 2).sum(), (lost**2).sum(), atol=1e-6)


@given(matches(), st.integers(1, 6), seeds)
def test_normalized_cut_solves_the_generalised_eigenproblem(matched, dimensions, seed):
    embedding = EMBEDDINGS["ncut"](similarities(matched), dimensions, np.random.default_rng(seed), sigma=0.7)
    similarity = similarities(matched).toarray().astype(np.float64)
    weights = np.where(similarity > 0, np.exp((similarity - 1) / 0.49), 0.0) + embedding.tie / len(matched)
    degrees = weights.sum(axis=1)
    np.testing.assert_allclose(embedding.degrees, degrees, rtol=1e-6)
    found, values = embedding.coordinates, embedding.spectrum
    np.testing.assert_allclose(
        degrees[:, None] * found - weights @ found, degrees[:, None] * found * (1 - values), atol=1e-4
    )
    np.testing.assert_allclose(degrees @ found, 0.0, atol=1e-4)


@each_method
@given(matches(), st.integers(1, 6), st.integers(1, 4), seeds)
def test_one_group_of_landmarks_only_is_the_centralized_embedding(method, matched, dimensions, levels, seed):
    plan = EmbeddingPlan(method=method, dimensions=dimensions, seed=seed % 1000)
    rng = np.random.default_rng(seed)
    everyone = (np.arange(len(matched)),)
    alone = embed_levels(matched, build_hierarchy(everyone, rng, levels=1, landmarks=1.0, dimensions=dimensions), plan)
    stacked = build_hierarchy(everyone, rng, levels=levels, landmarks=1.0, dimensions=dimensions)
    found = embed_levels(matched, stacked, plan).of_all(len(matched))
    np.testing.assert_allclose(found, alone.of_all(len(matched)), atol=1e-5)


@given(matches(), st.integers(1, 5), st.floats(0.1, 1.0), seeds)
def test_local_coordinates_of_landmarks_are_their_embedding(matched, dimensions, share, seed):
    plan = EmbeddingPlan(dimensions=dimensions)
    rng = np.random.default_rng(seed)
    base = connected_groups(matched, np.arange(len(matched)), 3, rng)
    found = embed_levels(matched, build_hierarchy(base, rng, levels=2, landmarks=share, dimensions=dimensions), plan)
    for group in found.hierarchy.base:
        local = found.local[0, group.number]
        known = matched.take(group.landmarks)
        again = extend_rows(local.landmarks, known, known, plan)
        np.testing.assert_allclose(local.coordinates[group.landmark_places()], again, atol=1e-5)


@given(seeds, st.integers(1, 5), st.integers(1, 12), st.integers(1, 5))
def test_projection_of_landmarks_reproduces_them_where_an_affine_map_can(seed, dimensions, count, rank):
    rng = np.random.default_rng(seed)
    local = rng.standard_normal((count, rank)) @ rng.standard_normal((rank, dimensions))
    wanted = local @ rng.standard_normal((dimensions, dimensions)) + rng.standard_normal(dimensions)
    weights = rng.random(count) + 0.1
    for given_weights in (None, weights):
        projection = linear_projection(local, wanted, weights=given_weights)
        np.testing.assert_allclose(projection(local), wanted, atol=1e-6)


@given(seeds, st.integers(1, 6))
def test_nearest_centres_are_nearest(seed, k):
    rng = np.random.default_rng(seed)
    points, centres = rng.standard_normal((15, 3)), rng.standard_normal((k, 3))
    labels = nearest_centres(points, centres)
    distances = ((points[:, None] - centres[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(distances[np.arange(15), labels], distances.min(axis=1))


@given(matches(), st.integers(1, 5), st.integers(1, 4), st.integers(2, 4), seeds)
def test_distributed_kmeans_counts_every_subscription_once(matched, k, groups, levels, seed):
    rng = np.random.default_rng(seed)
    base = connected_groups(matched, np.arange(len(matched)), groups, rng)
    hierarchy = build_hierarchy(base, rng, levels=levels, landmarks=0.5, dimensions=3)
    embedding = embed_levels(matched, hierarchy, EmbeddingPlan(dimensions=3))
    for centres in (hierarchical_kmeans(embedding, k, rng), hp2pc_kmeans(embedding, k, rng)):
        assert centres.counts.sum() == len(matched)
        assert len(centres) <= k
    assert sampling_kmeans(embedding, k, rng).counts.sum() == len(hierarchy.root.members)


@given(seeds, st.integers(1, 4), st.integers(1, 4))
def test_a_merge_keeps_the_mean_of_all_members(seed, children, k):
    rng = np.random.default_rng(seed)
    parts = [Centres(rng.standard_normal((k, 2)), rng.integers(0, 9, k).astype(float)) for _ in range(children)]
    merged = merge_centres(parts, Centres(rng.standard_normal((k, 2)), np.zeros(k)))
    before = sum(part.counts @ part.points for part in parts)
    np.testing.assert_allclose(merged.counts @ merged.points, before, atol=1e-9)
