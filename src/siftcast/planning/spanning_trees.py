"""Spanning trees over some servers: of the least total latency, or with balanced degrees (Kyra, sections A and V.D).

The balanced trees are Kruskal's with one change: of the M shortest connections that close no loop, the one whose two
ends have the smaller largest degree is added, the shorter of equals. M = 1 is Kruskal's own algorithm. A server's
degree counts its connections in all trees built so far: load adds up over trees, and a server that is busy in one
should be a leaf in the next.

Equal latencies are taken in the order of the server numbers, so trees are deterministic. Cost: O(n²) for a minimum
spanning tree (Prim's algorithm on the full matrix; 500 servers, 10 ms), O(n² log n + n·M) for a balanced one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from siftcast.planning.latency_matrices import symmetric_latencies
from siftcast.space import Tree

Floats = npt.NDArray[np.float64]


def minimum_spanning_tree(latencies_ms: npt.ArrayLike, servers: Iterable[int] | None = None) -> Tree:
    """The tree of the least total latency over these servers, or over all."""
    distances = symmetric_latencies(latencies_ms)
    chosen = _chosen(distances, servers)
    among = distances[np.ix_(chosen, chosen)]
    nearest = np.zeros(len(chosen), dtype=np.int64)
    reach = among[0].copy()
    outside = np.ones(len(chosen), dtype=np.bool_)
    outside[0] = False
    edges: list[tuple[int, int]] = []
    for _ in range(len(chosen) - 1):
        new = int(np.argmin(np.where(outside, reach, np.inf)))
        edges.append((chosen[new], chosen[nearest[new]]))
        outside[new] = False
        closer = among[new] < reach
        reach[closer] = among[new][closer]
        nearest[closer] = new
    return Tree(chosen, edges)


def balanced_spanning_trees(
    latencies_ms: npt.ArrayLike, members: Sequence[Iterable[int]], *, balance_factor: int
) -> tuple[Tree, ...]:
    """One tree over each set of servers, in this order, with degrees added up over all of them."""
    if balance_factor < 1:
        raise ValueError(f"the balance factor must be at least 1, not {balance_factor}")
    distances = symmetric_latencies(latencies_ms)
    degrees = [0] * len(distances)
    return tuple(_balanced(distances, _chosen(distances, each), degrees, balance_factor) for each in members)


def _balanced(distances: Floats, servers: list[int], degrees: list[int], balance_factor: int) -> Tree:
    """One tree by the modified Kruskal; adds its connections to `degrees`."""
    rows, columns = np.triu_indices(len(servers), 1)
    order = np.argsort(distances[np.ix_(servers, servers)][rows, columns], kind="stable")
    connections = zip(rows[order].tolist(), columns[order].tolist(), strict=True)
    part_of = list(range(len(servers)))
    parts = [[position] for position in range(len(servers))]
    # The M shortest connections that close no loop, shortest first; what lies beyond them is still in the iterator.
    window: list[tuple[int, int]] = []
    edges: list[tuple[int, int]] = []
    for _ in range(len(servers) - 1):
        window = [(a, b) for a, b in window if part_of[a] != part_of[b]]
        while len(window) < balance_factor and (pair := next(connections, None)) is not None:
            if part_of[pair[0]] != part_of[pair[1]]:
                window.append(pair)
        a, b = min(window, key=lambda pair: max(degrees[servers[pair[0]]], degrees[servers[pair[1]]]))
        edges.append((servers[a], servers[b]))
        degrees[servers[a]] += 1
        degrees[servers[b]] += 1
        small, large = sorted((part_of[a], part_of[b]), key=lambda part: len(parts[part]))
        for position in parts[small]:
            part_of[position] = large
        parts[large] += parts[small]
    return Tree(servers, edges)


def _chosen(distances: Floats, servers: Iterable[int] | None) -> list[int]:
    chosen = list(range(len(distances))) if servers is None else sorted(set(servers))
    if not chosen:
        raise ValueError("a tree needs at least one server")
    if chosen[0] < 0 or chosen[-1] >= len(distances):
        raise ValueError(f"servers are numbered 0 … {len(distances) - 1}")
    return chosen
