"""An underlay: servers on a physical network, how far apart they are, and over which arcs a message travels.

Every link is two arcs: link l from tail to head is arc 2l, back it is arc 2l + 1. The links of the routers come
first, in the order of the network, then one access link per server (arc 2l leads from the server to its router).
Numbers of arcs are therefore the same for every attachment of one network, and per-arc counts are plain arrays.

    server ──access──▶ router ──▶ router ──access──▶ server
    node: routers + s                                       nodes: routers first, then servers

A route is the shortest path by latency. Ties are broken by the search in one fixed way, so a route never changes;
all routes from one server form a tree, which makes IP multicast (routes from the source, merged) a union of arcs.
A route there need not be the route back reversed where two paths are equally long, and least of all where the two
directions of a link differ (`with_asymmetry`): then routes are searched, and latencies kept, by direction.

An underlay may also come from measured latencies and has no routers then: see `measured.py`.

Cost: latencies are in `latencies.py`, and take the square of the routers. Routes are searched when they are asked for,
from a few servers at a time (Dijkstra of scipy; 0.2 s for 500 servers on 2,500 routers), and take 4 bytes a node and
source. Measured beside rustworkx, which needs 0.5 s for the same. A route is then a walk of its own length. Where all
latencies are wanted of a network that is not large, the same search finds the routes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from siftcast.model.errors import UnderlayError
from siftcast.underlay.hops import Hops
from siftcast.underlay.latencies import ServerLatencies
from siftcast.underlay.parameters import require
from siftcast.underlay.unreachable import Unreachable

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_LEAN_MAX = 0.5
"""How much of its latency a link may lose in one direction and have more in the other."""
_SEARCHED_TOGETHER = 16
_SEARCHED_AT_ONCE_MAX = 4_000_000
"""Routes to so many nodes, summed over the sources, may be kept although nobody has asked for them yet."""


@dataclass(frozen=True, slots=True)
class Arcs:
    """The directed arcs of an underlay, one entry each; arc i runs from node tail[i] to node head[i]."""

    tail: Integers
    head: Integers
    latency_ms: Floats
    is_access: Flags

    def __len__(self) -> int:
        return len(self.tail)

    @classmethod
    def both_ways(cls, tails: Integers, heads: Integers, latencies_ms: Floats, is_access: Flags) -> Arcs:
        """Two arcs a link: 2l from tail to head, 2l + 1 back."""
        return cls(
            tail=np.stack((tails, heads), axis=1).ravel(),
            head=np.stack((heads, tails), axis=1).ravel(),
            latency_ms=np.repeat(latencies_ms, 2),
            is_access=np.repeat(is_access, 2),
        )


class Underlay:
    """Servers 0 … servers - 1 on a network: latencies, routes, arcs."""

    unreachable: Unreachable | None = None
    """Between which servers nothing gets through, whatever their latency; None if all reach all."""
    server_names: tuple[str, ...] = ()
    """What people call the servers; none where they have numbers only."""

    def __init__(self, arcs: Arcs, routers: int, server_nodes: Integers, router_names: tuple[str, ...] = ()) -> None:
        self.arcs = arcs
        self.routers = routers
        self.router_names = router_names or tuple(f"router-{number}" for number in range(routers))
        self.servers = len(server_nodes)
        self._server_nodes = server_nodes
        self._route_memo: dict[tuple[int, int], tuple[int, ...]] = {}
        self._tree_memo: dict[int, npt.NDArray[np.int32]] = {}

    @classmethod
    def over_routers(
        cls,
        routers: int,
        tails: Integers,
        heads: Integers,
        latencies_ms: Floats,
        places: Integers,
        access_ms: Floats | None,
        router_names: tuple[str, ...] = (),
    ) -> Underlay:
        """Servers at the routers `places`, over access links of these latencies, or being routers themselves."""
        if access_ms is None:
            links = Arcs.both_ways(tails, heads, latencies_ms, np.zeros(len(tails), dtype=np.bool_))
            return cls(links, routers, places, router_names)
        nodes = routers + np.arange(len(places))
        is_access = np.repeat((False, True), (len(tails), len(places)))
        arcs = Arcs.both_ways(
            np.concatenate((tails, nodes)),
            np.concatenate((heads, places)),
            np.concatenate((latencies_ms, access_ms)),
            is_access,
        )
        return cls(arcs, routers, nodes, router_names)

    def with_asymmetry(self, share: float, rng: np.random.Generator) -> Underlay:
        """The same, but this share of the links between routers is slower in one direction than in the other.

        What one direction has more, the other has less, so that a round trip over the link takes as long as before.
        """
        require("asymmetry", share, least=0, most=1)
        links = np.flatnonzero(~self.arcs.is_access[::2])
        chosen = rng.permutation(links)[: round(share * len(links))]
        lean = rng.uniform(-_LEAN_MAX, _LEAN_MAX, len(chosen))
        latency_ms = self.arcs.latency_ms.copy()
        latency_ms[2 * chosen] *= 1 + lean
        latency_ms[2 * chosen + 1] *= 1 - lean
        arcs = replace(self.arcs, latency_ms=latency_ms)
        leaning = Underlay(arcs, self.routers, self._server_nodes, self.router_names)
        leaning.unreachable, leaning.server_names = self.unreachable, self.server_names
        return leaning

    def with_unreachable(self, share: float, rng: np.random.Generator) -> Underlay:
        """The same, but between about this share of all pairs of servers nothing gets through."""
        parted = copy.copy(self)
        parted.unreachable = Unreachable.drawn(self.servers, share, rng) if share else None
        return parted

    @property
    def is_symmetric(self) -> bool:
        """Whether every link takes as long in both directions."""
        return np.array_equal(self.arcs.latency_ms[::2], self.arcs.latency_ms[1::2])

    @property
    def server_routers(self) -> Integers:
        """The router of each server (the server itself where there are no access links)."""
        if not self.arcs.is_access.any():
            return self._server_nodes
        return self.arcs.head[self.arcs.is_access][::2]

    def latency_ms(self, a: int, b: int) -> float:
        """How long a message takes from server a to server b, access links included."""
        return self._latencies.between(self._checked(a), self._checked(b))

    def latency_from(self, a: int) -> Callable[[int], float]:
        """The latencies from server a, by the number of the other: for those who ask often, and for servers only."""
        return self._latencies.from_server(a)

    @cached_property
    def latencies_ms(self) -> Floats:
        """The latency from each server (row) to each other (column): as large as that is, so only if all are needed."""
        if self._latencies.are_of_whole_routes and self.servers * self._whole[0].shape[0] <= _SEARCHED_AT_ONCE_MAX:
            distances = self._search(range(self.servers))[:, self._server_nodes]
            # Where both ways are the same links, the order in which they are added must make no difference.
            between: Floats = np.minimum(distances, distances.T) if self.is_symmetric else distances
            between.flags.writeable = False
            return between
        return self._latencies.matrix()

    def route(self, a: int, b: int) -> tuple[int, ...]:
        """The arcs a message crosses from server a to server b, in order; none from a server to itself."""
        known = self._route_memo.get((a, b))
        if known is not None:
            return known
        node = int(self._server_nodes[self._checked(b)])
        backwards = self._backwards(self._checked(a), node)
        route = self._route_memo[a, b] = tuple(backwards)[::-1]
        return route

    def hops(self, a: int, b: int) -> Hops:
        """The routers that a message passes from server a to server b, as a traceroute lists them."""
        route = self.route(a, b)[:-1]
        delays_ms = np.cumsum(self.arcs.latency_ms[list(route)]).tolist()
        passed = [
            (self.router_names[node], delay_ms)
            for node, delay_ms in zip(self.arcs.head[list(route)].tolist(), delays_ms, strict=True)
            if node < self.routers
        ]
        return Hops(tuple(name for name, _ in passed), tuple(delay_ms for _, delay_ms in passed))

    def routers_between(self, a: int, b: int) -> tuple[str | None, ...]:
        """The names of the routers that a message passes from server a to server b; None for those not known."""
        return self.hops(a, b).routers

    def multicast_arcs(self, source: int, destinations: Iterable[int]) -> Integers:
        """The arcs of all routes from a source, each once and ascending: IP multicast as merged unicast routes."""
        self._checked(source)
        crossed: set[int] = set()
        for destination in destinations:
            # Routes from one source form a tree: past an arc that is known, all the others are known too.
            for arc in self._backwards(source, int(self._server_nodes[self._checked(destination)])):
                if arc in crossed:
                    break
                crossed.add(arc)
        return np.array(sorted(crossed), dtype=np.int64)

    def _backwards(self, source: int, node: int) -> Iterator[int]:
        """The arcs of the route from a server to a node, the last one first."""
        if source not in self._tree_memo:
            first = source - source % _SEARCHED_TOGETHER
            self._search(range(first, min(first + _SEARCHED_TOGETHER, self.servers)))
        before, arcs = self._tree_memo[source].item, self._arc_between
        while (previous := before(node)) >= 0:
            yield arcs[previous, node]
            node = previous

    @cached_property
    def _arc_between(self) -> dict[tuple[int, int], int]:
        """The arc that is used from one node to another."""
        best = self._whole[1]
        ends = zip(self.arcs.tail[best].tolist(), self.arcs.head[best].tolist(), strict=True)
        return dict(zip(ends, best.tolist(), strict=True))

    @cached_property
    def _latencies(self) -> ServerLatencies:
        is_link = ~self.arcs.is_access
        graph = _graph_of(self.arcs, np.flatnonzero(is_link), max(self.routers, self.servers))[0]
        access_ms = self.arcs.latency_ms[self.arcs.is_access][::2] if self.arcs.is_access.any() else None
        return ServerLatencies(graph, self.server_routers, access_ms, symmetric=self.is_symmetric)

    @cached_property
    def _whole(self) -> tuple[csr_array, Integers]:
        """All nodes, and the arcs that are used between them."""
        last = max(self.arcs.tail.max(initial=0), self.arcs.head.max(initial=0), self._server_nodes.max())
        return _graph_of(self.arcs, np.arange(len(self.arcs)), int(last) + 1)

    def _search(self, sources: range) -> Floats:
        """Finds the routes from some servers to all nodes: keeps the node before each, and returns the latencies."""
        distances: Floats
        distances, before = dijkstra(self._whole[0], indices=self._server_nodes[sources], return_predecessors=True)
        self._tree_memo.update(zip(sources, before, strict=True))
        return distances

    def _checked(self, server: int) -> int:
        if not 0 <= server < self.servers:
            raise UnderlayError(f"there is no server {server}; servers are numbered 0 … {self.servers - 1}")
        return server


def _graph_of(arcs: Arcs, chosen: Integers, nodes: int) -> tuple[csr_array, Integers]:
    """Some arcs as a graph, and those of them that are used.

    Of parallel arcs the quickest is used, and the first of equals.
    """
    tail, head, latency_ms = arcs.tail[chosen], arcs.head[chosen], arcs.latency_ms[chosen]
    order = np.lexsort((np.arange(len(chosen)), latency_ms, head, tail))
    keys = tail[order] * nodes + head[order]
    first = np.concatenate(([True], keys[1:] != keys[:-1])) if len(keys) else np.zeros(0, dtype=np.bool_)
    best = chosen[order[first]]
    starts = np.searchsorted(arcs.tail[best], np.arange(nodes + 1))
    graph = csr_array((arcs.latency_ms[best], arcs.head[best], starts), shape=(nodes, nodes))
    return graph, best
