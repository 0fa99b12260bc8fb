"""A block of events on its way from a file to the matcher, and what every reader of events must do.

`numbers` are the events' places in the file, from 0, rejected ones counted: they are what the output calls an
event. A block is an Arrow table where its columns have one type each. Where one column mixes types, as JSON
allows, it is a list of dicts, so that every value keeps its own type and 1 never turns into '1'.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Rows = list[dict[str, object]]


@dataclass(frozen=True, slots=True)
class EventBlock:
    """Events with their numbers, as a table or, where types mix, as rows."""

    numbers: Numbers
    events: pa.Table | Rows

    def __len__(self) -> int:
        return len(self.numbers)

    def slice(self, start: int, count: int) -> EventBlock:
        """A part of the block, without copying."""
        stop = start + count
        events = self.events[start:stop] if isinstance(self.events, list) else self.events.slice(start, count)
        return EventBlock(self.numbers[start:stop], events)


class EventReader(Protocol):
    """A file of events. Rejections go to the file it was given; `rows_read` counts used and rejected rows."""

    rows_read: int

    def progress(self) -> float:
        """How much of the file was read, from 0 to 1."""

    def column_types(self) -> dict[str, str]:
        """How the columns were read, in the words of a schema; empty where rows have no common columns."""

    def blocks(self) -> Iterator[EventBlock]:
        """The events in order; raises DataError where the file cannot be read further."""


def type_name(kind: Any) -> str:
    """An Arrow type in the words of a schema."""
    types = pa.types
    for name, holds in (
        ("int", types.is_integer),
        ("float", types.is_floating),
        ("string", lambda kind: types.is_string(kind) or types.is_large_string(kind)),
        ("bool", types.is_boolean),
        ("timestamp", lambda kind: types.is_timestamp(kind) or types.is_date(kind)),
        ("empty", types.is_null),
    ):
        if holds(kind):
            return name
    return str(kind.value_type) if types.is_dictionary(kind) else str(kind)
