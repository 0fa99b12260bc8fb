"""rtree (libspatialindex): boxes bulk-loaded into an R-tree, all events of a batch asked in one call."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rtree import index

from benchmarks.boxes import BoxWorkload
from benchmarks.exactness import Rows
from benchmarks.peers.contract import LeftOut, Peer

DIMENSIONS_MAX = 5  # beyond, and with free attributes, every box overlaps every other


class SpatialIndex(Peer):
    """An R-tree over all attributes; a symbol is its number."""

    name = "rtree"

    def __init__(self, workload: BoxWorkload) -> None:
        dimensions = len(workload.attributes)
        if dimensions > DIMENSIONS_MAX:
            raise LeftOut(f"boxes that leave most of {dimensions} dimensions free all overlap")
        if dimensions < 2:
            raise LeftOut("its boxes have at least 2 dimensions")
        lows = np.ascontiguousarray(workload.lows.T, dtype=np.float64)
        highs = np.ascontiguousarray(workload.highs.T, dtype=np.float64)
        properties = index.Property(dimension=dimensions, leaf_capacity=100, fill_factor=0.9)
        self._index = index.Index((np.arange(len(workload)), lows, highs), properties=properties)
        self._events = workload.events.astype(np.float64)

    def ask(self, count: int) -> Callable[[], tuple[Rows, Rows]]:
        events = np.ascontiguousarray(self._events[:count])
        return lambda: self._index.intersection_v(events, events)  # type: ignore[no-untyped-call]

    def rows(self, answer: tuple[Rows, Rows]) -> list[Rows]:
        ids, counts = answer
        return np.split(np.asarray(ids), np.cumsum(counts)[:-1])
