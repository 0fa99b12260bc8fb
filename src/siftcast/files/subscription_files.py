"""Subscriptions from JSONL, CSV or Parquet, one by one, each either good or with the error that refuses it.

The fields are `id`, `filter` and optionally `dialect`, `subscriber`, `delay_ms_max`, `bandwidth`, in every format.
Generated workloads say in a column `hot_spot` where a subscription came from; that is not part of a subscription and is
left out here. Any other unknown field refuses the row, because it is most likely a known one misspelt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from siftcast.files.csv_rows import read_cells
from siftcast.files.formats import readable_format
from siftcast.files.input_bytes import InputBytes
from siftcast.files.rejections import RejectedFile
from siftcast.files.text_blocks import (
    LINE_BYTES_MAX,
    TextBlock,
    cut_csv,
    cut_lines,
    numbered_lines,
    numbered_rows,
    read_blocks,
)
from siftcast.model import DataError, Schema, SiftcastError, Subscription, SubscriptionError
from siftcast.model.json_objects import decode_object

SUBSCRIPTION_FORMATS = ("json", "csv", "parquet")
_ANNOTATIONS = ("hot_spot",)
_NUMBERS = ("delay_ms_max", "bandwidth")
_encode = msgspec.json.encode


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a file of subscriptions: where it is, how it reads, and what became of it."""

    line: int
    source: bytes | str
    outcome: Subscription | SiftcastError


def subscription_format(path: Path) -> str:
    """The format that the name says; raises DataError unless it is one that can be read."""
    return readable_format(path, SUBSCRIPTION_FORMATS, "subscriptions")


def parse_subscriptions(path: Path, schema: Schema | None = None) -> Iterator[Entry]:
    """Every row of the file, in order; an id counts as taken once a good subscription has it."""
    format = subscription_format(path)
    taken: dict[str, int] = {}
    with InputBytes(path) as source:
        for line, raw, fields in _rows(source, format):
            yield Entry(line, raw, _subscribe(fields, line, taken, schema))


def read_subscriptions(path: Path, schema: Schema | None, rejected: RejectedFile) -> list[Subscription]:
    """The good subscriptions of a file; the others go to the rejected file."""
    good: list[Subscription] = []
    for entry in parse_subscriptions(path, schema):
        if isinstance(entry.outcome, Subscription):
            good.append(entry.outcome)
        else:
            rejected.add(entry.line, entry.outcome, entry.source)
    return good


def _subscribe(
    fields: dict[str, Any] | SiftcastError, line: int, taken: dict[str, int], schema: Schema | None
) -> Subscription | SiftcastError:
    if isinstance(fields, SiftcastError):
        return fields
    for name in _ANNOTATIONS:
        fields.pop(name, None)
    try:
        subscription = Subscription.from_fields(fields)
        if schema is not None:
            subscription.filter.check(schema)
    except SiftcastError as error:
        return error
    first = taken.setdefault(subscription.id, line)
    if first != line:
        return SubscriptionError(f"the id '{subscription.id}' is taken by line {first}")
    return subscription


Row = tuple[int, bytes | str, "dict[str, Any] | SiftcastError"]


def _rows(source: InputBytes, format: str) -> Iterator[Row]:
    if format == "json":
        return _json_rows(read_blocks(source, cut_lines))
    if format == "csv":
        return _csv_rows(read_blocks(source, cut_csv), source.path)
    return _table_rows(source)


def _json_rows(blocks: Iterable[TextBlock]) -> Iterator[Row]:
    for block in blocks:
        if block.overlong:
            yield block.line, block.data, _overlong()
            continue
        for number, line in numbered_lines(block):
            yield number, line, _json_fields(line)


def _json_fields(text: bytes) -> dict[str, Any] | SiftcastError:
    try:
        return decode_object(text, "a subscription", SubscriptionError)
    except SubscriptionError as error:
        return error


def _csv_rows(blocks: Iterable[TextBlock], path: Path) -> Iterator[Row]:
    names: list[str] = []
    for block in blocks:
        if block.overlong:
            yield block.line, block.data, _overlong()
            continue
        for number, raw in numbered_rows(block):
            if not names:
                names = _csv_names(raw, path)
            elif raw.strip():
                yield number, raw, _csv_fields(raw, names)


def _csv_names(raw: bytes, path: Path) -> list[str]:
    try:
        names = read_cells(raw, None, SubscriptionError)
    except SubscriptionError:
        names = []
    if "id" not in names or "filter" not in names:
        raise DataError(f"{path}: the first line must be a header that names at least the columns id and filter")
    return names


def _csv_fields(raw: bytes, names: list[str]) -> dict[str, Any] | SiftcastError:
    try:
        cells = read_cells(raw, len(names), SubscriptionError)
    except SubscriptionError as error:
        return error
    fields: dict[str, Any] = {name: cell or None for name, cell in zip(names, cells, strict=True)}
    for name in _NUMBERS:
        if fields.get(name) is not None:
            try:
                fields[name] = float(fields[name])
            except ValueError:
                return SubscriptionError(f"{name} must be a number, not {fields[name]!r}")
    return fields


def _table_rows(source: InputBytes) -> Iterator[Row]:
    from siftcast.files.table_events import open_batches

    number = 0
    with open_batches(source) as (_, batches):
        for batch in batches:
            for fields in batch.to_pylist():
                number += 1
                yield number, _encode(fields, enc_hook=str).decode(), fields


def _overlong() -> SiftcastError:
    return SubscriptionError(
        f"a line or a quoted field begins here that does not end within {LINE_BYTES_MAX >> 20} MiB"
    )
