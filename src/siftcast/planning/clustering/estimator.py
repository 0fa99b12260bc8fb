"""`SubscriptionClusters`: the whole of clustering behind scikit-learn's `fit` and `predict`.

    clusters = SubscriptionClusters(k=50).fit(matched_events(subscriptions, events))
    clusters.labels_            # a cluster for each subscription, UNMATCHED (-1) for those that matched nothing
    clusters.predict(others)    # the clusters of subscriptions that came later, from landmarks alone

Without `levels` and `landmarks`, subscriptions are embedded as a whole if there are at most CENTRAL_MAX, or if so few
share events that their pairs cost no more than landmarks would (PAIRS_MAX). More are embedded from landmarks drawn at
random, to which the others are extended: one group, two levels, and time that grows linearly. There are LANDMARKS of
them, or more where events are so rare that a subscription would meet fewer than CONTACTS. With `levels` there are base
groups of GROUP_SIZE or as many as `groups` says, with `landmarks` as a share of each (float) or a number (int).

How unusual input is handled:

    k above the number of subscriptions    ClusteringError
    subscriptions that matched nothing     UNMATCHED, in no cluster; all of them so: no clusters at all
    duplicates                             the same cluster, the one that most of them are nearest to
    fewer distinct subscriptions than k    as many clusters as there are distinct points; `n_clusters_` says how many
    a graph in several pieces              pieces are tied weakly under `ncut`, far apart under `rassoc`; those that
                                           are small beside another one share a cluster
    more communities than dimensions       the weakest fall together into one large cluster: ask for more dimensions
    all subscriptions alike                one giant cluster, because splitting it would only double the messages
    an update in which nobody matched      the clusters stay
    predict or update before fit           NotClusteredError, a ClusteringError and scikit-learn's NotFittedError

Cost, in CPU seconds of one core of a shared machine, uniform boxes with hot-spot events, k = 20, defaults: 10,000
subscriptions 0.9 (`rassoc`) and 1.0 (`ncut`), 100,000 2.9 and 3.8, 1,000,000 21 (`rassoc`, one run, 2.2 GiB). With the
thesis' Table 3.1 (32,000, k = 50, four levels, 64 groups, 25 % landmarks), local embeddings included: 0.7 and 3.0.

Clusters are numbered from 0, without gaps until an `update` leaves a name vacant. The seed decides everything.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from threadpoolctl import threadpool_limits

from siftcast.model import ClusteringError
from siftcast.planning.clustering.distributed import EmbeddingPlan, embed_levels
from siftcast.planning.clustering.distributed_kmeans import central_kmeans, hierarchical_kmeans, sampling_kmeans
from siftcast.planning.clustering.duplicates import settle_labels
from siftcast.planning.clustering.embedding import SIGMA
from siftcast.planning.clustering.hierarchy import build_hierarchy, connected_groups
from siftcast.planning.clustering.hp2pc import hp2pc_kmeans
from siftcast.planning.clustering.kmeans import nearest_centres, unit_rows
from siftcast.planning.clustering.maintenance import (
    UNMATCHED,
    CentreShift,
    GroupPlacement,
    Renamed,
    align,
    centre_shift,
    place,
    rename_clusters,
)
from siftcast.planning.clustering.matched_events import Floats, Integers, MatchedEvents
from siftcast.planning.clustering.parameters import NotClusteredError, as_groups, as_matched, check_parameters
from siftcast.planning.clustering.similarity import pairs_bound, similarities

CENTRAL_MAX = 4_096
PAIRS_MAX = 8_000_000  # work of a second; landmarks take half of one, and cost as many false positives
LANDMARKS = 2_048
LANDMARKS_MAX = 32_768
CONTACTS = 20
GROUP_SIZE = 1_000
KMEANS = {
    "central": central_kmeans,
    "sampling": sampling_kmeans,
    "hierarchical": hierarchical_kmeans,
    "hp2pc": hp2pc_kmeans,
}
THRESHOLD = 0.2


class SubscriptionClusters(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """At most k clusters of subscriptions that receive the same events."""

    def __init__(
        self,
        k: int,
        *,
        method: str = "rassoc",
        dimensions: int | None = None,
        levels: int | None = None,
        groups: int | None = None,
        landmarks: float | int | None = None,
        kmeans: str | None = None,
        similarity: str = "jaccard",
        sigma: float = SIGMA,
        spherical: bool = True,
        seed: int = 0,
    ) -> None:
        self.k = k
        self.method = method
        self.dimensions = dimensions
        self.levels = levels
        self.groups = groups
        self.landmarks = landmarks
        self.kmeans = kmeans
        self.similarity = similarity
        self.sigma = sigma
        self.spherical = spherical
        self.seed = seed

    def fit(self, matched: Any, y: None = None) -> SubscriptionClusters:
        """Cluster from matches: MatchedEvents, or a binary matrix of subscriptions by events."""
        known = as_matched(matched)
        self.check(len(known))
        members = np.flatnonzero(known.matched)
        self.labels_ = np.full(len(known), UNMATCHED, dtype=np.int64)
        self.coordinates_: Floats = np.full((len(known), self._dimensions()), np.nan)
        self.centres_: Floats = np.zeros((0, self._dimensions()))
        self.placements_: tuple[GroupPlacement, ...] = ()
        self._columns = _columns(matched, known)
        if len(members):
            # Matrices are small or sparse: a second thread of BLAS or OpenMP mostly waits, and burns a core doing so.
            with threadpool_limits(limits=1):
                self._cluster(known, members)
        self.n_clusters_ = len(self.centres_)
        return self

    def predict(self, matched: Any, groups: Integers | None = None) -> Integers:
        """Clusters of other subscriptions, each from the landmarks of one group.

        `groups` says which; without it, it is the group whose landmarks are most like the subscription.
        """
        self._check_fitted()
        known = as_matched(matched)
        columns = _columns(matched, known)
        if columns is not None and self._columns not in (None, columns):
            raise ClusteringError(f"clusters were made from {self._columns} columns of events, and these are {columns}")
        labels = np.full(len(known), UNMATCHED, dtype=np.int64)
        if not self.placements_:
            return labels
        chosen = groups if groups is None else as_groups(groups, len(known), len(self.placements_))
        group_of = self._nearest_groups(known) if chosen is None else chosen
        for number in np.unique(group_of):
            rows = np.flatnonzero(group_of == number)
            labels[rows] = place(known.take(rows), self.placements_[number], self.centres_)
        return labels

    def update(self, matched: Any, *, threshold: float = THRESHOLD) -> tuple[CentreShift, Renamed | None]:
        """Cluster the same subscriptions again; install the result only if centres moved beyond the threshold.

        New clusters keep the old names as far as possible, and the second answer counts who moves; it is None if the
        old clusters stay. Then landmarks stand where they stood, with what they matched now, so that `predict` still
        knows them. Centres that are not comparable, because their number or their space changed (another k, other
        dimensions), have moved infinitely far. If nobody matched anything, nothing is known and nothing changes.
        """
        self._check_fitted()
        known = as_matched(matched)
        if len(known) != len(self.labels_):
            raise ClusteringError(f"an update is for the same {len(self.labels_)} subscriptions, not {len(known)}")
        self.check(len(known))
        if not known.matched.any():
            return CentreShift(0.0, threshold), None
        fresh = SubscriptionClusters(**self.get_params()).fit(matched)
        shift = self._shift(fresh, threshold)
        if not shift.worth_installing:
            self.placements_ = tuple(
                replace(placement, landmarks=known.take(self.hierarchy_.base[number].landmarks))
                for number, placement in enumerate(self.placements_)
            )
            self._columns = fresh._columns
            return shift, None
        renamed = rename_clusters(self.labels_, fresh.labels_)
        self.__dict__.update(fresh.__dict__)
        # There may be fewer clusters than before: a name nobody has taken over stays vacant.
        self.centres_ = np.full((int(renamed.labels.max(initial=-1)) + 1, self.centres_.shape[1]), np.nan)
        self.centres_[renamed.names] = fresh.centres_
        self.labels_ = renamed.labels
        return shift, renamed

    def _shift(self, fresh: SubscriptionClusters, threshold: float) -> CentreShift:
        """How far the centres of a fresh clustering are from these."""
        deployed = self.centres_[~np.isnan(self.centres_).any(axis=1)]
        both = (self.labels_ >= 0) & (fresh.labels_ >= 0)
        comparable = both.any() and self.coordinates_.shape == fresh.coordinates_.shape
        alignment = align(fresh._points(both), self._points(both)) if comparable else None
        return centre_shift(deployed, fresh.centres_, threshold=threshold, alignment=alignment)

    def _cluster(self, known: MatchedEvents, members: Integers) -> None:
        rng = np.random.default_rng(self.seed)
        levels, groups, landmarks = self.shape(known, len(members))
        base = connected_groups(known, members, groups, rng)
        plan = self.plan(levels)
        hierarchy = build_hierarchy(base, rng, levels=levels, landmarks=landmarks, dimensions=plan.dimensions)
        embedding = embed_levels(known, hierarchy, plan)
        self.hierarchy_, self.embedding_ = hierarchy, embedding
        self.coordinates_ = embedding.of_all(len(known))
        points = embedding.points(plan)
        centres = KMEANS[self.kmeans_name(len(base))](points, self.k, rng)
        for group in hierarchy.base:
            self.labels_[group.members] = nearest_centres(points.coordinates[0, group.number], centres.points)
        self.labels_[members], used = settle_labels(known.take(members), self.labels_[members])
        self.centres_ = centres.points[used]
        self.placements_ = tuple(
            GroupPlacement(
                known.take(group.landmarks),
                embedding.local[0, group.number],
                embedding.projections.get((0, group.number)),
                plan,
            )
            for group in hierarchy.base
        )

    def plan(self, levels: int) -> EmbeddingPlan:
        """What groups on so many levels must agree on."""
        return EmbeddingPlan(
            method=self.method,
            dimensions=self._dimensions(),
            similarity=self.similarity,
            sigma=self.sigma,
            seed=self.seed,
            spherical=self.spherical,
            from_landmarks=self.levels is None and self.groups is None and levels > 1,
        )

    def kmeans_name(self, base_groups: int) -> str:
        """Which k-means it is, where that is not given."""
        return self.kmeans or ("central" if base_groups == 1 else "hierarchical")

    def shape(self, known: MatchedEvents, count: int) -> tuple[int, int, float | int]:
        """Levels, base groups and landmarks, where they are not given."""
        if self.levels is None and self.groups is None:
            pairs = pairs_bound(known)
            if self.landmarks is None and (count <= CENTRAL_MAX or pairs <= PAIRS_MAX):
                return 1, 1, 1.0
            wanted = min(max(LANDMARKS, CONTACTS * count * count // pairs), LANDMARKS_MAX)
            return 2, 1, wanted if self.landmarks is None else self.landmarks
        levels = 2 if self.levels is None else self.levels
        groups = 1 if levels == 1 else self.groups or -(-count // GROUP_SIZE)
        return levels, min(groups, count), 0.25 if self.landmarks is None else self.landmarks

    def check(self, count: int) -> None:
        """Raises ClusteringError unless these parameters can cluster `count` subscriptions."""
        check_parameters(self.get_params(), list(KMEANS), count)

    def _check_fitted(self) -> None:
        if not hasattr(self, "labels_"):
            raise NotClusteredError("there are no clusters yet; call fit() with what subscriptions matched")

    def _points(self, rows: Any) -> Floats:
        """Coordinates as k-means saw them."""
        return unit_rows(self.coordinates_[rows]) if self.spherical else self.coordinates_[rows]

    def _dimensions(self) -> int:
        return self.k if self.dimensions is None else self.dimensions

    def _nearest_groups(self, matched: MatchedEvents) -> Integers:
        likeness = np.column_stack(
            [
                np.asarray(similarities(matched, group.landmarks, name=self.similarity).sum(axis=1)).ravel()
                for group in self.placements_
            ]
        )
        nearest: Integers = np.argmax(likeness, axis=1)
        return nearest


def _columns(matched: Any, known: MatchedEvents) -> int | None:
    """How many events a plain matrix has; matches that name their events may have any number."""
    return None if matched is known else known.universe
