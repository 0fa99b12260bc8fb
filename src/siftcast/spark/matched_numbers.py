"""Matches as numbers: which subscriptions, by their place in the matcher, each event of a batch satisfies.

Ids are texts, and clustering counts matches by the million: a number is a fifth of an id, and arrays of numbers need no
dictionary. A subscription's number is its place in the order of addition, which the saved form of a matcher keeps, so
driver and workers agree on it without telling each other.

Batches are cut so that one call finds about PAIRS_MAX matches, judged by the calls before. Cost: that of matching, and
one search for every id whenever the matcher hands out another dictionary, which it does when its index has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from siftcast.matching import Matcher
from siftcast.spark.matching import clear_errors

PAIRS_MAX = 4_000_000
_ROWS_FIRST = 256
_ROWS_GROWTH = 8

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
    rows_max = _ROWS_FIRST
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, rows_max)
            start += part.num_rows
            shown = part.select(list(range(part.num_columns - extra))).rename_columns(list(names))
            with clear_errors():
                found = numbering.pairs(matcher.match_batch(shown))
            yield MatchedRows(part, *found)
            fitting = part.num_rows * PAIRS_MAX // max(len(found[0]), 1)
            rows_max = max(1, min(fitting, rows_max * _ROWS_GROWTH))


def subscription_ids(matcher: Matcher) -> pa.Array:
    """The ids, in the order of their numbers."""
    return pa.array(list(matcher), pa.string())


class _Numbering:
    """From the codes of a matcher's answers to numbers."""

    def __init__(self, matcher: Matcher) -> None:
        self._ids = subscription_ids(matcher)
        self._dictionary: pa.Array | None = None
        self._numbers: Any = None

    def pairs(self, lists: pa.ChunkedArray) -> tuple[Integers, Integers]:
        numbers, rows, before = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
        for chunk in lists.chunks:
            ids = chunk.flatten()
            numbers.append(self._known(ids.dictionary)[ids.indices.to_numpy(zero_copy_only=False)])
            rows.append(pc.list_parent_indices(chunk).to_numpy(zero_copy_only=False).astype(np.int64) + before)
            before += len(chunk)
        return np.concatenate(numbers), np.concatenate(rows)

    def _known(self, dictionary: pa.Array) -> Integers:
        if self._dictionary is None or _place(dictionary) != _place(self._dictionary):
            self._dictionary = dictionary
            # A place in the dictionary that was freed has no number, and no match refers to it.
            found = pc.fill_null(pc.index_in(dictionary, value_set=self._ids), -1)
            self._numbers = found.to_numpy(zero_copy_only=False).astype(np.int64)
        numbers: Integers = self._numbers
        return numbers


def _place(array: pa.Array) -> tuple[int | None, ...]:
    """Where an array lies in memory, which nobody changes while it is held."""
    addresses = (None if buffer is None else buffer.address for buffer in array.buffers())
    return (len(array), array.offset, *addresses)
