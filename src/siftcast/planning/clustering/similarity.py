"""How alike two subscriptions are, by the recent events both matched (thesis, 3.3.1.1).

Every function takes four counts: the events `shared` by both, each one's `own` and `other`, and the `universe` of all
events in the window. The thesis finds Jaccard the most consistent; it is the default.

Where newcomers (`left`) are compared with subscriptions of an earlier window (`right`), the universe is that window and
the newcomer's own events. So a similarity never depends on who else is compared, and never leaves [0, 1].

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
many pairs a product can have; where that is too many, compare with landmarks in blocks (`block_similarities`), which
are full arrays where most pairs of a block share something.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from siftcast.model import ClusteringError
from siftcast.planning.clustering.matched_events import Floats, Integers, MatchedEvents

Counts = Any
Similarity = Callable[[Counts, Counts, Counts, Counts], Floats]

_DENSE_SHARE = 0.2
_DENSE_CELLS_MAX = 100_000_000


def jaccard(shared: Counts, own: Counts, other: Counts, universe: Counts) -> Floats:
    """Shared among all that either matched."""
    return _ratio(shared, own + other - shared)


def dice(shared: Counts, own: Counts, other: Counts, universe: Counts) -> Floats:
    """Shared among the mean number of matches."""
    return _ratio(2 * shared, own + other)


def simpson(shared: Counts, own: Counts, other: Counts, universe: Counts) -> Floats:
    """Shared among the matches of the one with fewer: 1 if one covers the other."""
    return _ratio(shared, np.minimum(own, other))


def russell(shared: Counts, own: Counts, other: Counts, universe: Counts) -> Floats:
    """Shared among all events."""
    return _ratio(shared, universe)


def simple_matching(shared: Counts, own: Counts, other: Counts, universe: Counts) -> Floats:
    """The share of events on which both agree, matched or not; 0 for pairs that share none."""
    return np.where(shared > 0, _ratio(universe - own - other + 2 * shared, universe), 0.0)


SIMILARITIES: dict[str, Similarity] = {
    "jaccard": jaccard,
    "dice": dice,
    "simpson": simpson,
    "russell": russell,
    "simple_matching": simple_matching,
}


def similarity_named(name: str) -> Similarity:
    """A function of the registry."""
    if not isinstance(name, str) or name not in SIMILARITIES:
        raise ClusteringError(f"there is no similarity {name!r}; there are {', '.join(SIMILARITIES)}")
    return SIMILARITIES[name]


def similarities(
    left: MatchedEvents, right: MatchedEvents | None = None, *, name: str = "jaccard"
) -> sparse.csr_matrix:
    """Similarities of the rows of `left` (rows) to those of `right` (columns), for pairs that share an event."""
    return _sparse(_joined(left, left if right is None else right), similarity_named(name))


def block_similarities(left: MatchedEvents, right: MatchedEvents, *, name: str = "jaccard") -> Any:
    """Sparse or full, whichever costs less: a full product does not skip pairs, but each costs a tenth."""
    joined = _joined(left, right)
    steps = int(_popularity(left) @ _popularity(joined.right))
    cells = len(left) * len(right)
    full = cells <= _DENSE_CELLS_MAX and steps > cells * _DENSE_SHARE
    return (_dense if full else _sparse)(joined, similarity_named(name))


@dataclass(frozen=True, slots=True)
class _Joined:
    """Two sides under the events of `left`, and for each row of it the events of the window that both live in."""

    left: MatchedEvents
    right: MatchedEvents
    universe: Integers


def _joined(left: MatchedEvents, right: MatchedEvents) -> _Joined:
    if np.array_equal(left.events, right.events):
        return _Joined(left, right, np.full(len(left), right.universe))
    known = np.isin(left.events, right.events).astype(np.float64)
    inside = np.asarray(left.matrix @ known).astype(np.int64)
    return _Joined(left, right.under_events(left.events), right.universe + left.own - inside)


def _sparse(joined: _Joined, function: Similarity) -> sparse.csr_matrix:
    shared = (joined.left.matrix @ joined.right.matrix.T).tocsr()
    rows = np.repeat(np.arange(shared.shape[0]), np.diff(shared.indptr))
    own, other, universe = joined.left.own[rows], joined.right.own[shared.indices], joined.universe[rows]
    values = function(shared.data, *(counts.astype(np.float32) for counts in (own, other, universe)))
    return sparse.csr_matrix((values.astype(np.float32), shared.indices, shared.indptr), shape=shared.shape)


def _dense(joined: _Joined, function: Similarity) -> Floats:
    shared = np.asarray(joined.left.matrix @ joined.right.matrix.T.toarray())
    own, other, universe = joined.left.own[:, None], joined.right.own[None, :], joined.universe[:, None]
    return function(shared, *(counts.astype(np.float32) for counts in (own, other, universe)))


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
