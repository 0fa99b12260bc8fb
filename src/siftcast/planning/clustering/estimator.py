"""`SubscriptionClusters`: all of it behind scikit-learn's `fit` and `predict`.

    clusters = SubscriptionClusters(k=50).fit(matched_events(subscriptions, events))
    clusters.labels_            # a cluster for each subscription, UNMATCHED (-1) for those that matched nothing
    clusters.predict(others)    # the clusters of subscriptions that came later, from landmarks alone

Without `levels` and `landmarks`, subscriptions are embedded as a whole if there are at most CENTRAL_MAX, or if so few
share events that their pairs cost no more than landmarks would (PAIRS_MAX). More are embedded from landmarks drawn at
random, to which the others are extended: one group, two levels, and time that grows linearly. There are LANDMARKS of
them, or more where events are so rare that a subscription would meet fewer than CONTACTS. With `levels` there are base
groups of GROUP_SIZE or as many as `groups` says, with `landmarks` as a share of each (float) or a number (int).

What odd input does:

    k above the number of subscriptions    ClusteringError
    subscriptions that matched nothing     UNMATCHED, in no cluster; all of them so: no clusters at all
    duplicates                             the same coordinates, so the same cluster
    fewer distinct subscriptions than k    as many clusters as there are distinct points; `n_clusters_` says how many
    a graph in several pieces              pieces are tied weakly under `ncut`, far apart under `rassoc`
    more communities than dimensions       the weakest fall together into one large cluster: ask for more dimensions
    everyone alike                         one giant cluster, because splitting it would only cost messages twice

Cost, in CPU seconds of one core of a shared machine, uniform boxes with hot-spot events, k = 20, defaults: 10,000
subscriptions 0.9 (`rassoc`) and 1.0 (`ncut`), 100,000 2.9 and 3.8, 1,000,000 21 (`rassoc`, one run, 2.2 GiB). With the
thesis' Table 3.1 (32,000, k = 50, four levels, 64 groups, 25 % landmarks), local embeddings included: 0.7 and 3.0.

Clusters are numbered from 0, without gaps until an `update` leaves a name vacant. The seed decides everything.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from threadpoolctl import threadpool_limits

from siftcast.model import ClusteringError
from siftcast.planning.clustering.distributed import EmbeddingPlan, embed_levels
from siftcast.planning.clustering.distributed_kmeans import hierarchical_kmeans, sampling_kmeans
from siftcast.planning.clustering.embedding import SIGMA, embedding_named
from siftcast.planning.clustering.hierarchy import build_hierarchy, connected_groups
from siftcast.planning.clustering.hp2pc import hp2pc_kmeans
from siftcast.planning.clustering.kmeans import Centres, kmeans, nearest_centres, unit_rows
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
from siftcast.planning.clustering.similarity import pairs_bound, similarities, similarity_named

CENTRAL_MAX = 4_096
PAIRS_MAX = 8_000_000  # work of a second; landmarks take half of one, and cost as many false positives
LANDMARKS = 2_048
LANDMARKS_MAX = 32_768
CONTACTS = 20
GROUP_SIZE = 1_000
DISTRIBUTED_KMEANS = {"sampling": sampling_kmeans, "hierarchical": hierarchical_kmeans, "hp2pc": hp2pc_kmeans}
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
        known = as_matched(matched)
        labels = np.full(len(known), UNMATCHED, dtype=np.int64)
        if not self.placements_:
            return labels
        group_of = self._nearest_groups(known) if groups is None else np.asarray(groups)
        for number in np.unique(group_of):
            rows = np.flatnonzero(group_of == number)
            labels[rows] = place(known.take(rows), self.placements_[number], self.centres_)
        return labels

    def update(self, matched: Any, *, threshold: float = THRESHOLD) -> tuple[CentreShift, Renamed | None]:
        """Cluster the same subscriptions anew; install the result only if centres moved beyond the threshold.

        New clusters keep the old names as far as possible, and the second answer counts who moves; it is None if the
        old clusters stay.
        """
        known = as_matched(matched)
        if len(known) != len(self.labels_):
            raise ClusteringError(f"an update is for the same {len(self.labels_)} subscriptions, not {len(known)}")
        fresh = SubscriptionClusters(**self.get_params()).fit(known)
        both = (self.labels_ >= 0) & (fresh.labels_ >= 0)
        alignment = align(fresh._points(both), self._points(both)) if both.any() else None
        deployed = self.centres_[~np.isnan(self.centres_).any(axis=1)]
        shift = centre_shift(deployed, fresh.centres_, threshold=threshold, alignment=alignment)
        if not shift.worth_installing:
            return shift, None
        renamed = rename_clusters(self.labels_, fresh.labels_)
        self.__dict__.update(fresh.__dict__)
        # There may be fewer clusters than before: a name nobody has taken over stays vacant.
        self.centres_ = np.full((int(renamed.labels.max(initial=-1)) + 1, self.centres_.shape[1]), np.nan)
        self.centres_[renamed.names[: fresh.n_clusters_]] = fresh.centres_
        self.labels_ = renamed.labels
        return shift, renamed

    def _cluster(self, known: MatchedEvents, members: Integers) -> None:
        rng = np.random.default_rng(self.seed)
        levels, groups, landmarks = self.shape(known, len(members))
        base = connected_groups(known, members, groups, rng)
        plan = EmbeddingPlan(
            method=self.method,
            dimensions=self._dimensions(),
            similarity=self.similarity,
            sigma=self.sigma,
            seed=self.seed,
            spherical=self.spherical,
            from_landmarks=self.levels is None and self.groups is None and levels > 1,
        )
        hierarchy = build_hierarchy(base, rng, levels=levels, landmarks=landmarks, dimensions=plan.dimensions)
        embedding = embed_levels(known, hierarchy, plan)
        self.hierarchy_, self.embedding_ = hierarchy, embedding
        self.coordinates_ = embedding.of_all(len(known))
        points = plan.points(self.coordinates_[members])
        method = self.kmeans or ("central" if len(base) == 1 else "hierarchical")
        centres: Centres = (
            kmeans(points, self.k, rng)
            if method == "central"
            else DISTRIBUTED_KMEANS[method](embedding.points(plan), self.k, rng)
        )
        used, labels = np.unique(nearest_centres(points, centres.points), return_inverse=True)
        self.labels_[members] = labels
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

    def check(self, count: int) -> None:
        """Raises ClusteringError unless these parameters can cluster `count` subscriptions."""
        embedding_named(self.method)
        similarity_named(self.similarity)
        if not 1 <= self.k <= count:
            raise ClusteringError(f"{count} subscriptions cannot form {self.k} clusters; k must be from 1 to {count}")
        if self.kmeans not in (None, "central", *DISTRIBUTED_KMEANS):
            raise ClusteringError(
                f"there is no k-means {self.kmeans!r}; there are central, {', '.join(DISTRIBUTED_KMEANS)}"
            )
        if self.levels == 1 and (self.groups or 1) > 1:
            raise ClusteringError(f"one level is one group, not {self.groups}; ask for two levels or more")


def as_matched(matched: Any) -> MatchedEvents:
    """Matches as they are, or from a binary matrix whose columns are events numbered from 0."""
    if isinstance(matched, MatchedEvents):
        return matched
    matrix = sparse.csr_matrix(matched)
    matrix = (matrix != 0).astype(np.float32).tocsr()
    matrix.sort_indices()
    own = np.diff(matrix.indptr).astype(np.int64)
    return MatchedEvents(matrix, own, np.arange(matrix.shape[1]))
