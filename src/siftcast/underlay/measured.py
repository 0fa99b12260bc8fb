"""An underlay from measured latencies between servers, without routers.

One arc leads from each server to each other, and it is the route, even where a detour over a third server would be
quicker: measured networks break the triangle inequality, and a message still goes the way the network sends it.
The two directions of a pair may differ. Arcs are numbered as everywhere: the pairs (0, 1), (0, 2) … (1, 2) … are the
links 0, 1, 2 …, arc 2l leads to the server of the higher number and arc 2l + 1 back.

Routers may have been seen on the way (`hops`). They have names and delays but no arcs, since seeing them does not tell
which links two routes share.

Cost: O(servers²) memory, which the matrix has anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from siftcast.model.errors import UnderlayError
from siftcast.underlay.hops import UNAVAILABLE, Hops
from siftcast.underlay.underlay import Arcs, Underlay

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class MeasuredUnderlay(Underlay):
    """Servers whose latencies are given; every route is one arc.

    `names` are what people call the servers, and `hops` what is known of the routers between two of them.
    """

    def __init__(
        self,
        latencies_ms: npt.ArrayLike,
        *,
        names: Sequence[str] = (),
        hops: Mapping[tuple[int, int], Hops] | None = None,
    ) -> None:
        matrix = np.array(latencies_ms, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
            raise UnderlayError(f"latencies must be a square matrix, not of the shape {matrix.shape}")
        if not (np.isfinite(matrix).all() and (matrix >= 0).all()):
            raise UnderlayError("latencies must be finite numbers of milliseconds of at least 0")
        if matrix.diagonal().any():
            raise UnderlayError("the latency of a server to itself must be 0")
        lower, higher = np.triu_indices(len(matrix), 1)
        arcs = Arcs(
            tail=np.stack((lower, higher), axis=1).ravel(),
            head=np.stack((higher, lower), axis=1).ravel(),
            latency_ms=np.stack((matrix[lower, higher], matrix[higher, lower]), axis=1).ravel(),
            is_access=np.zeros(2 * len(lower), dtype=np.bool_),
        )
        self._hops = dict(hops or {})
        seen = {name for each in self._hops.values() for name in each.routers if name is not None}
        super().__init__(arcs, routers=0, server_nodes=np.arange(len(matrix)), router_names=tuple(sorted(seen)))
        matrix.flags.writeable = False
        self._matrix = matrix
        self.server_names = tuple(names)

    def first(self, servers: int) -> MeasuredUnderlay:
        """The first so many servers of it."""
        if not 1 <= servers <= self.servers:
            raise UnderlayError(f"{self.servers} servers were measured, so there can be 1 to {self.servers}")
        return MeasuredUnderlay(
            self._matrix[:servers, :servers],
            names=self.server_names[:servers],
            hops={ends: each for ends, each in self._hops.items() if max(ends) < servers},
        )

    def with_asymmetry(self, share: float, rng: np.random.Generator) -> MeasuredUnderlay:
        """Refused: how much the directions of a measured network differ was measured too."""
        raise UnderlayError("the directions of a measured network differ as they were measured")

    def latency_ms(self, a: int, b: int) -> float:
        """How long a message takes from server a to server b, as measured."""
        return float(self._matrix[self._checked(a), self._checked(b)])

    def latency_from(self, a: int) -> Callable[[int], float]:
        """The latencies from server a, by the number of the other."""
        row: list[float] = self._matrix[a].tolist()
        return row.__getitem__

    @cached_property
    def latencies_ms(self) -> Floats:
        """The latency from each server (row) to each other (column), as measured."""
        return self._matrix

    def route(self, a: int, b: int) -> tuple[int, ...]:
        """The one arc from server a to server b; none from a server to itself."""
        lower, higher = sorted((self._checked(a), self._checked(b)))
        if a == b:
            return ()
        link = lower * (2 * self.servers - lower - 1) // 2 + higher - lower - 1
        return (2 * link + (a > b),)

    def hops(self, a: int, b: int) -> Hops:
        """What was found out about the routers from server a to server b."""
        return self._hops.get((self._checked(a), self._checked(b)), UNAVAILABLE) if a != b else Hops()

    def multicast_arcs(self, source: int, destinations: Iterable[int]) -> Integers:
        """One arc to each destination: without routers no two routes share anything."""
        crossed = {arc for destination in destinations for arc in self.route(source, destination)}
        return np.array(sorted(crossed), dtype=np.int64)
