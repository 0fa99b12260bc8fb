"""Balanced trees: every router but the leaves has the same number of children (lookup reuse, evaluation).

Routers are numbered level by level from the root, 0, so the parent of router i > 0 is (i - 1) // branching. Link i - 1
joins router i to its parent. A binary tree of depth 6 has 127 routers and a diameter of 12 links.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siftcast.model.errors import UnderlayError
from siftcast.underlay.network import Network
from siftcast.underlay.parameters import require, require_count


@dataclass(frozen=True, slots=True)
class BalancedTree:
    """A tree of this depth (0 is a single router) whose links all have one latency."""

    depth: int
    branching: int = 2
    link_ms: float = 1.0
    routers_max: int = 1_000_000

    def __post_init__(self) -> None:
        require_count("depth", self.depth, least=0, most=1_000)
        require_count("branching", self.branching, least=1)
        require("link_ms", self.link_ms, least=0)
        require_count("routers_max", self.routers_max, least=1)
        if self.routers > self.routers_max:
            raise UnderlayError(
                f"a tree of depth {self.depth} and branching {self.branching} has {self.routers:,} routers,"
                f" more than routers_max = {self.routers_max:,}"
            )

    @property
    def routers(self) -> int:
        """How many routers the tree has."""
        if self.branching == 1:
            return self.depth + 1
        return int((self.branching ** (self.depth + 1) - 1) // (self.branching - 1))

    def build(self, rng: np.random.Generator | None = None) -> Network:
        """The tree; it has no random part, so `rng` is only there to be called like the other generators."""
        del rng
        children = np.arange(1, self.routers)
        return Network(
            routers=self.routers,
            tails=(children - 1) // self.branching,
            heads=children,
            latencies_ms=np.full(len(children), float(self.link_ms)),
            router_kinds=np.full(self.routers, "router"),
            link_kinds=np.full(len(children), "link"),
            domains=np.full(self.routers, -1),
        )
