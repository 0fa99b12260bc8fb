"""Cliques of near servers, by complete-linkage clustering under two limits (Kyra, Figure 5).

Every server starts as a clique of its own. The two nearest cliques whose members together do not exceed the
limit are merged, again and again, until the nearest such pair is too far apart. The distance of two cliques is that
of their farthest members, so no two members of a clique are ever farther apart than the limit.

As published, the loop never ends once every near pair is too large to be merged; here it ends. Equal distances
are taken in the order of the server numbers. Merging only ever raises the distance and the size of a pair, so
a pair that is too large is struck out for good, by an infinite distance.

A server that has nobody near it stays alone. It is then in every tree of a Kyra network and holds what all of them
hold, many times the state of others. `join_lone_servers`, which is not in the paper, puts each such server into the
clique with the least mean latency to it that has room, however far that is: its messages inside the clique take longer
than the limit allows, and what it holds becomes a member's share.

Cost: O(servers³) in NumPy, 0.1 s for 500. Rejected: SciPy's `linkage`, O(servers²), which knows no limit of members;
cutting its tree afterwards is not the same.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from siftcast.planning.latency_matrices import symmetric_latencies

Cliques = tuple[tuple[int, ...], ...]


def cluster_cliques(latencies_ms: npt.ArrayLike, *, latency_ms_max: float, members_max: int | None = None) -> Cliques:
    """Servers in cliques: members ascending, cliques by their first member."""
    distances = symmetric_latencies(latencies_ms)
    servers = len(distances)
    if math.isnan(latency_ms_max) or latency_ms_max < 0:
        raise ValueError(f"the largest latency must be at least 0, not {latency_ms_max}")
    if members_max is not None and members_max < 1:
        raise ValueError(f"a clique has at least one member, not {members_max}")
    limit = servers if members_max is None else members_max
    members: list[list[int]] = [[server] for server in range(servers)]
    sizes = np.ones(servers, dtype=np.int64)
    np.fill_diagonal(distances, np.inf)
    if limit < 2:
        distances[:] = np.inf
    while servers:
        nearest = int(np.argmin(distances))
        kept, gone = sorted(divmod(nearest, servers))
        if not distances[kept, gone] <= latency_ms_max or distances[kept, gone] == np.inf:
            break
        members[kept] += members[gone]
        members[gone] = []
        sizes[kept] += sizes[gone]
        merged = np.maximum(distances[kept], distances[gone])
        merged[sizes + sizes[kept] > limit] = np.inf
        merged[kept] = np.inf
        distances[kept], distances[:, kept] = merged, merged
        distances[gone], distances[:, gone] = np.inf, np.inf
    return tuple(tuple(sorted(clique)) for clique in members if clique)


def join_lone_servers(latencies_ms: npt.ArrayLike, cliques: Cliques, *, members_max: int | None = None) -> Cliques:
    """Cliques in which a server is alone only if no other clique has room for it.

    The nearest pair of a lone server and a clique is joined first; equal distances are taken in the order of the server
    numbers. Two that are alone may join each other.
    """
    distances = symmetric_latencies(latencies_ms)
    if members_max is not None and members_max < 1:
        raise ValueError(f"a clique has at least one member, not {members_max}")
    if not cliques:
        return ()
    limit = len(distances) if members_max is None else members_max
    members = [list(clique) for clique in sorted(cliques)]
    sizes = np.array([len(clique) for clique in members])
    # From every server, the sum of the latencies to the members of each clique.
    sums = np.stack([distances[:, clique].sum(axis=1) for clique in members], axis=1)
    lone = [clique[0] if len(clique) == 1 else -1 for clique in members]
    while True:
        means = sums[lone] / np.maximum(sizes, 1)
        means[np.array(lone) < 0] = np.inf
        means[:, (sizes == 0) | (sizes >= limit)] = np.inf
        np.fill_diagonal(means, np.inf)
        nearest = int(np.argmin(means))
        if means.flat[nearest] == np.inf:
            return tuple(sorted(tuple(sorted(clique)) for clique in members if clique))
        one, other = divmod(nearest, len(members))
        sums[:, other] += distances[:, lone[one]]
        sizes[other] += 1
        sizes[one] = 0
        members[other] += members[one]
        members[one] = []
        lone[one] = lone[other] = -1


def clique_sizes(cliques: Cliques) -> tuple[float, int]:
    """The mean and the largest number of servers in a clique: a column of Kyra's Table I."""
    sizes = [len(clique) for clique in cliques]
    return (sum(sizes) / len(sizes), max(sizes)) if sizes else (0.0, 0)
