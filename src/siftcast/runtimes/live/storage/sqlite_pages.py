"""Reads pages of an SQLite file and of its write-ahead log, without SQLite: for when that cannot, or must not be asked.

A page of a table's rows begins with 13, one of an index's entries with 10 or, higher up in the tree, 2; each lists
where its cells lie. Long cells go on in overflow pages, each of which names the next. Nothing here is trusted: whatever
makes no sense is left out, and what is returned must be checked by whoever asked.

The log holds newer versions of pages, in order. When all of it is in the file, SQLite writes it again from the start,
so frames of an earlier log may lie behind those of the present one: they are older than the file. Which frame belongs
to which log is seen from two numbers in each, the salts, that the log's header has too; the first grows by one and the
second is random each time, so a frame in which one of them was damaged is still known by the other.

The layout is that of SQLite's file format (https://sqlite.org/fileformat2.html), sections 1.6 (b-tree pages), 2.1
(records) and 4.1 (the log).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PAGE_BYTES = 4_096
"""Of all stores."""
Value = int | bytes | None
"""A number, or the bytes of a text or a blob; None for what no store holds."""
_TABLE_LEAF = 13
_INDEX_PAGES = (2, 10)
_LOG_HEADER, _FRAME_HEADER = 32, 24
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


@dataclass(frozen=True, slots=True)
class Frame:
    """A version of a page in the log."""

    page: int
    is_commit: bool
    content: bytes


@dataclass(frozen=True, slots=True)
class Log:
    """Frames of the log, and those of an earlier one that are left over behind it."""

    frames: list[Frame]
    left_over: list[Frame]


def log_path(path: Path) -> Path:
    """Where the log of a file lies."""
    return path.with_name(path.name + "-wal")


def read_log(path: Path) -> Log:
    """All frames of a file's log; raises OSError."""
    log = log_path(path)
    data = log.read_bytes() if log.exists() else b""
    starts = range(_LOG_HEADER, len(data) - _FRAME_HEADER, _FRAME_HEADER + PAGE_BYTES)
    # The first frame may speak for the log as well as its header: if only that was written again when the machine
    # stopped, what follows is all in the file, and harmless.
    firsts = {data[at : at + 4] for at in (16, _LOG_HEADER + 8)}
    seconds = {data[at : at + 4] for at in (20, _LOG_HEADER + 12)}
    belongs = [data[at + 8 : at + 12] in firsts or data[at + 12 : at + 16] in seconds for at in starts]
    count = max((place + 1 for place, does in enumerate(belongs) if does), default=0)
    frames = [_frame(data, at) for at in starts]
    return Log(frames[:count], frames[count:])


def has_commit(path: Path) -> bool:
    """Whether a file's log has the end of a commit somewhere; raises OSError."""
    return any(frame.is_commit for frame in read_log(path).frames)


def _frame(data: bytes, at: int) -> Frame:
    page, size = int.from_bytes(data[at : at + 4], "big"), int.from_bytes(data[at + 4 : at + 8], "big")
    content = data[at + _FRAME_HEADER : at + _FRAME_HEADER + PAGE_BYTES]
    return Frame(page, size > 0, content.ljust(PAGE_BYTES, b"\0"))


def read_pages(path: Path) -> dict[int, bytes]:
    """The pages of a file by number, from 1; raises OSError."""
    data = path.read_bytes() if path.exists() else b""
    starts = enumerate(range(0, len(data), PAGE_BYTES), start=1)
    return {number: data[at : at + PAGE_BYTES].ljust(PAGE_BYTES, b"\0") for number, at in starts}


def rows_of(page: bytes) -> Iterator[tuple[int, int, int]]:
    """The rows of a table's page: number, size, and where the content starts."""
    if page[0] == _TABLE_LEAF:
        for start in _cells(page, 8):
            size, start = _varint(page, start)
            number, start = _varint(page, start)
            yield number, size, start


def entries_of(page: bytes) -> Iterator[tuple[int, int]]:
    """The entries of an index's page: size, and where the content starts."""
    if page[0] in _INDEX_PAGES:
        is_inner = page[0] == _INDEX_PAGES[0]
        for start in _cells(page, 12 if is_inner else 8):
            yield _varint(page, start + 4 if is_inner else start)


def content_of(page: bytes, pages: Mapping[int, bytes], size: int, start: int) -> bytes:
    """What a cell holds, gathered from its page and its overflow pages; shorter than `size` where pages are missing."""
    is_table = page[0] == _TABLE_LEAF
    local_max = PAGE_BYTES - 35 if is_table else (PAGE_BYTES - 12) * 64 // 255 - 23
    if size <= local_max:
        return page[start : start + size]
    local_min = (PAGE_BYTES - 12) * 32 // 255 - 23
    local = local_min + (size - local_min) % (PAGE_BYTES - 4)
    local = local if local <= local_max else local_min
    parts = [page[start : start + local]]
    following = int.from_bytes(page[start + local : start + local + 4], "big")
    missing, steps = size - local, len(pages)
    while missing > 0 and following in pages and steps:  # as many steps as pages, in case they go round in a ring
        overflow = pages[following]
        parts.append(overflow[4 : 4 + missing])
        missing, steps = missing - (PAGE_BYTES - 4), steps - 1
        following = int.from_bytes(overflow[:4], "big")
    return b"".join(parts)


def values_of(content: bytes) -> list[Value]:
    """The values of a row or an entry; none where the content is not whole."""
    head, at = _varint(content, 0)
    if head > len(content):
        return []
    values: list[Value] = []
    place = head
    while at < head:
        kind, at = _varint(content, at)
        size = (kind - 12) // 2 if kind >= 12 else _INTEGER_BYTES.get(kind, 0)
        if place + size > len(content):
            return []
        piece = content[place : place + size]
        place += size
        if kind >= 12:
            values.append(piece)
        elif kind in _INTEGER_BYTES:
            values.append(int.from_bytes(piece, "big", signed=True))
        else:
            values.append(kind - 8 if kind in (8, 9) else None)
    return values


def _cells(page: bytes, head: int) -> Iterator[int]:
    count = min(int.from_bytes(page[3:5], "big"), (PAGE_BYTES - head) // 2)
    for at in range(head, head + 2 * count, 2):
        start = int.from_bytes(page[at : at + 2], "big")
        if head <= start < PAGE_BYTES:
            yield start


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    value = 0
    for place in range(at, at + 8):
        byte = data[place] if place < len(data) else 0
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, place + 1
    return (value << 8) | (data[at + 8] if at + 8 < len(data) else 0), at + 9
