"""Bytes as blocks of whole lines, with line numbers: the unit in which text files are read.

A block goes to a C++ parser as a whole, and only a block with something wrong in it is taken apart line by line. For
CSV a "line" may contain line breaks inside quotes, so the place of the cut depends on the format:

    … ,"two\\n  lines",3\\n   4,"five\\n …          a block may be cut here ↑ only, since the last quote is open

A line (or a quoted field that never ends) longer than 16 MiB is not read further: its beginning is passed on as a
block marked `overlong`, for the caller to reject, and reading resumes after the next line break. One stray quote thus
costs one row, not the rest of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

BLOCK_BYTES = 4 << 20
LINE_BYTES_MAX = 16 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# A quoted field opens at the start of a field only; a doubled quote inside stands for one.
_QUOTED = re.compile(rb'(?:(?<=[,\n\r])|\A)"[^"]*(?:""[^"]*)*("|\Z)')

Cut = Callable[[bytes], int]


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Whole lines, each with its line break; `line` is the number of the first, from 1. It has no byte order mark."""

    data: bytes
    line: int
    overlong: bool = False


def count_lines(data: bytes) -> int:
    """How many line breaks there are; NumPy takes a seventh of the time of `bytes.count`."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))


def cut_lines(data: bytes) -> int:
    """Where the last whole line ends."""
    return data.rfind(b"\n") + 1


def cut_csv(data: bytes) -> int:
    """Where the last whole row of CSV ends: at a line break outside quotes."""
    end = data.rfind(b"\n")
    if b'"' not in data or _ends_quotes_at_once(data[: end + 1]):
        return end + 1
    for start, stop in reversed([found.span() for found in _QUOTED.finditer(data)]):
        if stop <= end:
            break
        end = data.rfind(b"\n", 0, start)
    return end + 1


def _ends_quotes_at_once(data: bytes) -> bool:
    """Whether every quoted field ends on its line and holds no quote: true of most files, and soon seen.

    Then the quotes open and close in turn, and those that open are at the start of a field. The last byte, which
    stands in for the one before the first, is a line break.
    """
    codes = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(codes == ord('"'))
    if len(quotes) % 2:
        return False
    opening, closing = quotes[::2], quotes[1::2]
    breaks = np.flatnonzero(codes == ord("\n"))
    at_start = np.isin(codes[opening - 1], np.frombuffer(b",\n\r", np.uint8))
    return bool(np.all(at_start) and np.array_equal(breaks.searchsorted(opening), breaks.searchsorted(closing)))


def split_csv(data: bytes) -> list[bytes]:
    """The rows of a block that `cut_csv` made, without their last line breaks; empty ones too."""
    if b'"' in data:
        hidden = _QUOTED.sub(lambda found: found[0].replace(b"\n", b" "), data)
    else:
        hidden = data
    rows, start = [], 0
    for row in hidden.split(b"\n"):
        rows.append(data[start : start + len(row)])
        start += len(row) + 1
    return rows[:-1]


def numbered_rows(block: TextBlock) -> Iterator[tuple[int, bytes]]:
    """The rows of a block of CSV, empty ones too, with the number of the line on which each begins."""
    line = block.line
    for row in split_csv(block.data):
        yield line, row
        line += 1 + row.count(b"\n")


def numbered_lines(block: TextBlock) -> list[tuple[int, bytes]]:
    """The lines of a block that are not blank, with their numbers."""
    return [(block.line + index, line) for index, line in enumerate(block.data.split(b"\n")) if line.strip()]


def read_blocks(chunks: Iterable[bytes], cut: Cut = cut_lines) -> Iterator[TextBlock]:
    """Blocks of about BLOCK_BYTES; whatever came before an error in the chunks is handed on before the error."""
    cutter = _Cutter(cut)
    try:
        for chunk in chunks:
            cutter.rest += chunk
            if len(cutter.rest) >= BLOCK_BYTES:
                yield from cutter.take()
    except Exception:
        yield from cutter.take()  # whole lines only: where the error cut a line, half of it is not a row
        raise
    yield from cutter.finish()


class _Cutter:
    """What was read and not yet passed on, and the number of its first line."""

    def __init__(self, cut: Cut) -> None:
        self.rest = b""
        self._cut = cut
        self._line = 1
        self._skipping = False

    def take(self) -> Iterator[TextBlock]:
        """All whole lines, if any; gives up on a line that has grown too long."""
        self._skip()
        end = self._cut(self.rest)
        if end:
            yield self._part(end)
        if len(self.rest) > LINE_BYTES_MAX:
            yield self._give_up()

    def finish(self) -> Iterator[TextBlock]:
        """Everything that is left; the last line may lack its line break."""
        self._skip()
        if self.rest and not self.rest.endswith(b"\n"):
            self.rest += b"\n"
        while self.rest:
            end = self._cut(self.rest)
            yield self._part(end) if end else self._give_up()

    def _part(self, end: int, overlong: bool = False) -> TextBlock:
        data = self.rest[:end]
        block = TextBlock(data.removeprefix(_BYTE_ORDER_MARK) if self._line == 1 else data, self._line, overlong)
        self._line += count_lines(block.data)
        self.rest = self.rest[end:]
        return block

    def _give_up(self) -> TextBlock:
        end = self.rest.find(b"\n") + 1
        self._skipping = not end
        return self._part(end or len(self.rest), overlong=True)

    def _skip(self) -> None:
        """Drops the remainder of a line that was given up, up to its line break."""
        if self._skipping:
            end = self.rest.find(b"\n") + 1
            self._skipping = not end
            self._line += 1 if end else 0
            self.rest = self.rest[end:] if end else b""


def is_utf8(data: bytes) -> bool:
    """Whether all of it is UTF-8 text."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
