"""One tree for each source over one graph: how to use a graph with cycles so that nothing arrives twice.

Invariant: the way from a to b on a's tree is the way from b to a on b's tree, reversed. Subscriptions then leave
behind, on their way out, exactly the directions that events take on their way in.

Cost: Dijkstra's algorithm once for each node, O(n · m log n); meant for overlays of hundreds of servers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

Edge = tuple[int, int]


@dataclass(frozen=True)
class SourceTrees:
    """A graph, and for each of its nodes the tree of shortest ways from it."""

    neighbours: Mapping[int, tuple[int, ...]]
    parents: Mapping[int, Mapping[int, int]]
    """`parents[source][node]` is the node before it on the way from the source."""

    @classmethod
    def shortest(cls, lengths: Mapping[Edge, float], nodes: Iterable[int] = ()) -> SourceTrees:
        """Trees of shortest ways, made unique: of equally long ones, always the same is taken in both directions."""
        joined: dict[int, list[int]] = {node: [] for node in nodes}
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

    def renamed(self, names: Sequence[int]) -> SourceTrees:
        """The graph with `names[node]` in place of each node."""
        return SourceTrees(
            {names[node]: tuple(names[other] for other in others) for node, others in self.neighbours.items()},
            {
                names[source]: {names[node]: names[before] for node, before in parents.items()}
                for source, parents in self.parents.items()
            },
        )

    def children(self, node: int) -> dict[int, tuple[int, ...]]:
        """For each source, the neighbours to which this node passes on what the source sent."""
        found: dict[int, tuple[int, ...]] = {}
        for source, parent in self.parents.items():
            found[source] = tuple(other for other in self.neighbours[node] if parent.get(other) == node)
        return found


def _parents(source: int, joined: Mapping[int, list[int]], cost: Mapping[Edge, tuple[float, int]]) -> dict[int, int]:
    """Dijkstra's algorithm over (length, tie-break)."""
    parents: dict[int, int] = {}
    done: set[int] = set()
    heap: list[tuple[float, int, int, int, int | None]] = [(0.0, 0, 0, source, None)]
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
