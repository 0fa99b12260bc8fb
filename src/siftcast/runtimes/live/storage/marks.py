"""What each commit of a store leaves behind: its number, a chain over all commits so far, and sums over all rows held.

The same mark lies in the store's file, written in the commit itself, and beside it in the tail (`store_tail`), written
once the commit is safe. From the two it can be told when a store is opened whether the file is at the commit that was
reported as safe last, whether it is the file that the tail was written beside, and whether it holds all its rows:

- *number*: one more with each commit. A file whose number is below the tail's has lost commits.
- *chain*: a hash of the chain before and of the rows that went and came. The same number with another chain is another
  history. The first one is random, and so is the store's *identity*, which stays.
- *row*: the highest number of a row. Each write of a record gets a row number of its own, which is never used again, so
  a row's number names one version of one record.
- *sums*: how many rows there are, the sum of their numbers squared and the sum of their checksums. Whole rows that are
  missing, or are back, do not pass them. (Squares, because of plain numbers 5 and 8 would stand for 6 and 7.)
- *is_rescued*: this is what could be rescued of a damaged store, and nobody has written since, so whoever opens it must
  learn of the damage.

All of it is kept up from the rows that change, so a commit costs no more than its own rows.
"""

from __future__ import annotations

import hashlib
import secrets
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

FORMAT = 2
"""Of the store's files. Another one is refused; 1 had neither marks nor a tail."""
_MAGIC = b"Sift"
_FORM = struct.Struct(">4sBBxx8sQ8sQQQQ")
_CHECK = struct.Struct(">I")
MARK_BYTES = _FORM.size + _CHECK.size
_WORD = 0xFFFF_FFFF_FFFF_FFFF

Rows = Sequence[tuple[int, int]]
"""Rows by their numbers, each with its checksum."""


def checksum(number: int, key: str, data: bytes) -> int:
    """What a record must have beside it: of its row's number, its key and its data."""
    return zlib.crc32(data, zlib.crc32(f"{key}\0".encode(), (number ^ number >> 32) & 0xFFFF_FFFF))


@dataclass(frozen=True, slots=True)
class Sums:
    """Over rows: how many, their numbers squared, their checksums; the last two modulo 2^64."""

    count: int = 0
    squares: int = 0
    checks: int = 0

    def changed(self, removed: Rows, added: Rows) -> Sums:
        """Those after some rows went and others came."""
        return Sums(
            self.count - len(removed) + len(added),
            self.squares - sum(row * row for row, _ in removed) + sum(row * row for row, _ in added) & _WORD,
            self.checks - sum(check for _, check in removed) + sum(check for _, check in added) & _WORD,
        )


@dataclass(frozen=True, slots=True)
class Mark:
    """What a commit left behind."""

    identity: bytes
    number: int
    chain: bytes
    row: int
    sums: Sums
    is_rescued: bool = False

    def after(self, removed: Rows, added: Rows) -> Mark:
        """That of the next commit, in which some rows go and others come."""
        numbers = [number for row in (*removed, *added) for number in row]
        content = struct.pack(f">Q{len(numbers)}Q", len(removed), *numbers)
        return Mark(
            self.identity,
            self.number + 1,
            hashlib.blake2b(self.chain + content, digest_size=8).digest(),
            max(self.row, max((row for row, _ in added), default=0)),
            self.sums.changed(removed, added),
        )

    def pack(self) -> bytes:
        """As bytes, with a checksum of their own."""
        sums = self.sums
        head = _MAGIC, FORMAT, self.is_rescued, self.identity, self.number, self.chain, self.row
        packed = _FORM.pack(*head, sums.count, sums.squares, sums.checks)
        return packed + _CHECK.pack(zlib.crc32(packed))


def new_mark() -> Mark:
    """That of a store that is just made."""
    return Mark(secrets.token_bytes(8), 0, secrets.token_bytes(8), 0, Sums())


def rescued_mark(marks: Sequence[Mark], tail: Mark | None, added: Rows) -> Mark:
    """That of a new file with what was rescued: it comes after all marks of the old one, and after the tail's."""
    before = [*marks, *([] if tail is None else [tail])] or [new_mark()]
    last = max(before, key=lambda mark: mark.number)
    identity = last.identity if tail is None else tail.identity  # the file may have been another store's
    start = Mark(identity, last.number, secrets.token_bytes(8), max(mark.row for mark in before), Sums())
    return replace(start.after((), added), is_rescued=True)


def unpack(data: bytes) -> Mark | None:
    """The mark that some bytes begin with; None if they are no mark of this format, or damaged."""
    if len(data) < MARK_BYTES or not data.startswith(_MAGIC):
        return None
    packed = data[: _FORM.size]
    if _CHECK.unpack_from(data, _FORM.size) != (zlib.crc32(packed),):
        return None
    _, form, is_rescued, identity, number, chain, row, *sums = _FORM.unpack(packed)
    return Mark(identity, number, chain, row, Sums(*sums), bool(is_rescued)) if form == FORMAT else None


def format_in(data: bytes) -> int | None:
    """Which format some bytes say they are of, whether this version knows it or not."""
    return data[len(_MAGIC)] if data.startswith(_MAGIC) and len(data) > len(_MAGIC) else None


def mark_in(page: bytes) -> Mark | None:
    """The mark that lies somewhere in a page."""
    at = page.find(_MAGIC)
    while at >= 0:
        mark = unpack(page[at : at + MARK_BYTES])
        if mark is not None:
            return mark
        at = page.find(_MAGIC, at + 1)
    return None
