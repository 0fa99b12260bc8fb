"""The values of one attribute in their order, cut into cells; the outer two are open, so that nothing lies outside.

    int 0 … 9 in 3 cells        …, 0, 1, 2, 3 │ 4, 5, 6 │ 7, 8, 9, …        after a cell's last value | before its first
    float 0 … 1 in 2 cells      …, 0.4999…    │ 0.5, …

Where the schema gives a grid, a range that lies between two cells touches neither, so `x > 3` does not touch the cell
that ends with 3. Values off the grid have no cell. Where there is no grid, a cell ends where the next begins.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from math import isfinite

from siftcast.model import Attribute, SchemaError
from siftcast.model.intervals import Cut, Range, Scale
from siftcast.model.values import Kind, Value, microseconds
from siftcast.space.content_space import Axis

Place = int | float | str


@dataclass(frozen=True, slots=True)
class CellLine:
    """`firsts` are the first places of all cells but the first, `lasts` the last ones of all but the last."""

    kind: Kind
    scale: Scale
    firsts: tuple[Place, ...]
    lasts: tuple[Place, ...]
    is_closed: bool
    """Whether cells have last places; if not, `lasts` are the first places of the next ones."""

    @classmethod
    def of(cls, attribute: Attribute, cells: int) -> CellLine:
        """At most so many cells, about equally wide; raises SchemaError for an attribute without a domain."""
        axis = Axis.of(attribute)
        if axis is None:
            raise SchemaError(
                f"attribute '{attribute.name}' has no domain that could be divided into the cells of a digest: "
                "give it one in the schema, or choose digests of kind 'hashed'"
            )
        if attribute.kind is Kind.BOOLEAN:
            return cls(attribute.kind, attribute.scale, (1,)[: cells - 1], (1,)[: cells - 1], is_closed=False)
        if axis.strings:
            starts = _starts(len(axis.strings), cells)
            places = tuple(axis.strings[start] for start in starts)
            return cls(attribute.kind, attribute.scale, places, places, is_closed=False)
        assert attribute.domain is not None
        low, high = attribute.domain
        scale = attribute.scale
        if scale.step is not None:
            index = scale.before(low)[1]
            starts = [index + start for start in _starts(scale.after(high)[1] - index, cells)]
            firsts = tuple(_on_grid(scale, start) for start in starts)
            return cls(attribute.kind, scale, firsts, tuple(_on_grid(scale, start - 1) for start in starts), True)
        if attribute.kind is Kind.TIMESTAMP:
            begin = int(axis.low)
            instants = tuple(begin + start for start in _starts(int(axis.high) - begin, cells))
            return cls(attribute.kind, scale, instants, instants, is_closed=False)
        width = axis.high - axis.low
        dense = tuple(dict.fromkeys(axis.low + width * part / cells for part in range(1, cells)))
        return cls(attribute.kind, scale, dense, dense, is_closed=False)

    def __len__(self) -> int:
        return len(self.firsts) + 1

    def cell(self, value: Value) -> int | None:
        """The cell of a value of the line's kind; None for one off the grid."""
        place: Place = microseconds(value) if self.kind is Kind.TIMESTAMP else value  # type: ignore[assignment, arg-type]
        if self.is_closed and is_off_grid(self.scale, value):
            return None
        return bisect_right(self.firsts, place)

    def cells(self, bounds: Range) -> tuple[int, int]:
        """The first and the last cell that a range touches; the last is the lesser one if it touches none."""
        low, high = bounds
        return self.cell_of_low(low), self.cell_of_high(high)

    def cell_of_low(self, cut: Cut) -> int:
        """The first cell with something above a cut."""
        if len(cut) == 1:
            return 0 if cut[0] < 0 else len(self.lasts)
        find = bisect_left if self.is_closed and cut[2] == 0 else bisect_right
        return find(self.lasts, cut[1])

    def cell_of_high(self, cut: Cut) -> int:
        """The last cell with something below a cut."""
        if len(cut) == 1:
            return 0 if cut[0] < 0 else len(self.firsts)
        return (bisect_right if cut[2] else bisect_left)(self.firsts, cut[1])


def is_off_grid(scale: Scale, value: object) -> bool:
    """Whether a number lies between two that the schema allows."""
    if scale.step is None or not isinstance(value, int | float) or not isfinite(value):
        return False
    simple = isinstance(value, int) and scale.step == 1 and scale.origin.denominator == 1
    return not simple and scale.before(value) >= scale.after(value)


def _starts(count: int, cells: int) -> list[int]:
    """Where all cells but the first begin, if so many values are dealt out to so many cells."""
    cells = max(1, min(cells, count))
    return [part * count // cells for part in range(1, cells)]


def _on_grid(scale: Scale, index: int) -> int | float:
    assert scale.step is not None
    exact = scale.origin + index * scale.step
    return exact.numerator if exact.denominator == 1 else float(exact)
