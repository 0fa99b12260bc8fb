"""Values as 64-bit integers in the same order, so that one kind of index serves them all.

A *dimension* is one attribute seen as one kind of value; an event has a key there if its value is of that kind
and MISSING otherwise. Keys by kind:

    number      the bits of the float, turned so that they ascend; integers are rounded to the nearest float
    timestamp   microseconds since 1970
    boolean     0 and 1
    presence    0 for missing or null, 1 for anything else (the dimension of IS [NOT] NULL)
    string      the rank among the strings that filters mention (`StringRanks`, one for each segment)

Rounding is monotonous, so bounds below 2^53 in magnitude decide exactly even for integers that floats cannot hold.
A bound at or beyond 2^53 is kept closed and its filter verified on the event itself.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime
from sys import getsizeof
from typing import Any

import numpy as np

from siftcast.matching.compiling import kernel
from siftcast.matching.contract import Int64Array
from siftcast.matching.tiles.kernels import double_key
from siftcast.matching.tiles.ordering import MISSING
from siftcast.matching.tiles.readiness import KERNELS
from siftcast.model.intervals import BOTTOM, TOP, Cut
from siftcast.model.values import Kind, microseconds

Path = tuple[str, ...]
PRESENCE = "presence"
Dimension = tuple[Path, Kind | str]  # an attribute, and the kind of value (or PRESENCE) it is seen as

KEY_MAX = int(np.iinfo(np.int64).max)
KEY_MIN = MISSING + 1
EXACT_MAX = 2**53
_RANK_BYTES = getsizeof(2**20)
_pack, _unpack = struct.Struct("<d").pack, struct.Struct("<q").unpack

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]


def number_key(number: int | float) -> int:
    """The key of one number; NaN has none."""
    try:
        value = float(number) + 0.0  # minus zero becomes zero
    except OverflowError:
        value = float("inf") if number > 0 else float("-inf")
    if value != value:
        return MISSING
    bits: int = _unpack(_pack(value))[0]
    return bits if bits >= 0 else bits ^ KEY_MAX


def number_keys(numbers: FloatArray) -> Int64Array:
    """The keys of many numbers; NaN becomes MISSING."""
    if KERNELS.ready:
        return compiled_number_keys(numbers)
    bits = numbers.view(np.int64)
    keys = np.where(bits < 0, bits ^ KEY_MAX, bits)
    keys[numbers == 0] = 0
    keys[np.isnan(numbers)] = MISSING
    return keys


def compiled_number_keys(numbers: FloatArray) -> Int64Array:
    """The same in a sixth of the time."""
    alike = numbers.view()
    alike.flags.writeable = False  # or the kernel would be compiled twice: some columns of events are so
    return _number_keys(alike)


@kernel
def _number_keys(numbers: FloatArray) -> Int64Array:
    bits = numbers.view(np.int64)
    keys = np.empty(len(numbers), np.int64)
    for place in range(len(numbers)):
        keys[place] = double_key(bits[place])
    return keys


def number_range(low: Cut, high: Cut) -> tuple[int, int, bool]:
    """The closed key range between two cuts, and whether it decides membership exactly."""
    first, last, decided = KEY_MIN, KEY_MAX, True
    if low is not BOTTOM and low != BOTTOM:
        exact = abs(low[1]) < EXACT_MAX
        first = number_key(low[1]) + (low[2] if exact else 0)
        decided = exact
    if high != TOP:
        exact = abs(high[1]) < EXACT_MAX
        last = number_key(high[1]) - (1 - high[2] if exact else 0)
        decided = decided and exact
    return first, last, decided


def integer_range(low: Cut, high: Cut) -> tuple[int, int]:
    """The closed key range between two cuts of a kind whose values are integers: booleans and timestamps."""
    first = KEY_MIN if low == BOTTOM else low[1]
    return first, KEY_MAX if high == TOP else high[1] - 1


def plain_key(value: object) -> int:
    """The key of a normalised value that is not a string: number, boolean or timestamp."""
    if isinstance(value, datetime):
        return microseconds(value)
    return int(value) if isinstance(value, bool) else number_key(value)  # type: ignore[arg-type]


class StringRanks:
    """The strings one segment's filters mention, in order; an event's string gets the rank of its place.

    The i-th string has rank 2i + 1, what lies between it and its predecessor has rank 2i, so that open ends,
    closed ends and prefixes are all closed ranges of ranks.
    """

    __slots__ = ("_exact", "strings")

    def __init__(self, strings: Sequence[str]) -> None:
        """`strings` must be sorted and distinct."""
        self.strings = strings
        self._exact = {string: 2 * index + 1 for index, string in enumerate(strings)}

    @property
    def nbytes(self) -> int:
        """About how many bytes the strings and the table of their ranks take."""
        return sum(map(getsizeof, self.strings)) + getsizeof(self._exact) + (8 + _RANK_BYTES) * len(self.strings)

    def without_unused(self, ends: Sequence[Int64Array]) -> StringRanks:
        """Ranks of only the strings that the ends of ranges mention; the same where they mention at least half."""
        mentioned = np.unique(np.concatenate(ends) // 2)
        mentioned = mentioned[mentioned < len(self.strings)]  # an open end mentions none
        if 2 * len(mentioned) >= len(self.strings):
            return self
        return StringRanks([self.strings[place] for place in mentioned.tolist()])

    def key(self, string: str) -> int:
        """The rank of any string."""
        found = self._exact.get(string)
        return found if found is not None else 2 * bisect_left(self.strings, string)

    def low_key(self, string: str) -> int:
        """The lowest rank of an interval that starts with a mentioned string."""
        return self._exact[string]

    def high_key(self, low: str, high: str | None) -> int:
        """The highest rank of an interval that ends before `high`; one with `high == low` is that point."""
        if high is None:
            return 2 * len(self.strings)
        return self._exact[high] - (0 if high == low else 1)


def string_range(low: Cut, high: Cut) -> tuple[str, str | None]:
    """The interval between two cuts as (start, end), end excluded; a single string as (string, string)."""
    start: str = low[1]
    if high == TOP:
        return start, None
    end: str = high[1]
    return start, start if end == start + "\0" else end


def move_ranks(
    lows: Int64Array, highs: Int64Array, old: Sequence[str], new: StringRanks
) -> tuple[Int64Array, Int64Array]:
    """Ranges over the ranks of `old` strings as ranges over others, which know all strings that the ranges mention."""
    places = np.array([new.key(string) for string in old] + [2 * len(new.strings) + 1], np.int64)
    moved_highs = np.where(highs % 2 == 1, places[highs // 2], places[highs // 2] - 1)
    return places[lows // 2], moved_highs
