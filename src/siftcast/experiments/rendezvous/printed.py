"""The rendezvous ring as printed (layering paper, 4.2), kept to show where it fails.

    subscription   one cluster t + r, r a random integer in [-H/2, H/2], with all of its nodes
    notification   H clusters from t - H/2 on, one random node of each

For even H there are H + 1 values of r and H clusters on the way, so one cluster is never visited. For odd H the bounds
are no integers: rounded towards zero on both sides all is well, and if the start of the walk is rounded down, as
integer division does, its last cluster is missed. Nothing keeps H below the number of clusters X, and a walk that goes
round twice meets what it has met.

A cluster is a range of identities, which are random: some ranges are empty. Each node estimates N by itself, and N
decides where clusters begin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor

import numpy as np
import numpy.typing as npt

from siftcast.model import Filter
from siftcast.space import ShardAxis
from siftcast.space.ring_plan import Place
from siftcast.space.shard_axes import InterestReader, cut_value

Integers = npt.NDArray[np.int64]


def shifts(hops: int) -> range:
    """The values of r, as printed."""
    return range(ceil(-hops / 2), floor(hops / 2) + 1)


def first_shift(hops: int, *, floored: bool) -> int:
    """Where a walk begins, seen from t, as printed; floored or rounded towards zero."""
    return floor(-hops / 2) if floored else ceil(-hops / 2)


def meetings(clusters: int, hops: int, *, floored: bool) -> Integers:
    """How often a notification meets a subscription of the same t, for each value of r; 1 is right."""
    begin = first_shift(hops, floored=floored)
    walk = np.bincount([(begin + hop) % clusters for hop in range(hops)], minlength=clusters)
    found: Integers = walk[[shift % clusters for shift in shifts(hops)]]
    return found


@dataclass(frozen=True)
class PrintedRing:
    """Where the printed ring keeps filters and sends events, in the form of `RingPlacement`: one label, X clusters.

    The rendezvous function is the printed one: ranges of a primary key, one output. It has no answer for a filter that
    fits into no single range; such a filter is kept by the lowest range in which it can be true.
    """

    axis: ShardAxis
    clusters: int
    hops: int
    rng: np.random.Generator
    floored: bool = True

    def places(self, id: str, filter_: Filter) -> list[Place]:
        """One cluster, a random one of those around t."""
        ranges = InterestReader(self.axis.path, self.axis.kind).ranges(filter_)
        zones = self.axis.zones_of(ranges) if ranges else []
        shift = int(self.rng.choice(list(shifts(self.hops))))
        return [(0, ((zones[0] if zones else 0) + shift) % self.clusters)]

    def visits(self, attributes: Mapping[str, object]) -> Mapping[int, tuple[int, ...]]:
        """The clusters of a walk; one that is passed twice is matched twice."""
        value = cut_value(attributes, self.axis.attribute, self.axis.path, self.axis.kind)
        begin = (0 if value is None else self.axis.zone_of(value)) + first_shift(self.hops, floored=self.floored)
        found: dict[int, tuple[int, ...]] = {}
        for hop in range(self.hops):
            cluster = (begin + hop) % self.clusters
            found[cluster] = (*found.get(cluster, ()), 0)
        return found


def empty_share(nodes: int, replicas: int, rng: np.random.Generator) -> float:
    """The share of clusters in which no node has its identity: about e^-R."""
    clusters = nodes // replicas
    taken = np.unique((rng.random(nodes) * clusters).astype(np.int64))
    return 1.0 - len(taken) / clusters


def broken_by_estimates(
    nodes: int, replicas: int, hops: int, error: float, samples: int, rng: np.random.Generator
) -> float:
    """How often a notification does not meet a subscription exactly once, if its walk takes N for (1 + error)·N.

    All else is repaired: identities are spaced evenly, so no cluster is empty, and shifts fit the walk. Subscribers
    and the nodes that keep subscriptions know N.
    """
    identities = (np.arange(nodes) + 0.5) / nodes
    kept_by = (identities * (nodes // replicas)).astype(np.int64)
    right, wrong = nodes // replicas, max(1, int(nodes * (1 + error)) // replicas)
    first_of = np.searchsorted(identities, np.arange(wrong + 1) / wrong)
    keys = rng.random(samples)
    kept = ((keys * right).astype(np.int64) + rng.integers(0, hops, samples) - hops // 2) % right
    met = np.zeros(samples, dtype=np.int64)
    for hop in range(hops):
        visited = ((keys * wrong).astype(np.int64) - hops // 2 + hop) % wrong
        low, high = first_of[visited], first_of[visited + 1]
        chosen = np.minimum(low + (rng.random(samples) * (high - low)).astype(np.int64), nodes - 1)
        met += (kept_by[chosen] == kept) & (high > low)
    return float((met != 1).mean())
