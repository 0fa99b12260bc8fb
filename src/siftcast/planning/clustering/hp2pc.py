"""HP2PC, hierarchically distributed k-means without a selection phase: a baseline (thesis, 3.4.3.2, after Hammouda).

Every base group clusters its members from k random ones of them. Parents merge their children's centres as weighted
points, starting from k of these at random, because nobody has given them any, and so on up to the root. Compared with
`distributed_kmeans`, it lacks a common start: other groups never correct one group's unlucky draw.
"""

from __future__ import annotations

import numpy as np

from siftcast.planning.clustering.distributed import GlobalEmbedding
from siftcast.planning.clustering.distributed_kmeans import merge_centres
from siftcast.planning.clustering.kmeans import Centres, refine_centres
from siftcast.planning.clustering.matched_events import Floats


def cluster_alone(points: Floats, k: int, rng: np.random.Generator) -> Centres:
    """k-means of one group from members drawn at random, as many as there are if fewer than k."""
    drawn = rng.choice(len(points), size=min(k, len(points)), replace=False)
    return refine_centres(points, points[drawn])


def hp2pc_kmeans(embedding: GlobalEmbedding, k: int, rng: np.random.Generator) -> Centres:
    """Base groups alone, then merges up the hierarchy: the centres at the root."""
    below = {
        group.number: cluster_alone(embedding.coordinates[0, group.number], k, rng)
        for group in embedding.hierarchy.base
    }
    for level in embedding.hierarchy.levels[1:]:
        merged: dict[int, Centres] = {}
        for group in level:
            children = [below[child] for child in group.children]
            merged[group.number] = merge_centres(children, _drawn(children, k, rng))
        below = merged
    return below[0]


def _drawn(children: list[Centres], k: int, rng: np.random.Generator) -> Centres:
    points = np.concatenate([child.points for child in children])
    chosen = rng.choice(len(points), size=min(k, len(points)), replace=False)
    return Centres(points[chosen], np.zeros(len(chosen)))
