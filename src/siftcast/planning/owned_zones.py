"""Kyra's two levels of zones: the space cut among the servers of each clique, and among the routing trees.

Both are contiguous zones of balanced load along one axis. There are two ways to lay them:

    bottleneck   the largest load is as small as it can be (`zone_partition`); a candidate has no zone only where
                 there are fewer cells than candidates
    shares       the line of loads is cut at 1/n, 2/n, … of its sum; a hot cell that spans several such
                 places leaves the candidates between them without a zone

The paper leaves the algorithm open. `bottleneck` is the objective of this library everywhere; `shares` is the obvious
thing to write and what the paper's remark that partitioning is simple suggests. Servers without a zone join no tree.

A server joins every tree whose zone overlaps its own. Zones of several axes come from `partition_space`; what is below
`tree_members` works on boxes and does not care how they were cut.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from siftcast.planning.zone_partition import checked_zones, split_line, zones_along
from siftcast.space import ContentSpace, OwnedZones

METHODS = ("bottleneck", "shares")


def own_zones(
    space: ContentSpace,
    edges: npt.ArrayLike,
    loads: npt.ArrayLike,
    owners: Sequence[int],
    *,
    axis: int = 0,
    method: str = "bottleneck",
) -> OwnedZones:
    """One axis cut among owners, in their order; cell i reaches from edge i to edge i + 1."""
    each = np.asarray(loads, dtype=np.float64)
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    if method == "bottleneck" or not each.any():
        cuts = split_line(each, len(owners))
        holders = list(owners[: len(cuts) + 1])
    else:
        cuts, holders = _cut_at_shares(each, owners)
    return OwnedZones(zones_along(space, axis, edges, each, cuts), tuple(holders))


def _cut_at_shares(loads: npt.NDArray[np.float64], owners: Sequence[int]) -> tuple[list[int], list[int]]:
    """Where zones of equal shares begin, without empty ones, and whose zones are left."""
    checked_zones(len(owners), len(loads))
    if not (np.isfinite(loads).all() and (loads >= 0).all()):
        raise ValueError("loads must be finite numbers of at least 0")
    sums = np.cumsum(loads)
    middles = (sums - loads / 2) / sums[-1]
    # A cell belongs to the share in which the middle of its load lies.
    share = np.minimum((middles * len(owners)).astype(np.int64), len(owners) - 1)
    cuts = (np.flatnonzero(np.diff(share)) + 1).tolist()
    return cuts, [owners[index] for index in share[[0, *cuts]]]


def tree_members(trees: OwnedZones, cliques: Sequence[OwnedZones]) -> dict[int, tuple[int, ...]]:
    """The servers of each tree that has a zone, ascending: those whose own zone overlaps it."""
    members: dict[int, tuple[int, ...]] = {}
    for zone, tree in zip(trees.partition.zones, trees.owners, strict=True):
        touched = (clique.owners[index] for clique in cliques for index in clique.partition.zones_of(zone.box))
        members[tree] = tuple(sorted(touched))
    return members
