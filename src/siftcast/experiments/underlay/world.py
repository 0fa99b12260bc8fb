"""Peers on a physical network, as the chapter on underlays sets them up (thesis, section 4.6.1): delays and routes.

    waxman        1,640 routers (BRITE, flat)
    transit-stub  1,584 routers (GT-ITM); peers at routers of stub domains
    multi-level   1,640 routers in 40 domains (BRITE, top-down)

Peers have last miles of 5 to 10 % of the mean delay of a link (`LINK`) or, as the text says literally, of "the average
delay between all the routers" (`PAIR`). A route is the sequence of routers from one peer's to another's; it is the
shortest path, and back it is reversed. A router that does not answer is anonymous: a traceroute shows that somebody is
there, and not who.

Cost: the square of the routers, in time and memory (1,640: one second, 40 MB).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from siftcast.underlay.hierarchy import Hierarchy
from siftcast.underlay.network import Network
from siftcast.underlay.transit_stub import TransitStub
from siftcast.underlay.waxman import Waxman

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Route = tuple[int, ...]
"""Routers from one peer to another. Those that are anonymous have numbers below zero."""

GROUNDS = ("waxman", "transit-stub", "multi-level")
LINK, PAIR = "link", "pair"
LAST_MILE = (0.05, 0.10)


def draw_network(ground: str, rng: np.random.Generator, *, routers: int = 0) -> Network:
    """A network of the chapter, or a smaller one of its kind."""
    if ground == "waxman":
        return Waxman(routers=routers or 1_640).build(rng)
    if ground == "multi-level":
        domains = max(2, round(((routers or 1_640) / 41) ** 0.5)) if routers else 40
        return Hierarchy(domains=domains, routers=routers or 1_640).build(rng)
    if routers:
        return TransitStub(2, 3, 3, max(1, (routers // 6 - 1) // 3), links=None).build(rng)
    return TransitStub.underlay_chapter().build(rng)


class Matrix:
    """Hosts of which only the delays between them are known: no routers, no routes."""

    def __init__(self, delays_ms: Floats) -> None:
        self.delays_ms = delays_ms
        self.peers = len(delays_ms)
        self.last_miles_ms = np.zeros(self.peers)


class World:
    """Peers 0 … n - 1 at routers, how far they are from each other, and the routes between them."""

    def __init__(
        self,
        network: Network,
        places: Sequence[int],
        last_miles_ms: Floats,
        *,
        anonymous: frozenset[int] = frozenset(),
    ) -> None:
        self.network = network
        self.places = np.asarray(places, dtype=np.int64)
        self.last_miles_ms = last_miles_ms
        self.peers = len(self.places)
        self.anonymous = anonymous
        self._aliases = 0
        starts, self._rows = np.unique(self.places, return_inverse=True)
        self._distances, self._before = dijkstra(
            _graph_of(network), directed=False, indices=starts, return_predecessors=True
        )

    @classmethod
    def draw(
        cls,
        ground: str,
        peers: int,
        seed: int,
        *,
        last_mile: str = LINK,
        anonymous: float = 0.0,
        routers: int = 0,
    ) -> World:
        """A network and peers on it, from a seed."""
        rng = np.random.default_rng([seed, peers, 4])
        network = draw_network(ground, rng, routers=routers)
        kinds = network.router_kinds
        candidates = np.flatnonzero(kinds == "stub") if ground == "transit-stub" else np.arange(network.routers)
        places = np.concatenate([rng.permutation(candidates) for _ in range(-(-peers // len(candidates)))])[:peers]
        silent = rng.random(network.routers) < anonymous
        world = cls(network, places.tolist(), np.zeros(peers), anonymous=frozenset(np.flatnonzero(silent).tolist()))
        mean = network.latencies_ms.mean() if last_mile == LINK else _mean_distance(network)
        world.last_miles_ms = rng.uniform(*LAST_MILE, peers) * mean
        return world

    @cached_property
    def router_ms(self) -> Floats:
        """Delays between the routers of peers."""
        found: Floats = self._distances[np.ix_(self._rows, self.places)]
        return found

    @cached_property
    def delays_ms(self) -> Floats:
        """Delays between peers, last miles included; 0 from a peer to itself."""
        found = self.router_ms + self.last_miles_ms[:, None] + self.last_miles_ms[None, :]
        np.fill_diagonal(found, 0.0)
        return found

    @property
    def hops(self) -> Integers:
        """How many links a message crosses from one peer to another, last miles included."""
        return self._all_routes[0]

    @property
    def links_between_all(self) -> frozenset[tuple[int, int]]:
        """The physical links that the routes between all peers cross."""
        return self._all_routes[1]

    @cached_property
    def _all_routes(self) -> tuple[Integers, frozenset[tuple[int, int]]]:
        """All routes are followed back at once, a link further in each round."""
        crossed = np.zeros((self.network.routers, self.network.routers), dtype=np.bool_)
        counts = np.full((self.peers, self.peers), 2, dtype=np.int64)
        np.fill_diagonal(counts, 0)
        sources, targets = (each.ravel() for each in np.indices(counts.shape))
        at = self.places[targets]
        while True:
            onward = at != self.places[sources]
            if not onward.any():
                break
            sources, targets, at = sources[onward], targets[onward], at[onward]
            above = self._before[self._rows[sources], at].astype(np.int64)
            counts[sources, targets] += 1
            crossed[at, above] = True
            at = above
        ends = np.nonzero(np.triu(crossed | crossed.T))
        return counts, frozenset(zip(ends[0].tolist(), ends[1].tolist(), strict=True))

    def route(self, source: int, target: int) -> Route:
        """The routers on the way, the first and the last included."""
        start, at = int(self.places[source]), int(self.places[target])
        before = self._before[self._rows[source]]
        found = [at]
        while at != start:
            at = int(before[at])
            found.append(at)
        return tuple(reversed(found))

    def traced(self, source: int, target: int) -> Route:
        """What a traceroute shows: anonymous routers look like new ones each time."""
        if not self.anonymous:
            return self.route(source, target)
        shown = []
        for router in self.route(source, target):
            if router in self.anonymous:
                self._aliases -= 1
                shown.append(self._aliases)
            else:
                shown.append(router)
        return tuple(shown)

    def links_of(self, source: int, target: int) -> set[tuple[int, int]]:
        """The physical links between routers that a route crosses."""
        route = self.route(source, target)
        return {(min(pair), max(pair)) for pair in pairwise(route)}


def _graph_of(network: Network) -> csr_array:
    return csr_array(
        (np.maximum(network.latencies_ms, 1e-9), (network.tails, network.heads)),
        shape=(network.routers, network.routers),
    )


def _mean_distance(network: Network) -> float:
    """The average delay between all routers."""
    return float(dijkstra(_graph_of(network), directed=False).sum() / (network.routers * (network.routers - 1)))
