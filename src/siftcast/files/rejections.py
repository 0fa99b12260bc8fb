"""What could not be used: the row, the reason, and the file in which a run of the command line keeps them.

    input    "events" or "subscriptions"
    code     the stable code of an error of `model.errors`
    reason   for a person: what is wrong, and where
    source   the row as it came: the line of a text file, or the row of a table; \\xNN is a byte that is not text

Spark's dead letters have these fields, and a row refused there has the code and reason it would have here. The file
is named after the input with `.rejected` at the end. It has one JSON line per row, with one more field: `line`, from
1 (in a Parquet file, the row). Here a very long source is cut, and ends with an ellipsis.

The file belongs to the run that wrote it: a run without rejections removes the file an earlier one left, so that
nobody reads yesterday's mistakes as today's.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import IO, Literal, Self

import msgspec

from siftcast.model import EventError, SiftcastError, SubscriptionError

Input = Literal["events", "subscriptions"]
ROW_ERRORS: dict[str, type[SiftcastError]] = {"events": EventError, "subscriptions": SubscriptionError}
_SOURCE_MAX = 64_000
_encode = msgspec.json.Encoder().encode


class Rejection(msgspec.Struct, frozen=True):
    """One row that was refused, and why."""

    input: str
    code: str
    reason: str
    source: str

    @classmethod
    def of(cls, input: str, error: SiftcastError, source: str) -> Rejection:
        """A row and the error that refuses it."""
        return cls(input, error.code, str(error), source)


def escaped(text: bytes) -> str:
    """Bytes as a text in which those that are not UTF-8 can be seen."""
    return text.decode("utf-8", "backslashreplace")


def _shortened(source: bytes | str) -> str:
    if isinstance(source, bytes):
        source = escaped(source[: 4 * _SOURCE_MAX].rstrip(b"\r\n"))
    return source if len(source) <= _SOURCE_MAX else source[:_SOURCE_MAX] + "…"


class RejectedFile:
    """Collects the rejections of one input; the file is made when there is a first one."""

    def __init__(self, source: Path, input: Input = "events", folder: Path | None = None) -> None:
        self.path = rejected_path(source, folder)
        self.count = 0
        self.first: tuple[int, Rejection] | None = None
        self._input = input
        self._file: IO[bytes] | None = None

    def add(self, line: int, error: SiftcastError, source: bytes | str) -> None:
        """Writes one rejection down."""
        rejection = Rejection.of(self._input, error, _shortened(source))
        if self._file is None:
            self._file = self.path.open("wb")
            self.first = line, rejection
        self._file.write(_encode({"line": line, **msgspec.structs.asdict(rejection)}) + b"\n")
        self.count += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()
        elif error is None:
            self.path.unlink(missing_ok=True)


def rejected_path(source: Path, folder: Path | None) -> Path:
    """Beside the input; in the current folder where that is not writable, as with shared data."""
    name = source.name + ".rejected"
    if folder is not None:
        return folder / name
    return source.with_name(name) if os.access(source.parent, os.W_OK) else Path(name)
