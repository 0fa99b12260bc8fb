"""Files that describe networks: opened, unpacked and decoded, with every mishap named by file and line.

A file may be gzipped, whatever its name: the first two bytes tell. Text is UTF-8. What the readers share is here: whole
numbers, latencies, and the error that says where it stands and what would be accepted.
"""

from __future__ import annotations

import gzip
import io
import math
import zlib
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from siftcast.model.errors import TopologyFileError

AnyPath = str | PathLike[str]
BYTES_MAX = 1 << 30
"""More than any description of a network has, and less than a machine chokes on."""
_PIECE = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"


def read_bytes(path: AnyPath, *, bytes_max: int = BYTES_MAX) -> bytes:
    """The content of a file, unpacked if it is gzipped; at most so many bytes before and after."""
    place = Path(path)
    try:
        with place.open("rb") as file:
            content = _read_at_most(file, bytes_max, place)
    except FileNotFoundError:
        raise TopologyFileError(str(place), "there is no such file") from None
    except IsADirectoryError:
        raise TopologyFileError(str(place), "is a folder", remedy="name a file in it") from None
    except PermissionError:
        raise TopologyFileError(str(place), "may not be read by this user") from None
    if not content.startswith(_GZIP_MAGIC):
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as packed:
            return _read_at_most(packed, bytes_max, place)
    except EOFError:
        raise TopologyFileError(
            str(place), "the gzip file is cut off before its end", remedy="fetch or copy it again"
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise TopologyFileError(
            str(place), f"the gzip data are damaged ({error})", remedy="fetch or copy it again"
        ) from None


def _read_at_most(file: BinaryIO | gzip.GzipFile, bytes_max: int, place: Path) -> bytes:
    """All that a file holds, in pieces: a small one may unpack to more than there is room for."""
    pieces, left = [], bytes_max
    while piece := file.read(_PIECE):
        pieces.append(piece)
        left -= len(piece)
        if left < 0:
            raise TopologyFileError(
                str(place), f"holds more than {bytes_max:,} bytes", remedy="name a file that describes a network"
            )
    return b"".join(pieces)


def decode(path: AnyPath, content: bytes) -> str:
    """Bytes as text; an empty file and one that is no UTF-8 text are refused."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise TopologyFileError(
            str(path), f"byte {content[error.start]:#04x} is not UTF-8", line=line, remedy="save the file as UTF-8 text"
        ) from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise TopologyFileError(
            str(path), "holds zero bytes, so it is no text", line=line, remedy="save the file as UTF-8 text"
        )
    if not text.strip():
        raise TopologyFileError(str(path), "the file is empty", remedy="fetch or copy it again")
    return text


def read_lines(path: AnyPath) -> Iterator[tuple[int, str]]:
    """The lines that hold something, each with its number."""
    for number, line in enumerate(decode(path, read_bytes(path)).split("\n"), 1):
        if stripped := line.strip():
            yield number, stripped


def parse_whole(path: AnyPath, line: int, text: str, what: str) -> int:
    """A whole number of a file."""
    try:
        return int(text)
    except ValueError:
        raise TopologyFileError(str(path), f"{what} is {text!r}", line=line, remedy="give a whole number") from None


def parse_latency(path: AnyPath, line: int, text: str) -> float:
    """A latency of a file: finite and at least 0."""
    try:
        latency = float(text)
    except ValueError:
        latency = math.nan
    if not (math.isfinite(latency) and latency >= 0):
        raise TopologyFileError(
            str(path), f"the latency is {text!r}", line=line, remedy="give milliseconds, a finite number of at least 0"
        )
    return latency
