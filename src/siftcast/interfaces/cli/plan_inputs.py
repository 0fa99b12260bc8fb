"""What a ring is planned from: subscriptions, a sample of events, and how many come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from siftcast.files import EventBlock, RejectedFile, event_format, open_events, read_subscriptions, subscription_format
from siftcast.interfaces.cli.progress_display import show_progress
from siftcast.model import DataError, Filter, Schema
from siftcast.model.values import kind_of, lookup
from siftcast.planning.shard_choice import AxisName
from siftcast.space.shard_axes import CutValue, cut_value

SAMPLE = 4_000
Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Log:
    """What files hold: filters, and some of the events, evenly from the whole file."""

    filters: Sequence[Filter]
    rows: Rows
    events: int
    rejected: int
    refused_subscriptions: int = 0
    refused_at: Path | None = None
    """The file with the reasons why subscriptions were rejected, if any were."""


class RowSample:
    """Some of the rows of a file, evenly from all of it, whatever its length: every n-th, n doubled when it is due."""

    def __init__(self, size: int = SAMPLE) -> None:
        self.rows: Rows = []
        self.seen = 0
        self._size = size
        self._every = 1

    def add(self, block: EventBlock) -> None:
        """Takes what is due of a block."""
        while (place := len(self.rows) * self._every - self.seen) < len(block):
            part = block.slice(place, 1).events
            self.rows += part if isinstance(part, list) else part.to_pylist()
            if len(self.rows) == 2 * self._size:
                self.rows = self.rows[::2]
                self._every *= 2
        self.seen += len(block)


def read_log(subscriptions: Path | None, events: Path | None, schema: Schema | None, *, progress: bool) -> Log:
    """Reads the files that are given, as `siftcast match` does: rows that cannot be used go to INPUT.rejected."""
    if subscriptions is not None:
        subscription_format(subscriptions)
    if events is not None:
        event_format(events)
    filters: list[Filter] = []
    sample, refused, refused_at = RowSample(), 0, None
    refused_events = 0
    with ExitStack() as stack:
        if subscriptions is not None:
            with RejectedFile(subscriptions, "subscriptions") as kept:
                filters = [each.filter for each in read_subscriptions(subscriptions, schema, kept)]
            refused, refused_at = kept.count, kept.path if kept.count else None
        if events is not None:
            rejected = stack.enter_context(RejectedFile(events, "events"))
            reader = stack.enter_context(open_events(events, schema, rejected))
            update = stack.enter_context(show_progress("reading events", enabled=progress))
            for block in reader.blocks():
                sample.add(block)
                update(reader.progress(), sample.seen, 0)
            refused_events = rejected.count
    return Log(filters, sample.rows, sample.seen, refused + refused_events, refused, refused_at)


def values_of(rows: Rows, filters: Iterable[Filter]) -> dict[AxisName, list[CutValue | None]]:
    """The values of each attribute that filters name, of the kind that most events have there."""
    found: dict[AxisName, list[CutValue | None]] = {}
    for name in sorted({name for filter_ in filters for name in filter_.attributes}):
        path = tuple(name.split("."))
        kinds = Counter(kind_of(value) for row in rows if (value := lookup(row, name, path)) is not None)
        known = [kind for kind, _ in kinds.most_common() if kind is not None]
        if known:
            found[name, known[0]] = [cut_value(row, name, path, known[0]) for row in rows]
    return found


def rate_of(rows: Rows, time: str, events: int) -> float:
    """Events per second, by the attribute that says when they were; raises DataError if none does."""
    path = tuple(time.split("."))
    moments = [value.timestamp() for row in rows if isinstance(value := lookup(row, time, path), datetime)]
    if not moments:
        raise DataError(f"no event has a timestamp in '{time}'; name another attribute, or say the rate with --rate")
    span_s = max(moments) - min(moments)
    if span_s <= 0:
        raise DataError(f"all events have one time in '{time}', which makes no rate; say it with --rate")
    return events / span_s
