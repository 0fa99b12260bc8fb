"""Many expressions as columns of words, to be compared with one at once: who of ten thousand peers covers this?

Rows keep the order in which they were given. Two words of 64 places each, the first place first, and bits of places
that are not fixed are 0, as in cubes; so each comparison of `Dz` is the same three operations on arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from siftcast.model import ArgumentError
from siftcast.model.showing import shown
from siftcast.model.values import is_iterable
from siftcast.space.dz.expression import LENGTH_MAX, Dz
from siftcast.space.dz.interleaving import WORD_BITS, Words, words_of

_WORDS = LENGTH_MAX // WORD_BITS

Flags = npt.NDArray[np.bool_]


class DzTable:
    """Immutable; a row for each expression."""

    __slots__ = ("_fixed", "_values")

    def __init__(self, items: Iterable[Dz] = ()) -> None:
        if not is_iterable(items):
            raise ArgumentError(f"a table is made of a list of dz-expressions, not {shown(items)}")
        cubes = [_checked(item).cube for item in items]
        self._values = np.array([words_of(value, _WORDS) for value, _ in cubes], np.uint64).reshape(-1, _WORDS)
        self._fixed = np.array([words_of(fixed, _WORDS) for _, fixed in cubes], np.uint64).reshape(-1, _WORDS)

    def covering(self, dz: Dz) -> Flags:
        """Which rows cover an expression."""
        value, fixed = _words(dz)
        return _is_nowhere(self._fixed & (~fixed | (self._values ^ value)))

    def covered_by(self, dz: Dz) -> Flags:
        """Which rows an expression covers."""
        value, fixed = _words(dz)
        return _is_nowhere(fixed & (~self._fixed | (self._values ^ value)))

    def overlapping(self, dz: Dz) -> Flags:
        """Which rows share something with an expression."""
        value, fixed = _words(dz)
        return _is_nowhere((self._values ^ value) & self._fixed & fixed)

    def merging(self, dz: Dz) -> Flags:
        """With which rows an expression merges into one that holds both and nothing else."""
        value, fixed = _words(dz)
        differing = np.bitwise_count(self._values ^ value).sum(axis=1)
        siblings = _is_nowhere(self._fixed ^ fixed) & (differing == 1)
        found: Flags = siblings | self.covering(dz) | self.covered_by(dz)
        return found

    @property
    def selectivities(self) -> npt.NDArray[np.int64]:
        """How many places of each row are fixed."""
        found: npt.NDArray[np.int64] = np.bitwise_count(self._fixed).sum(axis=1, dtype=np.int64)
        return found

    def order(self) -> npt.NDArray[np.int64]:
        """The rows in the order of expressions: what covers comes before what it covers."""
        fixed = self._fixed
        last = fixed & (~fixed + np.uint64(1))  # the last fixed place of each word: the earlier it is, the shorter
        last[:, 0] = np.where(fixed[:, 1] > 0, 0, last[:, 0])
        # lexsort takes the first key last.
        return np.lexsort(
            (
                fixed[:, 1],
                fixed[:, 0],
                ~last[:, 1],
                ~last[:, 0],
                fixed.any(axis=1),
                self._values[:, 1],
                self._values[:, 0],
            )
        )

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, row: int) -> Dz:
        value, fixed = (
            sum(word << LENGTH_MAX - WORD_BITS * (place + 1) for place, word in enumerate(words[row].tolist()))
            for words in (self._values, self._fixed)
        )
        return Dz.of_cube(value, fixed)

    def __iter__(self) -> Iterator[Dz]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        return f"<DzTable of {len(self):,} dz-expressions>"


def _is_nowhere(words: Words) -> Flags:
    found: Flags = ~np.logical_or.reduce(words, axis=1)
    return found


def _words(dz: Dz) -> tuple[Words, Words]:
    value, fixed = _checked(dz).cube
    return np.array(words_of(value, _WORDS), np.uint64), np.array(words_of(fixed, _WORDS), np.uint64)


def _checked(given: object) -> Dz:
    if not isinstance(given, Dz):
        raise ArgumentError(f"a table of dz-expressions holds Dz, not {shown(given)}")
    return given
