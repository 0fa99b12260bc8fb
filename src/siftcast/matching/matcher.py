"""`Matcher`: a set of subscriptions that says which of them an event satisfies.

It owns what is the same for every engine: ids, the order of addition, the check against a schema, results as
Arrow lists, and the saved form. The engine below only knows slots (see `contract`).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from siftcast.matching.contract import BatchResult, Int32Array, Int64Array
from siftcast.matching.registry import engine_class
from siftcast.matching.subscription_tables import BoundsChunk, subscription_chunks
from siftcast.model import EngineError, Event, Filter, Schema, Subscription, SubscriptionError

RESULT_TYPE = pa.list_(pa.dictionary(pa.int32(), pa.string()))
_MAGIC = b"siftcast-matcher-1\n"
_LIST_MAX = 2**31 - 1  # what the 32-bit offsets of one Arrow list chunk can count


class Matcher:
    """Subscriptions under ids; `match` answers with ids in the order in which they were added."""

    __slots__ = (
        "_ascending",
        "_dictionary",
        "_engine",
        "_free",
        "_ids",
        "_names",
        "_orders",
        "_sequence",
        "_slots",
        "schema",
    )

    def __init__(self, engine: str = "auto", schema: Schema | None = None) -> None:
        self.schema = schema
        self._engine = engine_class(engine)()
        self._slots: dict[str, int] = {}
        self._ids: list[str | None] = []
        self._free: list[int] = []
        self._orders: Int64Array = np.zeros(16, np.int64)
        self._sequence = 0
        self._ascending = True  # whether slots ascend in the order of addition
        self._names: list[tuple[Int32Array, pa.Array]] = []  # the ids behind each part of an engine's codes
        self._dictionary: pa.Array | None = None

    # -- subscriptions -------------------------------------------------------------------------------

    def add(self, id: str, filter: Filter | str) -> None:
        """Adds a subscription; raises if the id is taken or the filter does not fit the schema."""
        filter_ = self._checked(filter)
        self._engine.add(self._take_slot(id), filter_)

    def add_many(self, subscriptions: Iterable[tuple[str, Filter | str] | Subscription]) -> None:
        """Adds many subscriptions, all or none; engines load them faster together than one by one."""
        ids: list[str] = []
        filters: list[Filter] = []
        for item in subscriptions:
            id, filter = (item.id, item.filter) if isinstance(item, Subscription) else item
            ids.append(id)
            filters.append(self._checked(filter))
        loader = self._engine.bulk()
        loader.add(self._take_slots(ids), filters)
        loader.finish()

    @classmethod
    def from_arrow(cls, subscriptions: pa.Table, engine: str = "auto", schema: Schema | None = None) -> Matcher:
        """A matcher of all subscriptions of a table, which has a column `id` and

        - either `filter` with their texts (and, if it has one, `dialect`),
        - or bounds: `x` for equality, `x.min` and `x.max` for a range with both ends included; a null leaves
          that end open. All bounds of a row must hold.
        """
        matcher = cls(engine, schema)
        loader = matcher._engine.bulk()
        for ids, chunk in subscription_chunks(subscriptions, schema):
            slots = matcher._take_slots(ids)
            if isinstance(chunk, BoundsChunk):
                loader.add_bounds(slots, chunk.bounds)
            else:
                loader.add(slots, chunk)
        loader.finish()
        return matcher

    def replace(self, id: str, filter: Filter | str) -> None:
        """Gives a subscription another filter; it keeps its place in the order."""
        filter_ = self._checked(filter)
        slot = self._slot(id)
        self._engine.remove(slot)
        self._engine.add(slot, filter_)

    def remove(self, id: str) -> None:
        """Removes a subscription; raises if there is none of this id."""
        self._slot(id)
        self._engine.remove(self._release_slot(id))

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, id: object) -> bool:
        return id in self._slots

    def __iter__(self) -> Iterator[str]:
        """The ids in the order of addition."""
        return iter(self._ordered(np.fromiter(self._slots.values(), np.int32, len(self._slots))))

    # -- matching ------------------------------------------------------------------------------------

    def match(self, event: Mapping[str, object] | Event, limit: int | None = None) -> list[str]:
        """The ids of the subscriptions an event satisfies, in the order they were added.

        With a limit, at most that many, whichever are found first.
        """
        if limit is not None and limit < 0:
            raise ValueError("limit must not be negative")
        return self._ordered(self._engine.find(event, limit))  # type: ignore[arg-type]  # an Event has get()

    def match_any(self, event: Mapping[str, object] | Event) -> bool:
        """Whether the event satisfies any subscription."""
        return self._engine.exists(event)  # type: ignore[arg-type]  # an Event has get()

    def match_batch(self, events: pa.Table | pa.RecordBatch) -> pa.ChunkedArray:
        """For each row of a table the ids it satisfies, in any order: list<dictionary<int32, string>>."""
        table = pa.Table.from_batches([events]) if isinstance(events, pa.RecordBatch) else events
        result = self._engine.find_batch(table)
        dictionary = self._dictionary_for(result.slots)
        chunks = [_list_chunk(result, dictionary, start, stop) for start, stop in _chunk_bounds(result.offsets)]
        return pa.chunked_array(chunks, RESULT_TYPE)

    def settle(self) -> None:
        """Finishes indexing that was put off; matching works without, this makes the next match fast."""
        self._engine.settle()

    def stats(self) -> dict[str, object]:
        """What the matcher holds and how it works, for people and dashboards."""
        return {"engine": self._engine.name, "subscriptions": len(self), **self._engine.stats()}

    # -- saved form ----------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """The whole matcher, to be shipped to a worker or kept."""
        slots = np.fromiter(self._slots.values(), np.int32, len(self._slots))
        blobs = {f"engine/{name}": blob for name, blob in self._engine.save().items()}
        sink = pa.BufferOutputStream()
        table = pa.table(
            {
                "id": pa.array(self._slots.keys(), pa.large_string()),
                "slot": slots,
                "order": self._orders[slots],
            }
        )
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        header = {
            "engine": self._engine.name,
            "schema": self.schema.to_toml() if self.schema is not None else None,
            "sequence": self._sequence,
            "blobs": {**blobs, "subscriptions": sink.getvalue().to_pybytes()},
        }
        body = msgspec.msgpack.encode(header)
        return b"".join((_MAGIC, zlib.crc32(body).to_bytes(4, "big"), body))

    @classmethod
    def from_bytes(cls, data: bytes) -> Matcher:
        """The matcher that `to_bytes` wrote; raises EngineError if the bytes are not whole."""
        body = memoryview(data)[len(_MAGIC) + 4 :]
        if not data.startswith(_MAGIC):
            raise EngineError("these bytes are not a saved matcher of this version")
        if zlib.crc32(body).to_bytes(4, "big") != data[len(_MAGIC) : len(_MAGIC) + 4]:
            raise EngineError("the saved matcher is damaged or incomplete")
        header: dict[str, Any] = msgspec.msgpack.decode(body)
        blobs: dict[str, bytes] = header["blobs"]
        schema = header["schema"]
        matcher = cls(header["engine"], None if schema is None else Schema.parse(schema))
        matcher._restore(pa.ipc.open_stream(blobs.pop("subscriptions")).read_all(), header["sequence"])
        own = {name.removeprefix("engine/"): blob for name, blob in blobs.items()}
        matcher._engine = engine_class(header["engine"]).load(own)
        return matcher

    def _restore(self, table: pa.Table, sequence: int) -> None:
        slots = table["slot"].to_numpy()
        ids = table["id"].to_pylist()
        size = int(slots.max()) + 1 if len(slots) else 0
        self._sequence = sequence
        self._slots = dict(zip(ids, slots.tolist(), strict=True))
        self._ids = [None] * size
        for id, slot in self._slots.items():
            self._ids[slot] = id
        self._orders = np.zeros(max(size, 16), np.int64)
        self._orders[slots] = table["order"].to_numpy()
        self._free = [slot for slot, id in enumerate(self._ids) if id is None]
        self._ascending = bool((np.diff(self._orders[np.sort(slots)]) > 0).all())

    # -- slots ---------------------------------------------------------------------------------------

    def _checked(self, filter: Filter | str) -> Filter:
        filter_ = Filter.parse(filter) if isinstance(filter, str) else filter
        if self.schema is not None:
            filter_.check(self.schema)
        return filter_

    def _slot(self, id: str) -> int:
        slot = self._slots.get(id)
        if slot is None:
            raise SubscriptionError(f"there is no subscription '{id}'")
        return slot

    def _take_slot(self, id: str) -> int:
        if not isinstance(id, str) or not id:
            raise SubscriptionError(f"a subscription id is a non-empty string, not {id!r}")
        if id in self._slots:
            raise SubscriptionError(f"there is a subscription '{id}' already; replace or remove it first")
        if self._free:
            slot = self._free.pop()
            self._ids[slot] = id
            self._ascending = False
        else:
            slot = len(self._ids)
            self._ids.append(id)
            if slot == len(self._orders):
                self._orders = np.concatenate([self._orders, np.zeros(slot // 2 + 16, np.int64)])
        self._orders[slot] = self._sequence
        self._sequence += 1
        self._slots[id] = slot
        return slot

    def _take_slots(self, ids: list[str]) -> list[int]:
        """Slots for many new ids, all or none."""
        fresh = dict.fromkeys(ids, 0)
        bad = next((id for id in ids if not isinstance(id, str) or not id), None)
        if bad is not None or len(fresh) < len(ids) or not self._slots.keys().isdisjoint(fresh):
            seen: set[str] = set()
            for id in ids:
                if not isinstance(id, str) or not id:
                    raise SubscriptionError(f"a subscription id is a non-empty string, not {id!r}")
                if id in seen or id in self._slots:
                    raise SubscriptionError(f"there is a subscription '{id}' already; ids must be distinct")
                seen.add(id)
        if self._free:
            return [self._take_slot(id) for id in ids]
        first, last = len(self._ids), len(self._ids) + len(ids)
        slots = list(range(first, last))
        self._ids.extend(ids)
        self._slots.update(zip(ids, slots, strict=True))
        if last > len(self._orders):
            self._orders = np.concatenate([self._orders, np.zeros(max(last, 16) - len(self._orders), np.int64)])
        self._orders[first:last] = np.arange(self._sequence, self._sequence + len(ids))
        self._sequence += len(ids)
        return slots

    def _release_slot(self, id: str) -> int:
        slot = self._slots.pop(id)
        self._ids[slot] = None
        self._free.append(slot)
        return slot

    def _ordered(self, slots: Any) -> list[str]:
        """The ids of slots, in the order of addition."""
        count = len(slots)
        if count == 0:
            return []
        if count == 1:
            return [self._ids[slots[0]]]  # type: ignore[list-item]  # a slot that matched has an id
        found = np.asarray(slots)
        # Until a slot is used again, slots ascend in the order of addition.
        ranked = np.sort(found) if self._ascending else found[np.argsort(self._orders[found])]
        return list(itemgetter(*ranked.tolist())(self._ids))

    def _dictionary_for(self, parts: tuple[Int32Array, ...]) -> pa.Array:
        known = self._names
        if self._dictionary is None or len(known) != len(parts) or any(map(_differ, known, parts)):
            by_part = {id(part): names for part, names in known}
            self._names = [(part, by_part.get(id(part)) or self._names_of(part)) for part in parts]
            names = [names for _, names in self._names]
            self._dictionary = names[0] if len(names) == 1 else pa.concat_arrays(names)
        return self._dictionary

    def _names_of(self, part: Int32Array) -> pa.Array:
        # A slot that was freed since may have no id, or another's; no match refers to it any more.
        ids, count = self._ids, len(self._ids)
        return pa.array([ids[slot] or "" if slot < count else "" for slot in part.tolist()], pa.string())


def _differ(known: tuple[Int32Array, pa.Array], part: Int32Array) -> bool:
    return known[0] is not part


def _chunk_bounds(offsets: Int64Array) -> Iterator[tuple[int, int]]:
    """Cuts the events so that no chunk holds more matches than its offsets can count."""
    start, rows = 0, len(offsets) - 1
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
