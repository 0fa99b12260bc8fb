"""How far servers are apart, kept for pairs of routers instead of pairs of servers.

Servers at one router with access links of one latency are a *class*: they are equally far from everybody. So a matrix
of the classes is enough, and there are at most as many of these as routers where all access links are alike:

    server 7 ─┐                                        latency(7, 9) = matrix[class(7), class(9)]
    server 8 ─┴ class 3 = (router 12, 1.0 ms)          ten thousand servers on 2,500 routers: 50 MB instead of 800

Where nearly every server has an access latency of its own, a class is a router, and both access latencies are added.

A latency is the sum of its links in the order of the route from a server, as if searched from that server. Where links
are alike in both directions, their sums may still differ in the last bit, and the smaller one is it. So it does not
depend on what is kept. Access links are always alike in both directions.

Cost: Dijkstra from each class (scipy; 2 s for 2,500 of them), at the first question; the square of the classes in
memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_BLOCK = 256
_CLASSES_A_ROUTER_MAX = 2


class ServerLatencies:
    """Latencies between servers at routers; `links` are those of the routers, `access_ms` None without access links."""

    def __init__(self, links: csr_array, places: Integers, access_ms: Floats | None, *, symmetric: bool) -> None:
        access = np.zeros(len(places)) if access_ms is None else access_ms
        used, router_classes = np.unique(places, return_inverse=True)
        pairs, classes = np.unique(np.stack((places, access), axis=1), axis=0, return_inverse=True)
        self._links = links
        self._is_symmetric = symmetric
        self._has_access = access_ms is not None
        self._access: Floats
        self._rest: Floats | None
        if len(pairs) <= _CLASSES_A_ROUTER_MAX * len(used):
            self._places, self._access = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.float64)
            self._classes, self._rest = classes.reshape(-1), None
        else:
            self._places, self._access = used, np.zeros(len(used))
            self._classes, self._rest = router_classes.reshape(-1), access

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_cells"}  # which cannot be pickled

    @property
    def are_of_whole_routes(self) -> bool:
        """Whether each latency is, to the last bit, what a search from its server finds; otherwise parts are added."""
        return self._rest is None

    def between(self, a: int, b: int) -> float:
        """From server a to server b."""
        return self.from_server(a)(b)

    def from_server(self, a: int) -> Callable[[int], float]:
        """From server a to each other, by its number."""
        cells, places, rest = self._cells
        start = places[a] * len(self._places)
        if rest is None:
            return lambda b: cells[start + places[b]] if a != b else 0.0
        begun = rest[a]
        return lambda b: cells[start + places[b]] + begun + rest[b] if a != b else 0.0

    def matrix(self) -> Floats:
        """From each server (row) to each other (column): a number for each pair, so only for those who need all."""
        between: Floats = self._matrix[np.ix_(self._classes, self._classes)]
        if self._rest is not None:
            between += self._rest[:, None] + self._rest[None, :]
        np.fill_diagonal(between, 0.0)
        between.flags.writeable = False
        return between

    @cached_property
    def _cells(self) -> tuple[memoryview, list[int], list[float] | None]:
        """The matrix row after row, the class of each server, and what is added: all quick to ask for one number."""
        cells = memoryview(self._matrix.reshape(-1).data)
        return cells, self._classes.tolist(), None if self._rest is None else self._rest.tolist()

    @cached_property
    def _matrix(self) -> Floats:
        """From each class to each other."""
        count = len(self._places)
        found = np.empty((count, count))
        graph, sources = self._with_sources()
        for start in range(0, count, _BLOCK):
            block = sources[start : start + _BLOCK]
            found[start : start + _BLOCK] = dijkstra(graph, indices=block)[:, self._places]
        found += self._access[None, :]
        return np.minimum(found, found.T) if self._is_symmetric else found

    def _with_sources(self) -> tuple[csr_array, Integers]:
        """The routers, and for each class a node from which its router is reached over its access link, and no other.

        Only where there are access links: a search must begin with them, so that sums are those of whole routes.
        """
        if not self._has_access or self._rest is not None:
            return self._links, self._places
        routers, count = self._links.shape[0], len(self._places)
        graph = csr_array(
            (
                np.concatenate((self._links.data, self._access)),
                np.concatenate((self._links.indices, self._places)),
                np.concatenate((self._links.indptr, self._links.indptr[-1] + np.arange(1, count + 1))),
            ),
            shape=(routers + count, routers + count),
        )
        return graph, routers + np.arange(count)
