"""The content space of a schema, divided into dz-expressions: events and filters as parts of it, and back to boxes.

    space = DzSpace.of(schema, ("pressure", "area"))
    space.of_filter("pressure BETWEEN 25 AND 49", theta=8)      covers space.of_event({"pressure": 30, "area": 7})

The law: if a filter matches an event, of_filter(f, theta) covers of_event(e), whatever the language can say: OR, NOT,
LIKE, NULL, missing attributes, values of another kind or outside of the domain. That is what the place for *elsewhere*
is for: the first round of places tells for each attribute whether the event has a value in its domain. Without such
places (`elsewhere=False`, as in the thesis) events that need one are refused, and filters forget them.

A value off the schema's grid has no place either way. Filters are read on the grid, where `x > 3` begins at 4, so an
event with 3.5 would be lost; it is refused, as by all schemes that divide the space.

Cost: an event 1 µs an attribute; a filter its normal form, and 10 µs for each expression, or 1 µs in all by `of_boxes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from siftcast.model import ArgumentError, Attribute, Event, EventError, Schema, SchemaError
from siftcast.model.event import check_event
from siftcast.model.filter import AnyFilter, as_filter
from siftcast.model.normal_form import Conjunction, normal_form
from siftcast.model.schema import checked_schema
from siftcast.model.showing import shown
from siftcast.model.values import Kind, is_iterable, lookup, normalise
from siftcast.space.box import Box
from siftcast.space.dz.axes import CellRange, DzAxis
from siftcast.space.dz.batches import THETA_BATCH_MAX, BoxReader, DzBatch, cells_of_columns
from siftcast.space.dz.dense_axes import axis_of
from siftcast.space.dz.dz_set import DzSet
from siftcast.space.dz.expression import LENGTH_MAX, Dz
from siftcast.space.dz.interleaving import Interleaving, granted
from siftcast.space.dz.mapping import Product, checked_theta, enclose


class DzSpace:
    """Some attributes, divided one after the other."""

    def __init__(self, axes: Sequence[DzAxis]) -> None:
        self.axes = tuple(axes)
        self._interleaving = Interleaving([axis.levels for axis in axes])
        self._scales = {axis.path: axis.attribute.scale for axis in axes}
        self._paths = frozenset(self._scales)
        self._boxes: BoxReader | None = None

    @classmethod
    def of(
        cls, schema: Schema, attributes: Iterable[str] = (), *, elsewhere: bool = True, bits: int = LENGTH_MAX
    ) -> DzSpace:
        """The space of some attributes, in this order; of all with a domain if none are named.

        Expressions have at most so many `bits`, which are dealt out round by round. Attributes that are named need no
        domain. Raises SchemaError.
        """
        if not isinstance(bits, int) or isinstance(bits, bool) or not 1 <= bits <= LENGTH_MAX:
            raise SchemaError(f"dz-expressions have 1 to {LENGTH_MAX} bits, not {shown(bits)}")
        chosen = _chosen(checked_schema(schema), attributes)
        axes = [axis_of(attribute) for attribute in chosen]
        if elsewhere and bits < len(axes):
            raise SchemaError(
                f"dz-expressions of {len(axes)} attributes need {len(axes)} bits to tell values from events without, "
                f"not {bits}; name fewer attributes, or none of those events: elsewhere=False"
            )
        levels = granted([axis.levels_wanted + bool(elsewhere) for axis in axes], bits)
        for axis, count in zip(axes, levels, strict=True):
            axis.divide(count - bool(elsewhere), elsewhere=bool(elsewhere))
        return cls(axes)

    @property
    def length(self) -> int:
        """How many places the expression of an event has."""
        return self._interleaving.length

    @property
    def exact(self) -> bool:
        """Whether each value of every attribute has a cell of its own, so that enough expressions are exact."""
        return all(axis.exact for axis in self.axes)

    @property
    def places(self) -> list[tuple[int, int]]:
        """For each place of an event's expression, its axis and by how much a cell is shifted to have the bit last."""
        found = [(0, 0)] * self.length
        for axis, positions in enumerate(self._interleaving.positions):
            for level, position in enumerate(positions):
                found[position] = axis, len(positions) - 1 - level
        return found

    def of_event(self, event: Event | Mapping[str, object]) -> Dz:
        """The cell of an event. Raises EventError if it has none, as with a value off the grid."""
        check_event(event)
        attributes = event.attributes if isinstance(event, Event) else event
        value = 0
        for index, axis in enumerate(self.axes):
            cell = axis.cell(lookup(attributes, axis.attribute.name, axis.path))
            if cell is None:
                raise EventError(
                    f"the event has no value of '{axis.attribute.name}' within its domain, and these dz-expressions "
                    "have no place for others: elsewhere=True"
                )
            value |= self._interleaving.spread(index, cell)
        return Dz.of_cube(value, self._interleaving.prefix(self.length))

    def of_filter(self, filter_: AnyFilter, theta: int, *, wildcards: bool = True) -> DzSet:
        """At most `theta` expressions that hold every event that the filter matches.

        The set is `exact` if of events with values in all domains it holds no others. That takes axes that are, a
        filter that says what can be said in boxes, and enough expressions.
        """
        checked_theta(theta)
        found = as_filter(filter_)
        products: list[Product] = []
        exact = True
        for conjunction in normal_form(found.expression, scales=self._scales):
            product, is_whole = self._product(conjunction)
            if all(product):
                products.append(product)
                exact = exact and is_whole
        cubes, is_all = enclose(self._interleaving, products, theta, wildcards=wildcards)
        return DzSet.of_tidy_cubes(cubes, exact=exact and is_all)

    def _product(self, conjunction: Conjunction) -> tuple[Product, bool]:
        product: list[tuple[CellRange, ...]] = []
        exact = conjunction.decides and conjunction.constraints.keys() <= self._paths
        for axis in self.axes:
            ranges, is_exact = axis.cells(conjunction.constraints.get(axis.path))
            product.append(ranges)
            exact = exact and is_exact
        return tuple(product), exact

    def of_box(self, box: Box, theta: int, *, wildcards: bool = True) -> DzSet:
        """At most `theta` expressions that hold all points of a box, one side for each attribute.

        Places are those of `ContentSpace`: numbers, microseconds, indexes of listed strings. A side from -∞ to ∞ says
        nothing about its attribute, and holds events without it as well.
        """
        checked_theta(theta)
        if not isinstance(box, Box):
            raise ArgumentError(f"a box is a Box(lows, highs), not {shown(box)}")
        if len(box.lows) != len(self.axes):
            raise ArgumentError(f"a box in this space has {len(self.axes)} sides, not {len(box.lows)}")
        product: list[tuple[CellRange, ...]] = []
        for axis, *side in zip(self.axes, box.lows, box.highs, strict=True):
            low, high = (_checked_place(axis, place) for place in side)
            cells = axis.whole if (low, high) == (-inf, inf) else axis.cells_of_places(low, high)
            product.append((cells,) if cells[0] < cells[1] else ())
        cubes, exact = enclose(self._interleaving, [tuple(product)] if all(product) else [], theta, wildcards=wildcards)
        return DzSet.of_tidy_cubes(cubes, exact=exact)

    def of_boxes(self, lows: npt.ArrayLike, highs: npt.ArrayLike, theta: int, *, wildcards: bool = True) -> DzBatch:
        """What `of_box` gives for many boxes, a row each; `theta` is at most 64.

        The first call on a machine waits for a compiler.
        """
        checked_theta(theta, THETA_BATCH_MAX)
        first, end = np.asarray(lows), np.asarray(highs)
        if first.ndim != 2 or first.shape != end.shape or first.shape[1] != len(self.axes):
            raise ArgumentError(
                f"boxes in this space are two tables of {len(self.axes)} columns and as many rows, "
                f"not {first.shape} and {end.shape}"
            )
        if not (np.issubdtype(first.dtype, np.number) and np.issubdtype(end.dtype, np.number)):
            raise ArgumentError(f"boxes are made of numbers, not {first.dtype} and {end.dtype}")
        cells = np.empty((2, *first.shape), np.int64)
        for index, axis in enumerate(self.axes):
            _fill_cells(axis, first[:, index], end[:, index], cells[:, :, index])
        if self._boxes is None:
            self._boxes = BoxReader(self._interleaving)
        return self._boxes.read(cells[0], cells[1], theta, wildcards)

    def box_of(self, dz: Dz) -> Box | None:
        """The smallest box around what an expression holds; None if all of it lies elsewhere, or is no value's cell.

        It holds nothing else, unless there is a star before a fixed place of the same attribute.
        """
        cube = self._checked(dz).cube
        lows: list[float] = []
        highs: list[float] = []
        for index, axis in enumerate(self.axes):
            value, fixed = self._interleaving.gathered(index, cube)
            inner = (1 << axis.inner) - 1
            if axis.elsewhere and value > inner:
                return None
            low, high = value & inner, (value | ~fixed) & inner
            lows.append(axis.place(low))
            highs.append(axis.place(high + 1))
        box = Box(tuple(lows), tuple(highs))
        return None if box.empty else box

    def coarser(self, dz: Dz) -> Dz:
        """Divided once less: without the last round, which has a place for each attribute."""
        ends = [0, *self._interleaving.round_ends]
        length = self._checked(dz).length
        return dz.prefix(max((end for end in ends if end < length), default=0))

    def finer(self, dz: Dz, wanted: DzSet | None = None) -> DzSet:
        """Divided once more: a further round of places; of its parts only those that touch what is wanted.

        A round is a place for each attribute that has levels left. Parts with stars keep them.
        """
        length = self._checked(dz).length
        end = next((end for end in self._interleaving.round_ends if end > length), length)
        parts = [dz]
        for place in range(length, end):
            parts = [
                Dz(part.bits << beyond | bit, place + 1, part.stars << beyond)
                for part in parts
                for beyond in (place + 1 - part.length,)
                for bit in (0, 1)
            ]
        held = [part for part in parts if wanted is None or wanted.overlaps(part)]
        return DzSet.of_tidy_cubes((part.cube for part in held), exact=True)

    def _checked(self, dz: Dz) -> Dz:
        if not isinstance(dz, Dz):
            raise ArgumentError(f"a dz-expression is a Dz, as Dz.parse gives, not {shown(dz)}")
        if dz.length > self.length:
            raise ArgumentError(f"expressions of this space have at most {self.length} places, not {dz.length}")
        return dz

    def __repr__(self) -> str:
        names = ", ".join(f"{axis.attribute.name}: {axis.levels}" for axis in self.axes)
        return f"<DzSpace of ({names})>"


def _checked_place(axis: DzAxis, place: object) -> int | float:
    known = normalise(place)  # NumPy's numbers do not print as numbers
    if not isinstance(known, int | float) or isinstance(known, bool):
        wrong = "NaN" if place != place else shown(place)
        raise ArgumentError(f"{wrong} is no place on '{axis.attribute.name}': boxes are made of numbers")
    return known


def _fill_cells(axis: DzAxis, lows: npt.NDArray[Any], highs: npt.NDArray[Any], cells: npt.NDArray[np.int64]) -> None:
    if np.isnan(lows).any() or np.isnan(highs).any():
        raise ArgumentError(f"NaN is no place on '{axis.attribute.name}'")
    cells[0], cells[1] = cells_of_columns(axis, lows, highs)
    if np.issubdtype(lows.dtype, np.floating) and np.issubdtype(highs.dtype, np.floating):
        free = np.isneginf(lows) & np.isposinf(highs)
        cells[0, free], cells[1, free] = axis.whole


def _chosen(schema: Schema, given: Iterable[str]) -> list[Attribute]:
    if isinstance(given, str) or not is_iterable(given):
        raise SchemaError(f"the attributes of dz-expressions are a list of names, not {shown(given)}")
    names = list(given)
    if not names:
        found = [each for each in schema if each.domain is not None or each.kind is Kind.BOOLEAN]
        if not found:
            raise SchemaError("no attribute of the schema has a domain; name those that dz-expressions are to divide")
        return found
    found = [schema[name] for name in names]
    if len(set(names)) < len(names):
        raise SchemaError("dz-expressions name an attribute twice")
    return found
