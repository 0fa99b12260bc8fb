"""The rows of a trace as numpy columns, with events as numbers: what checkers count on.

Only rows that have to do with events are kept, unless control messages are asked for. Cost: one pass over the Arrow
columns; a million rows take half a second.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from siftcast.model import DataError
from siftcast.overlays.trace import MESSAGE_KINDS, Trace

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
NONE = -1
"""Stands for a missing peer or event."""


@dataclass(frozen=True, slots=True)
class Columns:
    """One entry a row; `kind` and `event` are places in `kinds` and `events`."""

    time_ms: Floats
    kind: Integers
    node: Integers
    peer: Integers
    event: Integers
    matches: Integers
    kinds: tuple[str, ...]
    events: tuple[str, ...]

    def of(self, *kinds: str) -> Flags:
        """Which rows are of one of these kinds."""
        found: Flags = np.isin(self.kind, [self.kinds.index(kind) for kind in kinds if kind in self.kinds])
        return found


def read_columns(trace: Trace, kinds: tuple[str, ...], *, control: bool = False) -> Columns:
    """Rows of these kinds; of messages only those that carry events, or with `control` all."""
    table = rows_of(trace, kinds)
    if not control:
        table = table.filter(pc.is_valid(table["event"]))
    kind, kind_names = _encoded(table["kind"].cast(pa.string()))
    event, event_names = _encoded(table["event"])
    return Columns(
        time_ms=table["time_ms"].to_numpy(),
        kind=kind,
        node=table["node"].to_numpy(),
        peer=pc.fill_null(table["peer"], NONE).to_numpy(),
        event=event,
        matches=table["matches"].to_numpy().astype(np.int64),
        kinds=kind_names,
        events=event_names,
    )


def rows_of(trace: Trace, kinds: Iterable[str]) -> pa.Table:
    """The records of these kinds; raises DataError if they are of messages, and these were only counted."""
    if not trace.messages and (counted := MESSAGE_KINDS.intersection(kinds)):
        raise DataError(f"messages of this run were counted, not recorded ({', '.join(sorted(counted))}); Trace() does")
    table = trace.record_table()
    return table.filter(pc.is_in(table["kind"].cast(pa.string()), value_set=pa.array(list(kinds), pa.string())))


def _encoded(column: pa.ChunkedArray) -> tuple[Integers, tuple[str, ...]]:
    """Texts as places in a list of those there are."""
    encoded = column.combine_chunks().dictionary_encode()
    places: Integers = pc.fill_null(encoded.indices, NONE).to_numpy(zero_copy_only=False).astype(np.int64)
    return places, tuple(encoded.dictionary.to_pylist())
