"""The values of one attribute as a line of 2^levels cells, halved again and again.

    granular    n values, value i in cell ⌊i·2^k / n⌋, k = ⌈log₂ n⌉: int with a domain, numbers with a granularity,
                bool, strings with a listed domain, timestamps (microseconds); exact: each value has its own cell
    others      values that cannot be counted, see `dense_axes`: cells enclose

Cells are half-open: a half is [L, X), the other [X, U). The thesis writes [L, X] and (X, U], and then loses its own
example: [25, 50] of [0, 100] would be (25, 50] and a piece of [0, 25]. Of 100 integers, 25 … 49 is the quarter `01`.

Where n is no power of two some cells hold no value; each goes to a neighbour, so that ranges of values meet without a
gap. With fewer levels than k, neighbours share cells, and a range is enclosed by the cells it touches.

If events may lie *elsewhere* (no value, NULL, NaN, another kind, outside of the domain), the line is twice as long:
half 0 are the cells above, half 1 is elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from math import isinf

from siftcast.model import Attribute, EventError
from siftcast.model.intervals import Cut, Range
from siftcast.model.normal_form import Constraint, Presence, Within
from siftcast.model.values import Kind, Value, kind_of, microseconds, normalise
from siftcast.space.digests.cell_line import is_off_grid

LEVELS_MAX = 60
"""Cells are counted in 64 bits by compiled code."""

CellRange = tuple[int, int]
CellRanges = tuple[CellRange, ...]


class DzAxis(ABC):
    """One attribute; `levels` halvings, one of which tells elsewhere from the rest if there is such a place."""

    levels_wanted: int
    """So many levels tell all values apart, or as many as make sense."""

    def __init__(self, attribute: Attribute) -> None:
        self.attribute = attribute
        self.path = tuple(attribute.name.split("."))
        self.divide(0, elsewhere=False)

    def divide(self, levels: int, *, elsewhere: bool) -> None:
        """So many halvings of the values, and one more for elsewhere."""
        self.inner = levels
        self.elsewhere = elsewhere
        self.levels = levels + elsewhere
        self.outside: CellRanges = ((1 << levels, 2 << levels),) if elsewhere else ()
        self.whole: CellRange = (0, 1 << self.levels)

    @property
    def exact(self) -> bool:
        """Whether each value has a cell of its own."""
        return False

    def cell(self, value: object) -> int | None:
        """The cell of what an event holds; None if it is elsewhere and there is no such place. Raises EventError."""
        known = normalise(value)
        found = self._cell(known) if kind_of(known) is self.attribute.kind else None  # type: ignore[arg-type]
        if found is None and self.elsewhere:
            return 1 << self.inner
        return found

    def cells(self, constraint: Constraint | None) -> tuple[CellRanges, bool]:
        """The cells of all values that a constraint allows, and whether of values in the domain it allows no other."""
        if constraint is None or constraint is Presence.PRESENT:
            return (self.whole,), True  # what is present may be of another kind
        if not isinstance(constraint, Within) or constraint.kind is not self.attribute.kind:
            return self.outside, True
        found: list[CellRange] = []
        exact, beyond = True, False
        for bounds in constraint.values.ranges:
            low, high = self.low_cell(bounds[0]), self.high_cell(bounds[1])
            beyond = beyond or self._reaches_beyond(bounds)
            if low < high:
                exact = exact and self._is_aligned(bounds, low, high)
                _append(found, low, high)
        if beyond and self.elsewhere:
            _append(found, *self.outside[0])
        return tuple(found), exact

    @abstractmethod
    def _cell(self, value: Value) -> int | None:
        """The cell of a value of the axis's kind, None outside of the domain."""

    @abstractmethod
    def low_cell(self, cut: Cut) -> int:
        """The first cell with a value above a cut; the end of all cells if there is none."""

    @abstractmethod
    def high_cell(self, cut: Cut) -> int:
        """The cell after the last one with a value below a cut; 0 if there is none."""

    @abstractmethod
    def _reaches_beyond(self, bounds: Range) -> bool:
        """Whether a range has values of the kind outside of the domain."""

    @abstractmethod
    def _is_aligned(self, bounds: Range, low: int, high: int) -> bool:
        """Whether its cells hold no other values of the domain than those of a range."""

    @abstractmethod
    def place(self, cell: int) -> float:
        """Where a cell begins, as `Box` has it: numbers, microseconds, indexes; cells themselves for texts."""

    @abstractmethod
    def cells_of_places(self, low: float, high: float) -> CellRange:
        """The cells of all values from one place up to another (excluded)."""


class GridAxis(DzAxis):
    """Values with numbers from 0 to `count`."""

    def __init__(self, attribute: Attribute) -> None:
        self._strings: Sequence[str] = ()
        self.base = 0
        if attribute.kind is Kind.BOOLEAN:
            self.count = 2
        elif attribute.kind is Kind.STRING:
            self._strings = sorted(str(value) for value in attribute.domain or ())
            self.count = len(self._strings)
        elif attribute.kind is Kind.TIMESTAMP:
            first, last = attribute.domain or (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
            assert isinstance(first, datetime)
            assert isinstance(last, datetime)
            self.base = microseconds(first)
            self.count = microseconds(last) - self.base + 1
        else:
            assert attribute.domain is not None
            low, high = attribute.domain
            self.count = attribute.scale.after(high)[1] - attribute.scale.before(low)[1]
        scale = attribute.scale
        self._origin = scale.origin.numerator if scale.step == 1 and scale.origin.denominator == 1 else None
        self.levels_wanted = min((self.count - 1).bit_length(), LEVELS_MAX)
        super().__init__(attribute)

    @property
    def exact(self) -> bool:
        return 1 << self.inner >= self.count

    def _cell(self, value: Value) -> int | None:
        attribute = self.attribute
        if self._origin is not None and type(value) is int:  # what most grids and most values are
            index = value - self._origin
            return self.cell_of_index(index) if 0 <= index < self.count else None
        if is_off_grid(attribute.scale, value):
            raise EventError(
                f"{value!r} lies between two values that the granularity of '{attribute.name}' allows; such an event "
                "has no place among dz-expressions"
            )
        if isinstance(value, str):
            index = bisect_left(self._strings, value)
            if index == self.count or self._strings[index] != value:
                return None
        elif isinstance(value, datetime):
            index = microseconds(value) - self.base
        elif isinstance(value, bool):
            index = int(value)
        elif isinstance(value, float) and isinf(value):
            return None
        else:
            index = attribute.scale.before(value)[1]
        return self.cell_of_index(index) if 0 <= index < self.count else None

    def cell_of_index(self, index: int) -> int:
        """The cell of the value with this number."""
        return (index << self.inner) // self.count

    def _index(self, cut: Cut) -> int:
        """How many values lie below a cut."""
        if len(cut) == 1:
            return 0 if cut[0] < 0 else self.count
        index = bisect_left(self._strings, cut[1]) if self._strings else cut[1] - self.base
        return min(max(index, 0), self.count)

    def low_cell(self, cut: Cut) -> int:
        return self._border(self._index(cut))[0]

    def high_cell(self, cut: Cut) -> int:
        return self._border(self._index(cut))[1]

    def _border(self, index: int) -> CellRange:
        """Where the cells of the values from this one on begin, and where those of the values before end.

        The same place, unless two values share a cell. A cell that holds no value goes to the side with which it makes
        a whole pair, so that a single value is one expression.
        """
        low = self.cell_of_index(index)
        if not index:
            return 0, 0
        high = self.cell_of_index(index - 1) + 1
        if low > high:
            low = high = high + (high & 1)
        return low, high

    def _reaches_beyond(self, bounds: Range) -> bool:
        if self.attribute.kind is Kind.BOOLEAN:
            return False
        low, high = bounds
        if len(low) == 1 or len(high) == 1:
            return True
        if not self._strings:
            return bool(low[1] < self.base or high[1] > self.base + self.count)
        text = low[1]
        while text < high[1]:  # a step for each string of the domain that follows right upon the one before
            index = bisect_left(self._strings, text)
            if index == self.count or self._strings[index] != text:
                return True
            text += "\0"
        return False

    def _is_aligned(self, bounds: Range, low: int, high: int) -> bool:
        return self.first_index(low) == self._index(bounds[0]) and self.first_index(high) == self._index(bounds[1])

    def first_index(self, cell: int) -> int:
        """The number of the first value in a cell or after it."""
        return -((-cell * self.count) >> self.inner)

    def place(self, cell: int) -> float:
        index = self.first_index(cell)
        scale = self.attribute.scale
        if scale.step is not None:
            return float(scale.origin + index * scale.step)
        return float(self.base + index)

    def cells_of_places(self, low: float, high: float) -> CellRange:
        return self._border(self._count_below(low))[0], self._border(self._count_below(high))[1]

    def _count_below(self, place: float) -> int:
        if isinf(place):
            return self.count if place > 0 else 0
        scale = self.attribute.scale
        number = Fraction(repr(place)) if isinstance(place, float) else Fraction(place)
        index = (number - scale.origin) / scale.step if scale.step is not None else number - self.base
        return min(max(-(-index.numerator // index.denominator), 0), self.count)


def _append(found: list[CellRange], low: int, high: int) -> None:
    if found and found[-1][1] >= low:
        found[-1] = (found[-1][0], max(found[-1][1], high))
    else:
        found.append((low, high))
