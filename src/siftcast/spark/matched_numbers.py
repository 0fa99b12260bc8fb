"""Matches as numbers: which subscriptions, by their place in the matcher, each event of a batch satisfies.

Ids are texts, and clustering counts matches by the million: a number is a fifth of an id, and arrays of numbers need no
dictionary. A subscription's number is its place in the order of addition, which the saved form of a matcher keeps, so
driver and workers agree on it without telling each other.

Batches are cut to a size that suits the matcher (`matching.batch_rows`). Cost: that of matching, and one search for
every id whenever the matcher hands out another dictionary, which it does when its index has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from siftcast.files import DictionaryMemo
from siftcast.matching import Matcher
from siftcast.matching.batch_rows import BatchRows
from siftcast.spark.matching import clear_errors

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MatchedRows:
    """Some events, and a pair for each match: the subscription's number and the row of the event."""

    events: pa.RecordBatch
    subscriptions: Integers
    rows: Integers


def match_numbers(
    matcher: Matcher, batches: Iterable[pa.RecordBatch], names: Sequence[str], *, extra: int = 0
) -> Iterator[MatchedRows]:
    """The same batches, perhaps in smaller pieces, with their matches.

    Filters know the columns by `names`; the last `extra` columns are none of the event's and are not shown to them.
    """
    numbering = _Numbering(matcher)
    rows = BatchRows()
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, rows.count)
            start += part.num_rows
            shown = part.select(list(range(part.num_columns - extra))).rename_columns(list(names))
            started = perf_counter()
            with clear_errors():
                found = numbering.pairs(matcher.match_batch(shown))
            rows.adapt(part.num_rows, len(found[0]), perf_counter() - started)
            yield MatchedRows(part, *found)


def subscription_ids(matcher: Matcher) -> pa.Array:
    """The ids, in the order of their numbers."""
    return pa.array(list(matcher), pa.string())


def ranks_within(subscriptions: Integers) -> Integers:
    """The rank of each pair among those of its subscription, from 0; pairs of one subscription follow each other."""
    begins = np.flatnonzero(np.diff(subscriptions, prepend=-1))
    ranks: Integers = np.arange(len(subscriptions)) - np.repeat(begins, np.diff(begins, append=len(subscriptions)))
    return ranks


class _Numbering:
    """From the codes of a matcher's answers to numbers."""

    def __init__(self, matcher: Matcher) -> None:
        self._ids = subscription_ids(matcher)
        self._numbers = DictionaryMemo(self._find, kept=1)

    def pairs(self, lists: pa.ChunkedArray) -> tuple[Integers, Integers]:
        numbers, rows, before = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
        for chunk in lists.chunks:
            ids = chunk.flatten()
            numbers.append(self._numbers(ids.dictionary)[ids.indices.to_numpy(zero_copy_only=False)])
            rows.append(pc.list_parent_indices(chunk).to_numpy(zero_copy_only=False).astype(np.int64) + before)
            before += len(chunk)
        return np.concatenate(numbers), np.concatenate(rows)

    def _find(self, dictionary: pa.Array) -> Integers:
        # A place in the dictionary that was freed has no number, and no match refers to it.
        found = pc.fill_null(pc.index_in(dictionary, value_set=self._ids), -1)
        numbers: Integers = found.to_numpy(zero_copy_only=False).astype(np.int64)
        return numbers
