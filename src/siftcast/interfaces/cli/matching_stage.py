"""The middle of the pipeline: blocks of events in, the subscriptions of each event out, and the counts.

A block is matched in parts, whose size follows the time they take (`matching.batch_rows`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siftcast.files import DictionaryMemo, EventBlock, Numbers, pair_schema
from siftcast.matching import RESULT_TYPE, Matcher
from siftcast.matching.batch_rows import BatchRows
from siftcast.model import Subscription


@dataclass(frozen=True, slots=True)
class MatchedBlock:
    """Events and, for each, a list of the ids it satisfies."""

    block: EventBlock
    ids: pa.ChunkedArray


class BlockMatcher:
    """Matches blocks in parts of a suitable size."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._rows = BatchRows()

    def __call__(self, block: EventBlock) -> Iterator[MatchedBlock]:
        start = 0
        while start < len(block):
            part = block.slice(start, self._rows.count)
            started = perf_counter()
            ids = self._match(part)
            self._rows.adapt(len(part), sum(len(chunk.values) for chunk in ids.chunks), perf_counter() - started)
            start += len(part)
            yield MatchedBlock(part, ids)

    def _match(self, part: EventBlock) -> pa.ChunkedArray:
        if isinstance(part.events, list):
            return pa.chunked_array([pa.array([self._matcher.match(row) for row in part.events], RESULT_TYPE)])
        return self._matcher.match_batch(part.events)


class Tally:
    """How many events and pairs there were, and how often each subscription matched."""

    def __init__(self, ids: Sequence[str]) -> None:
        self.events = 0
        self.events_matched = 0
        self.pairs = 0
        self.counts: Numbers = np.zeros(len(ids), np.int64)
        numbers = {id: number for number, id in enumerate(ids)}
        self._numbers = DictionaryMemo(
            lambda known: np.array([numbers.get(id, -1) for id in known.to_pylist()], np.int64)
        )

    def add(self, matched: MatchedBlock) -> None:
        """Counts one block."""
        self.events += len(matched.block)
        for chunk in matched.ids.chunks:
            lengths = pc.list_value_length(chunk).to_numpy(zero_copy_only=False)
            self.events_matched += int(np.count_nonzero(lengths))
            flat = chunk.flatten()
            self.pairs += len(flat)
            if len(flat):
                per_code = np.bincount(flat.indices.to_numpy(), minlength=len(flat.dictionary))
                used = np.flatnonzero(per_code)
                np.add.at(self.counts, self._numbers(flat.dictionary)[used], per_code[used])

    def busiest(self, count: int) -> list[tuple[int, int]]:
        """The numbers and counts of the subscriptions that matched most, most first."""
        order = np.argsort(-self.counts, kind="stable")[:count]
        return [(int(index), int(self.counts[index])) for index in order if self.counts[index]]


class PairMaker:
    """Turns matched blocks into the tables that `pair_files` writes."""

    def __init__(self, subscriptions: Sequence[Subscription]) -> None:
        self._subscribers = {each.id: each.subscriber for each in subscriptions}
        self._has_subscribers = any(self._subscribers.values())
        self._id_column: str | None = None
        self._seen_events = False
        self._named = DictionaryMemo(self._name_subscribers)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result: event ids are among them if the first block of events had any."""
        return pair_schema(event_ids=self._id_column is not None, subscribers=self._has_subscribers)

    def __call__(self, matched: MatchedBlock) -> Iterator[pa.Table]:
        block = matched.block
        if not self._seen_events:
            self._id_column = _find_id_column(block)
            self._seen_events = True
        event_ids = None if self._id_column is None else _event_ids(block, self._id_column)
        start = 0
        for chunk in matched.ids.chunks:
            rows = pc.add(pc.list_parent_indices(chunk), start)
            flat = chunk.flatten()
            columns = [pa.array(block.numbers).take(rows)]
            if event_ids is not None:
                columns.append(pa.DictionaryArray.from_arrays(rows.cast(pa.int32()), event_ids))
            columns.append(flat)
            if self._has_subscribers:
                codes, names = self._named(flat.dictionary)
                columns.append(pa.DictionaryArray.from_arrays(codes.take(flat.indices), names))
            start += len(chunk)
            yield pa.Table.from_arrays(columns, schema=self.schema)

    def _name_subscribers(self, ids: pa.Array) -> tuple[pa.Array, pa.Array]:
        """For each code of an id the code of its subscriber, and the names of these."""
        named = pa.array([self._subscribers.get(id, "") for id in ids.to_pylist()], pa.string()).dictionary_encode()
        return named.indices, named.dictionary


def _find_id_column(block: EventBlock) -> str | None:
    if isinstance(block.events, list):
        names = {name for row in block.events for name in row}
    else:
        names = set(block.events.column_names)
    return next((name for name in ("event_id", "id") if name in names), None)


def _event_ids(block: EventBlock, name: str) -> pa.Array:
    """The events' own ids as text; null where one has none."""
    if isinstance(block.events, list):
        return pa.array([_id_text(row.get(name)) for row in block.events], pa.string())
    index = block.events.schema.get_field_index(name)
    if index < 0:
        return pa.nulls(len(block), pa.string())
    column = block.events.column(index).combine_chunks()
    try:
        return column.cast(pa.string())
    except pa.ArrowException:
        return pa.array([_id_text(value) for value in column.to_pylist()], pa.string())


def _id_text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)
