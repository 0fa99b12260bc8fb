"""Subscriptions from JSONL, CSV or Parquet, one by one, each either good or with the error that refuses it.

The fields are `id`, `filter` and optionally `dialect`, `subscriber`, `delay_ms_max`, in every format. Generated
workloads say in a column `hot_spot` where a subscription came from; that is no part of a subscription and is left
out here. Any other unknown field refuses the row, because it is most likely a known one misspelt.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from siftcast.files.input_bytes import InputBytes, data_suffix
from siftcast.files.rejections import RejectedFile, reason_of
from siftcast.files.text_blocks import LINE_BYTES_MAX, TextBlock, cut_csv, cut_lines, read_blocks, split_csv
from siftcast.model import DataError, Schema, SiftcastError, Subscription, SubscriptionError

SUBSCRIPTION_SUFFIXES = (".jsonl", ".csv", ".parquet")
_ANNOTATIONS = ("hot_spot",)
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.encode


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a file of subscriptions: where it is, how it reads, and what became of it."""

    line: int
    source: bytes | str
    outcome: Subscription | SiftcastError


def check_subscription_suffix(path: Path) -> None:
    """Raises DataError unless the name says a format that can be read."""
    if data_suffix(path) not in SUBSCRIPTION_SUFFIXES:
        raise DataError(
            f"{path}: the name does not say how to read the subscriptions; "
            f"it must end in {', '.join(SUBSCRIPTION_SUFFIXES)}, each also with .gz"
        )


def parse_subscriptions(path: Path, schema: Schema | None = None) -> Iterator[Entry]:
    """Every row of the file, in order; an id counts as taken once a good subscription has it."""
    check_subscription_suffix(path)
    taken: dict[str, int] = {}
    with InputBytes(path) as source:
        for line, raw, fields in _rows(source):
            yield Entry(line, raw, _subscribe(fields, line, taken, schema))


def read_subscriptions(path: Path, schema: Schema | None, rejected: RejectedFile) -> list[Subscription]:
    """The good subscriptions of a file; the others go to the rejected file."""
    good: list[Subscription] = []
    for entry in parse_subscriptions(path, schema):
        if isinstance(entry.outcome, Subscription):
            good.append(entry.outcome)
        else:
            rejected.add(entry.line, reason_of(entry.outcome), entry.source)
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


def _rows(source: InputBytes) -> Iterator[Row]:
    suffix = data_suffix(source.path)
    if suffix == ".jsonl":
        return _json_rows(read_blocks(source, cut_lines))
    if suffix == ".csv":
        return _csv_rows(read_blocks(source, cut_csv), source.path)
    return _table_rows(source)


def _json_rows(blocks: Iterable[TextBlock]) -> Iterator[Row]:
    for block in blocks:
        if block.overlong:
            yield block.line, block.data, _overlong()
            continue
        for index, line in enumerate(block.data.split(b"\n")):
            text = line.removeprefix(b"\xef\xbb\xbf") if block.line + index == 1 else line
            if text.strip():
                yield block.line + index, line, _json_fields(text)


def _json_fields(text: bytes) -> dict[str, Any] | SiftcastError:
    try:
        fields = _decode(text)
    except UnicodeDecodeError:
        return SubscriptionError("not UTF-8 text")
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        return SubscriptionError(f"not valid JSON: {error}")
    return fields if isinstance(fields, dict) else SubscriptionError("a subscription must be a JSON object")


def _csv_rows(blocks: Iterable[TextBlock], path: Path) -> Iterator[Row]:
    names: list[str] = []
    for block in blocks:
        if block.overlong:
            yield block.line, block.data, _overlong()
            continue
        line = block.line
        for raw in split_csv(block.data):
            if not names:
                names = _csv_names(raw, path)
            elif raw.strip():
                yield line, raw, _csv_fields(raw, names)
            line += 1 + raw.count(b"\n")


def _csv_names(raw: bytes, path: Path) -> list[str]:
    try:
        names = next(csv.reader([raw.decode("utf-8-sig").rstrip("\r")]), [])
    except UnicodeDecodeError:
        names = []
    if "id" not in names or "filter" not in names:
        raise DataError(f"{path}: the first line must be a header that names at least the columns id and filter")
    return names


def _csv_fields(raw: bytes, names: list[str]) -> dict[str, Any] | SiftcastError:
    try:
        cells = next(csv.reader([raw.decode().removesuffix("\r")]))
    except UnicodeDecodeError:
        return SubscriptionError("not UTF-8 text")
    except csv.Error as error:
        return SubscriptionError(f"not valid CSV ({error})")
    if len(cells) != len(names):
        return SubscriptionError(f"has {len(cells)} cells, but the header names {len(names)} columns")
    fields: dict[str, Any] = {name: cell or None for name, cell in zip(names, cells, strict=True)}
    if fields.get("delay_ms_max") is not None:
        try:
            fields["delay_ms_max"] = float(fields["delay_ms_max"])
        except ValueError:
            return SubscriptionError(f"delay_ms_max must be a number, not {fields['delay_ms_max']!r}")
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
