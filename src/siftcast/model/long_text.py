"""A long text that is asked for many patterns: indexed once, so that each question costs its pattern and not the text.

A filter may have thousands of LIKE patterns and an event a quarter of a megabyte of text; each of them is within the
limits, and looking through the one for each of the other takes seconds. So whoever looks for a piece in a text of
LONG characters or more asks here. The first questions are answered by looking. From the PATIENCE-th on the text has
an index: its suffixes in order, among which a piece is found by halving, with all its places.

    text            banana                    "an" stands at 1 and 3: two neighbours among the suffixes
    suffixes        a 5 · ana 3 · anana 1 · banana 0 · na 4 · nana 2

Suffixes are sorted by doubling: by their first character, then by two, four, eight … until all differ, each round a
sort of pairs of ranks by NumPy. Runs with wildcards are found with one bit for each place of the text and character,
shifted and joined.

Cost: n log n for each of at most log n rounds, half a second for 262,144 equal characters and a fifth for random ones;
then some µs for each piece, and 0.3 ms for one that stands everywhere. 30 bytes of memory for each character, for the
last TEXTS_MAX texts.
Rejected: an automaton over all pieces, which is made once instead of once for each text and then takes a step for each
character; it needs a kernel that is compiled (this is asked before any is), and does not find what has wildcards.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

LONG = 16_384
PATIENCE = 64
TEXTS_MAX = 4
_PLACES_MAX = 4_096  # of a part, beyond which bits are faster than looking at each of its places

Numbers = np.ndarray[Any, np.dtype[np.int64]]


class TextIndex:
    """Where pieces stand in one text."""

    __slots__ = ("_bits", "_codes", "_order", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        self._order = _sorted_suffixes(self._codes)
        self._bits: dict[str, int] = {}

    def find(self, piece: str, start: int, end: int) -> int:
        """The first place of a piece that lies between `start` and `end`, as `str.find` gives it."""
        last = end - len(piece)
        if not piece or last < start:
            return start if not piece and start <= end else -1
        places = self._places(piece)
        fitting = places[(places >= start) & (places <= last)]
        return int(fitting.min()) if len(fitting) else -1

    def _places(self, piece: str) -> Numbers:
        """All places of a piece, in no order."""
        text, order, size = self._text, self._order, len(piece)
        low, high = 0, len(order)
        while low < high:
            middle = (low + high) // 2
            place = int(order[middle])
            if text[place : place + size] < piece:
                low = middle + 1
            else:
                high = middle
        first, high = low, len(order)
        while low < high:
            middle = (low + high) // 2
            place = int(order[middle])
            if text[place : place + size] <= piece:
                low = middle + 1
            else:
                high = middle
        return order[first:low]

    def find_run(self, size: int, parts: tuple[tuple[int, str], ...], start: int, end: int) -> int:
        """The first place between `start` and `end` at which parts stand, each at its distance; -1 without one."""
        last = end - size
        if last < start:
            return -1
        rarest: Numbers | None = None
        for place, part in parts:
            places = self._places(part) - place
            if not len(places):
                return -1
            if rarest is None or len(places) < len(rarest):
                rarest = places
        if rarest is None:
            return start
        if len(rarest) > _PLACES_MAX:
            return self._find_by_bits(parts, start, last)
        startswith = self._text.startswith
        for found in np.sort(rarest[(rarest >= start) & (rarest <= last)]).tolist():
            if all(startswith(part, found + place) for place, part in parts):
                return int(found)
        return -1

    def _find_by_bits(self, parts: tuple[tuple[int, str], ...], start: int, last: int) -> int:
        left = (1 << last - start + 1) - 1
        for place, part in parts:
            for index, character in enumerate(part):
                left &= self._bits_of(character) >> start + place + index
                if not left:
                    return -1
        return start + (left & -left).bit_length() - 1

    def _bits_of(self, character: str) -> int:
        known = self._bits.get(character)
        if known is None:
            packed = np.packbits(self._codes == ord(character), bitorder="little")
            known = self._bits[character] = int.from_bytes(packed.tobytes(), "little")
        return known


def _sorted_suffixes(codes: np.ndarray[Any, np.dtype[np.uint32]]) -> Numbers:
    """The places of a text in the order of its suffixes."""
    count = len(codes)
    if not count:
        return np.empty(0, np.int64)
    _, ranks = np.unique(codes, return_inverse=True)
    ranks = ranks.astype(np.int64) + 1
    reach = 1
    while True:
        later = np.zeros(count, np.int64)
        if reach < count:
            later[:-reach] = ranks[reach:]
        pairs = ranks * (count + 1) + later
        order = np.argsort(pairs, kind="stable")
        ordered = pairs[order]
        fresh = np.empty(count, np.int64)
        fresh[order] = np.concatenate(([1], 1 + np.cumsum(ordered[1:] != ordered[:-1])))
        if fresh[order[-1]] == count or reach >= count:
            return order
        ranks, reach = fresh, 2 * reach


class _Asked:
    """A text, and how often it was asked."""

    __slots__ = ("count", "index", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.count = 0
        self.index: TextIndex | None = None


# Threads may lose each other's counts, and make an index twice; answers are the same.
_recent: deque[_Asked] = deque(maxlen=TEXTS_MAX)


def index_of(text: str) -> TextIndex | None:
    """The index of a long text, if it has been asked often enough to pay for one."""
    for asked in tuple(_recent):
        if asked.text is text:
            break
    else:
        asked = _Asked(text)
        _recent.append(asked)
    asked.count += 1
    if asked.count > PATIENCE and asked.index is None:
        asked.index = TextIndex(text)
    return asked.index
