"""Which recent events each subscription matched: the sparse matrix that all of clustering starts from (thesis, 3.2).

A row is a subscription, a column an event, an entry says that they match. Only the `recent` newest matches of a
subscription are kept, by position, so a row has at most `recent` entries, however long the log is. `own` is how many
a row has. It is kept beside the matrix because a view of the rows under another set of events (`under_events`) loses
the events that set does not know, and these must still count as not shared.

A subscription that matched nothing keeps its row, which is empty. Pairs given twice count once, at their newest
position; of one event at several positions the newest is meant; equal positions go to the larger event number.

Cost: one sort of the pairs, O(pairs · log pairs); 8 bytes of memory per entry kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from siftcast.model import ClusteringError

Floats = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]

RECENT = 20


@dataclass(frozen=True, slots=True)
class MatchedEvents:
    """Subscriptions by recent events: a binary CSR matrix, the matches of each row, and the events' own numbers."""

    matrix: sparse.csr_matrix
    own: Integers
    events: Integers

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def universe(self) -> int:
        """How many events are in the window."""
        return int(self.matrix.shape[1])

    @property
    def matched(self) -> npt.NDArray[np.bool_]:
        """For each subscription whether it matched anything."""
        return self.own > 0

    def take(self, rows: Integers | slice) -> MatchedEvents:
        """The named subscriptions, under the same events."""
        chosen = rows if isinstance(rows, slice) else np.asarray(rows, dtype=np.int64)
        return MatchedEvents(self.matrix[chosen], self.own[chosen], self.events)

    def under_events(self, events: Integers) -> MatchedEvents:
        """The same subscriptions with the columns of another matrix: what two need to be compared.

        `events` are ascending. Events it does not name are left out, but still counted in `own`.
        """
        if np.array_equal(self.events, events):
            return self
        pairs = self.matrix.tocoo()
        named = self.events[pairs.col]
        place = np.minimum(np.searchsorted(events, named), max(len(events) - 1, 0))
        known = events[place] == named if len(events) else np.zeros(len(named), dtype=np.bool_)
        return MatchedEvents(_binary(pairs.row[known], place[known], (len(self), len(events))), self.own, events)


def matched_events(
    subscriptions: npt.ArrayLike,
    events: npt.ArrayLike,
    positions: npt.ArrayLike | None = None,
    *,
    count: int | None = None,
    recent: int = RECENT,
) -> MatchedEvents:
    """The matrix from matching pairs: subscription i (from 0) matched event e at a position in the log.

    Without positions the event's number is its position. `count` is the number of subscriptions, which says how many
    empty rows follow the last that matched.
    """
    rows, columns = _numbers("subscriptions", subscriptions), _numbers("events", events)
    order = columns if positions is None else _positions(positions)
    if not len(rows) == len(columns) == len(order):
        raise ClusteringError(
            f"{len(rows)} subscriptions in pairs need as many events and positions, not {len(columns)} and {len(order)}"
        )
    least = int(rows.max(initial=-1)) + 1
    total = least if count is None else _whole("count", count, 0)
    if total < least or rows.min(initial=0) < 0:
        raise ClusteringError(
            f"subscriptions are numbered from 0, and there are {total}; found {rows.min()} to {rows.max()}"
        )
    recent = _whole("recent, the events a subscription keeps,", recent, 1)
    rows, columns = _distinct(rows, columns) if positions is None else _distinct_by_age(rows, columns, order)
    kept = np.searchsorted(rows, rows, side="right") - np.arange(len(rows)) <= recent
    rows, columns = rows[kept], columns[kept]
    window, numbered = np.unique(columns, return_inverse=True)
    own = np.bincount(rows, minlength=total).astype(np.int64)
    return MatchedEvents(_binary(rows, numbered, (total, len(window))), own, window)


def _distinct(rows: Integers, columns: Integers) -> tuple[Integers, Integers]:
    """Each pair once, by row and then by event; a sort of plain numbers, several times as fast as `lexsort`."""
    least = int(columns.min(initial=0))
    span = int(columns.max(initial=0)) - least + 1
    if span * (int(rows.max(initial=0)) + 1) > np.iinfo(np.int64).max:
        return _distinct_by_age(rows, columns, columns)
    keys = np.sort(rows * span + (columns - least))
    keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys
    return keys // span, keys % span + least


def _distinct_by_age(rows: Integers, columns: Integers, order: Any) -> tuple[Integers, Integers]:
    """Each pair once, by row and then by its newest position."""
    by_event = np.lexsort((order, columns, rows))
    rows, columns, order = rows[by_event], columns[by_event], order[by_event]
    last = np.ones(len(rows), dtype=np.bool_)
    last[:-1] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    rows, columns, order = rows[last], columns[last], order[last]
    by_age = np.lexsort((columns, order, rows))
    return rows[by_age], columns[by_age]


def _binary(rows: Any, columns: Any, shape: tuple[int, int]) -> sparse.csr_matrix:
    matrix = sparse.csr_matrix((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=shape)
    matrix.sort_indices()
    return matrix


def _numbers(name: str, values: npt.ArrayLike) -> Integers:
    numbers = np.asarray(values)
    if numbers.ndim != 1 or (numbers.size and not np.issubdtype(numbers.dtype, np.integer)):
        raise ClusteringError(
            f"{name} must be a row of whole numbers, not {numbers.dtype} of the shape {numbers.shape}"
        )
    return numbers.astype(np.int64)


def _positions(values: npt.ArrayLike) -> Any:
    """Numbers or times, all of them known: there is no telling how new an event without one is."""
    positions = np.asarray(values)
    if positions.ndim != 1 or (positions.size and positions.dtype.kind not in "biufmM"):
        raise ClusteringError(
            f"positions must be a row of numbers or times, not {positions.dtype} of the shape {positions.shape}"
        )
    if positions.dtype.kind in "fmM" and (positions != positions).any():
        raise ClusteringError(f"the position of pair {int(np.argmax(positions != positions))} is NaN: not a time")
    return positions


def _whole(name: str, value: object, least: int) -> int:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ClusteringError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return int(value)
