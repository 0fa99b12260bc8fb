"""An underlay from measured latencies between servers, without routers.

One arc leads from each server to each other, and it is the route, even where a detour over a third server would be
quicker: measured networks break the triangle inequality, and a message still goes the way the network sends it.
The two directions of a pair may differ. Arcs are numbered as everywhere: the pairs (0, 1), (0, 2) … (1, 2) … are the
links 0, 1, 2 …, arc 2l leads to the server of the higher number and arc 2l + 1 back.

Cost: O(servers²) memory, which the matrix has anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from siftcast.model.errors import UnderlayError
from siftcast.underlay.underlay import Arcs, Underlay

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class MeasuredUnderlay(Underlay):
    """Servers whose latencies are given; every route is one arc."""

    def __init__(self, latencies_ms: npt.ArrayLike) -> None:
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
        super().__init__(arcs, routers=0, server_nodes=np.arange(len(matrix)))
        matrix.flags.writeable = False
        self._matrix = matrix

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

    def multicast_arcs(self, source: int, destinations: Iterable[int]) -> Integers:
        """One arc to each destination: without routers no two routes share anything."""
        crossed = {arc for destination in destinations for arc in self.route(source, destination)}
        return np.array(sorted(crossed), dtype=np.int64)
