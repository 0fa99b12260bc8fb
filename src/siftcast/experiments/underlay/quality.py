"""How good an overlay is: the delay it adds, the links it loads, and the part of the underlay it has found (4.6.2).

    RDP       delay between two peers over the overlay beside that of their direct route; the ratio of the sums over
              all pairs, or the mean of the ratios
    stress    physical links crossed over the overlay beside those crossed directly, summed over all pairs

An overlay path pays the last miles of each peer in between twice; `rdp_routers` leaves those out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from siftcast.experiments.underlay.world import World

Floats = npt.NDArray[np.float64]
Links = Iterable[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Quality:
    """The measures of one overlay; `cut` is the share of pairs that it does not connect."""

    rdp: float
    rdp_mean: float
    rdp_routers: float
    stress: float
    cut: float
    discovered: float
    links: int


def graph_of(links: Links, weights: Floats) -> csr_array:
    """Links between peers with a weight each, from the weights of all pairs."""
    pairs = np.array(sorted(links), dtype=np.int64).reshape(-1, 2)
    found = np.maximum(weights[pairs[:, 0], pairs[:, 1]], 1e-9)
    return csr_array((found, (pairs[:, 0], pairs[:, 1])), shape=weights.shape)


def measure(world: World, links: Links, present: Iterable[int] | None = None) -> Quality:
    """What becomes of messages between all pairs of peers."""
    links = set(links)
    chosen = np.array(sorted(range(world.peers) if present is None else present), dtype=np.int64)
    delays = world.delays_ms
    over, before = dijkstra(graph_of(links, delays), directed=False, indices=chosen, return_predecessors=True)
    direct, ways = delays[np.ix_(chosen, chosen)], over[:, chosen]
    reached = np.isfinite(ways) & (direct > 0)
    ratios = ways[reached] / direct[reached]
    bare = dijkstra(graph_of(links, world.router_ms), directed=False, indices=chosen)[:, chosen]
    ends = direct - world.router_ms[np.ix_(chosen, chosen)]
    crossed = _hops_over(world, before, chosen)[reached].sum()
    found: set[tuple[int, int]] = set()
    for one, other in links:
        found |= world.links_of(one, other)
    return Quality(
        rdp=float(ways[reached].sum() / direct[reached].sum()),
        rdp_mean=float(ratios.mean()),
        rdp_routers=float((bare + ends)[reached].sum() / direct[reached].sum()),
        stress=float(crossed / world.hops[np.ix_(chosen, chosen)][reached].sum()),
        cut=cut_share(links, chosen, world.peers),
        discovered=len(found & world.links_between_all) / max(1, len(world.links_between_all)),
        links=len(links),
    )


def cut_share(links: Links, present: Iterable[int], peers: int) -> float:
    """The share of pairs of those present that no path joins."""
    chosen = np.array(list(present), dtype=np.int64)
    _, pieces = connected_components(graph_of(links, np.ones((peers, peers))), directed=False)
    sizes = np.bincount(pieces[chosen])
    return 1.0 - float((sizes * (sizes - 1)).sum()) / max(1, len(chosen) * (len(chosen) - 1))


def _hops_over(world: World, before: npt.NDArray[np.int32], chosen: npt.NDArray[np.int64]) -> Floats:
    """Physical links on each overlay path."""
    hops = world.hops
    found = np.zeros((len(chosen), len(chosen)))
    rows, columns = (each.ravel() for each in np.indices(found.shape))
    at = chosen[columns]
    while True:  # all paths are followed back at once, a link further in each round
        above = before[rows, at].astype(np.int64)
        onward = above >= 0
        if not onward.any():
            return found
        rows, columns, at, above = rows[onward], columns[onward], at[onward], above[onward]
        found[rows, columns] += hops[above, at]
        at = above


def nearest_links(
    delays_ms: Floats,
    count: int,
    rng: np.random.Generator,
    *,
    degree: int | None = None,
    present: Iterable[int] | None = None,
) -> set[tuple[int, int]]:
    """The baseline: each peer's nearest ones by the delays given, and a link to one drawn at random.

    With a degree limit the shortest links come first, which is what comes out if peers that have enough send the
    farthest away. The link at random counts for no limit.
    """
    chosen = np.array(sorted(range(len(delays_ms)) if present is None else present), dtype=np.int64)
    among = delays_ms[np.ix_(chosen, chosen)] + np.diag(np.full(len(chosen), np.inf))
    order = np.argsort(among, axis=1, kind="stable")[:, :count]
    wished = {(min(one, other), max(one, other)) for one, row in enumerate(order.tolist()) for other in row}
    taken = [0] * len(chosen)
    found: set[tuple[int, int]] = set()
    for one, other in sorted(wished, key=lambda link: (among[link], link)):
        if degree is None or max(taken[one], taken[other]) < degree:
            taken[one] += 1
            taken[other] += 1
            found.add((one, other))
    for one in range(len(chosen)):
        other = int(rng.integers(len(chosen)))
        if other != one:
            found.add((min(one, other), max(one, other)))
    names = chosen.tolist()
    return {(names[one], names[other]) for one, other in found}


def delay_ratio(delays_ms: Floats, links: Links) -> tuple[float, float]:
    """RDP and the share of pairs that are cut, where only delays are known."""
    over: Floats = dijkstra(graph_of(links, delays_ms), directed=False)
    reached = np.isfinite(over) & (delays_ms > 0)
    pairs = int((delays_ms > 0).sum())
    return float(over[reached].sum() / delays_ms[reached].sum()), 1.0 - int(reached.sum()) / max(1, pairs)
