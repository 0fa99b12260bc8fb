"""`Matcher`: a set of subscriptions that says which of them an event satisfies.

It owns what is the same for every engine: ids, the order of addition, the check against a schema, results as
Arrow lists, and the saved form. The engine below only knows slots (see `contract`).
"""

from __future__ import annotations

import gc
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from siftcast.matching.arrow_times import in_range
from siftcast.matching.contract import BatchResult, Int32Array, Int64Array
from siftcast.matching.registry import engine_class
from siftcast.matching.slots import SlotTable
from siftcast.matching.subscription_tables import BoundsChunk, subscription_chunks
from siftcast.model import DataError, EngineError, Event, Filter, Schema, Subscription, SubscriptionError

RESULT_TYPE = pa.list_(pa.dictionary(pa.int32(), pa.string()))
_MAGIC = b"siftcast-matcher-4\n"
_LIST_MAX = 2**31 - 1  # what the 32-bit offsets of one Arrow list chunk can count


class Matcher:
    """Subscriptions under ids; `match` answers with ids in the order in which they were added."""

    __slots__ = ("_engine", "_named", "_slots", "schema")

    def __init__(self, engine: str = "auto", schema: Schema | None = None) -> None:
        self.schema = schema
        self._engine = engine_class(engine)()
        self._slots = SlotTable()
        self._named: _Named | None = None

    # -- subscriptions -------------------------------------------------------------------------------

    def add(self, id: str, filter: Filter | str) -> None:
        """Adds a subscription; raises if the id is taken or the filter does not fit the schema."""
        filter_ = self._checked(filter)
        slot = self._slots.take(id)
        try:
            self._engine.add(slot, filter_)
        except BaseException:
            self._slots.release(id)
            raise

    def add_many(self, subscriptions: Iterable[tuple[str, Filter | str] | Subscription]) -> None:
        """Adds many subscriptions, all or none; engines load them faster together than one by one."""
        ids: list[str] = []
        filters: list[Filter] = []
        for item in subscriptions:
            id, filter = (item.id, item.filter) if isinstance(item, Subscription) else item
            ids.append(id)
            filters.append(self._checked(filter))
        with collector_paused():
            loader = self._engine.bulk()
            slots = self._slots.take_many(ids)
            try:
                loader.add(slots, filters)
                loader.finish()
            except BaseException:
                for id in ids:
                    self._slots.release(id)
                raise

    @classmethod
    def from_arrow(cls, subscriptions: pa.Table, engine: str = "auto", schema: Schema | None = None) -> Matcher:
        """A matcher of all subscriptions of a table, which has a column `id` and

        - either `filter` with their texts (and, if it has one, `dialect`),
        - or bounds: `x` for equality, `x.min` and `x.max` for a range with both ends included; a null leaves
          that end open. All bounds of a row must hold.
        """
        matcher = cls(engine, schema)
        with collector_paused():
            loader = matcher._engine.bulk()
            for ids, chunk in subscription_chunks(subscriptions, schema):
                slots = matcher._slots.take_many(ids)
                if isinstance(chunk, BoundsChunk):
                    loader.add_bounds(slots, chunk.bounds)
                else:
                    loader.add(slots, chunk)
            loader.finish()
        return matcher

    def replace(self, id: str, filter: Filter | str) -> None:
        """Gives a subscription another filter; it keeps its place in the order."""
        filter_ = self._checked(filter)
        slot = self._slots[id]
        self._engine.remove(slot)
        self._engine.add(slot, filter_)

    def remove(self, id: str) -> None:
        """Removes a subscription; raises if there is none of this id."""
        self._engine.remove(self._slots.release(id))

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, id: object) -> bool:
        return id in self._slots

    def __iter__(self) -> Iterator[str]:
        """The ids in the order of addition."""
        return iter(self._slots.ids_of(self._slots.all_slots()))

    # -- matching ------------------------------------------------------------------------------------

    def match(self, event: Mapping[str, object] | Event, limit: int | None = None) -> list[str]:
        """The ids of the subscriptions an event satisfies, in the order they were added.

        With a limit, at most that many, whichever are found first.
        """
        if limit is not None and limit < 0:
            raise ValueError("limit must not be negative")
        return self._slots.ids_of(self._engine.find(event, limit))  # type: ignore[arg-type]  # an Event has get()

    def match_any(self, event: Mapping[str, object] | Event) -> bool:
        """Whether the event satisfies any subscription."""
        return self._engine.exists(event)  # type: ignore[arg-type]  # an Event has get()

    def match_batch(self, events: pa.Table | pa.RecordBatch) -> pa.ChunkedArray:
        """For each row of a table the ids it satisfies, in any order: list<dictionary<int32, string>>."""
        result = self._engine.find_batch(_table(events))
        dictionary = self._dictionary_for(result.slots)
        chunks = [_list_chunk(result, dictionary, start, stop) for start, stop in _chunk_bounds(result.offsets)]
        return pa.chunked_array(chunks, RESULT_TYPE)

    def count_batch(self, events: pa.Table | pa.RecordBatch) -> pa.Int64Array:
        """For each row of a table how many subscriptions it satisfies; faster than asking which."""
        return pa.array(self._engine.count_batch(_table(events)))

    def settle(self) -> None:
        """Finishes indexing that was put off; matching works without, this makes the next match fast."""
        self._engine.settle()

    def stats(self) -> dict[str, object]:
        """What the matcher holds and how it works, for people and dashboards; it takes a while with a million."""
        facts = {"engine": self._engine.name, "subscriptions": len(self), "id_bytes": self._slots.nbytes}
        return {**facts, **self._engine.stats()}

    # -- saved form ----------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """The whole matcher, to be shipped to a worker or kept."""
        blobs = {f"engine/{name}": blob for name, blob in self._engine.save().items()}
        table = self._slots.to_table()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        header = {
            "engine": self._engine.name,
            "schema": self.schema.to_toml() if self.schema is not None else None,
            "blobs": {**blobs, "subscriptions": sink.getvalue().to_pybytes()},
        }
        body = msgspec.msgpack.encode(header)
        return b"".join((_MAGIC, zlib.crc32(body).to_bytes(4, "big"), body))

    @classmethod
    def from_bytes(cls, data: bytes | memoryview | pa.Buffer) -> Matcher:
        """The matcher that `to_bytes` wrote; raises EngineError if the bytes are not whole."""
        view = memoryview(data).cast("B")
        checksum, body = view[len(_MAGIC) : len(_MAGIC) + 4], view[len(_MAGIC) + 4 :]
        if view[: len(_MAGIC)] != _MAGIC:
            raise EngineError("these bytes are not a saved matcher of this version")
        if not len(body) or zlib.crc32(body).to_bytes(4, "big") != checksum:
            raise EngineError("the saved matcher is damaged or incomplete")
        header: dict[str, Any] = msgspec.msgpack.decode(body)
        blobs: dict[str, bytes] = header["blobs"]
        schema = header["schema"]
        matcher = cls(header["engine"], None if schema is None else Schema.parse(schema))
        matcher._slots = SlotTable.from_table(pa.ipc.open_stream(blobs.pop("subscriptions")).read_all())
        own = {name.removeprefix("engine/"): blob for name, blob in blobs.items()}
        matcher._engine = engine_class(header["engine"]).load(own)
        return matcher

    def _checked(self, filter: Filter | str) -> Filter:
        filter_ = Filter.parse(filter) if isinstance(filter, str) else filter
        if not isinstance(filter_, Filter):
            raise SubscriptionError(f"a subscription has a filter or its text, not {type(filter).__name__}")
        if self.schema is not None:
            filter_.check(self.schema)
        return filter_

    def _dictionary_for(self, parts: tuple[Int32Array, ...]) -> pa.Array:
        """The ids behind an engine's codes, looked up anew only for parts that are new.

        A slot that was freed since may have no id there, or another's; no match refers to it any more.
        """
        named = self._named  # read once: other threads may be matching, too
        known = () if named is None else named.parts
        if named is None or len(known) != len(parts) or any(map(_differ, known, parts)):
            by_part = {id(part): names for part, names in known}
            found = [(part, by_part.get(id(part)) or self._slots.names_of(part)) for part in parts]
            names = [names for _, names in found]
            named = self._named = _Named(found, names[0] if len(names) == 1 else pa.concat_arrays(names))
        return named.ids


class _Named(NamedTuple):
    """The ids behind each part of an engine's codes, and all of them as one."""

    parts: Sequence[tuple[Int32Array, pa.Array]]
    ids: pa.Array


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keeps Python's cycle collector from scanning a million fresh objects, none of which is in a cycle."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _table(events: pa.Table | pa.RecordBatch) -> pa.Table:
    table = pa.Table.from_batches([events]) if isinstance(events, pa.RecordBatch) else events
    if len(set(table.column_names)) < table.num_columns:
        raise DataError("two columns of the events have the same name")
    return in_range(table)


def _differ(known: tuple[Int32Array, pa.Array], part: Int32Array) -> bool:
    return known[0] is not part


def _chunk_bounds(offsets: Int64Array) -> Iterator[tuple[int, int]]:
    """Cuts the events so that no chunk holds more matches than its offsets can count."""
    start, rows = 0, len(offsets) - 1
    if rows and offsets[-1] <= _LIST_MAX:
        yield 0, rows
        return
    while start < rows:
        stop = int(np.searchsorted(offsets, offsets[start] + _LIST_MAX, side="right")) - 1
        stop = max(start + 1, min(stop, rows))
        yield start, stop
        start = stop


def _list_chunk(result: BatchResult, dictionary: pa.Array, start: int, stop: int) -> pa.ListArray:
    first, last = result.offsets[start], result.offsets[stop]
    codes = pa.array(result.codes[first:last])
    ids = pa.DictionaryArray.from_arrays(codes, dictionary, safe=False)
    return pa.ListArray.from_arrays(pa.array((result.offsets[start : stop + 1] - first).astype(np.int32)), ids)
