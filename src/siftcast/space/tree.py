"""Trees over numbered nodes, for events that travel where there is one way between any two nodes.

A tree is a set of nodes and the edges that join them without a loop; it has no root, because any node may
publish. Edges are kept as pairs (a, b) with a < b, ascending, so that equal trees compare equal. The neighbours of a
node, which are needed often, are worked out once.

Cost: O(nodes) to make, to root and to span.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property


class Tree:
    """Nodes and the edges that join them all, without a loop."""

    def __init__(self, nodes: Iterable[int], edges: Iterable[tuple[int, int]]) -> None:
        self.nodes = tuple(sorted(set(nodes)))
        self.edges = tuple(sorted((min(edge), max(edge)) for edge in edges))
        if not self.nodes:
            raise ValueError("a tree has at least one node")
        known = set(self.nodes)
        if any(end not in known for edge in self.edges for end in edge):
            raise ValueError("an edge joins a node that is not in the tree")
        if len(self.edges) != len(self.nodes) - 1:
            raise ValueError(
                f"a tree of {len(self.nodes)} nodes has {len(self.nodes) - 1} edges, not {len(self.edges)}"
            )
        if len(self.parents(self.nodes[0])) != len(self.nodes):
            raise ValueError("the edges close a loop and do not reach every node")

    def renamed(self, names: Sequence[int]) -> Tree:
        """The tree with `names[node]` in place of each node."""
        return Tree([names[node] for node in self.nodes], [(names[a], names[b]) for a, b in self.edges])

    @cached_property
    def neighbours(self) -> dict[int, tuple[int, ...]]:
        """The neighbours of each node, ascending."""
        found: dict[int, list[int]] = {node: [] for node in self.nodes}
        for a, b in self.edges:
            found[a].append(b)
            found[b].append(a)
        return {node: tuple(sorted(near)) for node, near in found.items()}

    def parents(self, root: int) -> dict[int, int]:
        """The next node towards a root, which is its own; every node comes after its parent."""
        if root not in self.neighbours:
            raise ValueError(f"node {root} is not in the tree")
        parents = {root: root}
        waiting = [root]
        for node in waiting:
            for near in self.neighbours[node]:
                if near not in parents:
                    parents[near] = node
                    waiting.append(near)
        return parents

    def next_hops(self, node: int) -> dict[int, int]:
        """For every other node, the neighbour that lies on the way to it."""
        hops: dict[int, int] = {}
        for other, before in self.parents(node).items():
            if other != node:
                hops[other] = other if before == node else hops[before]
        return hops

    def spanning(self, nodes: Iterable[int]) -> frozenset[int]:
        """The nodes of the smallest subtree that holds all of these: where an event passes from one to the others."""
        wanted = list(nodes)
        if not wanted:
            return frozenset()
        parents = self.parents(wanted[0])
        passed = {wanted[0]}
        for node in wanted:
            if node not in parents:
                raise ValueError(f"node {node} is not in the tree")
            while node not in passed:
                passed.add(node)
                node = parents[node]
        return frozenset(passed)

    def __len__(self) -> int:
        return len(self.nodes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and (self.nodes, self.edges) == (other.nodes, other.edges)

    def __hash__(self) -> int:
        return hash((self.nodes, self.edges))

    def __repr__(self) -> str:
        return f"<Tree of {len(self)} nodes>"
