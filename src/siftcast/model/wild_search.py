"""Finds where a run of characters with `_` among them first occurs in a text, in n log n whatever the two are.

Most texts are short and most runs rare: a few candidates are tried one by one, found by the first plain part of the
run. What is not decided by then is searched in *windows* of the text, each as a whole, in one of two ways:

    bits        each character of the run has a bit set for each place of the window where it stands; shifted by its
                place in the run and ANDed, they leave the places where the run begins:

                    text    a b a c a b          a: 101010 (from the left)      _ a _ b is  (a << 1) & (b << 3)
                                                 b: 010001                      which leaves place 2
    transforms  for a run of very many characters, the sum of squared differences at every place at once, by two
                convolutions. Sums of products of whole numbers are whole, and floats of 53 bits tell 0 from 1 for any
                text that fits a memory: characters are numbered in two digits to the base 256, so no product exceeds
                2^16 and no rounding error of a window a thousandth.

Windows grow from four times the run to a size that stays in the processor's cache, so a run that is found early costs
little, and a pattern of many runs costs no more than the length of its text.

Cost, for a run of 200 characters that never fits in 262,000: 7 ms, of 65,000 characters 60 ms. Rejected: the shift-and
automaton, which takes 0.2 µs per character of the text in Python; regular expressions, which try every
character of the run at every place of the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from siftcast.model.long_text import LONG, index_of

_TRIES_MAX = 200  # plain parts compared one by one before windows pay
_WINDOW_MIN, _WINDOW_MAX = 1_024, 32_768
_BITS_COST_MAX = 4_000  # in ANDs of a window: what transforms take; finding the places of a character takes fifteen
_PLACES_COST = 15

Floats = np.ndarray[Any, np.dtype[np.float64]]
Codes = np.ndarray[Any, np.dtype[np.uint32]]


class WildSearch:
    """One run, ready to be looked for: its length, and its plain parts with their places."""

    __slots__ = ("_bitwise", "_parts", "_size")

    def __init__(self, size: int, parts: tuple[tuple[int, str], ...]) -> None:
        self._size = size
        self._parts = parts
        count = sum(len(part) for _, part in parts)
        distinct = len(set().union(*(part for _, part in parts)))
        self._bitwise = distinct * _PLACES_COST + count <= _BITS_COST_MAX

    def find(self, text: str, start: int, end: int) -> int:
        """Where the first occurrence between `start` and `end` ends, or -1."""
        index = index_of(text) if len(text) >= LONG else None
        if index is not None:
            found = index.find_run(self._size, self._parts, start, end)
            return found if found < 0 else found + self._size
        last = end - self._size
        if last < start or not self._parts:
            return start + self._size if last >= start else -1
        (place, part), tries = self._parts[0], 0
        while tries < _TRIES_MAX:
            found = text.find(part, start + place, last + place + len(part)) - place
            if found < start:
                return -1
            for other, wanted in self._parts:
                tries += 1
                if not text.startswith(wanted, found + other):
                    break
            else:
                return found + self._size
            start = found + 1
        return self._find_in_windows(text, start, end)

    @property
    def _characters(self) -> Iterator[tuple[int, str]]:
        """Each character with its place in the run."""
        return ((place + index, one) for place, part in self._parts for index, one in enumerate(part))

    def _find_in_windows(self, text: str, start: int, end: int) -> int:
        size, width = self._size, max(4 * self._size, _WINDOW_MIN)
        while start + size <= end:
            window = text[start : min(start + width, end)]
            found = self._by_bits(window) if self._bitwise else self._by_transforms(window)
            if found >= 0:
                return start + found + size
            start += len(window) - size + 1
            width = max(4 * size, min(2 * width, _WINDOW_MAX))
        return -1

    def _by_bits(self, window: str) -> int:
        codes = _codes_of(window)
        bits: dict[str, int] = {}
        left = (1 << len(window) - self._size + 1) - 1
        for place, character in self._characters:
            known = bits.get(character)
            if known is None:
                packed = np.packbits(codes == ord(character), bitorder="little")
                known = bits[character] = int.from_bytes(packed.tobytes(), "little")
            left &= known >> place
            if not left:
                return -1
        return (left & -left).bit_length() - 1

    def _by_transforms(self, window: str) -> int:
        places = np.array([place for place, _ in self._characters])
        wanted = _codes_of("".join(part for _, part in self._parts))
        known = np.unique(wanted)
        numbers = (np.searchsorted(known, wanted) + 1, _numbered(_codes_of(window), known))
        length = 1 << (len(window) - 1).bit_length()
        weights = _spread(places, np.ones(len(places)), length)
        differences = np.zeros(length)
        for shift in (0, 8) if len(known) > 255 else (0,):
            digits, texts = ((number >> shift & 255).astype(np.float64) for number in numbers)
            spectrum = np.conj(weights) * np.fft.rfft(texts * texts, length)
            spectrum -= 2 * np.conj(_spread(places, digits, length)) * np.fft.rfft(texts, length)
            differences += np.fft.irfft(spectrum, length) + np.dot(digits, digits)
        fits = differences[: len(window) - self._size + 1] < 0.5
        first = int(fits.argmax())
        return first if fits[first] else -1


def _codes_of(text: str) -> Codes:
    """The characters as numbers; halves of surrogate pairs are characters as well."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _numbered(codes: Codes, known: Codes) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The place of each character among the known ones, counted from 1, and 0 for any other."""
    places = np.minimum(np.searchsorted(known, codes), len(known) - 1)
    return np.where(known[places] == codes, places + 1, 0)


def _spread(places: np.ndarray[Any, np.dtype[np.int64]], values: Floats, length: int) -> Any:
    """The transform of values that stand at some places, with zeros at the others."""
    whole = np.zeros(length)
    whole[places] = values
    return np.fft.rfft(whole)
