"""Paths: credentials as rows of symbols, one for each level below the root.

A credential covers another if it is the beginning of it. Symbols are bytes: a bit, a byte of a text, a hash, or one of
a few words that are longer than a byte, so that they are no text's.
"""

from __future__ import annotations

from typing import Final

CredentialPath = tuple[bytes, ...]

ROOT: Final[CredentialPath] = ()
NULL: Final = b"null"
VALUE: Final = b"value"
"""Between the root and values that have no small number of first symbols."""
END: Final = b"end"
PAD: Final = b"pad"
_BITS = b"0", b"1"


def covers(general: CredentialPath, special: CredentialPath) -> bool:
    """Whether a credential is for all that another is for."""
    return special[: len(general)] == general


def padded(path: CredentialPath, depth: int) -> CredentialPath:
    """A path that is as long as all leaves are; nobody has keys for what it is padded with."""
    return path + (PAD,) * (depth - len(path))


def of_cell(cell: int, levels: int) -> CredentialPath:
    """The path of a cell, or of a whole subtree: so many bits, the highest first."""
    return tuple(_BITS[cell >> shift & 1] for shift in range(levels - 1, -1, -1))


def of_range(low: int, high: int, levels: int) -> list[CredentialPath]:
    """The fewest paths for the cells from `low` up to `high` (excluded), of 2^levels; never the root.

    At most 2(levels − 1), or `levels` where the range touches an end: it takes, from both ends inwards, at most one
    subtree of each size. The root is left out because NULL is below it, too: all cells are two halves.
    """
    found: list[CredentialPath] = []
    while low < high:
        free = min((low & -low).bit_length() - 1 if low else levels, levels - 1)
        size = min(free, (high - low).bit_length() - 1)
        found.append(of_cell(low >> size, levels - size))
        low += 1 << size
    return found
