"""Ids that were seen, as many as there is room for, kept over crashes.

The ids of one write are one record, `name/number`, so that remembering costs a record a write and not one an event.
When there are more than `limit`, whole records of the oldest are forgotten; between `limit` and that plus one write's
ids are remembered. An id that comes again later than that counts as new: the bound on how late a repetition is
recognised.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import msgspec

from siftcast.overlays.durability.ledger import Ledger


class IdMemory:
    """A set of ids that forgets its oldest."""

    __slots__ = ("_count", "_fresh", "_ids", "_ledger", "_limit", "_name", "_records")

    def __init__(self, ledger: Ledger, name: str, limit: int) -> None:
        self._ledger = ledger
        self._name = name
        self._limit = limit
        self._ids: set[str] = set()
        self._records: deque[tuple[int, list[str]]] = deque()
        self._fresh: list[str] = []
        self._count = 0

    def __contains__(self, id: str) -> bool:
        return id in self._ids

    def __len__(self) -> int:
        return len(self._ids)

    def restore(self, records: Mapping[str, bytes]) -> None:
        """Takes up what an earlier life remembered."""
        found = [(key.partition("/"), data) for key, data in records.items()]
        numbered = sorted((int(number), data) for (name, _, number), data in found if name == self._name)
        for number, data in numbered:
            ids = msgspec.msgpack.decode(data, type=list[str])
            self._records.append((number, ids))
            self._ids.update(ids)
            self._count = number

    def add(self, id: str) -> None:
        """Remembers an id that is not remembered yet."""
        self._ids.add(id)
        self._fresh.append(id)
        self._ledger.later(self._name, self._stage)

    def _stage(self) -> None:
        self._count += 1
        self._records.append((self._count, self._fresh))
        self._ledger.put(f"{self._name}/{self._count}", msgspec.msgpack.encode(self._fresh))
        self._fresh = []
        while len(self._ids) - len(self._records[0][1]) >= self._limit:
            number, ids = self._records.popleft()
            self._ids.difference_update(ids)
            self._ledger.forget(f"{self._name}/{number}")
