"""The layout of a clustered network: clusters of subscriptions from any method, on servers with latencies between them.

`plan_clusters` takes labels from spectral clustering or from any other method; it adds where events enter and where
new subscriptions go. The coordinator is the server with the least total latency to all others, since every change
goes through it and back; each further rendezvous is the server farthest from the existing ones, so that every
publisher has one nearby.

`interest_clusters` is the plainest method: Forgy's k-means over which recent events each subscription matched.

Cost: O(servers · rendezvous) plus the clustering, which is O(subscriptions · events · clusters) per round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from siftcast.matching import Matcher
from siftcast.model import Event, Filter
from siftcast.planning.forgy import forgy_groups
from siftcast.planning.latency_matrices import symmetric_latencies
from siftcast.space import ClusterAssignment, ClusterLayout, InterestProfiles

Integers = npt.NDArray[np.int64]


def matched_matrix(filters: Mapping[str, Filter], events: Sequence[Event]) -> npt.NDArray[np.bool_]:
    """Which subscriptions (rows, in their order) match which events (columns)."""
    matcher = Matcher()
    matcher.add_many(filters.items())
    row_of = {id: row for row, id in enumerate(filters)}
    matched = np.zeros((len(filters), len(events)), dtype=np.bool_)
    for column, event in enumerate(events):
        matched[[row_of[id] for id in matcher.match(event)], column] = True
    return matched


def interest_clusters(matched: npt.ArrayLike, clusters: int, rng: np.random.Generator) -> Integers:
    """The cluster of each subscription (row) by the events (columns) that it matched; -1 if it matched none.

    There may be fewer clusters than asked for.
    """
    flags = np.asarray(matched, dtype=np.bool_)
    labels: Integers = np.full(len(flags), -1, dtype=np.int64)
    heard = np.flatnonzero(flags.any(axis=1))
    if len(heard):
        labels[heard] = forgy_groups(flags[heard], clusters, rng).group_of
    return labels


def assign_clusters(
    ids: Sequence[str],
    labels: npt.ArrayLike,
    events: Sequence[Event],
    matched: npt.ArrayLike,
    *,
    silent: int | None = None,
) -> ClusterAssignment:
    """Labels of these subscriptions as an assignment that places new ones by the events they match.

    A negative label means none: methods that cluster by traffic know nothing of what matched no event. Such
    subscriptions form a cluster of their own, with the number `silent` or, without it, the number after the last. A
    caller that plans again and again should name it, so that it is the same each time.
    """
    numbers = np.asarray(labels, dtype=np.int64)
    if len(numbers) != len(ids):
        raise ValueError(f"{len(ids)} subscriptions have a label each, not {len(numbers)}")
    known = np.flatnonzero(numbers >= 0)
    if not len(known):
        return ClusterAssignment()
    apart = int(numbers.max()) + 1 if silent is None else silent
    if apart < 0 or apart in numbers:
        raise ValueError(f"cluster {apart} cannot be the silent one: it is negative, or has subscriptions")
    named = np.where(numbers >= 0, numbers, apart).tolist()
    place = InterestProfiles(events, np.asarray(matched)[known], numbers[known].tolist(), apart)
    return ClusterAssignment(dict(zip(ids, named, strict=True)), place)


def plan_clusters(
    latencies_ms: npt.ArrayLike,
    assignment: ClusterAssignment,
    *,
    rendezvous: int = 1,
    degree_max: int = 4,
    shortest_ways: bool = False,
) -> ClusterLayout:
    """An assignment on a network, with so many nodes at which events enter."""
    distances = symmetric_latencies(latencies_ms)
    if not 1 <= rendezvous <= len(distances):
        raise ValueError(f"there may be 1 to {len(distances)} rendezvous on {len(distances)} servers, not {rendezvous}")
    chosen = [int(np.argmin(distances.sum(axis=1)))]
    while len(chosen) < rendezvous:
        apart = distances[chosen].min(axis=0)
        apart[chosen] = -1.0
        chosen.append(int(np.argmax(apart)))
    return ClusterLayout(assignment, tuple(chosen), distances.tolist(), degree_max, shortest_ways)
