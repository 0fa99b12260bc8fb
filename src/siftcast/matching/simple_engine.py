"""What engines that keep their filters share: batches answered row by row, and a saved form made of texts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Self

import numpy as np
import pyarrow as pa

from siftcast.matching.contract import BatchResult, Engine
from siftcast.matching.event_rows import event_rows, named_columns
from siftcast.matching.filter_blobs import filters_from_bytes, filters_to_bytes
from siftcast.model import Filter


class SimpleEngine(Engine):
    """An engine that can give its filters back, and is made again by adding them."""

    @property
    @abstractmethod
    def filters(self) -> Mapping[int, Filter]:
        """The filters by slot."""

    def find_batch(self, events: pa.Table) -> BatchResult:
        return find_rows(self, named_columns(events, self.filters.values()))

    def save(self) -> dict[str, bytes]:
        return {"filters": filters_to_bytes(self.filters)}

    @classmethod
    def load(cls, blobs: Mapping[str, bytes]) -> Self:
        engine = cls()
        for slot, filter_ in filters_from_bytes(blobs["filters"]):
            engine.add(slot, filter_)
        return engine


def find_rows(engine: Engine, events: pa.Table) -> BatchResult:
    """A batch answered row by row; of columns that no filter names, the table should have none."""
    slots: list[int] = []
    offsets = [0]
    for row in event_rows(events):
        slots.extend(engine.find(row))
        offsets.append(len(slots))
    unique, codes = np.unique(np.asarray(slots, np.int32), return_inverse=True)
    return BatchResult(codes.astype(np.int32), np.asarray(offsets, np.int64), (unique,))
