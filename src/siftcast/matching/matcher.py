"""`Matcher`: a set of subscriptions that says which of them an event satisfies.

It owns what is the same for every engine: ids, the order of addition, the check against a schema, results as
Arrow lists, and the saved form. The engine below only knows slots (see `contract`).

Several threads may match and change it at the same time. Changes take a lock; matches take none. An answer holds
every subscription that the event satisfies and that was there throughout. One that is added or removed meanwhile may
or may not be in it; one whose filter is replaced is judged by the old filter or the new one. `slots` says how that
works without a lock.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import index
from threading import RLock
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from siftcast.matching.arrow_tables import as_table
from siftcast.matching.arrow_times import in_range
from siftcast.matching.collector import collector_paused
from siftcast.matching.contract import BatchResult, Int32Array, Int64Array
from siftcast.matching.registry import engine_class, made_safe
from siftcast.matching.slots import Mask, SlotTable
from siftcast.matching.subscription_tables import BoundsChunk, subscription_chunks
from siftcast.model import ArgumentError, DataError, EngineError, Event, Filter, Schema, Subscription, SubscriptionError
from siftcast.model.event import check_event
from siftcast.model.schema import checked_schema
from siftcast.model.showing import shown
from siftcast.model.values import is_iterable

RESULT_TYPE = pa.list_(pa.dictionary(pa.int32(), pa.string()))
_MAGIC = b"siftcast-matcher-6\n"
_LIST_MAX = 2**31 - 1  # what the 32-bit offsets of one Arrow list chunk can count


class Matcher:
    """Subscriptions under ids; `match` answers with ids in the order in which they were added."""

    __slots__ = ("_changing", "_engine", "_named", "_replacing", "_slots", "schema")

    def __init__(self, engine: str = "auto", schema: Schema | None = None) -> None:
        self.schema = None if schema is None else checked_schema(schema)
        self._engine = made_safe(engine_class(engine)())
        self._changing = RLock()
        self._replacing = False  # whether a subscription has neither its old filter nor its new one
        self._slots = SlotTable()
        self._named: _Named | None = None

    # -- subscriptions -------------------------------------------------------------------------------

    def add(self, id: str, filter: Filter | str) -> None:
        """Adds a subscription; raises if the id is taken or the filter does not fit the schema."""
        filter_ = self._checked(filter)
        with self._changing:
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
        for item in _iterated(subscriptions):
            id, filter = (item.id, item.filter) if isinstance(item, Subscription) else _pair(item, len(ids))
            ids.append(id)
            filters.append(self._checked(filter))
        with self._changing, collector_paused():
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
    def from_arrow(
        cls,
        subscriptions: pa.Table,
        engine: str = "auto",
        schema: Schema | None = None,
        *,
        look: Callable[[Filter], None] | None = None,
    ) -> Matcher:
        """A matcher of all subscriptions of a table, which has a column `id` and

        - either `filter` with their texts (and, if it has one, `dialect`),
        - or bounds: `x` for equality, `x.min` and `x.max` for a range with both ends included; a null leaves
          that end open. All bounds of a row must hold.

        `look` sees each filter that was read from a text, and may raise what is wrong with it.
        """
        if not (look is None or callable(look)):
            raise ArgumentError(f"look is a function of a filter, not {shown(look)}")
        matcher = cls(engine, schema)
        with collector_paused():
            loader = matcher._engine.bulk()
            for ids, chunk in subscription_chunks(as_table(subscriptions, "subscriptions"), schema, look):
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
        with self._changing:
            slot = self._slots[id]
            self._replacing = True
            try:
                self._engine.remove(slot)
                self._engine.add(slot, filter_)
                self._slots.note_replacement()
            finally:
                self._replacing = False

    def remove(self, id: str) -> None:
        """Removes a subscription; raises if there is none of this id."""
        with self._changing:
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
        if type(event) is not dict:
            check_event(event)
        if limit is not None:
            limit = _checked_limit(limit)
        slots = self._slots
        sequence = slots.sequence
        ids = slots.ids_of(self._engine.find(event, limit))  # type: ignore[arg-type]  # an Event has get()
        if slots.sequence == sequence and not self._replacing:
            return ids
        return self._match_among_changes(event, limit)  # type: ignore[arg-type]

    def _match_among_changes(self, event: Mapping[str, object], limit: int | None) -> list[str]:
        """As `match`, while other threads change subscriptions."""
        slots = self._slots
        sequence, replacements = slots.sequence, slots.replacements
        found = self._engine.find(event)
        if slots.replacements == replacements and not self._replacing:
            return slots.ids_before(found, sequence)[:limit]
        with self._changing:
            return slots.ids_of(self._engine.find(event, limit))

    def match_any(self, event: Mapping[str, object] | Event) -> bool:
        """Whether the event satisfies any subscription."""
        if type(event) is not dict:
            check_event(event)
        slots = self._slots
        sequence = slots.sequence
        if self._engine.exists(event):  # type: ignore[arg-type]  # an Event has get()
            return True
        if slots.sequence == sequence and not self._replacing:
            return False
        with self._changing:
            return self._engine.exists(event)  # type: ignore[arg-type]

    def match_batch(self, events: pa.Table | pa.RecordBatch) -> pa.ChunkedArray:
        """For each row of a table the ids it satisfies, in any order: list<dictionary<int32, string>>.

        A table is one of Arrow's, or of a library that hands its tables over as such: a pandas or polars frame.
        """
        table, slots = _table(events), self._slots
        sequence, replacements = slots.sequence, slots.replacements
        result = self._engine.find_batch(table)
        dictionary = self._dictionary_for(result.slots)
        if slots.replacements != replacements or self._replacing:
            with self._changing:
                result = self._engine.find_batch(table)
                dictionary = self._dictionary_for(result.slots)
        elif slots.sequence != sequence:
            result = _without(result, [slots.added_since(part, sequence) for part in result.slots])
        chunks = [_list_chunk(result, dictionary, start, stop) for start, stop in _chunk_bounds(result.offsets)]
        return pa.chunked_array(chunks, RESULT_TYPE)

    def count_batch(self, events: pa.Table | pa.RecordBatch) -> pa.Int64Array:
        """For each row of a table how many subscriptions it satisfies; faster than asking which."""
        table, replacements = _table(events), self._slots.replacements
        counts = self._engine.count_batch(table)
        if self._slots.replacements != replacements or self._replacing:
            with self._changing:
                counts = self._engine.count_batch(table)
        return pa.array(counts)

    def settle(self) -> None:
        """Finishes indexing that was put off; matching works without, this makes the next match fast."""
        self._engine.settle()

    def stats(self) -> dict[str, object]:
        """What the matcher holds and how it works, for people and dashboards; it takes a while with a million."""
        with self._changing:
            facts = {"engine": self._engine.name, "subscriptions": len(self), "id_bytes": self._slots.nbytes}
            return {**facts, **self._engine.stats()}

    # -- saved form ----------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """The whole matcher, to be shipped to a worker or kept."""
        with self._changing:
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
        try:
            view = memoryview(data).cast("B")
        except (TypeError, BufferError):
            raise EngineError(f"a saved matcher is bytes, not {shown(data)}") from None
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
        matcher._engine = made_safe(engine_class(header["engine"]).load(own))
        return matcher

    def _checked(self, filter: Filter | str) -> Filter:
        filter_ = Filter.parse(filter) if isinstance(filter, str) else filter
        if not isinstance(filter_, Filter):
            raise SubscriptionError(f"a subscription has a filter or its text, not {shown(filter)}")
        if self.schema is not None:
            filter_.check(self.schema)
        return filter_

    def _dictionary_for(self, parts: tuple[Int32Array, ...]) -> pa.Array:
        """The ids behind an engine's codes, looked up again only for parts that are new.

        A slot that was freed since may have another's id there; no match refers to it any more.
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


def _table(events: object) -> pa.Table:
    table = as_table(events, "events")
    if len(set(table.column_names)) < table.num_columns:
        raise DataError("two columns of the events have the same name")
    return in_range(table)


def _iterated(subscriptions: Iterable[Any]) -> Iterable[Any]:
    if isinstance(subscriptions, str | bytes | Mapping) or not is_iterable(subscriptions):
        raise SubscriptionError(f"add_many takes pairs of id and filter, or subscriptions, not {shown(subscriptions)}")
    return subscriptions


def _pair(item: object, place: int) -> tuple[str, Filter | str]:
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise SubscriptionError(f"number {place + 1}: a pair of id and filter is wanted, not {shown(item)}")
    return item[0], item[1]


def _checked_limit(limit: object) -> int:
    try:
        found = index(limit)  # type: ignore[arg-type]
    except TypeError:
        found = -1
    if found < 0 or isinstance(limit, bool):
        raise ArgumentError(f"limit is a whole number that is not negative, not {shown(limit)}")
    return min(found, _LIST_MAX)


def _without(result: BatchResult, gone: Sequence[Mask]) -> BatchResult:
    """The result without the matches of some slots of each part."""
    kept = ~np.concatenate([*gone, np.zeros(0, bool)])[result.codes]
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
    return BatchResult(result.codes[kept], before[result.offsets], result.slots)


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
