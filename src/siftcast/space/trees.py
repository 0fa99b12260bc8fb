"""Trees that messages travel on: plain data that planning makes and overlays follow.

`Tree` is one tree without a root, as brokers use it. `SourceTrees` are as many trees over one graph as it has nodes, one
for what each of them sends; on a graph with cycles they make sure that nothing arrives twice.

Invariant of `SourceTrees`: the way from a to b on a's tree is the way from b to a on b's tree, reversed. Subscriptions
then leave behind, on their way out, exactly the directions that events take on their way in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush

Node = int | str
Edge = tuple[Node, Node]


@dataclass(frozen=True)
class Tree:
    """Nodes joined without cycles; `neighbours` of each node in a fixed order."""

    neighbours: Mapping[Node, tuple[Node, ...]]

    @classmethod
    def of(cls, edges: Iterable[Edge], nodes: Iterable[Node] = ()) -> Tree:
        """A tree from its edges (and its node, if it has only one); raises ValueError where it is none."""
        joined: dict[Node, list[Node]] = {node: [] for node in nodes}
        count = 0
        for a, b in edges:
            joined.setdefault(a, []).append(b)
            joined.setdefault(b, []).append(a)
            count += 1
        tree = cls({node: tuple(others) for node, others in joined.items()})
        if joined and (count != len(joined) - 1 or len(tree.walk(next(iter(joined)))) != len(joined)):
            raise ValueError(f"{count} edges over {len(joined)} nodes are no tree")
        return tree

    def __len__(self) -> int:
        return len(self.neighbours)

    def __contains__(self, node: object) -> bool:
        return node in self.neighbours

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Each edge once."""
        seen = dict.fromkeys(tuple(sorted((a, b), key=str)) for a, others in self.neighbours.items() for b in others)
        return tuple((a, b) for a, b in seen)

    def walk(self, root: Node) -> list[tuple[Node, Node | None]]:
        """Every node with the one before it on the way from the root, nearer ones first."""
        order: list[tuple[Node, Node | None]] = [(root, None)]
        for node, before in order:
            order.extend((other, node) for other in self.neighbours[node] if other != before)
            if len(order) > len(self.neighbours):
                break
        return order

    def next_hops(self, node: Node) -> dict[Node, Node]:
        """For every other node, the neighbour that lies on the way to it."""
        hops: dict[Node, Node] = {}
        for other, before in self.walk(node)[1:]:
            assert before is not None
            hops[other] = other if before == node else hops[before]
        return hops


@dataclass(frozen=True)
class SourceTrees:
    """A graph, and for each of its nodes the tree of shortest ways from it."""

    neighbours: Mapping[Node, tuple[Node, ...]]
    parents: Mapping[Node, Mapping[Node, Node]]
    """`parents[source][node]` is the node before it on the way from the source."""

    @classmethod
    def shortest(cls, lengths: Mapping[Edge, float]) -> SourceTrees:
        """Trees of shortest ways, made unique: of equally long ones, always the same is taken in both directions."""
        joined: dict[Node, list[Node]] = {}
        cost: dict[Edge, tuple[float, int]] = {}
        for number, ((a, b), length) in enumerate(lengths.items()):
            if not length > 0:
                raise ValueError(f"the link {a}–{b} must have a positive length, not {length!r}")
            joined.setdefault(a, []).append(b)
            joined.setdefault(b, []).append(a)
            # Any two sets of links differ in the sum of these numbers, so no two ways are equally good.
            cost[a, b] = cost[b, a] = (length, 1 << number)
        parents = {source: _parents(source, joined, cost) for source in joined}
        return cls({node: tuple(others) for node, others in joined.items()}, parents)

    def children(self, node: Node) -> dict[Node, tuple[Node, ...]]:
        """For each source, the neighbours to which this node passes on what the source sent."""
        found: dict[Node, tuple[Node, ...]] = {}
        for source, parent in self.parents.items():
            found[source] = tuple(other for other in self.neighbours[node] if parent.get(other) == node)
        return found


def _parents(
    source: Node, joined: Mapping[Node, list[Node]], cost: Mapping[Edge, tuple[float, int]]
) -> dict[Node, Node]:
    """Dijkstra's algorithm over (length, tie-break)."""
    parents: dict[Node, Node] = {}
    done: set[Node] = set()
    heap: list[tuple[float, int, int, Node, Node | None]] = [(0.0, 0, 0, source, None)]
    count = 0
    while heap:
        length, tie, _, node, before = heappop(heap)
        if node in done:
            continue
        done.add(node)
        if before is not None:
            parents[node] = before
        for other in joined[node]:
            if other not in done:
                step, mark = cost[node, other]
                count += 1
                # Rounded, so that the same links sum up alike from both ends.
                heappush(heap, (round(length + step, 6), tie + mark, count, other, node))
    return parents
