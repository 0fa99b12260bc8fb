"""A file as chunks of bytes, plain or gzip, which knows how far into the file it is.

gzip is decoded here rather than by the `gzip` module because of what happens at the end of half a file: that
module raises from inside a buffered read and drops bytes it had already decoded. Here every decoded byte is
passed on first, and only then is the damage reported.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from siftcast.model import DataError

CHUNK_BYTES = 1 << 20
_EXPANSION_MAX = 16  # a chunk of gzip is unpacked in steps of at most this many chunks, so memory stays bounded


class InputBytes:
    """The bytes of a file in order; `position` and `size` count bytes of the file itself, for a progress bar."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.compressed = path.suffix.lower() == ".gz"
        self._file = open_input(path)
        self.size = path.stat().st_size
        self.position = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[bytes]:
        return self._unpacked() if self.compressed else self._raw()

    def _raw(self) -> Iterator[bytes]:
        while chunk := self._file.read(CHUNK_BYTES):
            self.position += len(chunk)
            yield chunk

    def _unpacked(self) -> Iterator[bytes]:
        """The content of all members of a gzip file; raises DataError once everything readable was passed on."""
        decoder = None
        for chunk in self._raw():
            rest = chunk
            while rest:
                if decoder is None:
                    decoder = zlib.decompressobj(wbits=31)
                try:
                    unpacked = decoder.decompress(rest, _EXPANSION_MAX * CHUNK_BYTES)
                except zlib.error as error:
                    raise DataError(f"{self.path}: the gzip data are damaged ({error})") from None
                if unpacked:
                    yield unpacked
                rest = decoder.unconsumed_tail
                if decoder.eof:
                    rest, decoder = decoder.unused_data.lstrip(b"\0"), None  # zeros may pad the end of a member
        if decoder is not None:
            raise DataError(f"{self.path}: the gzip file is cut off before its end")


def open_input(path: Path):  # type: ignore[no-untyped-def]  # the type of open() depends on its arguments
    """Opens a file that a user named; raises DataError in words a user can act on."""
    try:
        if path.is_dir():
            raise DataError(f"{path}: is a folder; name a file in it")
        return path.open("rb", buffering=0)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file{nearby(path)}") from None
    except PermissionError:
        raise DataError(f"{path}: may not be read by this user") from None


def nearby(path: Path) -> str:
    """A hint at a file of a similar name in the same folder."""
    from difflib import get_close_matches

    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"; the folder {path.parent} does not exist either" if not path.parent.exists() else ""
    nearest = get_close_matches(path.name, names, 1, 0.7)
    return f"; did you mean '{path.parent / nearest[0]}'?" if nearest else ""
