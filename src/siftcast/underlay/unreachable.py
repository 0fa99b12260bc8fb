"""Pairs of servers that cannot reach each other, as firewalls and broken peerings leave them on real networks.

Each pair is cut with the same chance, in both directions, and for good. Servers are first put in a random chain whose
neighbours always reach each other, so that nobody is cut off from everyone and whoever relays can reach all. Rejected:
drawing until all hang together, which never ends where the share is high.

Cost: a byte for each pair of servers, in each direction.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from siftcast.underlay.parameters import require, require_count

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Which servers cannot reach which: one row for each server, a byte for each other, 1 where nothing passes."""

    rows: tuple[bytes, ...]

    @classmethod
    def drawn(cls, servers: int, share: float, rng: np.random.Generator) -> Unreachable:
        """About this share of all pairs, but none of a random chain of all servers."""
        require_count("servers", servers, least=1)
        require("unreachable", share, least=0, most=1)
        cut = np.zeros((servers, servers), dtype=np.uint8)
        for server in range(servers):
            cut[server, server + 1 :] = rng.random(servers - server - 1) < share
        cut |= cut.T
        chain = rng.permutation(servers)
        cut[chain[:-1], chain[1:]] = cut[chain[1:], chain[:-1]] = 0
        return cls(tuple(row.tobytes() for row in cut))

    @property
    def pairs(self) -> int:
        """How many pairs cannot reach each other."""
        return sum(row.count(1) for row in self.rows) // 2

    def cuts(self, a: int, b: int) -> bool:
        """Whether nothing gets through between two servers."""
        return self.rows[a][b] == 1

    def way(self, a: int, b: int) -> list[int]:
        """From one server to another by the fewest others between, each of which reaches the next."""
        before, found = {a: a}, deque([a])
        while found and b not in before:
            server = found.popleft()
            near = [other for other, cut in enumerate(self.rows[server]) if not cut and other not in before]
            before.update(dict.fromkeys(near, server))
            found.extend(near)
        way = [b]
        while way[-1] != a:
            way.append(before[way[-1]])
        return way[::-1]

    def avoided(self, latencies_ms: Floats) -> Floats:
        """Latencies for who makes a plan: pairs that cannot reach each other are farther than any way around.

        Not infinitely far, because plans compare sums of latencies.
        """
        cut = np.stack([np.frombuffer(row, dtype=np.uint8) for row in self.rows]) == 1
        way_around_ms = max(float(latencies_ms.max(initial=0.0)), 1.0) * len(self.rows)
        return np.where(cut, way_around_ms, latencies_ms)
