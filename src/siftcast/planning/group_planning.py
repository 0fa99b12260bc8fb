"""What multicast-based routing needs from planning: the groups of the content, and the trees of groups.

Groups come from Forgy's k-means over the interests in each cell. Trees are asked for while events flow, because who is
in a group changes as subscriptions do; they depend on the members alone, so every server finds the same one, and in
one process they are found once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from siftcast.planning.forgy import forgy_groups
from siftcast.planning.latency_matrices import symmetric_latencies
from siftcast.planning.spanning_trees import minimum_spanning_tree
from siftcast.planning.zone_partition import checked_edges
from siftcast.space import ContentGroups, ContentSpace, Partition, Tree

_REMEMBERED_TREES = 4_096


def plan_groups(
    space: ContentSpace,
    edges: npt.ArrayLike,
    interest: npt.ArrayLike,
    groups: int,
    rng: np.random.Generator,
    *,
    axis: int = 0,
) -> ContentGroups:
    """Cells of one axis in groups of similar interest; `interest` has a row per cell and a column per server."""
    wanted = np.asarray(interest)
    places = checked_edges(edges, len(wanted))
    found = forgy_groups(wanted, groups, rng)
    return ContentGroups(Partition.along(space, axis, places[1:-1]), found.group_of.tolist())


def group_trees(latencies_ms: npt.ArrayLike) -> Callable[[tuple[int, ...]], Tree]:
    """The minimum spanning tree of any members, remembered."""
    distances = symmetric_latencies(latencies_ms)

    @lru_cache(_REMEMBERED_TREES)
    def tree_of(members: tuple[int, ...]) -> Tree:
        return minimum_spanning_tree(distances, members)

    return tree_of
