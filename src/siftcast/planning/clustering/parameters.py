"""What the parameters and the data of `SubscriptionClusters` may be: mistakes are named before any work is done.

Whole numbers may be Python's or NumPy's, but not booleans. Use before `fit` is scikit-learn's error as well as ours.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError

from siftcast.model import ClusteringError
from siftcast.planning.clustering.embedding import embedding_named
from siftcast.planning.clustering.hierarchy import check_landmarks
from siftcast.planning.clustering.matched_events import Integers, MatchedEvents
from siftcast.planning.clustering.similarity import similarity_named


class NotClusteredError(ClusteringError, NotFittedError):  # type: ignore[misc]
    """Clusters are asked for before there are any: call `fit` first."""


def check_parameters(parameters: dict[str, Any], kmeans: list[str], count: int) -> None:
    """Raises ClusteringError unless `count` subscriptions can be clustered so; `kmeans` names those there are."""
    embedding_named(parameters["method"])
    similarity_named(parameters["similarity"])
    for name in ("k", "levels", "groups", "dimensions"):
        value = parameters[name]
        if (value is not None or name == "k") and not (is_whole(value) and (value >= 1 or name == "k")):
            raise ClusteringError(f"{name} must be a whole number of at least 1, not {value!r}")
    k, levels, groups = parameters["k"], parameters["levels"], parameters["groups"]
    if not 1 <= k <= count:
        raise ClusteringError(f"{count} subscriptions cannot form {k} clusters; k must be from 1 to {count}")
    if levels == 1 and (groups or 1) > 1:
        raise ClusteringError(f"one level is one group, not {groups}; ask for two levels or more")
    if parameters["landmarks"] is not None:
        check_landmarks(parameters["landmarks"])
    if parameters["kmeans"] is not None and parameters["kmeans"] not in kmeans:
        raise ClusteringError(f"there is no k-means {parameters['kmeans']!r}; there are {', '.join(kmeans)}")
    sigma, seed = parameters["sigma"], parameters["seed"]
    if isinstance(sigma, bool) or not isinstance(sigma, int | float | np.number) or not 0 < sigma < math.inf:
        raise ClusteringError(f"sigma, the width of a neighbourhood, must be a number above 0, not {sigma!r}")
    if not is_whole(seed) or seed < 0:
        raise ClusteringError(f"seed must be a whole number of at least 0, not {seed!r}")


def is_whole(value: object) -> bool:
    """Whether it is a whole number, of Python or NumPy."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def as_matched(matched: Any) -> MatchedEvents:
    """Matches as they are, or from a binary matrix whose columns are events numbered from 0."""
    if isinstance(matched, MatchedEvents):
        return matched
    try:
        entries = matched if sparse.issparse(matched) else np.asarray(matched)
    except ValueError as error:
        raise ClusteringError(f"matches must be a matrix of subscriptions by events: {error}") from None
    if entries.ndim != 2 or entries.dtype.kind not in "biuf":
        raise ClusteringError(
            f"matches must be a matrix of subscriptions by events, not {entries.dtype} of the shape {entries.shape}"
        )
    matrix = sparse.csr_matrix(entries)
    if not np.isfinite(matrix.data).all():
        raise ClusteringError(
            "whether a subscription matched an event must be a number; there are NaN or infinite ones"
        )
    matrix = (matrix != 0).astype(np.float32).tocsr()
    matrix.sort_indices()
    own = np.diff(matrix.indptr).astype(np.int64)
    return MatchedEvents(matrix, own, np.arange(matrix.shape[1]))


def as_groups(groups: Any, rows: int, count: int) -> Integers:
    """A base group, of `count`, for each of so many subscriptions."""
    chosen = np.asarray(groups)
    whole = np.issubdtype(chosen.dtype, np.integer) or not chosen.size
    if chosen.shape != (rows,) or not whole or not ((chosen >= 0) & (chosen < count)).all():
        raise ClusteringError(f"groups must be a number from 0 to {count - 1} for each of {rows} subscriptions")
    return chosen.astype(np.int64)
