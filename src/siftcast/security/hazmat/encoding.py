"""Parts in a row, each with its length before it.

`enc` is injective: two different rows of parts never have the same bytes, so what is signed or hashed for one meaning
cannot be passed off as another (`("xsur", "name")` and `("x", "surname")` differ). Each use begins with a word of its
own, its context, so that a signature made for one purpose says nothing for another.
"""

from __future__ import annotations

from struct import Struct

_length = Struct(">I").pack


def enc(*parts: bytes) -> bytes:
    """The parts, each after its length in four bytes."""
    row: list[bytes] = []
    for part in parts:
        row += (_length(len(part)), part)
    return b"".join(row)
