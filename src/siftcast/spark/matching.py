"""Events against subscriptions: a table in, a table out.

    events ──▶ mapInArrow(matcher) ──▶ event columns + matched: array<string>            lists
                                        └──▶ explode ──▶ event columns + subscription_id  pairs

The matcher answers for a whole Arrow batch at once. Pairs are made from lists inside the JVM: repeating the event's
columns there costs half of what it costs to repeat them in Python and carry them over.

A batch whose events match a lot would make a result larger than memory, so batches are cut: the number of rows that go
into one call follows from how many ids the rows before have brought. Where that guess was too high, the answer is cut:
ids are written out for so many rows at a time as bring PIECE_BYTES.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from siftcast.matching import Matcher
from siftcast.model import DataError, Schema
from siftcast.spark.compiled import CompiledSubscriptions, Shipment, compile_subscriptions
from siftcast.spark.id_texts import texts_for, texts_of
from siftcast.spark.places import place_names, placed
from siftcast.spark.schemas import RESULT_COLUMN, Output, check_event_columns, check_frame, lists_type

RESULT_BYTES = 32 * 2**20  # about how large the ids of one outgoing batch may be
PIECE_BYTES = 256 * 2**20  # how large they may be at most, unless one event alone brings more
IDS = "ids"
ROWS_FIRST = 256
ROWS_GROWTH = 8  # at most so many times more rows than before, because the next events may match more


def match(
    events: DataFrame,
    subscriptions: DataFrame | CompiledSubscriptions,
    output: Output = "pairs",
    *,
    id_column: str = "id",
    filter_column: str = "filter",
    schema: Schema | None = None,
    engine: str = "auto",
) -> DataFrame:
    """The subscriptions that each event satisfies.

    `output="pairs"` has a row for each pair: the event's columns and `subscription_id`. `output="lists"` has a row for
    each event: its columns and `matched`, all ids, none where there are none. Ids come in any order.

    Subscriptions are read at once, events when the result is used. Raises DataError if a subscription cannot be used;
    `match_with_rejects` goes on without it.
    """
    check_frame(events, "events")
    check_event_columns(events.columns, output)
    if not isinstance(subscriptions, CompiledSubscriptions):
        subscriptions = compile_subscriptions(
            subscriptions, id_column=id_column, filter_column=filter_column, schema=schema, engine=engine
        )
    subscriptions.check()
    return shape(match_places(events, subscriptions.shipment), events.columns, output)


def match_lists(events: DataFrame, shipment: Shipment) -> DataFrame:
    """Event columns and `matched`."""
    return shape(match_places(events, shipment), events.columns, "lists")


def match_places(events: DataFrame, shipment: Shipment) -> DataFrame:
    """The columns of the events under their places and the ids under IDS; `shape` gives the names back."""
    names, unnamed = events.columns, placed(events)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return match_batches(shipment.load(), batches, names)

    return unnamed.mapInArrow(run, lists_type(unnamed.schema, IDS))


def shape(matched: DataFrame, event_columns: Sequence[str], output: Output) -> DataFrame:
    """What `match_places` found as lists or as pairs."""
    ids = f.col(IDS) if output == "lists" else f.explode(IDS)
    chosen = matched.select(*place_names(len(event_columns)), ids.alias(IDS))
    return chosen.toDF(*event_columns, RESULT_COLUMN[output])


def match_batches(
    matcher: Matcher, batches: Iterable[pa.RecordBatch], names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """The same batches, perhaps in smaller pieces, with one column more; filters know the columns by these names."""
    rows_max = ROWS_FIRST
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, rows_max)
            start += part.num_rows
            size = 0
            done = 0
            with clear_errors():
                found = matcher.match_batch(part.rename_columns(names))
            for chunk in found.chunks:
                for piece in _pieces(chunk):
                    offsets = piece.offsets.to_numpy()
                    ids = texts_of(piece.values[offsets[0] : offsets[-1]])  # Spark takes no dictionaries
                    size += ids.nbytes
                    lists = pa.ListArray.from_arrays(pa.array(offsets - offsets[0]), ids)
                    yield _with_ids(part.slice(done, len(piece)), lists)
                    done += len(piece)
            fitting = part.num_rows * RESULT_BYTES // max(size, 1)
            rows_max = max(1, min(fitting, rows_max * ROWS_GROWTH))


@contextmanager
def clear_errors() -> Iterator[None]:
    """Says what is wrong with texts that a matcher cannot read: Spark lets any bytes pass as a string."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise DataError(
            f"a text of the events is not valid UTF-8 ({error}); repair the column with Spark's make_valid_utf8(), "
            "or read the file with read_events(), which sets such lines apart"
        ) from None


def _pieces(lists: pa.ListArray) -> Iterator[pa.ListArray]:
    """The same lists in order, cut where their ids would take more than PIECE_BYTES."""
    offsets = lists.offsets.to_numpy()
    texts = texts_for(lists.values.dictionary)
    if int(offsets[-1] - offsets[0]) * texts.longest <= PIECE_BYTES:
        yield lists
        return
    codes, lengths = lists.values.indices.to_numpy()[offsets[0] : offsets[-1]], texts.lengths()
    ends = np.concatenate(([0], np.cumsum(lengths[codes], dtype=np.int64)))[offsets - offsets[0]]
    first = 0
    while first < len(lists):
        last = int(np.searchsorted(ends, ends[first] + PIECE_BYTES, side="right")) - 1
        last = max(last, first + 1)
        yield lists.slice(first, last - first)
        first = last


def _with_ids(batch: pa.RecordBatch, ids: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [*batch.columns, ids], schema=batch.schema.append(pa.field(IDS, ids.type, nullable=False))
    )
