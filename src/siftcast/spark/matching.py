"""Events against subscriptions: a table in, a table out.

    events ──▶ + ids: an Arrow function of the columns that filters name ──▶ event columns + matched       lists
           └─▶ the other columns                                  explode ──▶ event columns + subscription_id  pairs

Only what filters ask for goes to Python, and only ids come back; Spark keeps the events meanwhile and joins the two.
So it may leave out columns that nobody selects, and move a later filter in front of matching. A `mapInArrow` over all
columns hides both from Spark, and is no faster: it carries each column there and back (W1, counting: 0.74 µs of CPU
compared with 0.68). Also rejected: the ids as a plain column. Spark takes a Python function for cheap, so a filter on
its result (`size(matched) > 0`, which Spark itself adds below an explode) computes it twice. As the one element of an
array that is exploded, it is computed once, and filters on other columns still pass below.

The matcher answers for a whole Arrow batch at once. A batch whose events match a lot would make a result larger than
memory, so batches are cut: the number of rows that go into one call follows from how many ids the rows before have
brought. Where that guess was too high, the answer is cut: ids are written out for so many rows at a time as bring
PIECE_BYTES.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from siftcast.matching import Matcher
from siftcast.matching.event_rows import NotTextError
from siftcast.model import DataError, Schema
from siftcast.spark.attributes import attribute_columns
from siftcast.spark.compiled import CompiledSubscriptions, Shipment, compiled_for
from siftcast.spark.errors import SparkError
from siftcast.spark.id_texts import texts_for, texts_of
from siftcast.spark.places import place_names, placed
from siftcast.spark.schemas import IDS_TYPE, RESULT_COLUMN, Output, check_event_columns, check_frame

RESULT_BYTES = 32 * 2**20  # about how large the ids of one outgoing batch may be
PIECE_BYTES = 256 * 2**20  # how large they may be at most, unless one event alone brings more
IDS = "ids"
ROWS_FIRST = 256
ROWS_GROWTH = 8  # at most so many times more rows than before, because the next events may match more
LISTS = pa.list_(pa.field("element", pa.string(), nullable=False))  # IDS_TYPE in Arrow; of another, Spark makes copies

Answer = Callable[[Matcher, Iterable[pa.RecordBatch]], Iterator[pa.Array]]


def match(
    events: DataFrame,
    subscriptions: DataFrame | CompiledSubscriptions,
    output: Output = "pairs",
    *,
    id_column: str = "id",
    filter_column: str = "filter",
    schema: Schema | None = None,
    strict: bool = True,
    engine: str = "auto",
) -> DataFrame:
    """The subscriptions that each event satisfies.

    `output="pairs"` has a row for each pair: the event's columns and `subscription_id`. `output="lists"` has a row for
    each event: its columns and `matched`, all ids, none where there are none. Ids come in any order.

    Subscriptions are read at once, events when the result is used. Raises DataError if a subscription cannot be used,
    and so, unless `strict` is off, if it asks for columns that the events do not have or compares what never compares;
    `match_with_rejects` goes on without it.
    """
    check_frame(events, "events")
    check_event_columns(events.columns, output)
    compiled = compiled_for(
        events,
        subscriptions,
        strict=strict,
        id_column=id_column,
        filter_column=filter_column,
        schema=schema,
        engine=engine,
    )
    return matched_frame(events, compiled.shipment, output)


def matched_frame(events: DataFrame, shipment: Shipment, output: Output) -> DataFrame:
    """Events with their matches, as lists or as pairs."""
    if output == "lists":
        return shape(match_places(events, shipment), events.columns, output)
    pairs = placed(events).select("*", f.explode(_ids(events, shipment)).alias(IDS))
    return pairs.toDF(*events.columns, RESULT_COLUMN[output])


def match_places(events: DataFrame, shipment: Shipment) -> DataFrame:
    """The columns of the events under their places and the ids under IDS; `shape` gives the names back."""
    return placed(events).select("*", once(_ids(events, shipment), f.array().cast(IDS_TYPE)).alias(IDS))


def shape(matched: DataFrame, event_columns: Sequence[str], output: Output) -> DataFrame:
    """What `match_places` found as lists or as pairs."""
    ids = f.col(IDS) if output == "lists" else f.explode(IDS)
    chosen = matched.select(*place_names(len(event_columns)), ids.alias(IDS))
    return chosen.toDF(*event_columns, RESULT_COLUMN[output])


def _ids(events: DataFrame, shipment: Shipment) -> Column:
    return answer_column(events, shipment, match_lists, IDS_TYPE)


def answer_column(events: DataFrame, shipment: Shipment, answer: Answer, kind: t.DataType) -> Column:
    """What a matcher says about each event, as a column of the placed events."""
    chosen = attribute_columns(events.schema, shipment.attributes)
    names = list(chosen)

    def run(arguments: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        columns = ((each,) if isinstance(each, pa.Array) else each for each in arguments)  # one comes alone
        return answer(shipment.load(), (pa.RecordBatch.from_arrays(list(each), names) for each in columns))

    return arrow_function(run, kind)(*chosen.values())


def arrow_function(run: Callable[..., Iterator[pa.Array]], kind: t.DataType) -> Callable[..., Column]:
    """A function of columns from one of iterators over their Arrow arrays, as its type hints must say."""
    if not hasattr(f, "arrow_udf"):
        raise SparkError("matching needs Spark 4.1 or newer; pip install 'pyspark>=4.1'")
    made: Callable[..., Column] = f.arrow_udf(run, kind)
    return made


def once(value: Column, empty: Column) -> Column:
    """The same value, which Spark is not to compute again for each use; there may be one such column in a select.

    It is never null, which Spark does not know of a Python function and takes from there being something instead.
    """
    return f.explode(f.array(f.coalesce(value, empty)))


# -- in the workers ----------------------------------------------------------------------------------


def match_lists(matcher: Matcher, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.ListArray]:
    """The ids for each row, in pieces of whatever length."""
    return (lists for _, lists in _answers(matcher, batches))


def match_batches(
    matcher: Matcher, batches: Iterable[pa.RecordBatch], names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """The same batches, perhaps in smaller pieces, with one column more; filters know the columns by these names."""
    renamed: list[pa.Schema] = []

    def known() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            renamed[:] = [batch.schema]
            yield batch.rename_columns(list(names))

    for rows, lists in _answers(matcher, known()):
        fields = renamed[0].append(pa.field(IDS, lists.type, nullable=False))
        yield pa.RecordBatch.from_arrays([*rows.columns, lists], schema=fields)


def _answers(matcher: Matcher, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, pa.ListArray]]:
    """Some rows and their ids, in order."""
    rows_max = ROWS_FIRST
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, rows_max)
            start += part.num_rows
            size = 0
            done = 0
            with clear_errors():
                found = matcher.match_batch(part)
            for chunk in found.chunks:
                for piece in _pieces(chunk):
                    offsets = piece.offsets.to_numpy()
                    ids = texts_of(piece.values[offsets[0] : offsets[-1]])  # Spark takes no dictionaries
                    size += ids.nbytes
                    yield (
                        part.slice(done, len(piece)),
                        pa.ListArray.from_arrays(pa.array(offsets - offsets[0]), ids, type=LISTS),
                    )
                    done += len(piece)
            fitting = part.num_rows * RESULT_BYTES // max(size, 1)
            rows_max = max(1, min(fitting, rows_max * ROWS_GROWTH))


@contextmanager
def clear_errors() -> Iterator[None]:
    """Says what is wrong with texts that a matcher cannot read: Spark lets any bytes pass as a string."""
    try:
        yield
    except NotTextError as error:
        raise DataError(
            f"{error}; repair the column with Spark's make_valid_utf8(), "
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
