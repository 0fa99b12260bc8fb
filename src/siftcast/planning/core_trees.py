"""A tree around one core: shortest ways from the node that is nearest to all others (chapter 4, SPath and Algorithm 8).

Where every node may call every other, shortest ways from the core are a star, and the core carries all events. The
chapter builds on an overlay whose nodes know a few others. So the tree lies in such a graph here: the `near` shortest
links of each node, and the minimum spanning tree, which joins what they leave apart. With `near` = n - 1 it is the
star, with 0 the minimum spanning tree.

Beside the minimum spanning tree, ways are shorter in delay and in hops, the links are longer together, and the core is
busier: docs/underlay.md has the numbers.

Cost: Dijkstra's algorithm from each node, O(n² · near · log n); 100 nodes take 10 ms.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from siftcast.planning.latency_matrices import symmetric_latencies
from siftcast.planning.spanning_trees import minimum_spanning_tree
from siftcast.space import Tree

_LENGTH_MIN_MS = 1e-6
"""A sparse graph takes 0 for no link, and nodes on one router may be 0 ms apart."""


def core_tree(latencies_ms: npt.ArrayLike, *, near: int) -> Tree:
    """The tree of shortest ways from the best core, in the graph of the `near` shortest links of each node."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    from siftcast.space.core_scores import path_sums, select

    if near < 0:
        raise ValueError(f"near is a number of links per node, not {near}")
    distances = symmetric_latencies(latencies_ms)
    count = len(distances)
    if count == 1:
        return Tree((0,), ())
    lengths = {edge: _length(distances, *edge) for edge in minimum_spanning_tree(distances).edges}
    for node in range(count):
        others = np.argsort(distances[node], kind="stable").tolist()
        for other in [each for each in others if each != node][:near]:
            edge = min(node, other), max(node, other)
            lengths[edge] = _length(distances, *edge)
    tails, heads = zip(*lengths, strict=True)
    graph = csr_array((list(lengths.values()), (tails, heads)), shape=(count, count))
    (core,) = select(-path_sums(graph), 1)
    _, before = dijkstra(graph, directed=False, indices=core, return_predecessors=True)
    return Tree(range(count), [(int(before[node]), node) for node in range(count) if node != core])


def _length(distances: npt.NDArray[np.float64], a: int, b: int) -> float:
    return max(_LENGTH_MIN_MS, float(distances[a, b]))
