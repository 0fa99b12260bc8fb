"""Trees over the discovery overlay that events take (section 4.5), and what they cost.

    core tree     p ─▶ its core ─▶ the other's core ─▶ q; cores joined by the shortest paths of the first one
                  (`ONE_TREE`) or by those between any two (`ALL_PAIRS`)
    MST           the tree of least delay
    OPT           from each publisher on shortest paths

The cost of section 4.2, Σ Υ(i, j)·d(i, j), counts a link once for each subscriber behind it: it is the sum of the path
delays of all deliveries. Messages that are merged on a link are `crossings`, which that cost hides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra, minimum_spanning_tree

from siftcast.experiments.underlay.interests import Interests
from siftcast.experiments.underlay.quality import graph_of
from siftcast.space.core_scores import (
    nearest_votes,
    path_counts,
    path_sums,
    potentials,
)

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Befores = npt.NDArray[np.int32]
ONE_TREE, ALL_PAIRS = "one tree", "all pairs"


Link = tuple[int, int]


class Ways:
    """Between any two peers the delay and the links, on shortest paths in some graph."""

    def __init__(self, graph: csr_array) -> None:
        self.delays_ms: Floats
        self.delays_ms, self._before = dijkstra(graph, directed=False, return_predecessors=True)

    def links(self, source: int, target: int) -> Iterator[Link]:
        """The links on the way, the last one first."""
        yield from _back(self._before[source], target)

    def shared_links(self, source: int, targets: list[int]) -> set[Link]:
        """The links on the ways to some others, each once."""
        return _all_back(self._before[source].tolist(), targets)


class CoreWays(Ways):
    """The same through cores: within a cell over its tree, between cells from core to core."""

    def __init__(self, forest: csr_array, cores: list[int], relay: Integers, between: Floats, joined: Befores) -> None:
        super().__init__(forest)
        self._cores, self._relay, self._joined = cores, relay, joined
        self._own = np.array([cores[each] for each in relay])
        up = self.delays_ms[np.arange(len(relay)), self._own]
        across = up[:, None] + between[relay][:, self._own] + up[None, :]
        self._is_inside = np.isfinite(self.delays_ms)
        self.delays_ms = np.where(self._is_inside, self.delays_ms, across)

    def links(self, source: int, target: int) -> Iterator[Link]:
        if self._is_inside[source, target]:
            yield from super().links(source, target)
            return
        yield from _back(self._before[self._own[target]], target)
        yield from _back(self._joined[self._relay[source]], int(self._own[target]))
        yield from _back(self._before[self._own[source]], source)

    def shared_links(self, source: int, targets: list[int]) -> set[Link]:
        is_inside = self._is_inside[source]
        outside = [target for target in targets if not is_inside[target]]
        found = super().shared_links(source, [target for target in targets if is_inside[target]])
        if not outside:
            return found
        cells: dict[int, list[int]] = {}
        for target in outside:
            cells.setdefault(int(self._own[target]), []).append(target)
        for core, inside in cells.items():
            found |= super().shared_links(core, inside)
        found |= _all_back(self._joined[self._relay[source]].tolist(), list(cells))
        return found | super().shared_links(int(self._own[source]), [source])

    def all_links(self) -> set[Link]:
        """The links on the ways of all pairs: those of the cells, and those from core to core."""
        inside = {link for peer, own in enumerate(self._own) for link in _back(self._before[own], peer)}
        return inside.union(*(_back(row, core) for row in self._joined for core in self._cores))


def _back(before: npt.NDArray[np.int32], target: int) -> Iterator[Link]:
    while (above := int(before[target])) >= 0:
        yield (above, target) if above < target else (target, above)
        target = above


def _all_back(before: list[int], targets: list[int]) -> set[Link]:
    """The links from all targets back to the source; a way ends where it meets one that was gone before."""
    found: set[Link] = set()
    seen: set[int] = set()
    for target in targets:
        at = target
        while at not in seen:
            seen.add(at)
            above = before[at]
            if above < 0:
                break
            found.add((above, at) if above < at else (at, above))
            at = above
    return found


class Ground:
    """An overlay with weights on its links: delay, and β times the dissimilarity of interests."""

    def __init__(self, delays: Floats, links: set[Link], interests: Interests, beta: float) -> None:
        self.peers = len(delays)
        self.links = links
        self.interests = interests
        mean = float(np.mean([delays[one, other] for one, other in self.links]))
        self.near_delays: dict[int, dict[int, float]] = {peer: {} for peer in range(self.peers)}
        self.near_weights: dict[int, dict[int, float]] = {peer: {} for peer in range(self.peers)}
        self.near_unlike: dict[int, dict[int, float]] = {peer: {} for peer in range(self.peers)}
        weights = np.zeros_like(delays)
        for one, other in self.links:
            unlike = 1.0 - interests.similarity(one, other)
            weight = float(delays[one, other]) + beta * mean * unlike
            weights[one, other] = weights[other, one] = weight
            for a, b in ((one, other), (other, one)):
                self.near_delays[a][b] = float(delays[one, other])
                self.near_weights[a][b] = weight
                self.near_unlike[a][b] = unlike
        self.by_delay = graph_of(self.links, delays)
        self.by_weight = graph_of(self.links, weights)

    def scores(self, strategy: str, rng: np.random.Generator) -> Floats:
        """How fit each peer is as a core, by one of the strategies."""
        match strategy:
            case "SPath":
                return -path_sums(self.by_weight)
            case "MaxPath":
                return path_counts(self.by_weight)
            case "CNeigh":
                return nearest_votes(self.near_weights, self.peers)
            case "SPotent":
                return potentials(self.near_weights, self.near_delays, self.peers)
            case "Sim":
                return nearest_votes(self.near_unlike, self.peers)
            case _:
                return rng.random(self.peers)

    # -- ways ------------------------------------------------------------------------------------------------

    def core_ways(self, cores: list[int], joined: str) -> CoreWays:
        """Through some cores; the first is the root."""
        count = len(cores)
        weights, before = dijkstra(self.by_weight, directed=False, indices=cores, return_predecessors=True)
        relay = np.argmin(weights, axis=0)
        relay[cores] = np.arange(count)
        own = set(cores)
        cells = [(peer, int(before[relay[peer], peer])) for peer in range(self.peers) if peer not in own]
        if joined == ONE_TREE:
            root = self._delays_on([(peer, int(up)) for peer, up in enumerate(before[0]) if up >= 0])
            between, before = dijkstra(root, directed=False, indices=cores, return_predecessors=True)
        else:
            between = self._along(weights, before)
        return CoreWays(self._delays_on(cells), cores, relay, between, before)

    def core_weights(self, cores: list[int]) -> Floats:
        """The least weight from each of some cores to each peer."""
        found: Floats = dijkstra(self.by_weight, directed=False, indices=cores)
        return found

    def _along(self, weights: Floats, before: Befores) -> Floats:
        """Delays of the paths of least weight from each core."""
        found = np.zeros_like(weights)
        for row, above in enumerate(before):
            for peer in np.argsort(weights[row], kind="stable").tolist():
                up = int(above[peer])
                if up >= 0:
                    found[row, peer] = found[row, up] + self.near_delays[up][peer]
        return found

    def spanning_ways(self) -> Ways:
        """Over the tree of least delay."""
        return Ways(minimum_spanning_tree(self.by_delay))

    def shortest_ways(self) -> Ways:
        """From each publisher on its own shortest paths."""
        return Ways(self.by_delay)

    def _delays_on(self, edges: list[Link]) -> csr_array:
        pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
        found = np.array([self.near_delays[one][other] for one, other in edges])
        return csr_array((np.maximum(found, 1e-9), (pairs[:, 0], pairs[:, 1])), shape=(self.peers, self.peers))


@dataclass(frozen=True, slots=True)
class Crossings:
    """What some events cause: links crossed, each once per event, and the delays of these; deliveries."""

    messages: int
    delays_ms: float
    deliveries: int
    physical: int
    """Links between routers, and to peers, that these messages cross; 0 where no routes are known."""


def crossings(ground: Ground, ways: Ways, events: int, hops: Integers | None = None) -> Crossings:
    """Messages of the first events, where copies for several subscribers share a link."""
    crossed = deliveries = physical = 0
    delays_ms = 0.0
    interests, near = ground.interests, ground.near_delays
    for row in range(events):
        publisher = int(interests.publishers[row])
        targets = [each for each in np.flatnonzero(interests.matches[row]).tolist() if each != publisher]
        links = ways.shared_links(publisher, targets)
        deliveries += len(targets)
        crossed += len(links)
        delays_ms += sum(near[one][other] for one, other in links)
        if hops is not None:
            physical += sum(int(hops[one, other]) for one, other in links)
    return Crossings(crossed, delays_ms, deliveries, physical)
