"""Two levels of Waxman graphs, as BRITE's top-down model: domains among each other, and routers within each.

    domain ── domain      a growing Waxman graph (`waxman.py`) on the square
      └ routers           one in each domain, on a square of its own around the domain's point

A link between two domains joins random routers of the two, and takes as long as their points are apart. Domains have
equally many routers, but for those left over, which the first domains get. Cost: O(domains² + routers of a domain²).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siftcast.underlay.network import Network
from siftcast.underlay.parameters import require, require_count
from siftcast.underlay.waxman import Waxman


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Domains of routers, each level a growing Waxman graph."""

    domains: int = 40
    routers: int = 1_640
    links_per_router: int = 2
    beta: float = 0.2
    side_km: float = 1_000.0
    domain_side_km: float = 50.0

    def __post_init__(self) -> None:
        require_count("domains", self.domains, least=2)
        require_count("routers", self.routers, least=2 * self.domains)
        require_count("links_per_router", self.links_per_router, least=1)
        require("beta", self.beta, least=1e-3)
        require("side_km", self.side_km, least=1e-9)
        require("domain_side_km", self.domain_side_km, least=1e-9)

    def build(self, rng: np.random.Generator) -> Network:
        """Draws a network."""
        sizes = np.full(self.domains, self.routers // self.domains)
        sizes[: self.routers % self.domains] += 1
        first = np.concatenate(([0], np.cumsum(sizes)))
        between = self._level(self.domains, self.side_km).build(rng)
        tails, heads, latencies, kinds = [], [], [], []
        for tail, head, latency in zip(between.tails, between.heads, between.latencies_ms, strict=True):
            tails.append(int(first[tail] + rng.integers(sizes[tail])))
            heads.append(int(first[head] + rng.integers(sizes[head])))
            latencies.append(float(latency))
            kinds.append("inter-domain")
        for domain, size in enumerate(sizes.tolist()):
            within = self._level(size, self.domain_side_km).build(rng)
            tails += (within.tails + first[domain]).tolist()
            heads += (within.heads + first[domain]).tolist()
            latencies += within.latencies_ms.tolist()
            kinds += ["intra-domain"] * within.links
        return Network(
            routers=self.routers,
            tails=np.array(tails, dtype=np.int64),
            heads=np.array(heads, dtype=np.int64),
            latencies_ms=np.array(latencies, dtype=np.float64),
            router_kinds=np.full(self.routers, "router"),
            link_kinds=np.array(kinds),
            domains=np.repeat(np.arange(self.domains), sizes),
        )

    def _level(self, routers: int, side_km: float) -> Waxman:
        return Waxman(routers, min(self.links_per_router, routers - 1), self.beta, side_km)
