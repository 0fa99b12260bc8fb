"""Nodes that are 24 to 134 ms from each other, as in the measurements that the thesis on quality of service uses."""

from itertools import product
from random import Random

SHORTEST_MS, LONGEST_MS = 24, 134


class Distances:
    """How far apart nodes are, one way: over one link, and over the shortest way there is."""

    def __init__(self, nodes: int, seed: int) -> None:
        random = Random(seed)
        self._ms = {(a, b): float(random.randint(SHORTEST_MS, LONGEST_MS)) for b in range(nodes) for a in range(b)}
        self._least = {(a, b): self.between(a, b) for a in range(nodes) for b in range(nodes)}
        for via, a, b in product(range(nodes), repeat=3):
            self._least[a, b] = min(self._least[a, b], self._least[a, via] + self._least[via, b])
        self.nodes = nodes

    def between(self, one: int, other: int) -> float:
        return 0.0 if one == other else self._ms[min(one, other), max(one, other)]

    def least(self, one: int, other: int) -> float:
        return self._least[one, other]

    @property
    def matrix(self) -> list[list[float]]:
        """Each node's row."""
        return [[self.between(one, other) for other in range(self.nodes)] for one in range(self.nodes)]
