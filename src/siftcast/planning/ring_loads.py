"""What each cluster and each node of a circle has to hold and to do, predicted from the plan (layering paper, 4.1).

    zone ─▶ the clusters that its events visit ─▶ what they are matched with there ─▶ time, load, queue of each node

An event of a zone visits the clusters of that zone and those of the span, each once: where both lie on one cluster it
is matched with both parts there. Events without a zone visit the span only. Replicas of a cluster share its events
evenly, so a node sees 1/R of them; parts of a zone are even, but for the margin of the hash (`ring_costs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

from siftcast.planning.ring_costs import NodeCosts, imbalance, largest_part, scatter_ms, wait_ms, walk_ms
from siftcast.space.ring_plan import Circle

Visit = dict[int, float]
"""The clusters that an event visits, with the subscriptions it is matched with there."""


@dataclass(frozen=True, slots=True)
class ClusterLoad:
    """A cluster of a circle: its nodes, what each holds, and how busy each is."""

    nodes: int
    store: float
    store_most: float
    memory_bytes: float
    work_ms: float
    """What all its nodes together do for an event of the application, on average."""
    busy: float
    wait_ms: float


@dataclass(frozen=True)
class RingLoads:
    """The predictions for a circle at a rate of events; `speeds` are those of its nodes, cluster after cluster."""

    circle: Circle
    costs: NodeCosts
    rate_s: float = 0.0
    speeds: tuple[tuple[float, ...], ...] = ()

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of the events of each zone, and last of those that have none."""
        zones = self.circle.shards.event_shares[:-1]
        return (*zones, max(0.0, 1.0 - sum(zones)))

    @cached_property
    def visits(self) -> tuple[Visit, ...]:
        """What the events of each zone visit, and last those that have none."""
        shards = self.circle.shards
        span = len(shards.parts) - 1
        held = [count / parts for count, parts in zip(shards.counts, shards.parts, strict=True)]
        found: list[Visit] = []
        for zone in range(span + 1):
            visit: Visit = {}
            for label in {zone, span}:
                for cluster in self.circle.clusters_of(label):
                    visit[cluster] = visit.get(cluster, 0.0) + held[label]
            found.append(visit)
        return tuple(found)

    @cached_property
    def clusters(self) -> tuple[ClusterLoad, ...]:
        """What is predicted of each cluster."""
        stores, most = stores_of(self.circle), stores_of(self.circle, most=True)
        found = []
        for number, nodes in enumerate(self.circle.clusters):
            services = [
                (share, self.costs.service_ms(visit[number]))
                for share, visit in zip(self.shares, self.visits, strict=True)
                if number in visit and share
            ]
            work = sum(share * time for share, time in services)
            slowest = min(self.speeds[number]) if self.speeds else 1.0
            rate = self.rate_s * sum(share for share, _ in services) / len(nodes)
            found.append(
                ClusterLoad(
                    len(nodes),
                    stores[number],
                    most[number],
                    self.costs.memory_bytes(most[number]),
                    work,
                    self.rate_s * work / 1_000 / len(nodes) / slowest,
                    wait_ms(rate, [(share, time / slowest) for share, time in services]),
                )
            )
        return tuple(found)

    # -- of the whole ring ---------------------------------------------------------------------------

    def latencies_ms(self, *, walk: bool, idle: bool = False) -> list[float]:
        """The latency of matching for the events of each zone, and last for those that have none."""
        way = walk_ms if walk else scatter_ms
        waits = [0.0 if idle else load.wait_ms for load in self.clusters]
        return [way(self.costs, list(visit.values()), [waits[cluster] for cluster in visit]) for visit in self.visits]

    def latency_ms(self, *, walk: bool, idle: bool = False) -> float:
        """The mean latency of matching over all events."""
        each = self.latencies_ms(walk=walk, idle=idle)
        return sum(share * latency for share, latency in zip(self.shares, each, strict=True) if share)

    def worst_ms(self, *, walk: bool) -> float:
        """The mean latency in the slowest zone that has events."""
        each = self.latencies_ms(walk=walk)
        return max((latency for share, latency in zip(self.shares, each, strict=True) if share), default=0.0)

    @property
    def busiest(self) -> float:
        """How busy the busiest node is; 1 is all of its time."""
        return max(load.busy for load in self.clusters)

    @property
    def throughput_s(self) -> float:
        """The rate of events at which the busiest node has no time left."""
        slowest = [min(speeds) for speeds in self.speeds] or [1.0] * len(self.clusters)
        limits = [
            1_000 * load.nodes * speed / load.work_ms if load.work_ms else inf
            for load, speed in zip(self.clusters, slowest, strict=True)
        ]
        return min(limits)

    @property
    def copies(self) -> float:
        """How many nodes an event visits on average."""
        return sum(share * len(visit) for share, visit in zip(self.shares, self.visits, strict=True))

    def imbalance(self, *, of_events: bool) -> float:
        """I_r or I_s over all nodes of the circle."""
        loads: Sequence[float] = [
            load.work_ms / load.nodes if of_events else load.store for load in self.clusters for _ in range(load.nodes)
        ]
        return imbalance(loads)


def stores_of(circle: Circle, *, most: bool = False) -> list[float]:
    """How many subscriptions each cluster of a circle holds; with `most`, at most, but for a small chance."""
    shards = circle.shards
    found = [0.0] * len(circle.clusters)
    for zone, (count, parts) in enumerate(zip(shards.counts, shards.parts, strict=True)):
        part = largest_part(count, parts) if most else count / parts
        for cluster in circle.clusters_of(zone):
            found[cluster] += part
    return found
