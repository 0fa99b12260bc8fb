"""The content space of a schema: one axis for each attribute whose values are bounded.

Values become places on a line: numbers stand for themselves, timestamps for microseconds, booleans for 0 and 1,
strings with a listed domain for their index in it. An attribute without a domain has no axis, because a line without
ends cannot be cut. On an axis with a granularity the cell of a value reaches to the next value.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from math import inf, isfinite, nextafter

from siftcast.model import Attribute, Filter, Schema, SchemaError
from siftcast.model.filter import scales_of
from siftcast.model.intervals import Cut
from siftcast.model.normal_form import Within, normal_form
from siftcast.model.values import Kind, kind_of, lookup, microseconds, normalise
from siftcast.space.box import Box


@dataclass(frozen=True, slots=True)
class Axis:
    """One attribute as a line from `low` to `high` (excluded), with `step` between neighbouring values or None."""

    attribute: Attribute
    low: float
    high: float
    step: float | None
    strings: tuple[str, ...] = ()

    @classmethod
    def of(cls, attribute: Attribute) -> Axis | None:
        """The axis of an attribute, None where its values are not bounded."""
        if attribute.kind is Kind.BOOLEAN:
            return cls(attribute, 0.0, 2.0, 1.0)
        domain = attribute.domain
        if domain is None:
            return None
        if attribute.kind is Kind.STRING:
            strings = tuple(sorted(str(value) for value in domain))
            return cls(attribute, 0.0, float(len(strings)), 1.0, strings)
        low, high = (float(_number(end)) for end in domain)
        step = _step(attribute)
        return cls(attribute, low, high + step if step is not None else nextafter(high, inf), step)

    def place(self, value: object) -> float | None:
        """Where a value lies, None if it is of another kind or outside the domain."""
        known = normalise(value)
        if kind_of(known) is not self.attribute.kind:
            return None
        if isinstance(known, str):
            index = bisect_left(self.strings, known)
            return float(index) if index < len(self.strings) and self.strings[index] == known else None
        place = float(_number(known))
        return place if self.low <= place < self.high else None

    def bounds(self, low: Cut, high: Cut) -> tuple[float, float]:
        """The part of the axis between two cuts of the attribute's scale."""
        return self._at(low, self.low), self._at(high, self.high)

    def _at(self, cut: Cut, end: float) -> float:
        if len(cut) == 1:
            return end
        place, side = cut[1], cut[2]
        if isinstance(place, str):
            return float(bisect_left(self.strings, place))
        scale = self.attribute.scale
        if scale.step is not None:
            place = scale.origin + place * scale.step
        found = float(place)
        return min(max(nextafter(found, inf) if side else found, self.low), self.high)


class ContentSpace:
    """The axes of a schema, in its order."""

    __slots__ = ("_grids", "axes", "box", "schema")

    def __init__(self, schema: Schema) -> None:
        found = (Axis.of(attribute) for attribute in schema)
        self.schema = schema
        self.axes: tuple[Axis, ...] = tuple(axis for axis in found if axis is not None)
        if not self.axes:
            raise SchemaError("no attribute of the schema has a domain, so there is no space to divide")
        self.box = Box(tuple(axis.low for axis in self.axes), tuple(axis.high for axis in self.axes))
        names = [axis.attribute.name for axis in self.axes]
        layouts = ((name, tuple(name.split(".")), schema[name].scale) for name in names)
        self._grids = tuple(each for each in layouts if each[2].step is not None)

    def point(self, event: Mapping[str, object]) -> tuple[float, ...] | None:
        """Where an event lies, None if it lacks an attribute or holds a value outside the domain."""
        places: list[float] = []
        for axis in self.axes:
            name = axis.attribute.name
            place = axis.place(lookup(event, name, tuple(name.split("."))))
            if place is None:
                return None
            places.append(place)
        return tuple(places)

    def off_grid(self, event: Mapping[str, object]) -> str | None:
        """The first attribute whose value lies between two that its granularity allows, None if there is none.

        Filters are placed in the space by the values the schema allows, so such an event has no right place:
        code that divides the space refuses it.
        """
        for name, path, scale in self._grids:
            value = normalise(lookup(event, name, path))
            if isinstance(value, bool | str | datetime) or value is None:
                continue
            assert isinstance(value, int | float)
            simple = isinstance(value, int) and scale.step == 1 and scale.origin.denominator == 1
            if not simple and isfinite(value) and scale.before(value) >= scale.after(value):
                return name
        return None

    def boxes(self, filter_: Filter) -> list[Box]:
        """Boxes that together enclose every point whose event matches; for exact alternatives no other point."""
        boxes: list[Box] = []
        for conjunction in normal_form(filter_.expression, scales=scales_of(self.schema)):
            lows, highs = list(self.box.lows), list(self.box.highs)
            for index, axis in enumerate(self.axes):
                constraint = conjunction.constraints.get(tuple(axis.attribute.name.split(".")))
                if isinstance(constraint, Within) and constraint.kind is axis.attribute.kind:
                    ranges = constraint.values.ranges
                    lows[index], highs[index] = axis.bounds(ranges[0][0], ranges[-1][1])
            box = Box(tuple(lows), tuple(highs))
            if not box.empty:
                boxes.append(box)
        return boxes


def _step(attribute: Attribute) -> float | None:
    if attribute.kind is Kind.TIMESTAMP:
        return 1.0
    step = attribute.scale.step
    return None if step is None else float(step)


def _number(value: object) -> int | float:
    if isinstance(value, datetime):
        return microseconds(value)
    assert isinstance(value, int | float)
    return value
