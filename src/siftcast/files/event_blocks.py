"""A block of events on its way from a file to the matcher, and what every reader of events must do.

`numbers` are the events' places in the file, from 0, rejected ones counted: they are what the output calls an
event. A block is an Arrow table where its columns have one type each. Where one column mixes types, as JSON
allows, it is a list of dicts, so that every value keeps its own type and 1 never turns into '1'.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from siftcast.files.input_bytes import InputBytes
from siftcast.files.rejections import RejectedFile
from siftcast.model import Schema
from siftcast.model.values import Kind

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


class EventReader(ABC):
    """A file of events. Rejections go to the file it was given; `rows_read` counts used and rejected rows."""

    def __init__(self, source: InputBytes, schema: Schema | None, rejected: RejectedFile) -> None:
        self.rows_read = 0
        self._source = source
        self._schema = schema
        self._rejected = rejected
        self._seen: dict[str, str] = {}

    def progress(self) -> float:
        """How much of the file was read, from 0 to 1."""
        return self._source.position / max(1, self._source.size)

    def column_types(self) -> dict[str, str]:
        """How the columns were read, in the words of a schema; empty where rows have no common columns."""
        return self._seen

    @abstractmethod
    def blocks(self) -> Iterator[EventBlock]:
        """The events in order; raises DataError where the file cannot be read further."""


def type_name(kind: Any) -> str:
    """An Arrow type in the words of a schema."""
    types = pa.types
    found = kind_of_column(kind)
    if found is Kind.NUMBER:
        return "int" if types.is_integer(kind) else "float"
    if found is not None:
        return "bool" if found is Kind.BOOLEAN else found.value
    if types.is_null(kind):
        return "empty"
    return str(kind.value_type) if types.is_dictionary(kind) else str(kind)


def kind_of_column(kind: Any) -> Kind | None:
    """The kind of value that a column of an Arrow type holds; None of others."""
    types = pa.types
    if types.is_integer(kind) or types.is_floating(kind):
        return Kind.NUMBER
    if types.is_string(kind) or types.is_large_string(kind):
        return Kind.STRING
    if types.is_boolean(kind):
        return Kind.BOOLEAN
    return Kind.TIMESTAMP if types.is_timestamp(kind) or types.is_date(kind) else None
