"""What could not be used: one JSON line each, in a file named after the input with `.rejected` at the end.

    {"line":7,"reason":"filter-syntax: line 1, column 9: …","source":"{\\"id\\": …"}

`line` counts from 1 (rows of a Parquet file likewise), `reason` begins with a stable code of `model.errors`,
`source` is the text as it was read: bytes that are not UTF-8 appear as \\xNN, and a very long text is cut, which
the ellipsis at its end shows. The file belongs to the run that wrote it: a run without rejections removes the
file an earlier one left, so that nobody reads yesterday's mistakes as today's.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import msgspec

from siftcast.model import SiftcastError

_SOURCE_MAX = 64_000
_encode = msgspec.json.Encoder().encode


class Rejection(msgspec.Struct, frozen=True):
    """One row that was refused, and why."""

    line: int
    reason: str
    source: str


def reason_of(error: SiftcastError) -> str:
    """An error as a reason: its code, then its message."""
    return f"{error.code}: {error}"


def readable(source: bytes | str) -> str:
    """A text as it can be shown and stored."""
    if isinstance(source, bytes):
        source = source[: 4 * _SOURCE_MAX].rstrip(b"\r\n").decode("utf-8", "backslashreplace")
    return source if len(source) <= _SOURCE_MAX else source[:_SOURCE_MAX] + "…"


class RejectedFile:
    """Collects the rejections of one input; the file is made when there is a first one."""

    def __init__(self, source: Path, folder: Path | None = None) -> None:
        self.path = rejected_path(source, folder)
        self.count = 0
        self.first: Rejection | None = None
        self._file: IO[bytes] | None = None

    def add(self, line: int, reason: str, source: bytes | str) -> None:
        """Writes one rejection down."""
        rejection = Rejection(line, reason, readable(source))
        if self._file is None:
            self._file = self.path.open("wb")
            self.first = rejection
        self._file.write(_encode(rejection) + b"\n")
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
