"""The record of a run: what both runtimes write and checkers read.

A trace is four tables. `records` has a row for each thing that happened at a node, `deliveries` one for each event
handed to subscribers of a node. Beside them lie the published `events` and the `subscriptions`, so that a trace can be
judged, and replayed, without whatever made it. A subscription whose filter was replaced is there once for each filter:
its first under its id, the next under `id#2` and so on; rows of the kind `subscribed` name these keys.

`time_ms` is the runtime's clock. A message is `sent` at its sender (once for each destination) and `received` at its
receiver; what lies between is the network's. `matches` and `lookups` of a row are the work that handling it took.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from siftcast.model import DataError, Event, Filter, Subscription
from siftcast.overlays.wire_events import decode_wire, encode_event

RECORDS = pa.schema(
    [
        ("time_ms", pa.float64()),
        ("kind", pa.dictionary(pa.int32(), pa.string())),
        ("node", pa.int64()),
        ("peer", pa.int64()),
        ("message", pa.dictionary(pa.int32(), pa.string())),
        ("event", pa.string()),
        ("matches", pa.int32()),
        ("lookups", pa.int32()),
        ("overhead_bytes", pa.int32()),
    ]
)
DELIVERIES = pa.schema(
    [
        ("time_ms", pa.float64()),
        ("node", pa.int64()),
        ("event", pa.string()),
        ("subscriptions", pa.list_(pa.string())),
    ]
)
EVENTS = pa.schema([("id", pa.string()), ("attributes", pa.string())])
WANTED = pa.schema(
    [
        ("key", pa.string()),
        ("id", pa.string()),
        ("filter", pa.string()),
        ("subscriber", pa.string()),
        ("delay_ms_max", pa.float64()),
        ("bandwidth", pa.float64()),
    ]
)
_WISHES = ("delay_ms_max", "bandwidth")
MESSAGE_KINDS = frozenset({"sent", "multicast", "received", "dropped", "lost"})
"""Kinds of records of which there is one for each message."""
Record = tuple[float, str, int, int | None, str | None, str | None, int, int, int]
Delivery = tuple[float, int, str, Sequence[str]]
_CHUNK = 30_000
_COUNTS = b"siftcast.message_counts"
_TIME, _BYTES, _NUMBER, _OBJECT = "$timestamp", "$bytes", "$number", "$object"  # marks of what JSON cannot hold


FILES = ("records.parquet", "deliveries.parquet", "events.parquet", "subscriptions.parquet")
"""What a trace is saved as, in a folder."""


@dataclass(slots=True)
class Trace:
    """Rows as they are written; tables when they are asked for."""

    records: list[Record] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    events: dict[str, Event] = field(default_factory=dict)
    subscriptions: dict[str, Subscription] = field(default_factory=dict)
    messages: bool = True
    """Whether each message has its records. Without, messages are counted: for runs of which only the rest is asked."""
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Without records of messages: how many there were of each kind of record and name of message."""
    expected: dict[str, tuple[float, float]] = field(default_factory=dict)
    """What schemes said last of subscriptions with a bound (`ExpectDelay`); it is not saved."""
    _record_tables: list[pa.Table] = field(default_factory=list)
    _delivery_tables: list[pa.Table] = field(default_factory=list)

    def record_table(self) -> pa.Table:
        """All records as a table."""
        self._settle_records()
        return pa.concat_tables([RECORDS.empty_table(), *self._record_tables])

    def delivery_table(self) -> pa.Table:
        """All deliveries as a table."""
        self._settle_deliveries()
        return pa.concat_tables([DELIVERIES.empty_table(), *self._delivery_tables])

    def settle(self) -> None:
        """Turns rows into columns once there are many; call it now and then, as columns take a tenth of the room."""
        if len(self.records) >= _CHUNK:
            self._settle_records()
        if len(self.deliveries) >= _CHUNK:
            self._settle_deliveries()

    def keep_subscription(self, subscription: Subscription) -> str:
        """Keeps a subscription as it was asked for; returns the key that stands for it in the records."""
        key, version = subscription.id, 1
        while (known := self.subscriptions.get(key)) is not None and known != subscription:
            version += 1
            key = f"{subscription.id}#{version}"
        self.subscriptions[key] = subscription
        return key

    def digest(self) -> str:
        """A hash of everything that happened, in order."""
        digest = hashlib.blake2b(digest_size=16)
        for table in (self.record_table(), self.delivery_table()):
            for name in table.column_names:
                column = table[name].combine_chunks()
                if pa.types.is_dictionary(column.type):
                    column = column.cast(pa.string())
                for piece in _plain(column):
                    digest.update(piece)
        return digest.hexdigest()

    def save(self, folder: str | Path) -> None:
        """Writes records, deliveries, events and subscriptions as Parquet files."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        files = [place / name for name in FILES]
        records = self.record_table()
        if not self.messages:
            counts = [(*key, count) for key, count in sorted(self.counts.items())]
            records = records.replace_schema_metadata({_COUNTS: msgspec.json.encode(counts)})
        pq.write_table(records, files[0], compression="zstd")
        pq.write_table(self.delivery_table(), files[1], compression="zstd")
        events = [
            (event.id, msgspec.json.encode(_marked(_plain_attributes(event))).decode())
            for event in self.events.values()
        ]
        pq.write_table(_table(EVENTS, events) if events else EVENTS.empty_table(), files[2])
        wanted = [
            (key, item.id, str(item.filter), item.subscriber, item.delay_ms_max, item.bandwidth)
            for key, item in self.subscriptions.items()
        ]
        pq.write_table(_table(WANTED, wanted) if wanted else WANTED.empty_table(), files[3])

    @classmethod
    def load(cls, folder: str | Path) -> Trace:
        """The trace that `save` wrote; raises DataError for anything else."""
        place = Path(folder)
        try:
            tables = [pq.read_table(place / name) for name in FILES]
            counted = (tables[0].schema.metadata or {}).get(_COUNTS)
            counts = msgspec.json.decode(counted or b"[]", type=list[tuple[str, str, int]])
            records, deliveries = tables[0].cast(RECORDS), tables[1].cast(DELIVERIES)
            events, wanted = tables[2].cast(EVENTS).to_pylist(), _with_wishes(tables[3]).cast(WANTED).to_pylist()
        except (OSError, pa.ArrowException, ValueError) as error:
            raise DataError(f"{place} holds no trace: {error}") from None
        return cls(
            events={row["id"]: Event(_unmarked(msgspec.json.decode(row["attributes"])), row["id"]) for row in events},
            subscriptions={
                row["key"]: Subscription(
                    row["id"], Filter.parse(row["filter"]), row["subscriber"], *(row[name] for name in _WISHES)
                )
                for row in wanted
            },
            messages=counted is None,
            counts=Counter({(kind, name): count for kind, name, count in counts}),
            _record_tables=[records],
            _delivery_tables=[deliveries],
        )

    def _settle_records(self) -> None:
        if self.records:
            self._record_tables.append(_table(RECORDS, self.records))
            self.records.clear()

    def _settle_deliveries(self) -> None:
        if self.deliveries:
            self._delivery_tables.append(_table(DELIVERIES, self.deliveries))
            self.deliveries.clear()


def _with_wishes(wanted: pa.Table) -> pa.Table:
    """Subscriptions of a trace that was saved before they had bounds on delay or bandwidths have none."""
    for name in _WISHES:
        if name not in wanted.column_names:
            wanted = wanted.append_column(WANTED.field(name), pa.nulls(len(wanted), pa.float64()))
    return wanted


def _plain_attributes(event: Event) -> dict[str, Any]:
    """The attributes as they travel, which match what the event matches; raises EventError."""
    return decode_wire(encode_event(event)).attributes


def _marked(value: Any) -> Any:
    """A plain value for JSON, with a mark on what would come back as something else and match otherwise."""
    if isinstance(value, dict):
        marked = {name: _marked(each) for name, each in value.items()}
        return {_OBJECT: marked} if any(name.startswith("$") for name in marked) else marked
    if isinstance(value, list):
        return [_marked(each) for each in value]
    if isinstance(value, datetime):
        return {_TIME: value.isoformat()}
    if isinstance(value, bytes):
        return {_BYTES: value.hex()}
    return {_NUMBER: str(value)} if isinstance(value, float) and not isfinite(value) else value


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(each) for each in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"$timestamp": str(text)}:
            return datetime.fromisoformat(text)
        case {"$bytes": str(text)}:
            return bytes.fromhex(text)
        case {"$number": str(text)}:
            return float(text)
        case {"$object": dict(members)}:
            value = members
    return {name: _unmarked(each) for name, each in value.items()}


def _table(schema: pa.Schema, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns = []
    # One pass over all rows, because a pass for each column would wait for the memory most of the time.
    flat = list(chain.from_iterable(rows))
    for number, column in enumerate(schema):
        values = flat[number :: len(schema)]
        if pa.types.is_dictionary(column.type):
            columns.append(pa.array(values, pa.string()).dictionary_encode())
        elif pa.types.is_int32(column.type) and not any(values):  # as of most messages
            columns.append(pa.array(np.zeros(len(values), dtype=np.int32)))
        else:
            columns.append(pa.array(values, column.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _plain(column: pa.Array) -> Iterable[bytes]:
    sink = pa.BufferOutputStream()
    table = pa.table({"column": column})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    yield sink.getvalue().to_pybytes()
