"""How good clusters and embeddings are (thesis, 3.3.2.2 and 3.6.1), and what clusters cost in false positives.

    entropy, accuracy   found clusters against known classes; 0 and 1 are best
    stress              similarities derived from coordinates against the true ones, relative; 0 is best
    neighbourhoods      trustworthiness: are the neighbours in the embedding neighbours in truth? 1 is best
                        continuity: are the true neighbours still neighbours in the embedding? 1 is best
                        hscore: their harmonic mean, with 50 neighbours in the thesis
    false_positives     messages to members that did not match, when events go to whole clusters

Readings. Stress divides by similarities, so it is over pairs that have one, and a mean, so that sizes compare. The
thesis does not say what similarity two points in the embedding have: it is the bilinear form of coordinates that fits
the similarities best, which for principal components is their reconstruction. Trustworthiness and continuity are
printed without "1 -", with which alone 1 is their upper bound. Similarities have many ties; among equals the rank is
the best one, and of true neighbours that tie for the last places those count that the embedding put nearest.

Subscriptions with a negative label are in no cluster and are left out. Cost: false positives O(matches); neighbours
O(n² log n) in blocks, for thousands of points; draw a sample of more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from siftcast.model import ClusteringError
from siftcast.planning.clustering.matched_events import Floats, Integers

NEIGHBOURS = 50
_BLOCK_ROWS = 512


def entropy(classes: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Disorder of the classes within clusters, from 0 (each cluster of one class) to 1."""
    table = _contingency(classes, labels)
    kinds = max(table.shape)
    if kinds < 2:
        return 0.0
    sizes = table.sum(axis=0)
    shares = table / np.maximum(sizes, 1)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return float(-(sizes @ (shares * logs).sum(axis=0)) / sizes.sum() / np.log(kinds))


def accuracy(classes: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """The share of subscriptions that are of the main class of their cluster."""
    table = _contingency(classes, labels)
    return float(table.max(axis=0, initial=0).sum() / max(table.sum(), 1))


@dataclass(frozen=True, slots=True)
class FalsePositives:
    """Messages when each event goes to all members of every cluster with a match."""

    sent: int
    wanted: int

    @property
    def count(self) -> int:
        return self.sent - self.wanted

    @property
    def share(self) -> float:
        """Of all messages sent."""
        return self.count / self.sent if self.sent else 0.0


def false_positives(subscriptions: npt.ArrayLike, events: npt.ArrayLike, labels: npt.ArrayLike) -> FalsePositives:
    """Of a log of matching pairs (each once) under a clustering."""
    rows, columns, cluster_of = np.asarray(subscriptions), np.asarray(events), np.asarray(labels)
    placed = cluster_of[rows] >= 0
    columns, touched = columns[placed], cluster_of[rows[placed]]
    sizes = np.bincount(cluster_of[cluster_of >= 0])
    clusters = max(len(sizes), 1)
    # Numbers of events may be times or hashes, too large to be multiplied.
    _, event = np.unique(columns, return_inverse=True)
    reached = np.unique(event * clusters + touched) % clusters
    return FalsePositives(int(sizes[reached].sum()) if len(reached) else 0, int(placed.sum()))


def stress(similarity: Any, coordinates: Floats) -> float:
    """Mean squared relative error of the similarities that coordinates can tell, over pairs that have one."""
    matrix = sparse.csr_matrix(similarity, dtype=np.float64)
    if matrix.shape != (len(coordinates), len(coordinates)):
        raise ClusteringError(f"{len(coordinates)} points do not fit similarities of the shape {matrix.shape}")
    points = np.column_stack([np.ones(len(coordinates)), coordinates])
    inverse = np.linalg.pinv(points)
    form = inverse @ (matrix @ inverse.T)
    told = points @ form
    pairs = matrix.tocoo()
    kept = pairs.data > 0
    row, column, true = pairs.row[kept], pairs.col[kept], pairs.data[kept]
    total = 0.0
    for start in range(0, len(true), 1_000_000):
        part = slice(start, start + 1_000_000)
        guess = np.einsum("ij,ij->i", told[row[part]], points[column[part]])
        total += float((((true[part] - guess) / true[part]) ** 2).sum())
    return total / len(true) if len(true) else 0.0


@dataclass(frozen=True, slots=True)
class Neighbourhoods:
    """How far neighbours in an embedding are neighbours in truth, and the other way round; 1 is best."""

    trustworthiness: float
    continuity: float

    @property
    def hscore(self) -> float:
        """The harmonic mean of both."""
        trust, stay = self.trustworthiness, self.continuity
        return 2.0 * trust * stay / (trust + stay) if trust + stay > 0 else 0.0


def neighbourhoods(similarity: Any, coordinates: Floats, neighbours: int = NEIGHBOURS) -> Neighbourhoods:
    """Compares the nearest of each point with those that are most like it."""
    count = len(coordinates)
    if neighbours < 1 or 2 * count <= 3 * neighbours + 1:
        raise ClusteringError(f"{neighbours} neighbours need more than {(3 * neighbours + 1) // 2} points, not {count}")
    matrix = sparse.csr_matrix(similarity)
    squares = (coordinates**2).sum(axis=1)
    lost = intruded = 0.0
    for start in range(0, count, _BLOCK_ROWS):
        rows = np.arange(start, min(start + _BLOCK_ROWS, count))
        near = matrix[rows].toarray().astype(np.float64)
        far = squares[rows, None] + squares - 2.0 * coordinates[rows] @ coordinates.T
        near[np.arange(len(rows)), rows], far[np.arange(len(rows)), rows] = -np.inf, np.inf
        by_distance = np.argsort(far, axis=1, kind="stable")
        place = np.empty_like(by_distance)
        np.put_along_axis(place, by_distance, np.arange(1, count + 1)[None, :], axis=1)
        by_truth = np.lexsort((place, -near), axis=1)
        intruded += _excess(_best_ranks(near, by_truth), by_distance[:, :neighbours], neighbours)
        lost += _excess(place, by_truth[:, :neighbours], neighbours)
    scale = 2.0 / (count * neighbours * (2 * count - 3 * neighbours - 1))
    return Neighbourhoods(1.0 - scale * intruded, 1.0 - scale * lost)


def _best_ranks(near: Floats, order: Integers) -> Integers:
    """The rank of every entry by falling similarity, equals at the first of their places."""
    values = np.take_along_axis(near, order, axis=1)
    first = np.ones(values.shape, dtype=np.bool_)
    first[:, 1:] = values[:, 1:] != values[:, :-1]
    places = np.maximum.accumulate(np.where(first, np.arange(1, values.shape[1] + 1), 0), axis=1)
    ranks = np.empty_like(places)
    np.put_along_axis(ranks, order, places, axis=1)
    return ranks


def _excess(ranks: Integers, chosen: Integers, neighbours: int) -> float:
    return float(np.maximum(np.take_along_axis(ranks, chosen, axis=1) - neighbours, 0).sum())


def _contingency(classes: npt.ArrayLike, labels: npt.ArrayLike) -> Floats:
    known, found = np.asarray(classes), np.asarray(labels)
    if known.shape != found.shape or known.ndim != 1:
        raise ClusteringError(f"classes and labels must be rows of one length, not {known.shape} and {found.shape}")
    kept = (known >= 0) & (found >= 0)
    _, row = np.unique(known[kept], return_inverse=True)
    _, column = np.unique(found[kept], return_inverse=True)
    shape = (int(row.max(initial=-1)) + 1, int(column.max(initial=-1)) + 1)
    table: Floats = sparse.coo_matrix((np.ones(len(row)), (row, column)), shape=shape).toarray()
    return table
