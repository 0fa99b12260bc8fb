"""Waxman's random graph, grown as BRITE grows it: near routers are more likely to be linked than far ones.

Routers are random points of a square. They join one after the other, and each links to `links_per_router` of those
already there, drawn with weight exp(-distance / (beta · diagonal)). Waxman's other parameter, alpha, scales all weights
alike and so decides nothing in a growing graph; BRITE asks for it and needs it only to reject candidates faster.
Growth makes the network connected by construction; rejected: the classical form, which draws every pair separately
and leaves islands. A latency is the distance at the speed of light, as in BRITE: 1,000 km take 3.3 ms.

The defaults are BRITE's own, at the size of the underlay chapter of the thesis (1,640 routers, 3,277 links).
Cost: O(routers²) time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siftcast.underlay.network import Network
from siftcast.underlay.parameters import require, require_count

LIGHT_KM_A_MS = 299.792458


@dataclass(frozen=True, slots=True)
class Waxman:
    """A growing Waxman graph on a square of this side."""

    routers: int = 1_640
    links_per_router: int = 2
    beta: float = 0.2
    side_km: float = 1_000.0

    def __post_init__(self) -> None:
        require_count("routers", self.routers, least=2)
        require_count("links_per_router", self.links_per_router, least=1, most=self.routers - 1)
        require("beta", self.beta, least=1e-3)
        require("side_km", self.side_km, least=1e-9)

    def build(self, rng: np.random.Generator) -> Network:
        """Draws a network."""
        points = rng.random((self.routers, 2)) * self.side_km
        scale = self.beta * self.side_km * np.sqrt(2.0)
        links: list[tuple[int, int, float]] = []
        for router in range(1, self.routers):
            distances = np.sqrt(((points[:router] - points[router]) ** 2).sum(axis=1))
            # Weights relative to the nearest router, so that they never all round to 0.
            weights = np.exp((distances.min() - distances) / scale)
            # Of routers too far to have any weight left none can be drawn; the nearest always can.
            wanted = min(self.links_per_router, int(np.count_nonzero(weights)))
            chosen = rng.choice(router, size=wanted, replace=False, p=weights / weights.sum())
            links.extend((int(other), router, float(distances[other]) / LIGHT_KM_A_MS) for other in chosen)
        return Network.of(self.routers, links)
