"""What a task does with a shard: a stream of sorted rows in, matches out.

Rows come shard after shard, in each the subscriptions (side 0) before the events (side 1). A matcher is built when the
first event of its shard comes, so that a shard without events costs no indexing, and is dropped with its last.

    shard  side  subscription          event        row, run (only where lists must be put together)   main
    3      0     {id, filter, dialect}
    3      1                           {columns}    17, -5590…                                         true
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siftcast.matching import Matcher
from siftcast.model import Schema
from siftcast.spark.matching import IDS, match_batches


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring rows of one shard and side."""

    shard: int
    side: int
    rows: pa.RecordBatch


@dataclass(frozen=True)
class ShardWorker:
    """How events are answered: `every` one or only those that match; those to be put together, numbered."""

    event_columns: tuple[str, ...]
    engine: str
    schema: Schema | None
    every: bool
    merging: bool

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Events with their matches."""
        for _, shard in groupby(runs_of(batches), key=lambda run: run.shard):
            subscriptions: list[pa.RecordBatch] = []
            for side, part in groupby(shard, key=lambda run: run.side):
                if side == 0:
                    subscriptions = [_fields(run.rows["subscription"]) for run in part]
                    continue
                matcher = self._matcher(subscriptions)
                subscriptions = []  # the index has what it needs; the texts may go
                yield from self._answers(matcher, part)

    def _matcher(self, subscriptions: list[pa.RecordBatch]) -> Matcher:
        if not subscriptions:
            return Matcher(self.engine, self.schema)
        return Matcher.from_arrow(pa.Table.from_batches(subscriptions), self.engine, self.schema)

    def _answers(self, matcher: Matcher, runs: Iterable[Run]) -> Iterator[pa.RecordBatch]:
        """Every run through the matcher, which sees the event's own columns only and may answer in smaller pieces."""
        current: pa.RecordBatch | None = None
        done = 0

        def feed() -> Iterator[pa.RecordBatch]:
            nonlocal current, done
            for run in runs:
                current, done = run.rows, 0
                yield _fields(run.rows["event"])

        for answered in match_batches(matcher, feed(), self.event_columns):
            assert current is not None
            copies = current.slice(done, answered.num_rows)
            done += answered.num_rows
            yield self._shaped(answered, copies)

    def _shaped(self, answered: pa.RecordBatch, copies: pa.RecordBatch) -> pa.RecordBatch:
        matched = answered.column(answered.num_columns - 1)
        hit = pc.greater(pc.list_value_length(matched), 0)
        if not self.merging:
            return answered if self.every else answered.filter(hit)
        # Only the main copy carries the event and comes in any case; of the others, only what they found.
        main = copies["main"]
        events = pa.StructArray.from_arrays(
            answered.columns[:-1], fields=list(answered.schema)[:-1], mask=pc.invert(main)
        )
        batch = pa.RecordBatch.from_arrays(
            [copies["row"], copies["run"], events, matched], ["row", "run", "event", IDS]
        )
        return batch.filter(pc.or_(main, hit))


def runs_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Run]:
    """Batches cut where the shard or the side changes."""
    for batch in batches:
        shards = batch["shard"].to_numpy(zero_copy_only=False)
        sides = batch["side"].to_numpy(zero_copy_only=False)
        changes = np.flatnonzero((np.diff(shards) != 0) | (np.diff(sides) != 0)) + 1
        starts = [0, *changes.tolist()] if batch.num_rows else []
        for start, stop in zip(starts, [*starts[1:], batch.num_rows], strict=True):
            yield Run(int(shards[start]), int(sides[start]), batch.slice(start, stop - start))


def _fields(column: pa.StructArray) -> pa.RecordBatch:
    """The fields of a struct that is nowhere null, as columns."""
    return pa.RecordBatch.from_arrays(column.flatten(), schema=pa.schema(list(column.type)))
