"""A file of events, whatever its format: the suffix decides which reader it gets.

A reader runs in a thread of its own (`pipeline`), so it keeps its state to itself; others only look at its
counters. See `event_blocks.EventReader` for what all readers promise.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from siftcast.files.event_blocks import EventReader
from siftcast.files.formats import readable_format
from siftcast.files.input_bytes import InputBytes
from siftcast.files.rejections import RejectedFile
from siftcast.model import Schema

EVENT_FORMATS = ("json", "csv", "parquet", "arrow")


def event_format(path: Path) -> str:
    """The format that the name says; raises DataError unless it is one that can be read."""
    return readable_format(path, EVENT_FORMATS, "events")


@contextmanager
def open_events(path: Path, schema: Schema | None, rejected: RejectedFile) -> Iterator[EventReader]:
    """The reader of a file of events."""
    make_reader = reader_class(event_format(path))
    with InputBytes(path) as source:
        yield make_reader(source, schema, rejected)


def reader_class(format: str) -> type[EventReader]:
    """The reader of a format."""
    if format == "csv":
        from siftcast.files.csv_events import CsvEvents

        return CsvEvents
    if format == "json":
        from siftcast.files.json_events import JsonEvents

        return JsonEvents
    from siftcast.files.table_events import TableEvents

    return TableEvents
