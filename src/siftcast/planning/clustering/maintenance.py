"""Keeping clusters while subscriptions come and traffic changes (thesis, 3.5).

From the least to the most work:

- `place` puts new subscriptions into clusters from the landmarks of one group: similarities to them, local coordinates,
  the group's projection, nearest centre. Nobody else is asked.
- `refresh_group` embeds the members of a group again from what they matched lately and keeps projection and centres.
- Re-clustering starts from the beginning. `centre_shift` says how far the centres have moved and whether that is
  beyond the threshold from which on new clusters are worth their control traffic; `rename_clusters` then gives the new
  clusters the old names under which fewest subscriptions move, and counts those that do.

The thesis leaves out two things. An embedding is determined only up to rotation and reflection, so a fresh one cannot
be put through an old projection, nor its centres compared with old ones: both are first turned onto the old by the
best orthogonal map (Procrustes) of the subscriptions that are in both. And centres come in no order: they are paired
so that the sum of movements is least (Hungarian method).

A subscriber with several subscriptions is in all their clusters (`subscriber_clusters`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import orthogonal_procrustes
from scipy.optimize import linear_sum_assignment

from siftcast.model import ClusteringError
from siftcast.planning.clustering.distributed import EmbeddingPlan, LocalEmbedding, Projection, embed_group, extend_rows
from siftcast.planning.clustering.kmeans import nearest_centres
from siftcast.planning.clustering.matched_events import Floats, Integers, MatchedEvents

UNMATCHED = -1


@dataclass(frozen=True, slots=True)
class GroupPlacement:
    """What the coordinator of a group keeps in order to place subscriptions: its landmarks and its projection."""

    landmarks: MatchedEvents
    local: LocalEmbedding
    projection: Projection | None
    plan: EmbeddingPlan

    def coordinates(self, matched: MatchedEvents) -> Floats:
        """Global coordinates of any subscriptions."""
        local = extend_rows(self.local.landmarks, matched, self.landmarks, self.plan)
        return local if self.projection is None else self.projection(local)


def place(matched: MatchedEvents, group: GroupPlacement, centres: Floats) -> Integers:
    """The cluster of each new subscription, UNMATCHED for those that have matched nothing yet."""
    labels = np.full(len(matched), UNMATCHED, dtype=np.int64)
    known = np.flatnonzero(matched.matched)
    if len(known) and len(centres):
        labels[known] = nearest_centres(group.plan.points(group.coordinates(matched.take(known))), centres)
    return labels


def refresh_group(
    matched: MatchedEvents, landmarks: Integers, group: GroupPlacement, rng: np.random.Generator
) -> GroupPlacement:
    """The group under its members' latest matches, with the old projection; `landmarks` are places among them."""
    fresh = embed_group(matched, landmarks, group.plan, rng)
    before = group.local.landmarks.coordinates
    if len(before) != len(landmarks):
        raise ClusteringError(f"the group has {len(before)} landmarks, not {len(landmarks)}; embed it anew")
    turn = align(fresh.coordinates[landmarks], before, with_scale=False)
    projection = turn if group.projection is None else _chained(turn, group.projection)
    return GroupPlacement(matched.take(landmarks), fresh, projection, group.plan)


def align(fresh: Floats, old: Floats, *, with_scale: bool = True) -> Projection:
    """The rotation or reflection and the shift (and the scale) that take fresh coordinates nearest to old ones."""
    if fresh.shape != old.shape:
        raise ClusteringError(f"coordinates to align must be of one shape, not {fresh.shape} and {old.shape}")
    here, there = fresh.mean(axis=0), old.mean(axis=0)
    turn, total = orthogonal_procrustes(fresh - here, old - there)
    spread = float(((fresh - here) ** 2).sum())
    matrix = turn * (total / spread if with_scale and spread > 0 else 1.0)
    return Projection(matrix, there - here @ matrix)


@dataclass(frozen=True, slots=True)
class CentreShift:
    """How far new centres are from the deployed ones, as a share of the deployed centres' spread."""

    deviation: float
    threshold: float

    def __post_init__(self) -> None:
        if not self.threshold >= 0:
            raise ClusteringError(f"the threshold for installing clusters must be at least 0, not {self.threshold}")

    @property
    def worth_installing(self) -> bool:
        return self.deviation > self.threshold


def centre_shift(
    old_centres: Floats, new_centres: Floats, *, threshold: float, alignment: Projection | None = None
) -> CentreShift:
    """The root mean square movement of centres, paired so that it is least; infinite if number or space changed."""
    if old_centres.shape != new_centres.shape:
        return CentreShift(float("inf"), threshold)
    moved = new_centres if alignment is None else alignment(new_centres)
    squares = ((old_centres[:, None] - moved[None]) ** 2).sum(axis=2)
    rows, columns = linear_sum_assignment(squares)
    movement = float(squares[rows, columns].sum())
    spread = float(((old_centres - old_centres.mean(axis=0)) ** 2).sum())
    if spread == 0.0:
        return CentreShift(0.0 if movement == 0.0 else float("inf"), threshold)
    return CentreShift(float(np.sqrt(movement / spread)), threshold)


@dataclass(frozen=True, slots=True)
class Renamed:
    """New clusters under the old names that fit best: labels, the name of each by its new label, who moves."""

    labels: Integers
    names: Integers
    moved: int
    joined: int
    left: int

    @property
    def changes(self) -> int:
        """Joins and leaves of clusters: a move is one change, as the thesis counts joins."""
        return self.moved + self.joined + self.left


def rename_clusters(old_labels: npt.ArrayLike, new_labels: npt.ArrayLike) -> Renamed:
    """New labels under the names with fewest moves; rows are the same subscriptions, negative labels are in no cluster.

    Clusters without an old counterpart get a name that is free; if there are fewer than before, names stay vacant.
    """
    old, new = np.asarray(old_labels, dtype=np.int64), np.asarray(new_labels, dtype=np.int64)
    if old.shape != new.shape or old.ndim != 1:
        raise ClusteringError(f"labels must be rows of one length, not {old.shape} and {new.shape}")
    both, placed = (old >= 0) & (new >= 0), new >= 0
    before, now = np.unique(old[old >= 0]), np.unique(new[placed])
    table = np.zeros((len(now), len(before)))
    np.add.at(table, (np.searchsorted(now, new[both]), np.searchsorted(before, old[both])), 1)
    rows, columns = linear_sum_assignment(table, maximize=True)
    names = np.full(len(now), UNMATCHED, dtype=np.int64)
    names[rows] = before[columns]
    free = np.setdiff1d(np.arange(len(now) + len(before)), before)
    names[names < 0] = free[: int((names < 0).sum())]
    renamed = np.full(len(new), UNMATCHED, dtype=np.int64)
    renamed[placed] = names[np.searchsorted(now, new[placed])]
    return Renamed(
        renamed,
        names,
        moved=int((both & (renamed != old)).sum()),
        joined=int(((old < 0) & placed).sum()),
        left=int(((old >= 0) & (new < 0)).sum()),
    )


def subscriber_clusters(subscribers: npt.ArrayLike, labels: npt.ArrayLike) -> sparse.csr_matrix:
    """Subscribers (rows, numbered from 0) by clusters: each is in the clusters of all its subscriptions."""
    rows, columns = np.asarray(subscribers, dtype=np.int64), np.asarray(labels, dtype=np.int64)
    if rows.shape != columns.shape or rows.ndim != 1 or rows.min(initial=0) < 0:
        raise ClusteringError(f"every subscription needs a subscriber from 0 on: {rows.shape} for {columns.shape}")
    placed = columns >= 0
    shape = (int(rows.max(initial=-1)) + 1, int(columns.max(initial=-1)) + 1)
    members = sparse.csr_matrix((np.ones(int(placed.sum())), (rows[placed], columns[placed])), shape=shape)
    return (members > 0).tocsr()


def _chained(first: Projection, second: Projection) -> Projection:
    return Projection(first.matrix @ second.matrix, second(first.offset))
