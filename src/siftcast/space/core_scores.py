"""Cores: which peers events are routed through (section 4.5.1), by global knowledge or by votes of neighbours.

    SPath     the least sum of weights to all others
    MaxPath   most of the shortest paths lead through them
    CNeigh    most peers have them as the neighbour of least weight
    SPotent   many neighbours, that are near:  n + n/ΣW + 1/D_worst
    Sim       most peers have them as the neighbour of the most similar interest
    Rand      anyone

Planning scores whole networks, protocols what they were told; both by the functions here.

The weight of a link is its delay and β times the dissimilarity of its ends. SPotent adds a number, 1/ms and 1/ms, so
seconds rank peers otherwise than milliseconds do. Here weights and delays are taken in units of the mean link
(`normalised=False` is the literal reading).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

Floats = npt.NDArray[np.float64]
Near = Mapping[int, Mapping[int, float]]
"""For each peer its neighbours and a number for each of them."""

THESIS = ("SPath", "MaxPath", "CNeigh", "SPotent")
"""The thesis's own."""
STRATEGIES = (*THESIS, "Sim", "Rand")


def path_sums(graph: csr_array) -> Floats:
    """For each peer the sum of weights to all others (SPath)."""
    found: Floats = dijkstra(graph, directed=False).sum(axis=1)
    return found


def path_counts(graph: csr_array) -> Floats:
    """For each peer, of how many shortest paths it is in between (MaxPath)."""
    distances, before = dijkstra(graph, directed=False, return_predecessors=True)
    peers = graph.shape[0]
    through = np.zeros(peers)
    for source in range(peers):
        below = np.ones(peers)
        for peer in np.argsort(-distances[source], kind="stable").tolist():
            above = int(before[source, peer])
            if above >= 0:
                below[above] += below[peer]
                through[peer] += below[peer] - 1
    return through


def nearest_ballots(weights: Near) -> dict[int, int]:
    """Whom each peer votes for: its neighbour of least weight (CNeigh)."""
    return {peer: min(near, key=lambda other: (near[other], other)) for peer, near in weights.items() if near}


def nearest_votes(weights: Near, peers: int) -> Floats:
    """How many votes each peer has (CNeigh)."""
    return np.bincount(list(nearest_ballots(weights).values()), minlength=peers).astype(np.float64)


def potentials(weights: Near, delays: Near, peers: int, *, normalised: bool = True) -> Floats:
    """Each peer's own potential (SPotent)."""
    found = np.zeros(peers)
    weight_unit = delay_unit = 1.0
    if normalised:
        weight_unit = float(np.mean([each for near in weights.values() for each in near.values()]))
        delay_unit = float(np.mean([each for near in delays.values() for each in near.values()]))
    for peer, near in weights.items():
        if near:
            count = len(near)
            total, worst = sum(near.values()) / weight_unit, max(delays[peer].values()) / delay_unit
            found[peer] = count + count / total + 1 / worst
    return found


def select(scores: Floats, count: int) -> list[int]:
    """The peers of the highest scores, the best first; equal ones by number."""
    order: list[int] = np.lexsort((np.arange(len(scores)), -scores))[:count].tolist()
    return order


def best(votes: Mapping[int, float], count: int) -> list[int]:
    """The same of candidates under any numbers."""
    return sorted(votes, key=lambda each: (-votes[each], each))[:count]


def select_by_votes(
    ballots: Mapping[int, int], parents: Mapping[int, int], root: int, count: int, kept: int
) -> list[int]:
    """The same over a tree: each peer adds its vote and passes on the `kept` candidates with most votes it heard of.

    Votes for one candidate come from several branches. With fewer than about twice as many candidates as cores, those
    that have some votes in each branch are lost to those that have all theirs in one.
    """
    children: dict[int, list[int]] = {peer: [] for peer in (root, *parents)}
    for peer, parent in parents.items():
        children[parent].append(peer)
    order, queue = [], [root]
    while queue:
        order.append(queue.pop())
        queue += children[order[-1]]
    heard: dict[int, dict[int, int]] = {}
    for peer in reversed(order):
        total = {ballots[peer]: 1} if peer in ballots else {}
        for child in children[peer]:
            for candidate, number in heard.pop(child).items():
                total[candidate] = total.get(candidate, 0) + number
        heard[peer] = {each: total[each] for each in best(total, kept if peer != root else count)}
    return list(heard[root])
