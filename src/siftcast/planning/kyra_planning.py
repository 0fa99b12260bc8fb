"""The layout of a Kyra network, from latencies between servers and the load of the cells of a content space.

Near servers become cliques under both limits; the space is cut into zones of balanced load among the servers of each
clique, and among the trees; a tree joins the servers whose zone overlaps its own, by the least total latency or, with a
balance factor above 1, with degrees that are balanced over all trees. By default there are as many trees as servers
in the largest clique: with fewer, several servers of that clique join the same tree; more would join the same servers
again (Kyra, III.A).

Loads are `cell_loads(popularity, volume, weight)` of cells: of one axis between edges (`plan_kyra`), or of boxes in a
space of several axes (`plan_kyra_in_boxes`).

With `join_singletons` a server that has nobody near it joins the nearest clique that has room, beyond the limit of
latency: alone it would be in every tree, and hold what all of them hold. The paper leaves it alone.

For events without a point each clique names the member with the least load, first of all one without a zone. Their
tree is laid last, so that it does not bear on the others. Cost: that of the cliques, O(servers³), plus one spanning
tree for each tree; 500 servers and 50 trees take 0.1 to 0.2 s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy.typing as npt

from siftcast.planning.cliques import Cliques, cluster_cliques, join_lone_servers
from siftcast.planning.owned_zones import own_zones, tree_members
from siftcast.planning.space_partition import partition_space
from siftcast.planning.spanning_trees import balanced_spanning_trees, minimum_spanning_tree
from siftcast.space import Clique, ContentSpace, KyraLayout, OwnedZones

Divide = Callable[[Sequence[int]], OwnedZones]
"""Cuts the space among owners."""


def plan_kyra(
    latencies_ms: npt.ArrayLike,
    space: ContentSpace,
    edges: npt.ArrayLike,
    loads: npt.ArrayLike,
    *,
    clique_ms_max: float,
    clique_servers_max: int | None = None,
    trees: int | None = None,
    balance_factor: int = 1,
    method: str = "bottleneck",
    axis: int = 0,
    join_singletons: bool = False,
) -> KyraLayout:
    """A layout whose zones lie along one axis; cell i reaches from edge i to edge i + 1."""

    def divide(owners: Sequence[int]) -> OwnedZones:
        return own_zones(space, edges, loads, owners, axis=axis, method=method)

    groups = _cliques(latencies_ms, clique_ms_max, clique_servers_max, join_singletons=join_singletons)
    return _plan(latencies_ms, groups, divide, trees, balance_factor)


def plan_kyra_in_boxes(
    latencies_ms: npt.ArrayLike,
    space: ContentSpace,
    lows: npt.ArrayLike,
    highs: npt.ArrayLike,
    loads: npt.ArrayLike,
    *,
    clique_ms_max: float,
    clique_servers_max: int | None = None,
    trees: int | None = None,
    balance_factor: int = 1,
    join_singletons: bool = False,
) -> KyraLayout:
    """A layout whose zones are cut along all axes; cells are boxes, a row of lows and highs each."""

    def divide(owners: Sequence[int]) -> OwnedZones:
        partition = partition_space(space, lows, highs, loads, len(owners))
        return OwnedZones(partition, tuple(owners[: len(partition)]))

    groups = _cliques(latencies_ms, clique_ms_max, clique_servers_max, join_singletons=join_singletons)
    return _plan(latencies_ms, groups, divide, trees, balance_factor)


def _cliques(
    latencies_ms: npt.ArrayLike, clique_ms_max: float, clique_servers_max: int | None, *, join_singletons: bool
) -> Cliques:
    groups = cluster_cliques(latencies_ms, latency_ms_max=clique_ms_max, members_max=clique_servers_max)
    if not groups:
        raise ValueError("a network needs at least one server")
    return join_lone_servers(latencies_ms, groups, members_max=clique_servers_max) if join_singletons else groups


def _plan(
    latencies_ms: npt.ArrayLike, groups: Cliques, divide: Divide, trees: int | None, balance_factor: int
) -> KyraLayout:
    count = max(map(len, groups)) if trees is None else trees
    if count < 1:
        raise ValueError(f"there must be at least one tree, not {count}")
    # Cliques of one size are cut alike, and there are few sizes.
    cut = {size: divide(range(size)) for size in {*map(len, groups), count}}
    cliques = tuple(_clique(members, cut[len(members)]) for members in groups)
    tree_zones = cut[count]
    members = tree_members(tree_zones, [clique.zones for clique in cliques])
    joined = [*members.values(), tuple(clique.outside for clique in cliques)]
    if balance_factor == 1:
        shapes = tuple(minimum_spanning_tree(latencies_ms, each) for each in joined)
    else:
        shapes = balanced_spanning_trees(latencies_ms, joined, balance_factor=balance_factor)
    return KyraLayout(cliques, tree_zones, dict(zip(members, shapes, strict=False)), shapes[-1])


def _clique(members: tuple[int, ...], places: OwnedZones) -> Clique:
    zones = OwnedZones(places.partition, tuple(members[place] for place in places.owners))
    loads = dict(zip(zones.owners, places.partition.loads, strict=True))
    return Clique(members, zones, min(members, key=lambda member: (member in loads, loads.get(member, 0.0), member)))
