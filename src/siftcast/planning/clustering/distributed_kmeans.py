"""k-means in which nobody sees all points (thesis, 3.4.3 and Algorithm 6), and one in which somebody does.

*Central*: all points in one place, which is what the others are compared with.

*Sampling*: the root clusters its own members, which are a uniform sample of all; everyone else joins the nearest
centre.

*Selection and merge*: the root clusters its members from a random beginning and hands the centres down. Each group
below starts from its parent's centres, refines them on its own members and hands them on (selection,
`select_centres`). Then centres with their counts come back up: each group takes its children's centres as points
weighted by their counts and refines its own selected centres on them (merge, `merge_centres`), so that at the root
every subscription has counted once, by its base group. As printed, a merge adds to the counts of the selection; here
it starts from zero.

The two functions take and return centres and know no other group; Spark runs the loops here as stages.
Cost of a group: O(rounds · members · k · dimensions).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from siftcast.planning.clustering.distributed import GlobalEmbedding
from siftcast.planning.clustering.hierarchy import GroupKey
from siftcast.planning.clustering.kmeans import Centres, kmeans, refine_centres
from siftcast.planning.clustering.matched_events import Floats


def central_kmeans(embedding: GlobalEmbedding, k: int, rng: np.random.Generator) -> Centres:
    """The centres of all members, in the order of their numbers."""
    base = embedding.hierarchy.base
    if len(base) == 1:
        return kmeans(embedding.coordinates[0, 0], k, rng)
    order = np.argsort(np.concatenate([group.members for group in base]))
    return kmeans(np.concatenate([embedding.coordinates[0, group.number] for group in base])[order], k, rng)


def sampling_kmeans(embedding: GlobalEmbedding, k: int, rng: np.random.Generator) -> Centres:
    """The centres of the root's members."""
    root = embedding.hierarchy.root
    return kmeans(embedding.coordinates[root.key], k, rng)


def select_centres(points: Floats, parent: Centres) -> Centres:
    """Selection in one group: the parent's centres, moved to fit the group's own members."""
    return refine_centres(points, parent.points)


def merge_centres(children: Sequence[Centres], selected: Centres) -> Centres:
    """Merge in one group: the children's centres as weighted points, around the centres selected before."""
    points = np.concatenate([child.points for child in children])
    counts = np.concatenate([child.counts for child in children])
    present = counts > 0
    return refine_centres(points[present], selected.points, weights=counts[present])


def hierarchical_kmeans(embedding: GlobalEmbedding, k: int, rng: np.random.Generator) -> Centres:
    """Selection down the hierarchy, merge back up: the centres at the root."""
    levels = embedding.hierarchy.levels
    root = embedding.hierarchy.root
    selected = {root.key: sampling_kmeans(embedding, k, rng)}
    for level in levels[-2::-1]:
        for group in level:
            selected[group.key] = select_centres(embedding.coordinates[group.key], selected[group.parent_key])
    return merge_levels(embedding, selected, {group.number: selected[group.key] for group in levels[0]})


def merge_levels(embedding: GlobalEmbedding, selected: dict[GroupKey, Centres], base: dict[int, Centres]) -> Centres:
    """The merge of all levels above the base, in this process; `selected` are the centres each starts from."""
    below = base
    for level in embedding.hierarchy.levels[1:]:
        below = {
            group.number: merge_centres([below[child] for child in group.children], selected[group.key])
            for group in level
        }
    return below[0]
