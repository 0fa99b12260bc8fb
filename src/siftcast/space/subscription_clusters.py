"""Clusters of subscriptions: which subscription is in which cluster, and what a network needs to know to use them.

This is what planning hands to the clustered scheme. A subscription is in one cluster; a node is in every cluster that
holds one of its subscriptions, so a subscriber with unlike interests is in several (thesis, section 3.5). How clusters
are found does not matter here: labels from any method will do.

    ClusterAssignment    the cluster of each known subscription, and where new ones go
    ClusterLayout        an assignment on a network: rendezvous nodes, distances, how wide trees may be
    InterestProfiles     placement from traffic: the cluster whose recent events a new filter shares most

Invariants: cluster numbers are not negative; a placement answers for every filter, even one that matches nothing seen
so far, so every subscription has a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from siftcast.model import Event, Filter
from siftcast.space.rooted_tree import Distances

Floats = npt.NDArray[np.float64]
ChooseCluster = Callable[[Filter], int]
"""The cluster for a filter that is in none yet."""


def first_cluster(_filter: Filter) -> int:
    """Puts everything into cluster 0: the state before anything is clustered."""
    return 0


@dataclass(frozen=True, slots=True)
class ClusterAssignment:
    """The cluster of each subscription by id, and a placement for those that are not named."""

    cluster_of: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    place: ChooseCluster = first_cluster

    def __post_init__(self) -> None:
        wrong = next((id for id, cluster in self.cluster_of.items() if cluster < 0), None)
        if wrong is not None:
            raise ValueError(f"clusters are numbered from 0; subscription '{wrong}' has {self.cluster_of[wrong]}")

    def cluster(self, id: str, filter_: Filter) -> int:
        """The cluster of a subscription, named or placed."""
        known = self.cluster_of.get(id)
        return self.place(filter_) if known is None else known

    @property
    def clusters(self) -> tuple[int, ...]:
        """The clusters that have named subscriptions, ascending."""
        return tuple(sorted(set(self.cluster_of.values())))


@dataclass(frozen=True, slots=True)
class ClusterLayout:
    """An assignment on a network.

    Publishers hand events to the nearest of the `rendezvous`, which know what each cluster wants; the first of them
    coordinates changes. A node of a cluster's tree has at most `degree_max` children, and joins it under the nearest
    node, or with `shortest_ways` where its way from the root is shortest.
    """

    assignment: ClusterAssignment
    rendezvous: tuple[int, ...]
    distances: Distances
    degree_max: int = 4
    shortest_ways: bool = False

    def __post_init__(self) -> None:
        if not self.rendezvous or len(set(self.rendezvous)) != len(self.rendezvous):
            raise ValueError("there is at least one rendezvous, and none twice")
        if min(self.rendezvous) < 0 or max(self.rendezvous) >= len(self.distances):
            raise ValueError(f"rendezvous are among the nodes 0 … {len(self.distances) - 1}: {self.rendezvous}")
        if self.degree_max < 1:
            raise ValueError(f"a node of a tree must be allowed at least one child, not {self.degree_max}")

    @property
    def coordinator(self) -> int:
        """The rendezvous through which every change goes."""
        return self.rendezvous[0]

    def rendezvous_of(self, node: int) -> int:
        """To whom a node hands its events: itself, or the nearest."""
        if node in self.rendezvous:
            return node
        return min(self.rendezvous, key=lambda other: (self.distances[node][other], other))


class InterestProfiles:
    """Places a filter by recent events: into the cluster with which it shares most of what it matches.

    `matched[s, e]` says whether subscription s matched event e. A cluster's profile is, for each event, the share of
    its subscriptions that matched it; likeness is Jaccard's with shares in place of members (the sum of the smaller
    over the sum of the larger).

    A filter that shares no event with anybody goes into the `silent` cluster, by default the number after the last.
    Its members seldom want anything, so little is sent there. Rejected: the largest cluster, whose traffic all of
    them would have to bear.
    """

    __slots__ = ("_events", "_profiles", "_silent")

    def __init__(
        self, events: Sequence[Event], matched: npt.ArrayLike, labels: Sequence[int], silent: int | None = None
    ) -> None:
        flags, numbers = np.asarray(matched, dtype=np.bool_), np.asarray(labels, dtype=np.int64)
        if flags.shape != (len(numbers), len(events)):
            raise ValueError(f"{len(numbers)} labels and {len(events)} events do not fit a matrix of {flags.shape}")
        if not len(numbers) or numbers.min() < 0:
            raise ValueError("there is at least one subscription, and clusters are numbered from 0")
        sizes = np.bincount(numbers)
        sums = np.zeros((len(sizes), len(events)))
        np.add.at(sums, numbers, flags.astype(np.float64))
        self._events = tuple(events)
        self._silent = len(sizes) if silent is None else silent
        self._profiles: Floats = sums / np.maximum(sizes, 1)[:, None]

    def __call__(self, filter_: Filter) -> int:
        """The cluster for a filter."""
        own = np.array([filter_.matches(event) for event in self._events], dtype=np.float64)
        shared = np.minimum(self._profiles, own).sum(axis=1)
        if not shared.any():
            return self._silent
        return int(np.argmax(shared / np.maximum(self._profiles, own).sum(axis=1)))
