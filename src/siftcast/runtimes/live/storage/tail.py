"""The store's tail: a small file beside it that says which commit was reported as safe last.

SQLite cannot tell a log that ends early because of damage from one that ends there: it drops what follows, and the
commits in it, without a word. The tail can. It is written once SQLite has said that a commit is on disk, so it is never
ahead of what was promised; a file that is behind its tail has lost what was acknowledged. The other way round is
normal: the tail is not synced (a commit would cost a second sync), so a power cut may leave an older one.

Two slots are written in turn, each in a block of its own and with its own checksum: a torn write leaves the other. The
file has its full size from the start, so a full disk does not stop it. While it is open it is locked, which keeps a
second node from the folder before anything in it is looked at.

Cost: one write of 68 bytes a commit, into the cache of the operating system.
"""

from __future__ import annotations

import os
from pathlib import Path

from siftcast.runtimes.live.errors import StoreError
from siftcast.runtimes.live.storage.marks import MARK_BYTES, Mark, unpack
from siftcast.runtimes.live.storage.private_files import FILE_MODE

try:
    import fcntl
except ImportError:  # Not on Windows, where SQLite's own lock must do.
    fcntl = None  # type: ignore[assignment]

_SLOT_BYTES = 4_096
_SLOTS = 2


class Tail:
    """Open and locked until closed; raises StoreError if another node has it, or it cannot be opened.

    `mark` is that of the last safe commit that can be read, and `unreadable` the number of slots that cannot.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.mark: Mark | None = None
        self.unreadable = 0
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), FILE_MODE)
            self._file = os.fdopen(handle, "r+b", 0)
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}; the node must be able to write there") from None
        try:
            self._lock()
            self._read()
        except BaseException:
            self._file.close()
            raise

    def write(self, mark: Mark) -> None:
        """Notes a commit that is safe; raises OSError, and then an older one stays, which does no harm."""
        self._file.seek(mark.number % _SLOTS * _SLOT_BYTES)
        self._file.write(mark.pack())
        self.mark = mark

    def write_whole(self, mark: Mark) -> None:
        """Writes all slots, and waits until they are on disk; raises OSError."""
        self._file.seek(0)
        self._file.write(mark.pack().ljust(_SLOT_BYTES, b"\0") * _SLOTS)
        self._file.truncate(_SLOTS * _SLOT_BYTES)
        os.fsync(self._file.fileno())
        self.mark = mark
        self.unreadable = 0

    def close(self) -> None:
        """Lets others have it."""
        self._file.close()

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(f"{self.path.parent}: another node is using this folder") from None
        except OSError:
            pass  # A file system that knows no such locks; SQLite's own must do.

    def _read(self) -> None:
        content = self._file.read(_SLOTS * _SLOT_BYTES)
        slots = [unpack(content[at : at + MARK_BYTES]) for at in range(0, _SLOTS * _SLOT_BYTES, _SLOT_BYTES)]
        marks = [mark for mark in slots if mark is not None]
        self.mark = max(marks, key=lambda mark: mark.number, default=None)
        self.unreadable = _SLOTS - len(marks)
