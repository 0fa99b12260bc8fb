"""A file of events, whatever its format: the suffix decides which reader it gets.

A reader runs in a thread of its own (`pipeline`), so it keeps its state to itself; others only look at its
counters. See `event_blocks.EventReader` for what all readers promise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from siftcast.files.event_blocks import EventReader
from siftcast.files.input_bytes import InputBytes, data_suffix
from siftcast.files.rejections import RejectedFile
from siftcast.model import DataError, Schema

EVENT_SUFFIXES = (".jsonl", ".csv", ".parquet", ".arrow")


def check_event_suffix(path: Path) -> None:
    """Raises DataError unless the name says a format that can be read."""
    if data_suffix(path) not in EVENT_SUFFIXES:
        raise DataError(
            f"{path}: the name does not say how to read the events; "
            f"it must end in {', '.join(EVENT_SUFFIXES)}, each also with .gz"
        )


@contextmanager
def open_events(path: Path, schema: Schema | None, rejected: RejectedFile) -> Iterator[EventReader]:
    """The reader of a file of events."""
    check_event_suffix(path)
    with InputBytes(path) as source:
        yield reader_class(data_suffix(path))(source, schema, rejected)


def reader_class(suffix: str) -> Callable[[InputBytes, Schema | None, RejectedFile], EventReader]:
    """The reader of a format."""
    if suffix == ".csv":
        from siftcast.files.csv_events import CsvEvents

        return CsvEvents
    if suffix == ".jsonl":
        from siftcast.files.json_events import JsonEvents

        return JsonEvents
    from siftcast.files.table_events import TableEvents

    return TableEvents
