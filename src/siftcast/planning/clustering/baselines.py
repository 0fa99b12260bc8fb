"""Clusters from the shapes of subscriptions alone: what spectral clustering is compared with (thesis, 3.3.2.1).

A subscription is a box, given by its low and high ends on each axis. None of the three looks at events.

    centroid_clusters   CK: k-means on the centres of the boxes
    overlap_clusters    OV with k-means: a box is the row of its overlaps with a sample of boxes
    rtree_clusters      OV with an R-tree: the k highest nodes of a tree of nested bounding boxes

Readings. Overlap is the volume of the intersection over that of the union, the shape's counterpart of Jaccard; an axis
of width zero counts as one unit, so that points have a volume. The R-tree is loaded from above: a node is cut in two
where the halves' bounding boxes have least volume in common, then least volume, over both orders on each axis
(top-down greedy split, after García, López and Leutenegger). Nodes are cut, largest first, until there are k. Such a
tree is better packed than one grown by insertion, so it is the stronger baseline.

Cost: k-means as usual; overlaps O(n · sample · axes); the R-tree O(n log n · axes) per level.
"""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from siftcast.model import ClusteringError
from siftcast.planning.clustering.kmeans import kmeans, nearest_centres
from siftcast.planning.clustering.matched_events import Floats, Integers

_SAMPLE = 500
_BLOCK_ROWS = 2_048


def centroid_clusters(low: npt.ArrayLike, high: npt.ArrayLike, k: int, rng: np.random.Generator) -> Integers:
    """A label for each box, by k-means on centres."""
    lows, highs = _boxes(low, high, k)
    centres = (lows + highs) / 2
    return nearest_centres(centres, kmeans(centres, k, rng).points)


def overlap_clusters(low: npt.ArrayLike, high: npt.ArrayLike, k: int, rng: np.random.Generator) -> Integers:
    """A label for each box, by k-means on its overlaps with boxes drawn at random."""
    lows, highs = _boxes(low, high, k)
    chosen = rng.choice(len(lows), size=min(_SAMPLE, len(lows)), replace=False)
    rows = overlaps(lows, highs, lows[chosen], highs[chosen])
    return nearest_centres(rows, kmeans(rows, k, rng).points)


def rtree_clusters(low: npt.ArrayLike, high: npt.ArrayLike, k: int) -> Integers:
    """A label for each box, by the k nodes of an R-tree loaded from above."""
    lows, highs = _boxes(low, high, k)
    nodes: list[tuple[int, int, Integers]] = [(-len(lows), 0, np.arange(len(lows)))]
    made = 1
    while len(nodes) < k:
        _, _, members = heapq.heappop(nodes)
        for half in _split(lows, highs, members):
            # The running number settles ties, because arrays have no order.
            heapq.heappush(nodes, (-len(half), made, half))
            made += 1
    labels = np.empty(len(lows), dtype=np.int64)
    for label, (_, _, members) in enumerate(nodes):
        labels[members] = label
    return labels


def overlaps(low: Floats, high: Floats, others_low: Floats, others_high: Floats) -> Floats:
    """Intersection over union of boxes (rows) with others (columns)."""
    shared = np.empty((len(low), len(others_low)), dtype=np.float32)
    own, other = _volumes(low, high), _volumes(others_low, others_high)
    for start in range(0, len(low), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        least = np.minimum(high[part, None], others_high) - np.maximum(low[part, None], others_low) + 1.0
        common = np.maximum(least, 0.0).prod(axis=2)
        shared[part] = common / (own[part, None] + other - common)
    return shared


def _split(lows: Floats, highs: Floats, members: Integers) -> tuple[Integers, Integers]:
    """The two halves, each of a quarter of the members or more, whose boxes overlap least, then are smallest."""
    best: tuple[float, float] = (np.inf, np.inf)
    halves = members[: len(members) // 2], members[len(members) // 2 :]
    least = max(1, len(members) // 4)
    for axis in range(lows.shape[1]):
        for keys in (lows[members, axis], highs[members, axis]):
            order = members[np.argsort(keys, kind="stable")]
            low_left = np.minimum.accumulate(lows[order])[:-1]
            high_left = np.maximum.accumulate(highs[order])[:-1]
            low_right = np.minimum.accumulate(lows[order][::-1])[::-1][1:]
            high_right = np.maximum.accumulate(highs[order][::-1])[::-1][1:]
            common = np.maximum(np.minimum(high_left, high_right) - np.maximum(low_left, low_right) + 1.0, 0.0).prod(
                axis=1
            )
            volume = _volumes(low_left, high_left) + _volumes(low_right, high_right)
            cuts = slice(least - 1, len(order) - least)
            place = int(np.lexsort((volume[cuts], common[cuts]))[0]) + least - 1
            if (common[place], volume[place]) < best:
                best = (float(common[place]), float(volume[place]))
                halves = order[: place + 1], order[place + 1 :]
    return halves


def _volumes(low: Floats, high: Floats) -> Floats:
    """In units of the grid: a range from 3 to 3 is one wide."""
    volumes: Floats = (high - low + 1.0).prod(axis=-1)
    return volumes


def _boxes(low: npt.ArrayLike, high: npt.ArrayLike, k: int) -> tuple[Floats, Floats]:
    lows, highs = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    if lows.ndim != 2 or lows.shape != highs.shape or not np.isfinite(lows).all() or not np.isfinite(highs).all():
        raise ClusteringError(f"boxes need finite ends of one shape, not {lows.shape} and {highs.shape}")
    if (lows > highs).any():
        raise ClusteringError(f"box {int(np.argmax((lows > highs).any(axis=1)))} ends before it begins")
    if not 1 <= k <= len(lows):
        raise ClusteringError(f"{len(lows)} subscriptions cannot form {k} clusters")
    return lows, highs
