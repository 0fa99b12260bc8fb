"""How alike two subscriptions are, by the recent events both matched (thesis, 3.3.1.1).

Every function takes four counts: the events `shared` by both, each one's `own` and `other`, and the `universe` of all
events in the window. The thesis finds Jaccard the most consistent; it is the default.

    jaccard           shared / (own + other - shared)
    dice              2 shared / (own + other)
    simpson           shared / min(own, other)
    russell           shared / universe
    simple_matching   (universe - own - other + 2 shared) / universe

Similarities are kept for pairs that share an event and for no other, so work and memory follow the shared events (a
sparse product), never the square of the subscriptions. For all functions but one an unrelated pair has similarity 0
and nothing is lost. Simple matching also counts the events that neither matched; its unrelated pairs count as 0 here
all the same, because two subscriptions that never receive an event together have no business in one cluster.

A subscription that matched nothing has similarity 0 to everyone, itself included. `pairs_bound` says beforehand how
many pairs a product can have; where that is too many, compare with landmarks in blocks (`dense_similarities`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from siftcast.model import ClusteringError
from siftcast.planning.clustering.matched_events import Floats, MatchedEvents

Counts = Any
Similarity = Callable[[Counts, Counts, Counts, int], Floats]

_DENSE_SHARE = 0.2
_DENSE_CELLS_MAX = 100_000_000


def jaccard(shared: Counts, own: Counts, other: Counts, universe: int) -> Floats:
    """Shared among all that either matched."""
    return _ratio(shared, own + other - shared)


def dice(shared: Counts, own: Counts, other: Counts, universe: int) -> Floats:
    """Shared among the mean number of matches."""
    return _ratio(2 * shared, own + other)


def simpson(shared: Counts, own: Counts, other: Counts, universe: int) -> Floats:
    """Shared among the matches of the one with fewer: 1 if one covers the other."""
    return _ratio(shared, np.minimum(own, other))


def russell(shared: Counts, own: Counts, other: Counts, universe: int) -> Floats:
    """Shared among all events."""
    return _ratio(shared, np.full_like(shared, universe))


def simple_matching(shared: Counts, own: Counts, other: Counts, universe: int) -> Floats:
    """The share of events on which both agree, matched or not; 0 for pairs that share none."""
    return np.where(shared > 0, _ratio(universe - own - other + 2 * shared, np.full_like(shared, universe)), 0.0)


SIMILARITIES: dict[str, Similarity] = {
    "jaccard": jaccard,
    "dice": dice,
    "simpson": simpson,
    "russell": russell,
    "simple_matching": simple_matching,
}


def similarity_named(name: str) -> Similarity:
    """A function of the registry."""
    if name not in SIMILARITIES:
        raise ClusteringError(f"there is no similarity {name!r}; there are {', '.join(SIMILARITIES)}")
    return SIMILARITIES[name]


def similarities(
    left: MatchedEvents, right: MatchedEvents | None = None, *, name: str = "jaccard"
) -> sparse.csr_matrix:
    """Similarities of the rows of `left` (rows) to those of `right` (columns), for pairs that share an event."""
    function = similarity_named(name)
    others = left if right is None else right.under_events(left.events)
    shared = (left.matrix @ others.matrix.T).tocsr()
    rows = np.repeat(np.arange(shared.shape[0]), np.diff(shared.indptr))
    own, other = left.own[rows].astype(np.float32), others.own[shared.indices].astype(np.float32)
    values = function(shared.data, own, other, left.universe)
    return sparse.csr_matrix((values.astype(np.float32), shared.indices, shared.indptr), shape=shared.shape)


def dense_similarities(left: MatchedEvents, right: MatchedEvents, *, name: str = "jaccard") -> Floats:
    """The same as a full array: for blocks against landmarks, where most pairs share something."""
    function = similarity_named(name)
    others = right.under_events(left.events)
    shared = np.asarray(left.matrix @ others.matrix.T.toarray())
    own, other = left.own[:, None].astype(np.float32), others.own[None, :].astype(np.float32)
    return function(shared, own, other, left.universe)


def block_similarities(left: MatchedEvents, right: MatchedEvents, *, name: str = "jaccard") -> Any:
    """Sparse or full, whichever costs less: a full product does not skip pairs, but each costs a tenth."""
    others = right.under_events(left.events)
    steps = int(_popularity(left) @ _popularity(others))
    cells = len(left) * len(others)
    if cells <= _DENSE_CELLS_MAX and steps > cells * _DENSE_SHARE:
        return dense_similarities(left, others, name=name)
    return similarities(left, others, name=name)


def pairs_bound(matched: MatchedEvents) -> int:
    """At most so many pairs share an event: the sum of squares of the events' matches."""
    return int(min((_popularity(matched) ** 2).sum(), len(matched) ** 2))


def _popularity(matched: MatchedEvents) -> Any:
    """How many subscriptions matched each event."""
    return np.bincount(matched.matrix.indices, minlength=matched.universe).astype(np.int64)


def _ratio(part: Counts, whole: Counts) -> Floats:
    part, whole = np.asarray(part, dtype=np.float32), np.asarray(whole, dtype=np.float32)
    ratio: Floats = np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape, np.float32), where=whole > 0)
    return ratio
