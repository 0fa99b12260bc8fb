"""Attributes whose values cannot be counted: a cell holds many, and a range is enclosed by the cells it touches.

    dense    float with a domain, in cells of equal width
    open     numbers without a domain, by the leading bits of the double: sign, exponent, fraction
    text     strings without a domain, by the leading bits of their UTF-8, which is their order

Doubles are ordered as their bits are, once negative ones are turned around. So an open axis is fine around 0 and coarse
far out, and has no end: nothing but a missing value lies elsewhere.

Enclosing needs only that a greater value has no lesser cell. Rounding keeps that, also of integers beyond 2^53; there a
bound that is left out cannot be told from its neighbour, so its cell is taken in.
"""

from __future__ import annotations

import struct
from fractions import Fraction
from math import inf, isnan, nextafter

import numpy as np
import numpy.typing as npt

from siftcast.model import Attribute
from siftcast.model.intervals import Cut, Range
from siftcast.model.values import Kind, Value
from siftcast.space.dz.axes import CellRange, DzAxis, GridAxis

_LEVELS = 32
_EXACT = 2**53
_SIGN = 1 << 63


def axis_of(attribute: Attribute) -> DzAxis:
    """The axis that fits the type and the domain."""
    if attribute.domain is None and attribute.kind is Kind.STRING:
        return TextAxis(attribute)
    if attribute.kind is Kind.NUMBER and (attribute.domain is None or attribute.scale.step is None):
        return NumberAxis(attribute)
    return GridAxis(attribute)


class NumberAxis(DzAxis):
    """Numbers without neighbours: all of them, or those of a domain."""

    levels_wanted = _LEVELS

    def __init__(self, attribute: Attribute) -> None:
        self._domain: tuple[float, float] | None = None
        if attribute.domain is not None:
            low, high = attribute.domain
            assert isinstance(low, int | float)
            assert isinstance(high, int | float)
            self._domain = float(low), float(high)
        super().__init__(attribute)

    def _cell(self, value: Value) -> int | None:
        assert isinstance(value, int | float)
        if self._domain is not None and not self._domain[0] <= value <= self._domain[1]:
            return None
        return self._cell_of(_as_float(value))

    def _cell_of(self, number: float) -> int:
        """Never less for a greater number, which is all that enclosing needs."""
        if self._domain is None:
            return _ordered_bits(number) >> (64 - self.inner)
        low, high = self._domain
        width = high - low
        if not width:
            return 0
        share = (number - low) / width if width < inf else (number / 2 - low / 2) / (high / 2 - low / 2)
        return min(int(share * (1 << self.inner)), (1 << self.inner) - 1)

    def cells_of_numbers(self, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """The cells of many doubles, the same as one by one; -1 for those that have none."""
        if self._domain is None:
            bits = (numbers + 0.0).view(np.uint64)
            ordered = np.where(bits >> np.uint64(63), ~bits, bits | np.uint64(_SIGN))
            cells = (ordered >> np.uint64(64 - self.inner)).astype(np.int64) if self.inner else np.zeros(len(bits), int)
            inside = ~np.isnan(numbers)
        else:
            low, high = self._domain
            width = high - low
            inside = (numbers >= low) & (numbers <= high)
            known = np.where(inside, numbers, low)
            if not width:
                share = np.zeros(len(numbers))
            elif width < inf:
                share = (known - low) / width
            else:
                share = (known / 2 - low / 2) / (high / 2 - low / 2)
            cells = np.minimum((share * (1 << self.inner)).astype(np.int64), (1 << self.inner) - 1)
        found: npt.NDArray[np.int64] = np.where(inside, cells, 1 << self.inner if self.elsewhere else -1)
        return found

    def low_cell(self, cut: Cut) -> int:
        if len(cut) == 1:
            return 0 if cut[0] < 0 else 1 << self.inner
        place, is_after = self._number(cut[1], 0), len(cut) > 2 and cut[2]
        if self._domain is not None:
            low, high = self._domain
            if place < low:
                return 0
            if place > high or (is_after and place == high):
                return 1 << self.inner
        number = _as_float(place)
        return self._cell_of(nextafter(number, inf) if is_after and abs(place) < _EXACT else number)

    def high_cell(self, cut: Cut) -> int:
        if len(cut) == 1:
            return 0 if cut[0] < 0 else 1 << self.inner
        on_grid = self.attribute.scale.step is not None
        place, is_after = self._number(cut[1], -1), on_grid or cut[2]
        if self._domain is not None:
            low, high = self._domain
            if place > high:
                return 1 << self.inner
            if place < low or (not is_after and place == low):
                return 0
        number = _as_float(place)
        return self._cell_of(number if is_after or abs(place) >= _EXACT else nextafter(number, -inf)) + 1

    def _number(self, place: int | float, shift: int) -> int | float:
        """The number at a place of a cut; on a grid, that of the value which is `shift` further."""
        scale = self.attribute.scale
        if scale.step is None:
            return place
        assert isinstance(place, int)
        exact = scale.origin + (place + shift) * scale.step
        return exact.numerator if exact.denominator == 1 else _as_float(exact)

    def _reaches_beyond(self, bounds: Range) -> bool:
        if self._domain is None:
            return False
        low, high = bounds
        if len(low) == 1 or len(high) == 1:
            return True
        return bool(low[1] < self._domain[0] or high[1] > self._domain[1])

    def _is_aligned(self, bounds: Range, low: int, high: int) -> bool:
        if self._domain is None:
            return len(bounds[0]) == 1 == len(bounds[1])
        return (low, high) == (0, 1 << self.inner) and bool(
            (len(bounds[0]) == 1 or bounds[0] <= (0, self._domain[0], 0))
            and (len(bounds[1]) == 1 or bounds[1] >= (0, self._domain[1], 1))
        )

    def place(self, cell: int) -> float:
        if self._domain is None:
            return _number_of_bits(cell << (64 - self.inner)) if cell < 1 << self.inner else inf
        low, high = self._domain
        if cell >= 1 << self.inner:
            return nextafter(high, inf)
        share = cell / (1 << self.inner)
        return low + (high - low) * share if high - low < inf else low * (1 - share) + high * share

    def cells_of_places(self, low: float, high: float) -> CellRange:
        if low == -inf and high == inf:
            return 0, 1 << self.inner
        start = 0 if low == -inf else self._low_of_place(low)
        return start, (1 << self.inner) if high == inf else self._high_of_place(high)

    def _low_of_place(self, place: float) -> int:
        if self._domain is not None:
            if place <= self._domain[0]:
                return 0
            if place > self._domain[1]:
                return 1 << self.inner
        return self._cell_of(place)

    def _high_of_place(self, place: float) -> int:
        if self._domain is not None:
            if place > self._domain[1]:
                return 1 << self.inner
            if place <= self._domain[0]:
                return 0
        return self._cell_of(nextafter(place, -inf)) + 1


class TextAxis(DzAxis):
    """All strings, in the order of their code points."""

    levels_wanted = _LEVELS

    def _cell(self, value: Value) -> int | None:
        assert isinstance(value, str)
        return self._cell_of(_encoded(value))

    def _cell_of(self, text: bytes) -> int:
        size = -(-self.inner // 8)
        return int.from_bytes(text[:size].ljust(size, b"\0"), "big") >> (8 * size - self.inner)

    def _first_of(self, cell: int) -> bytes:
        """The least text of a cell."""
        size = -(-self.inner // 8)
        return (cell << (8 * size - self.inner)).to_bytes(size, "big").rstrip(b"\0")

    def low_cell(self, cut: Cut) -> int:
        if len(cut) == 1:
            return 0 if cut[0] < 0 else 1 << self.inner
        return self._cell_of(_encoded(cut[1]))

    def high_cell(self, cut: Cut) -> int:
        if len(cut) == 1:
            return 0 if cut[0] < 0 else 1 << self.inner
        text = _encoded(cut[1])
        cell = self._cell_of(text)
        return cell if text == self._first_of(cell) else cell + 1

    def _reaches_beyond(self, bounds: Range) -> bool:
        return False

    def _is_aligned(self, bounds: Range, low: int, high: int) -> bool:
        low_cut, high_cut = bounds
        if low and _encoded(low_cut[1]) != self._first_of(low):
            return False
        return len(high_cut) == 1 or (high < 1 << self.inner and _encoded(high_cut[1]) == self._first_of(high))

    def place(self, cell: int) -> float:
        return float(cell)

    def cells_of_places(self, low: float, high: float) -> CellRange:
        end = 1 << self.inner
        first, last = (int(min(max(place, 0), end)) for place in (low, high))
        return first, last + (last < high and last < end)


def _as_float(number: int | float | Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _ordered_bits(number: float) -> int:
    """64 bits that are ordered as doubles are; -0.0 is 0.0."""
    bits = int.from_bytes(struct.pack(">d", number + 0.0), "big")
    return (bits ^ ((1 << 64) - 1)) if bits & _SIGN else bits | _SIGN


def _number_of_bits(bits: int) -> float:
    (number,) = struct.unpack(">d", struct.pack(">Q", bits ^ (_SIGN if bits & _SIGN else (1 << 64) - 1)))
    return -inf if isnan(number) else float(number)
