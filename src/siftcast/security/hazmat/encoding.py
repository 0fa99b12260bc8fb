"""Parts in a row, each with its length before it, and a reader that takes nothing but exactly that.

`enc` is injective: two different rows of parts never have the same bytes, so what is signed or hashed for one meaning
cannot be passed off as another (`("xsur", "name")` and `("x", "surname")` differ). Each use begins with a word of its
own, its context, so that a signature made for one purpose says nothing for another.
"""

from __future__ import annotations

from struct import Struct
from typing import Any

from siftcast.security.errors import UnopenedError

_length = Struct(">I").pack


def enc(*parts: bytes) -> bytes:
    """The parts, each after its length in four bytes."""
    row: list[bytes] = []
    for part in parts:
        row += (_length(len(part)), part)
    return b"".join(row)


class Reader:
    """Takes bytes from the front; raises UnopenedError where there are too few of them."""

    __slots__ = ("_data", "place")

    def __init__(self, data: bytes, place: int = 0) -> None:
        self._data = data
        self.place = place
        """How many bytes were taken."""

    def take(self, count: int) -> bytes:
        """So many bytes."""
        start = self.place
        self.place = stop = start + count
        if stop > len(self._data):
            raise UnopenedError("malformed", "the sealed payload is cut short")
        return self._data[start:stop]

    def number(self, width: int) -> int:
        """A whole number of so many bytes."""
        return int.from_bytes(self.take(width), "big")

    def unpack(self, fields: Struct) -> tuple[Any, ...]:
        """Fields of fixed lengths."""
        start = self.place
        self.place = stop = start + fields.size
        if stop > len(self._data):
            raise UnopenedError("malformed", "the sealed payload is cut short")
        return fields.unpack_from(self._data, start)

    def name(self) -> bytes:
        """A name of 1 to 255 bytes after its length."""
        count = self.number(1)
        if not count:
            raise UnopenedError("malformed", "a name in the sealed payload is empty")
        return self.take(count)

    def rest(self) -> bytes:
        """All that is left."""
        start, self.place = self.place, len(self._data)
        return self._data[start:]
