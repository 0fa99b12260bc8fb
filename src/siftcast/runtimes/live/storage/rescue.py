"""Puts a new file with what is intact in the place of a damaged one, which is kept aside.

A machine may stop at any moment of this as well, so nothing is taken away before what replaces it is there. The new
file is made under a name of its own, synced, and then renamed to say that it is whole; only then are the old files
moved, and the new one after them. `finish_rescue` does the rest of what was begun. Until somebody writes to the new
file its mark says that it is a rescued one, so damage is reported to a node even if the one before it stopped first.
"""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from siftcast.runtimes.live.errors import StoreError
from siftcast.runtimes.live.storage.file import close_file, empty_log, make_file, sync_folder
from siftcast.runtimes.live.storage.marks import Mark, checksum, rescued_mark
from siftcast.runtimes.live.storage.salvage import Salvaged, salvage

_PARTS = ("-wal", "-shm", "-journal", "")


def rescue(path: Path, tail: Mark | None) -> Salvaged:
    """Salvages a store and begins a new file with that; raises StoreError if it cannot be written."""
    try:
        salvaged = salvage(path, tail)
        number = _last_number(path) + 1
        _make(path, number, salvaged, tail)
        _install(path, number)
    except (apsw.Error, OSError) as error:
        raise StoreError(f"{path} is damaged, and what is intact cannot be written beside it: {error}") from None
    return salvaged


def finish_rescue(path: Path) -> None:
    """Finishes what a rescue before had begun; raises StoreError."""
    try:
        for file in path.parent.glob(f"{path.name}.rescued-*"):
            suffix = file.name.removeprefix(f"{path.name}.rescued-")
            if suffix.isdecimal():
                _install(path, int(suffix))
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}; the node must be able to write there") from None


def files_aside(path: Path) -> list[Path]:
    """The files that the last rescue put aside, the main one first if there was one."""
    number = _last_number(path)
    return [file for part in reversed(_PARTS) if (file := _aside(path, number, part)).exists()]


def _last_number(path: Path) -> int:
    start = f"{path.name}.damaged-"
    ends = (file.name.removeprefix(start).partition("-")[0] for file in path.parent.glob(f"{start}*"))
    return max((int(end) for end in ends if end.isdecimal()), default=0)


def _aside(path: Path, number: int, part: str) -> Path:
    return path.with_name(f"{path.name}.damaged-{number}{part}")


def _make(path: Path, number: int, salvaged: Salvaged, tail: Mark | None) -> None:
    """Makes the new file: whole, on disk, and named so."""
    unfinished = path.with_name(f"{path.name}.rescuing")
    for part in _PARTS:
        unfinished.with_name(unfinished.name + part).unlink(missing_ok=True)
    known = [mark.row for mark in (*salvaged.marks, tail) if mark is not None]
    start = 1 + max([salvaged.row_max, *known])
    numbered = enumerate(salvaged.records.items(), start=start)
    rows = [(row, key, data, checksum(row, key, data)) for row, (key, data) in numbered]
    mark = rescued_mark(salvaged.marks, tail, [(row, check) for row, _, _, check in rows])
    database = make_file(unfinished, mark, rows)
    try:
        empty_log(database)  # closing it does so too, but does not say so if it fails
    finally:
        close_file(database)
    os.replace(unfinished, path.with_name(f"{path.name}.rescued-{number}"))
    sync_folder(path.parent)


def _install(path: Path, number: int) -> None:
    """Moves the damaged files aside, as far as they still are there, and the new one to their place."""
    for part in _PARTS:
        file = path.with_name(path.name + part)
        if part and file.exists() and not file.stat().st_size:
            file.unlink()  # an empty log, made by looking at the file
        elif file.exists():
            os.replace(file, _aside(path, number, part))
    sync_folder(path.parent)
    os.replace(path.with_name(f"{path.name}.rescued-{number}"), path)
    sync_folder(path.parent)
