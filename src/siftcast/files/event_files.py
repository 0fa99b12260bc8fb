"""A file of events, whatever its format: the suffix decides which reader it gets.

A reader runs in a thread of its own (`pipeline`), so it keeps its state to itself; others only look at its
counters. See `event_blocks.EventReader` for what all readers promise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from siftcast.files.event_blocks import EventReader
from siftcast.files.formats import format_of, suffixes_of
from siftcast.files.input_bytes import InputBytes
from siftcast.files.rejections import RejectedFile
from siftcast.model import DataError, Schema

EVENT_FORMATS = ("json", "csv", "parquet", "arrow")


def event_format(path: Path) -> str:
    """The format that the name says; raises DataError unless it is one that can be read."""
    found = format_of(path, EVENT_FORMATS, (".gz",))
    if found is None:
        raise DataError(
            f"{path}: the name does not say how to read the events; "
            f"it must end in {suffixes_of(EVENT_FORMATS)}, each also with .gz"
        )
    return found


@contextmanager
def open_events(path: Path, schema: Schema | None, rejected: RejectedFile) -> Iterator[EventReader]:
    """The reader of a file of events."""
    make_reader = reader_class(event_format(path))
    with InputBytes(path) as source:
        yield make_reader(source, schema, rejected)


def reader_class(format: str) -> Callable[[InputBytes, Schema | None, RejectedFile], EventReader]:
    """The reader of a format."""
    if format == "csv":
        from siftcast.files.csv_events import CsvEvents

        return CsvEvents
    if format == "json":
        from siftcast.files.json_events import JsonEvents

        return JsonEvents
    from siftcast.files.table_events import TableEvents

    return TableEvents
