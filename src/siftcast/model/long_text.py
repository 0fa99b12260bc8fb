"""A long text that is searched for many patterns: indexed once, so that a search costs its pattern and not the text.

A filter may have thousands of LIKE patterns and an event a quarter of a megabyte of text. Both are within the limits,
and searching the text for each pattern takes seconds. So a search for a piece in a text of LONG characters or more
comes here. The first searches read the text. From the PATIENCE-th search on, the text has an index: its suffixes in
order, among which a piece is found by halving, with all its places.

    text            banana                    "an" stands at 1 and 3: two neighbours among the suffixes
    suffixes        a 5 · ana 3 · anana 1 · banana 0 · na 4 · nana 2

Suffixes are sorted by doubling: by their first character, then by two, four, eight … until all differ, each round a
sort of pairs of ranks by NumPy. Runs with wildcards are found with one bit per place of the text and character,
shifted and joined.

Cost: n log n for each of at most log n rounds, a tenth of a second for 262,144 characters, whatever they are; then a
few µs per piece, and a millisecond the first time for one that is everywhere. 30 bytes of memory per character, for
the last TEXTS_MAX texts. Rejected: an automaton over all pieces, which is made once instead of once per text and then
takes one step per character; it needs a compiled kernel (this module is used before any is ready), and does not find
runs with wildcards.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

LONG = 16_384
PATIENCE = 64
TEXTS_MAX = 4
_TRIES_MAX = 1_024  # places of a part that are tried one by one before bits pay
_FEW = 64  # places that are not worth keeping: they are found again in some µs
_KEPT_MAX = 4_000_000  # places that are kept, of pieces that stand in many

Numbers = np.ndarray[Any, np.dtype[np.int64]]


class TextIndex:
    """Where pieces stand in one text."""

    __slots__ = ("_bits", "_codes", "_kept", "_known", "_order", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        self._order = _sorted_suffixes(self._codes)
        self._bits: dict[str, int] = {}
        self._known: dict[str, Numbers] = {}
        self._kept = 0

    def find(self, piece: str, start: int, end: int) -> int:
        """The first place of a piece that lies between `start` and `end`, as `str.find` gives it."""
        if not piece:
            return start if start <= end else -1
        places = self._places(piece)
        at = int(np.searchsorted(places, start))
        return int(places[at]) if at < len(places) and places[at] + len(piece) <= end else -1

    def _places(self, piece: str) -> Numbers:
        """All places of a piece, ascending."""
        known = self._known.get(piece)
        if known is not None:
            return known
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
        places = np.sort(order[first:low])
        if len(places) > _FEW:
            self._kept += len(places)
            if self._kept > _KEPT_MAX:
                self._known.clear()
                self._kept = len(places)
            self._known[piece] = places
        return places

    def find_run(self, size: int, parts: tuple[tuple[int, str], ...], start: int, end: int) -> int:
        """The first place between `start` and `end` at which parts stand, each at its distance; -1 without one."""
        last = end - size
        if last < start or not parts:
            return start if last >= start else -1
        found = [(place, self._places(part)) for place, part in parts]
        ahead, rarest = min(found, key=lambda each: len(each[1]))
        at = int(np.searchsorted(rarest, start + ahead))
        startswith = self._text.startswith
        for candidate in rarest[at : at + _TRIES_MAX].tolist():
            if candidate - ahead > last:
                return -1
            if all(startswith(part, candidate - ahead + place) for place, part in parts):
                return int(candidate) - ahead
        if at + _TRIES_MAX >= len(rarest):
            return -1
        return self._find_by_bits(parts, max(start, int(rarest[at + _TRIES_MAX]) - ahead), last)

    def _find_by_bits(self, parts: tuple[tuple[int, str], ...], start: int, last: int) -> int:
        if last < start:
            return -1
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
    """A text, and how often it was searched."""

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
