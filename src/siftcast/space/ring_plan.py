"""Which nodes keep and match what, on a circle of clusters: the plan of the rendezvous ring (layering paper, 4.2).

    zones of the content     z0      z1      z2      z3      span          a `ShardPlan`
                             │       │       │       │        │
    clusters of nodes       c0 ──── c1 ──── c2 ──── c3 ──── (c0)           X clusters of about R nodes each

Zone z begins at the cluster `starts[z]`, and its parts lie in the clusters that follow: the H parts of a zone are what
the paper calls the H hops of a notification. A subscription is in one part of each of its zones, and with all nodes of
that cluster, which are replicas: any of them can answer for it. A cluster keeps parts of several zones, so what it
keeps is labelled by zone, and an event is matched only with the labels it brings.

Several *circles* may lie over the same nodes, one for each application, with R and H of its own. An event belongs to
the circle that its `application` attribute names, or to the first; a filter belongs to every circle in which it can be
true. So an event meets each subscription that it can satisfy, once:

 1. it belongs to one circle;
 2. there, by the invariants of `ShardPlan`, it meets a subscription in one part of one zone at most;
 3. of the replicas of that part one is asked.

The clusters of a circle cut the list of nodes by rank. Rejected: to cut the space of identities into ranges, as
printed, which leaves e^-R of the clusters empty (13 % for R = 2), and to have each node estimate N for itself, which
breaks exactly-once as soon as two disagree: a plan belongs to an epoch, and all nodes of it have the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from siftcast.model import Filter
from siftcast.model.values import Kind
from siftcast.space.shard_axes import InterestReader, cut_value
from siftcast.space.shard_plan import Placement, ShardPlan, part_of

Place = tuple[int, int]
"""A label (zone) and a cluster, both numbered over all circles."""


@dataclass(frozen=True)
class Circle:
    """The clusters of one application, and the zones that lie on them; the span is the last zone."""

    shards: ShardPlan
    clusters: tuple[tuple[int, ...], ...]
    starts: tuple[int, ...]
    name: str = ""

    def __post_init__(self) -> None:
        if not self.clusters or not all(self.clusters):
            raise ValueError("every cluster of a ring has a node")
        if len(self.starts) != len(self.shards.parts):
            raise ValueError("every zone of a ring begins at a cluster")
        if max(self.shards.parts) > len(self.clusters) or min(self.shards.parts) < 1:
            raise ValueError("a zone has between one part and one for each cluster")

    def cluster_of(self, zone: int, part: int) -> int:
        """The cluster that keeps a part of a zone."""
        return (self.starts[zone] + part) % len(self.clusters)

    def clusters_of(self, zone: int) -> tuple[int, ...]:
        """The clusters that keep a zone, in the order in which an event walks them."""
        return tuple(self.cluster_of(zone, part) for part in range(self.shards.parts[zone]))


@dataclass(frozen=True)
class RingPlan:
    """Circles over the same nodes; `application` is the attribute that says to which an event belongs."""

    circles: tuple[Circle, ...]
    application: str = ""

    @property
    def clusters(self) -> tuple[tuple[int, ...], ...]:
        """The clusters of all circles, numbered in this order."""
        return tuple(cluster for circle in self.circles for cluster in circle.clusters)

    @property
    def matchers(self) -> tuple[int, ...]:
        """The nodes that keep anything, ascending."""
        return tuple(sorted({node for cluster in self.clusters for node in cluster}))

    def labels_of(self) -> Mapping[int, tuple[int, ...]]:
        """The labels that each cluster keeps."""
        found: dict[int, list[int]] = {}
        for circle, first_label, first_cluster in self.numbered():
            for zone in range(len(circle.starts)):
                for cluster in circle.clusters_of(zone):
                    found.setdefault(first_cluster + cluster, []).append(first_label + zone)
        return {cluster: tuple(labels) for cluster, labels in found.items()}

    def renamed(self, nodes: Sequence[int]) -> RingPlan:
        """The plan for nodes in place of places."""
        circles = tuple(
            replace(circle, clusters=tuple(tuple(nodes[place] for place in cluster) for cluster in circle.clusters))
            for circle in self.circles
        )
        return replace(self, circles=circles)

    def numbered(self) -> list[tuple[Circle, int, int]]:
        """Each circle with its first label and its first cluster."""
        labels = accumulate((len(circle.starts) for circle in self.circles), initial=0)
        clusters = accumulate((len(circle.clusters) for circle in self.circles), initial=0)
        return list(zip(self.circles, labels, clusters, strict=False))


class RingPlacement:
    """Where a ring keeps filters and sends events; remembers templates, so each node makes its own."""

    def __init__(self, plan: RingPlan) -> None:
        self._circles = [(Placement(each[0].shards), *each) for each in plan.numbered()]
        self._names = {circle.name: number for number, circle in enumerate(plan.circles)}
        self._singles = [((0, name, 0), (0, name + "\0", 0), number) for name, number in self._names.items()]
        self._single_ranges = {(low, high) for low, high, _ in self._singles}
        self._application = plan.application
        self._path = tuple(plan.application.split("."))
        self._reader = InterestReader(self._path, Kind.STRING)
        self._visits: dict[tuple[int, ...], Mapping[int, tuple[int, ...]]] = {}
        """What events of the same zones visit; there are about as many as zones."""

    def places(self, id: str, filter_: Filter) -> list[Place]:
        """Where a subscription is kept; nowhere, if nothing can satisfy it."""
        found: list[Place] = []
        for number in self._circles_of(filter_):
            placement, circle, first_label, first_cluster = self._circles[number]
            for zone in placement.zones(filter_):
                part = part_of(id, circle.shards.parts[zone])
                found.append((first_label + zone, first_cluster + circle.cluster_of(zone, part)))
        return found

    def visits(self, attributes: Mapping[str, object]) -> Mapping[int, tuple[int, ...]]:
        """The clusters that an event visits, in the order of a walk, with the labels that are matched there."""
        number = self._circle_of(attributes)
        zones = self._circles[number][0].zones_of_event(attributes)
        known = self._visits.get((number, *zones))
        if known is None:
            known = self._visits[number, *zones] = self._visits_of(number, zones)
        return known

    def _visits_of(self, number: int, zones: Iterable[int]) -> Mapping[int, tuple[int, ...]]:
        _, circle, first_label, first_cluster = self._circles[number]
        found: dict[int, tuple[int, ...]] = {}
        for zone in zones:
            for cluster in circle.clusters_of(zone):
                place = first_cluster + cluster
                found[place] = (*found.get(place, ()), first_label + zone)
        return found

    def _circle_of(self, attributes: Mapping[str, object]) -> int:
        if len(self._circles) == 1:
            return 0
        value = cut_value(attributes, self._application, self._path, Kind.STRING)
        return self._names.get(value, 0) if isinstance(value, str) else 0

    def _circles_of(self, filter_: Filter) -> Sequence[int]:
        """The circles in which a filter can be true: those it names, and the first for all other names."""
        if len(self._circles) == 1:
            return (0,)
        ranges = self._reader.ranges(filter_)
        if ranges is None:
            return range(len(self._circles))
        found = {number for low, high, number in self._singles for each in ranges if each[0] <= low and high <= each[1]}
        if not self._single_ranges.issuperset(ranges):
            found.add(0)
        return sorted(found)


def cut_by_rank(
    nodes: Sequence[int],
    clusters: int,
    weight: Callable[[int], float] = lambda node: 1.0,
    shares: Sequence[float] = (),
) -> tuple[tuple[int, ...], ...]:
    """Nodes in their order, cut into clusters, none of them empty, whose weights are as their shares, or equal."""
    if not 1 <= clusters <= len(nodes):
        raise ValueError(f"{len(nodes)} nodes cannot be cut into {clusters} clusters")
    ends = list(accumulate(shares or (1.0,) * clusters))
    total = sum(map(weight, nodes)) or 1.0
    found: list[list[int]] = [[] for _ in range(clusters)]
    last, before = -1, 0.0
    for rank, node in enumerate(nodes):
        middle = (before + weight(node) / 2) / total * ends[-1]
        wanted = min(clusters - 1, bisect_right(ends, middle))
        last = min(max(wanted, last, clusters - (len(nodes) - rank)), last + 1)
        found[last].append(node)
        before += weight(node)
    return tuple(tuple(cluster) for cluster in found)
