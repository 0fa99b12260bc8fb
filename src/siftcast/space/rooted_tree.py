"""Rooted trees over numbered nodes, for events that always enter at one node.

A tree is the parent of each node; the root has none. It is a value: `with_leaf` and `without_leaf` make another one,
so the old and the new tree can be compared.

    grow((3, 5, 8, 9), distances, degree_max=2)        3
                                                     ┌─┴─┐
                                                     5   8
                                                     └ 9

`grow` takes the node nearest to all others as the root and lets the others join, those nearest to the root first, each
under the nearest node that has room. That bounds the children of a node, which a minimum spanning tree does not, and
keeps near nodes near; the total length is somewhat above the minimum. With `shortest_ways` each node joins where its
way from the root is shortest, as in a core tree (thesis, section 4.5: the node nearest to all others is the core that
SPath chooses). Then ways are shorter, links longer, and the root always has as many children as it may.

Cost: O(n²) to grow (numpy; 1,000 nodes take 20 ms), O(n) for a leaf.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

Distances = Sequence[Sequence[float]]
"""From each node (row) to each node; a numpy matrix will do."""


class RootedTree:
    """Nodes, each with its parent; the root has None."""

    def __init__(self, parents: Mapping[int, int | None]) -> None:
        self.parents = dict(parents)
        roots = [node for node, parent in self.parents.items() if parent is None]
        if len(roots) != 1:
            raise ValueError(f"a tree has one root, not {len(roots)}")
        self.root = roots[0]
        if any(parent is not None and parent not in self.parents for parent in self.parents.values()):
            raise ValueError("a parent is not in the tree")
        if len(self.downwards) != len(self.parents):
            raise ValueError("the parents close a loop and do not lead to the root")

    @cached_property
    def children(self) -> dict[int, tuple[int, ...]]:
        """The children of each node, ascending."""
        found: dict[int, list[int]] = {node: [] for node in self.parents}
        for node, parent in self.parents.items():
            if parent is not None:
                found[parent].append(node)
        return {node: tuple(sorted(below)) for node, below in found.items()}

    @cached_property
    def downwards(self) -> tuple[int, ...]:
        """All nodes, each after its parent."""
        order = [self.root]
        for node in order:
            order += self.children[node]
        return tuple(order)

    def with_leaf(self, node: int, distances: Distances, degree_max: int, *, shortest_ways: bool = False) -> RootedTree:
        """The tree with one more node, where `grow` would put it."""
        if node in self.parents:
            raise ValueError(f"node {node} is in the tree already")
        ways = self.ways(distances) if shortest_ways else dict.fromkeys(self.parents, 0.0)
        free = [other for other in self.downwards if len(self.children[other]) < degree_max]
        above = min(free, key=lambda other: (ways[other] + distances[other][node], other))
        return RootedTree({**self.parents, node: above})

    def ways(self, distances: Distances) -> dict[int, float]:
        """How far each node is from the root, over the tree."""
        found = {self.root: 0.0}
        for node in self.downwards[1:]:
            parent = self.parents[node]
            assert parent is not None
            found[node] = found[parent] + distances[parent][node]
        return found

    def without_leaf(self, node: int) -> RootedTree:
        """The tree without a node that has no children and is not the root."""
        if self.children.get(node, (node,)) or node == self.root:
            raise ValueError(f"node {node} is not a leaf of the tree")
        return RootedTree({other: parent for other, parent in self.parents.items() if other != node})

    def __len__(self) -> int:
        return len(self.parents)

    def __contains__(self, node: object) -> bool:
        return node in self.parents

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RootedTree) and self.parents == other.parents

    def __hash__(self) -> int:
        return hash(frozenset(self.parents.items()))

    def __repr__(self) -> str:
        return f"<RootedTree of {len(self)} nodes under {self.root}>"


def grow(
    members: Iterable[int],
    distances: Distances,
    degree_max: int,
    root: int | None = None,
    *,
    shortest_ways: bool = False,
) -> RootedTree:
    """A tree over these nodes in which none has more than `degree_max` children."""
    if degree_max < 1:
        raise ValueError(f"a node must be allowed at least one child, not {degree_max}")
    nodes = sorted(set(members))
    if not nodes:
        raise ValueError("a tree has at least one node")
    if root is not None and root not in nodes:
        raise ValueError(f"node {root} is not among the nodes of the tree")
    lengths = np.array([[distances[a][b] for b in nodes] for a in nodes], dtype=np.float64)
    first = int(np.argmin(lengths.sum(axis=0))) if root is None else nodes.index(root)
    order = [int(place) for place in np.argsort(lengths[first], kind="stable") if place != first]
    room = np.zeros(len(nodes), dtype=np.int64)  # how many more children may go under each node of the tree
    room[first] = degree_max
    ways = np.zeros(len(nodes))
    parents: dict[int, int | None] = {nodes[first]: None}
    for place in order:
        above = int(np.argmin(np.where(room > 0, ways + lengths[:, place], np.inf)))
        if shortest_ways:
            ways[place] = ways[above] + lengths[above, place]
        parents[nodes[place]] = nodes[above]
        room[above] -= 1
        room[place] = degree_max
    return RootedTree(parents)
