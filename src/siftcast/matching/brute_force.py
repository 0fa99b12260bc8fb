"""The oracle: every filter is tried on every event.

Correct by being obvious. Each filter's compiled predicate is called in turn, so a match costs time linear in
the number of filters (about 0.2 µs each) and an addition costs nothing. Other engines are tested against it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
import pyarrow as pa

from siftcast.matching.contract import Attributes, BatchResult, Engine
from siftcast.matching.event_rows import event_rows
from siftcast.matching.filter_blobs import filters_from_bytes, filters_to_bytes
from siftcast.model import Filter


class BruteForce(Engine):
    """A dict of filters, and a loop."""

    name = "brute_force"

    def __init__(self) -> None:
        self._filters: dict[int, Filter] = {}

    def add(self, slot: int, filter_: Filter) -> None:
        self._filters[slot] = filter_

    def remove(self, slot: int) -> None:
        del self._filters[slot]

    def find(self, event: Attributes, limit: int | None = None) -> Sequence[int]:
        found: list[int] = []
        for slot, filter_ in self._filters.items():
            if limit is not None and len(found) >= limit:
                break
            if filter_.matches(event):
                found.append(slot)
        return found

    def find_batch(self, events: pa.Table) -> BatchResult:
        return find_rows(self, events)

    def save(self) -> dict[str, bytes]:
        return {"filters": filters_to_bytes(self._filters)}

    @classmethod
    def load(cls, blobs: Mapping[str, bytes]) -> Self:
        engine = cls()
        for slot, filter_ in filters_from_bytes(blobs["filters"]):
            engine.add(slot, filter_)
        return engine


def find_rows(engine: Engine, events: pa.Table) -> BatchResult:
    """A batch answered row by row, for engines that know no better way."""
    slots: list[int] = []
    offsets = [0]
    for row in event_rows(events):
        slots.extend(engine.find(row))
        offsets.append(len(slots))
    unique, codes = np.unique(np.asarray(slots, np.int32), return_inverse=True)
    return BatchResult(codes.astype(np.int32), np.asarray(offsets, np.int64), (unique,))
