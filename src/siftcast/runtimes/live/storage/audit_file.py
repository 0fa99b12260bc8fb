"""An append-only file of lines, as long as it may be: when it is full it becomes `file.1`, and the older ones move on.

    audit.jsonl      is written
    audit.jsonl.1    the one before
    audit.jsonl.9    the oldest; it is removed when the file is full once more

A line is with the operating system when `append` returns, so the death of the process takes nothing. It is on the disk
(fsync) a second later, when the owner has called `sync`, and before a full file is moved: a power cut may take the last
second. An fsync for each line would stop the node's loop for milliseconds.

What cannot be written, because the disk is full, waits in memory and is written first as soon as it can be: WAITING_MAX
bytes, and what comes beyond is counted (`lost`). A line of which the disk took a part is completed later, and one that
a crash cut off is ended before another begins, so a reader finds at most one line that is none.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from siftcast.runtimes.live.storage.private_files import FILE_MODE, make_folder, narrow

WAITING_MAX = 1_048_576


class AuditFile:
    """The file; raises OSError if it cannot be opened."""

    def __init__(self, path: Path, bytes_max: int, files_max: int) -> None:
        make_folder(path.parent)
        self.path = path
        self.lost = 0
        """How many lines there was no room for, neither on the disk nor in memory."""
        self._bytes_max = self._full_at = bytes_max
        self._files_max = files_max
        self._waiting = b""
        self._is_dirty = False
        self._is_whole = True
        self._file = -1
        self._size = 0
        self._open()
        if self._size and self._last_byte() != b"\n":
            self._waiting = b"\n"
            self._is_whole = False

    @property
    def is_stuck(self) -> bool:
        """Whether something waits to be written."""
        return bool(self._waiting)

    def take_over(self, before: AuditFile) -> None:
        """Has what waits for a former file, which cannot write it, written to this one."""
        self._waiting += before._waiting
        self.lost += before.lost
        before._waiting, before.lost = b"", 0

    def append(self, line: bytes) -> None:
        """Writes a line, with what waits before it; raises OSError if not all of it could be written."""
        if len(self._waiting) + len(line) > WAITING_MAX:
            self.lost += 1
        else:
            self._waiting += line
        self.flush()

    def flush(self) -> None:
        """Writes what waits; raises OSError if not all of it could be written."""
        if self._is_whole and self._size and self._size + len(self._waiting) > self._full_at:
            self._move_on()
        while self._waiting:
            written = os.write(self._file, self._waiting)
            self._is_whole = self._waiting[:written].endswith(b"\n")
            self._waiting = self._waiting[written:]
            self._size += written
            self._is_dirty = True

    def take_unsynced(self) -> int | None:
        """A descriptor of the file, for `sync`, if something was written since the last time; None otherwise."""
        if not self._is_dirty:
            return None
        self._is_dirty = False
        return os.dup(self._file)

    def close(self) -> None:
        """Writes what waits if that is possible, and has it on the disk."""
        with suppress(OSError):
            self.flush()
        with suppress(OSError):
            os.fsync(self._file)
        os.close(self._file)

    def _open(self) -> None:
        # Without waiting for a reader, where somebody has named a pipe.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0)
        self._file = os.open(self.path, flags, FILE_MODE)
        if self.path.is_file():
            narrow(self.path)
        self._size = os.fstat(self._file).st_size

    def _last_byte(self) -> bytes:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1)

    def _move_on(self) -> None:
        """Begins a new file. Where the old one cannot be moved it is written on, and moved when it is twice as long."""
        self._full_at = self._size + self._bytes_max
        with suppress(OSError):
            os.fsync(self._file)
            for number in range(self._files_max - 1, 0, -1):
                older = self.path if number == 1 else _numbered(self.path, number - 1)
                if older.exists():
                    older.replace(_numbered(self.path, number))
            before = self._file
            self._open()
            os.close(before)
            self._full_at = self._bytes_max


def sync(descriptor: int) -> None:
    """Has what was written on the disk; for a thread. Raises OSError."""
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def files_of(path: Path) -> list[Path]:
    """The files that a log consists of, the oldest first."""
    numbers = []
    for each in path.parent.glob(f"{path.name}.*"):
        number = each.name.removeprefix(f"{path.name}.")
        if number.isdecimal():
            numbers.append(int(number))
    return [*(_numbered(path, number) for number in sorted(numbers, reverse=True)), *([path] if path.exists() else [])]


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")
