"""Reads what is intact from a damaged SQLite file: pages are looked at one by one, without SQLite.

A page that holds rows of a table says so in its first byte (13) and lists where its rows lie. Each row of our table is
(key, data, checksum); one whose checksum fits is intact, whatever happened around it, and nothing else is believed.
Long rows go on in overflow pages, each of which names the next. Pages lie in the file itself and, newer, in its
write-ahead log. A row's number grows with every write, so of several versions of a key the one with the highest number
is kept. Rows that were deleted have been overwritten (`secure_delete`), except for copies in the log, which may bring
one back: an event may then be delivered again, which at-least-once allows, but none is lost.

The layout is that of SQLite's file format, sections 1.6 (b-tree pages), 2.1 (records) and 4.1 (the log).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

PAGE_BYTES_DEFAULT = 4_096
_MAGIC = b"SQLite format 3\x00"
_LEAF = 13
_LOG_HEADER, _FRAME_HEADER = 32, 24


@dataclass(slots=True)
class Rescued:
    """Intact records, how many rows were not, and the highest number of a row."""

    records: dict[str, bytes] = field(default_factory=dict)
    damaged: int = 0
    number_max: int = 0


def salvage(path: Path, checksum: Callable[[str, bytes], int]) -> Rescued:
    """All intact records of a store and of its log."""
    main = path.read_bytes() if path.exists() else b""
    page_bytes = _page_bytes(main)
    pages = {number + 1: main[at : at + page_bytes] for number, at in enumerate(range(0, len(main), page_bytes))}
    versions = list(pages.items()) + list(_log_pages(path, page_bytes))
    newest = dict(versions)
    found = Rescued()
    numbers: dict[str, int] = {}
    for number, page in versions:
        for row_number, row in _rows(page, newest, is_first=number == 1):
            record = _record(row, checksum)
            if record is None:
                found.damaged += 1
                continue
            key, data = record
            if numbers.get(key, 0) <= row_number:
                numbers[key] = row_number
                found.records[key] = data
            found.number_max = max(found.number_max, row_number)
    return found


def is_cut_short(path: Path) -> bool:
    """Whether the log has whole commits after a damaged place, which SQLite would silently leave out."""
    log = path.with_name(path.name + "-wal")
    data = log.read_bytes() if log.exists() else b""
    if len(data) < _LOG_HEADER + _FRAME_HEADER:
        return False
    page_bytes = int.from_bytes(data[8:12], "big")
    little = int.from_bytes(data[:4], "big") == 0x377F0682
    if not 512 <= page_bytes <= 65_536 or _checksum(data[:24], (0, 0), little) != _pair(data, 24):
        return True
    salts, running, broken = data[16:24], _pair(data, 24), False
    for at in range(_LOG_HEADER, len(data) - _FRAME_HEADER - page_bytes + 1, _FRAME_HEADER + page_bytes):
        if data[at + 8 : at + 16] != salts:
            break  # left over from before the log began anew
        if not broken:
            running = _checksum(data[at : at + 8], running, little)
            running = _checksum(data[at + _FRAME_HEADER : at + _FRAME_HEADER + page_bytes], running, little)
            broken = running != _pair(data, at + 16)
        if broken and int.from_bytes(data[at + 4 : at + 8], "big"):
            return True
    return False


def _pair(data: bytes, at: int) -> tuple[int, int]:
    return int.from_bytes(data[at : at + 4], "big"), int.from_bytes(data[at + 4 : at + 8], "big")


def _checksum(data: bytes, start: tuple[int, int], little: bool) -> tuple[int, int]:
    """SQLite's checksum of the log, from words of four bytes, two at a time."""
    words = memoryview(data).cast("I") if little else memoryview(_swapped(data)).cast("I")
    first, second = start
    for place in range(0, len(words), 2):
        first = (first + words[place] + second) & 0xFFFFFFFF
        second = (second + words[place + 1] + first) & 0xFFFFFFFF
    return first, second


def _swapped(data: bytes) -> bytes:
    return b"".join(data[at : at + 4][::-1] for at in range(0, len(data), 4))


def _page_bytes(main: bytes) -> int:
    if main.startswith(_MAGIC):
        size = int.from_bytes(main[16:18], "big")
        size = 65_536 if size == 1 else size
        if 512 <= size <= 65_536 and not size & (size - 1):
            return size
    return PAGE_BYTES_DEFAULT


def _log_pages(path: Path, page_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Pages of the log, oldest first."""
    log = path.with_name(path.name + "-wal")
    data = log.read_bytes() if log.exists() else b""
    for at in range(_LOG_HEADER, len(data) - _FRAME_HEADER + 1, _FRAME_HEADER + page_bytes):
        page = data[at + _FRAME_HEADER : at + _FRAME_HEADER + page_bytes]
        yield int.from_bytes(data[at : at + 4], "big"), page


def _rows(page: bytes, pages: dict[int, bytes], *, is_first: bool) -> Iterator[tuple[int, bytes]]:
    """Number and content of each row of a leaf; rows that make no sense are left out."""
    head = 100 if is_first else 0
    if len(page) <= head + 8 or page[head] != _LEAF:
        return
    count = int.from_bytes(page[head + 3 : head + 5], "big")
    for place in range(count):
        at = head + 8 + 2 * place
        start = int.from_bytes(page[at : at + 2], "big")
        if not start or start >= len(page):
            continue
        size, start = _varint(page, start)
        number, start = _varint(page, start)
        yield number, _payload(page, pages, start, size)


def _payload(page: bytes, pages: dict[int, bytes], start: int, size: int) -> bytes:
    """A row's content, gathered from its page and its overflow pages."""
    usable = len(page)
    local_max, local_min = usable - 35, (usable - 12) * 32 // 255 - 23
    if size <= local_max:
        return page[start : start + size]
    local = local_min + (size - local_min) % (usable - 4)
    local = local if local <= local_max else local_min
    content = bytearray(page[start : start + local])
    following = int.from_bytes(page[start + local : start + local + 4], "big")
    while following and len(content) < size and following in pages:
        overflow = pages[following]
        content += overflow[4 : 4 + size - len(content)]
        following = int.from_bytes(overflow[:4], "big")
        if len(overflow) < 5:
            break
    return bytes(content)


def _record(row: bytes, checksum: Callable[[str, bytes], int]) -> tuple[str, bytes] | None:
    """Key and data of a row whose checksum fits."""
    size, at = _varint(row, 0)
    kinds: list[int] = []
    while at < size <= len(row) and len(kinds) < 4:
        kind, at = _varint(row, at)
        kinds.append(kind)
    if len(kinds) != 3 or kinds[0] < 13 or not kinds[0] % 2 or kinds[1] < 12 or kinds[1] % 2:
        return None
    lengths = (kinds[0] - 13) // 2, (kinds[1] - 12) // 2
    key, data = row[size : size + lengths[0]], row[size + lengths[0] : size + sum(lengths)]
    found = _integer(row[size + sum(lengths) :], kinds[2])
    try:
        text = key.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return (text, data) if len(data) == lengths[1] and checksum(text, data) == found else None


def _integer(data: bytes, kind: int) -> int | None:
    sizes = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
    if kind in (8, 9):
        return kind - 8
    size = sizes.get(kind)
    return None if size is None or len(data) < size else int.from_bytes(data[:size], "big", signed=True)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    value = 0
    for place in range(9):
        byte = data[at + place] if at + place < len(data) else 0
        if place == 8:
            return (value << 8) | byte, at + 9
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, at + place + 1
    return value, at + 9
