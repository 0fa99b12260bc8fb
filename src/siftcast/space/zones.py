"""Zones: a content space cut into parts that neither overlap nor leave anything out.

A partition is a tree of cuts: a node names an axis and ascending places on it, and each part between two places is
a zone or is cut again. One axis cut into n zones is a single node; k-d cuts are nested nodes with one place each.

    value: 4, 7                price: 50
    ├─ zone 0   [0, 4)         ├─ symbol: 3
    ├─ zone 1   [4, 7)         │  ├─ zone 0
    └─ zone 2   [7, 10)        │  └─ zone 1
                               └─ zone 2

Zones are half-open boxes numbered from left to right. Because the tree is what is kept, disjointness and
covering hold by construction; rejected: a list of boxes, which must be checked and searched.

An event has a zone if it has a point: every attribute that is cut must be there, with a value in its domain (and on
its grid, if the schema gives one). Filters are taken as regions, products of the values allowed on each axis, not as
the boxes around them: `value IN (3, 900)` touches two zones, not all those between.

Cost: on one axis, one binary search per event; k-d, one comparison per level; for a filter, one pass over the zones.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from siftcast.model import DataError, Filter, Schema
from siftcast.model.filter import scales_of
from siftcast.model.normal_form import Conjunction, Within, normal_form
from siftcast.model.values import Kind
from siftcast.space.box import Box, Point
from siftcast.space.content_space import Axis, ContentSpace

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Ranges = tuple[tuple[float, float], ...]
Region = tuple[Ranges, ...]
_FORMAT = "siftcast-partition-1"


@dataclass(frozen=True, slots=True)
class Zone:
    """A part of the content space that one node, tree or task answers for."""

    index: int
    box: Box


@dataclass(frozen=True, slots=True)
class Cuts:
    """Places on one axis, ascending, and what becomes of the parts between them: None is a zone."""

    axis: int
    places: tuple[float, ...]
    parts: tuple[Cuts | None, ...]

    def __post_init__(self) -> None:
        if len(self.parts) != len(self.places) + 1:
            raise ValueError(f"{len(self.places)} places make {len(self.places) + 1} parts, not {len(self.parts)}")
        if any(not low < high for low, high in pairwise(self.places)):
            raise ValueError("the places of a cut must ascend")


class Partition:
    """A content space, the tree of cuts through it, and what planning says about the zones.

    `loads` (one per zone, or none) and `reason` are what the planner found; they travel with the zones so that
    every user of a partition can explain it. They play no part in equality.
    """

    __slots__ = ("_highs", "_lows", "_nodes", "cuts", "loads", "reason", "space", "zones")

    def __init__(
        self, space: ContentSpace, cuts: Cuts | None = None, *, loads: Sequence[float] = (), reason: str = ""
    ) -> None:
        self.space = space
        self.cuts = cuts
        self.zones = tuple(Zone(index, box) for index, box in enumerate(_leaves(cuts, space.box)))
        self.loads = tuple(float(load) for load in loads)
        self.reason = reason
        if self.loads and len(self.loads) != len(self.zones):
            raise ValueError(f"{len(self.zones)} zones have as many loads, not {len(self.loads)}")
        self._lows: Floats = np.array([zone.box.lows for zone in self.zones])
        self._highs: Floats = np.array([zone.box.highs for zone in self.zones])
        self._nodes = _flatten(cuts)

    @classmethod
    def along(cls, space: ContentSpace, axis: int, places: Iterable[float], **facts: Any) -> Partition:
        """One axis cut at places that lie within it."""
        inner = tuple(float(place) for place in places)
        return cls(space, Cuts(axis, inner, (None,) * (len(inner) + 1)) if inner else None, **facts)

    def __len__(self) -> int:
        return len(self.zones)

    # -- where things lie ----------------------------------------------------------------------------

    def zone_of(self, point: Point) -> int | None:
        """The zone of a point, None outside the space."""
        if not self.space.box.contains(point):
            return None
        node = 0 if self._nodes else -1
        while node >= 0:
            axis, place, below, above = self._nodes[node]
            node = above if point[axis] >= place else below
        return -1 - node

    def zone_of_event(self, event: Mapping[str, object]) -> int | None:
        """The zone of an event, None if it has no point in the space."""
        point = self.space.point(event)
        return None if point is None else self.zone_of(point)

    def zones_of_points(self, points: Floats) -> Integers:
        """The zones of many points, a row each; -1 outside the space (NaN is outside)."""
        inside = ((points >= self.space.box.lows) & (points < self.space.box.highs)).all(axis=1)
        if self.cuts is None:
            return np.where(inside, 0, -1)
        if not any(self.cuts.parts):
            found = np.searchsorted(np.array(self.cuts.places), points[:, self.cuts.axis], side="right")
            return np.where(inside, found, -1)
        axes, places, below, above = (np.array(column) for column in zip(*self._nodes, strict=True))
        node = np.zeros(len(points), dtype=np.int64)
        while (walking := np.flatnonzero(node >= 0)).size:
            here = node[walking]
            beyond = points[walking, axes[here]] >= places[here]
            node[walking] = np.where(beyond, above[here], below[here])
        return np.where(inside, -1 - node, -1)

    def zones_of(self, interest: Filter | str | Box | Iterable[Box]) -> list[int]:
        """Every zone that a filter or boxes overlap, ascending: no event with a point matches elsewhere."""
        if isinstance(interest, str):
            interest = Filter.parse(interest)
        if isinstance(interest, Filter):
            found = regions(self.space, interest)
        else:
            boxes = [interest] if isinstance(interest, Box) else interest
            found = [tuple((side,) for side in zip(box.lows, box.highs, strict=True)) for box in boxes if not box.empty]
        touched = np.zeros(len(self), dtype=np.bool_)
        for region in found:
            touched |= overlapped(region, self._lows, self._highs)
        return [int(index) for index in np.flatnonzero(touched)]

    def reaches_outside(self, filter_: Filter) -> bool:
        """Whether an event without a zone may match: one that lacks a cut attribute or leaves its domain.

        A partitioned scheme must keep such subscriptions where it keeps events without a zone. "Yes" if undecided.
        """
        found = normal_form(filter_.expression, scales=scales_of(self.space.schema))
        return any(not _stays_inside(axis, conjunction) for conjunction in found for axis in self.space.axes)

    # -- plain form ----------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; the schema of the cut attributes is part of it."""
        names = [axis.attribute.name for axis in self.space.axes]
        return {
            "format": _FORMAT,
            "schema": self.space.schema.to_toml(),
            "cuts": _plain(self.cuts, names),
            "loads": list(self.loads),
            "reason": self.reason,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Partition:
        """The partition that `to_dict` wrote; raises DataError for anything else."""
        if not isinstance(data, Mapping) or data.get("format") != _FORMAT:
            raise DataError(f"this is no partition: its 'format' must be {_FORMAT!r}")
        try:
            space = ContentSpace(Schema.parse(data["schema"]))
            names = [axis.attribute.name for axis in space.axes]
            cuts = _from_plain(data["cuts"], names)
            return cls(space, cuts, loads=data.get("loads", ()), reason=data.get("reason", ""))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"the partition is damaged: {error}") from None

    def to_json(self) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Partition:
        """The partition that `to_json` wrote."""
        try:
            return cls.from_dict(json.loads(text))
        except json.JSONDecodeError as error:
            raise DataError(f"this is no partition: not valid JSON ({error})") from None

    def explain(self) -> str:
        """Why these zones, and what each carries, for a person to read."""
        total = sum(self.loads)
        lines = [self.reason] if self.reason else []
        for zone in self.zones:
            share = f"{100 * self.loads[zone.index] / total:6.2f} % of the load  " if self.loads and total else ""
            lines.append(f"zone {zone.index:>3}  {share}{describe(self.space, zone.box)}")
        return "\n".join(lines)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Partition):
            return NotImplemented
        return (self.space.schema, self.cuts) == (other.space.schema, other.cuts)

    def __hash__(self) -> int:
        return hash((self.space.schema, self.cuts))

    def __repr__(self) -> str:
        names = ", ".join(axis.attribute.name for axis in self.space.axes)
        return f"<Partition of ({names}) into {len(self)} zones>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Partition.from_dict, (self.to_dict(),)


def regions(space: ContentSpace, filter_: Filter) -> list[Region]:
    """Where the events of a filter can lie: for each alternative the ranges it allows on each axis.

    Alternatives that want an attribute null, or of another kind than the schema says, hold no point and are left out.
    """
    found: list[Region] = []
    for conjunction in normal_form(filter_.expression, scales=scales_of(space.schema)):
        region = tuple(_allowed(axis, conjunction) for axis in space.axes)
        if all(region):
            found.append(region)
    return found


def overlapped(region: Region, lows: Floats, highs: Floats) -> Flags:
    """Which of many boxes (a row of lows and highs each) a region overlaps."""
    hit = np.ones(len(lows), dtype=np.bool_)
    for axis, ranges in enumerate(region):
        starts, ends = np.array(ranges).T
        nearest = np.searchsorted(ends, lows[:, axis], side="right")  # the first range that ends within or beyond
        hit &= np.append(starts, np.inf)[nearest] < highs[:, axis]
    return hit


def describe(space: ContentSpace, box: Box) -> str:
    """A box in the words of the schema: `symbol 'A' … 'IBM', 4 <= price < 7`; whole axes are left out."""
    parts = []
    for axis, low, high in zip(space.axes, box.lows, box.highs, strict=True):
        name = axis.attribute.name
        if low <= axis.low and high >= axis.high:
            continue
        if axis.strings:
            first, last = axis.strings[int(low)], axis.strings[int(high) - 1]
            parts.append(f"{name} = {first!r}" if first == last else f"{name} {first!r} … {last!r}")
        elif axis.attribute.kind is Kind.TIMESTAMP:
            parts.append(f"{_moment(low)} <= {name} < {_moment(high)}")
        elif axis.attribute.kind is Kind.BOOLEAN:
            parts.append(f"{name} = {'TRUE' if low >= 1 else 'FALSE'}")
        else:
            parts.append(_between(name, low, high))
    return ", ".join(parts) or "everything"


def _between(name: str, low: float, high: float) -> str:
    """A range of numbers that reads as what it holds: a single value alone, and a last value as included."""
    last = float(np.nextafter(high, -np.inf))
    if low >= last:
        return f"{name} = {low!r}"
    first, end = f"{low:.12g}", f"{high:.12g}"
    if first == end:
        return f"{low!r} <= {name} < {high!r}"
    return f"{first} <= {name} {'<=' if end == f'{last:.12g}' and float(end) == last else '<'} {end}"


def _moment(place: float) -> str:
    return str(np.datetime64(int(place), "us")) if np.isfinite(place) else str(place)


def _allowed(axis: Axis, conjunction: Conjunction) -> Ranges:
    path = tuple(axis.attribute.name.split("."))
    constraint = conjunction.constraints.get(path)
    if isinstance(constraint, Within):
        if constraint.kind is not axis.attribute.kind:
            return ()
        pairs = (axis.bounds(low, high) for low, high in constraint.values.ranges)
        return tuple((low, high) for low, high in pairs if low < high)
    null = constraint is not None and constraint.value == "null"
    return () if null else ((axis.low, axis.high),)


def _stays_inside(axis: Axis, conjunction: Conjunction) -> bool:
    attribute = axis.attribute
    constraint = conjunction.constraints.get(tuple(attribute.name.split(".")))
    if not isinstance(constraint, Within) or constraint.kind is not attribute.kind:
        return False
    if attribute.domain is None:  # a boolean: both its values are on the axis
        return True
    scale, ranges = attribute.scale, constraint.values.ranges
    if axis.strings:
        known = {(scale.before(text), scale.after(text)) for text in axis.strings}
        return all(each in known for each in ranges)
    return scale.before(attribute.domain[0]) <= ranges[0][0] and ranges[-1][1] <= scale.after(attribute.domain[1])


def _leaves(cuts: Cuts | None, box: Box) -> Iterator[Box]:
    if cuts is None:
        yield box
        return
    low, high = box.lows[cuts.axis], box.highs[cuts.axis]
    if not (low < cuts.places[0] and cuts.places[-1] < high):
        raise ValueError(f"the places {cuts.places} do not lie inside [{low}, {high})")
    for place, part in zip(cuts.places, cuts.parts[:-1], strict=True):
        below, box = box.split(cuts.axis, place)
        yield from _leaves(part, below)
    yield from _leaves(cuts.parts[-1], box)


def _flatten(cuts: Cuts | None) -> list[tuple[int, float, int, int]]:
    """The tree as binary nodes (axis, place, below, above) in a list; a child under 0 is the zone -1 - child."""
    nodes: list[tuple[int, float, int, int]] = []
    zones = 0

    def add(cuts: Cuts | None, first: int, last: int) -> int:
        nonlocal zones
        if cuts is None:
            zones += 1
            return -zones
        if first == last:
            part = cuts.parts[first]
            return add(part, 0, len(part.places) if part else 0)
        node, middle = len(nodes), (first + last) // 2
        nodes.append((cuts.axis, cuts.places[middle], 0, 0))
        below, above = add(cuts, first, middle), add(cuts, middle + 1, last)
        nodes[node] = (cuts.axis, cuts.places[middle], below, above)
        return node

    add(cuts, 0, len(cuts.places) if cuts else 0)
    return nodes


def _plain(cuts: Cuts | None, names: Sequence[str]) -> dict[str, Any] | None:
    if cuts is None:
        return None
    parts = [_plain(part, names) for part in cuts.parts]
    return {"attribute": names[cuts.axis], "places": list(cuts.places), "parts": parts}


def _from_plain(data: Any, names: Sequence[str]) -> Cuts | None:
    if data is None:
        return None
    places = tuple(float(place) for place in data["places"])
    return Cuts(names.index(data["attribute"]), places, tuple(_from_plain(part, names) for part in data["parts"]))
