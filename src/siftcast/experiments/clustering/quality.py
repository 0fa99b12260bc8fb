"""How good embeddings and clusters are: rows C1 to C4 and C7, one configuration each call.

Everything goes through the functions of `planning.clustering` that users call. Beside our repairs stands what the
thesis prints: the kernel exp(-sim/σ²) (`printed_kernels`), projections without offset and scale (`as_printed`), and
k-means by distance (`spherical=False`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from siftcast.experiments.clustering.world import World, clusters_in, draw_world, true_classes
from siftcast.planning.clustering import (
    EMBEDDINGS,
    EmbeddingPlan,
    GlobalEmbedding,
    MatchedEvents,
    SubscriptionClusters,
    accuracy,
    build_hierarchy,
    centroid_clusters,
    connected_groups,
    embed_levels,
    entropy,
    false_positives,
    hierarchical_kmeans,
    hp2pc_kmeans,
    kmeans,
    nearest_centres,
    neighbourhoods,
    overlap_clusters,
    rtree_clusters,
    sampling_kmeans,
    similarities,
    stress,
    unit_rows,
)
from siftcast.planning.clustering.matched_events import Floats, Integers

Found = dict[str, Any]
_SEEN_EVENTS = 400  # some 20 matches for each subscription
KMEANS = {"hierarchical": hierarchical_kmeans, "sampling": sampling_kmeans, "hp2pc": hp2pc_kmeans}


def measure_dimensions(
    workload: str,
    method: str,
    subscriptions: int,
    events: int,
    dimensions: list[int],
    clusters: int,
    hot_share: float,
    seed: int,
) -> Found:
    """C1: entropy and accuracy of centralized clusters against the number of dimensions."""
    world, matched, members = _heard(workload, subscriptions, events, seed, hot_share)
    classes = true_classes(world, matched, workload, seed)[members]
    similarity = similarities(matched.take(members))
    rng = np.random.default_rng([seed, 2])

    def scored(coordinates: Floats) -> Found:
        labels = nearest_centres(coordinates, kmeans(coordinates, clusters, rng).points)
        return {"entropy": entropy(classes, labels), "accuracy": accuracy(classes, labels)}

    widest = EMBEDDINGS[method](similarity, max(dimensions), rng).coordinates
    found: Found = {
        "by_dimensions": {str(count): scored(unit_rows(widest[:, :count])) for count in dimensions},
        "by_distance": scored(widest[:, : _nearest(dimensions, 20)]),
        "unmatched": int(len(world) - len(members)),
    }
    if workload == "WL1":
        # The classes are k-means' own here, so another run of it says how far two runs agree at all.
        found["unreduced"] = scored(unit_rows(similarity.toarray()))
    if method == "ncut":
        for name, matrix in printed_kernels(similarity).items():
            coordinates = EMBEDDINGS[method](matrix, _nearest(dimensions, 20), rng).coordinates
            found[name] = scored(unit_rows(coordinates))
    return found


def printed_kernels(similarity: sparse.csr_matrix) -> dict[str, Any]:
    """Similarities under which our kernel gives the printed one, exp(-sim/σ²): on all pairs, and on edges alone."""
    least = 1e-9  # our kernel takes 0 for no edge
    edges = similarity.copy()
    edges.data = np.maximum(1.0 - edges.data, least)
    return {
        "printed_all_pairs": np.maximum(1.0 - similarity.toarray(), least),
        "printed_edges": edges,
    }


def measure_embedding(
    workload: str,
    method: str,
    subscriptions: int,
    events: int,
    groups: list[int],
    levels: list[int],
    landmarks: list[float],
    seed: int,
) -> Found:
    """C3 and C4: stress, or HScore and its parts, of distributed embeddings beside the centralized one."""
    _, matched, members = _heard(workload, subscriptions, events, seed)
    similarity = similarities(matched.take(members))

    def embedded(count: int, height: int, share: float, *, local: int = 20, as_printed: bool = False) -> Found:
        plan = EmbeddingPlan(method=method, dimensions=local, seed=seed, as_printed=as_printed)
        coordinates = _embed(matched, members, plan, groups=count, levels=height, landmarks=share)
        return _scores(method, similarity, coordinates.of_all(len(matched))[members, :20])

    middle = groups[len(groups) // 2]
    return {
        "central": embedded(1, 1, 1.0),
        "by_groups": {str(count): embedded(count, 2, 0.5) for count in groups},
        "by_levels": {
            str(height): {str(share): embedded(middle, height, share) for share in landmarks} for height in levels
        },
        "as_printed": embedded(middle, 2, 0.5, as_printed=True),
        # A group's 20 own directions may miss some of the 20 global ones; 100 hardly do.
        "wide": embedded(middle, 2, 0.5, local=100),
    }


def _scores(method: str, similarity: sparse.csr_matrix, coordinates: Floats) -> Found:
    if method == "rassoc":
        return {"stress": stress(similarity, coordinates)}
    found = neighbourhoods(similarity, coordinates)
    return {"hscore": found.hscore, "trustworthiness": found.trustworthiness, "continuity": found.continuity}


def measure_false_positives(
    event_distribution: str, subscriptions: int, events: int, clusters: int, seed: int
) -> Found:
    """C2: clusters from the first half of the events, judged on the second; uniform subscriptions."""
    workload = "WL1" if event_distribution == "uniform" else "WL2"
    world = draw_world(workload, subscriptions, events, seed, subscription_distribution="uniform")
    half = events // 2
    matched = world.recent(half)
    labels: dict[str, Integers] = {
        "ck": centroid_clusters(world.low, world.high, clusters, np.random.default_rng([seed, 3])),
        "ov": overlap_clusters(world.low, world.high, clusters, np.random.default_rng([seed, 4])),
        "ov_rtree": rtree_clusters(world.low, world.high, clusters),
    }
    for method in EMBEDDINGS:
        labels[method] = SubscriptionClusters(clusters, method=method, seed=seed).fit(matched).labels_
        literal = SubscriptionClusters(clusters, method=method, spherical=False, seed=seed)
        labels[f"{method}_by_distance"] = literal.fit(matched).labels_
    later, seen = world.matches(half), world.matches(max(0, half - _SEEN_EVENTS), half)
    return {
        name: {"later": _counted(later, each, clusters), "seen": _counted(seen, each, clusters)}
        for name, each in labels.items()
    }


def _counted(pairs: tuple[Integers, Integers], labels: Integers, clusters: int) -> int:
    """False positives, with those that matched nothing yet as one more cluster: they are owed events like others."""
    return false_positives(*pairs, np.where(labels < 0, clusters, labels)).count


def measure_kmeans(
    workload: str,
    method: str,
    subscriptions: int,
    events: int,
    groups: int,
    levels: list[int],
    landmarks: list[float],
    seed: int,
) -> Found:
    """C7: entropy and accuracy of three distributed k-means on the same embeddings."""
    world, matched, members = _heard(workload, subscriptions, events, seed)
    classes = true_classes(world, matched, workload, seed)[members]
    plan = EmbeddingPlan(method=method, dimensions=20, seed=seed)

    def compared(height: int, share: float) -> Found:
        embedding = _embed(matched, members, plan, groups=groups, levels=height, landmarks=share)
        points = embedding.points(plan)
        rows = plan.points(embedding.of_all(len(matched))[members])
        found: Found = {}
        for name, cluster in KMEANS.items():
            centres = cluster(points, clusters_in(workload), np.random.default_rng([seed, 5]))
            labels = nearest_centres(rows, centres.points)
            found[name] = {"entropy": entropy(classes, labels), "accuracy": accuracy(classes, labels)}
        return found

    return {
        "by_landmarks": {str(share): compared(2, share) for share in landmarks},
        "by_levels": {str(height): compared(height, 0.3) for height in levels},
    }


def _heard(
    workload: str, subscriptions: int, events: int, seed: int, hot_share: float = 1.0
) -> tuple[World, MatchedEvents, Integers]:
    """A world, what its subscriptions matched last, and which of them matched anything."""
    options = {"hot_share": hot_share} if workload == "WL2" else {}
    world = draw_world(workload, subscriptions, events, seed, **options)
    matched = world.recent()
    return world, matched, np.flatnonzero(matched.matched)


def _embed(
    matched: MatchedEvents, members: Integers, plan: EmbeddingPlan, *, groups: int, levels: int, landmarks: float
) -> GlobalEmbedding:
    rng = np.random.default_rng([plan.seed, 6])
    base = connected_groups(matched, members, groups, rng)
    hierarchy = build_hierarchy(base, rng, levels=levels, landmarks=landmarks, dimensions=plan.dimensions)
    return embed_levels(matched, hierarchy, plan)


def _nearest(dimensions: list[int], wanted: int) -> int:
    return min(dimensions, key=lambda count: abs(count - wanted))
