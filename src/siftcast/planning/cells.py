"""The cells of a content space, and the counting of events and interests into them.

Planning looks at a space through cells: on each axis its values where these are few, else ranges between quantiles of
the events, with a cell of its own for a value that fills a whole quantile; and, where there are several axes, joint
cells, boxes that a k-d tree cuts through a sample of the events so that each holds about as many.

A count is one flat vector, laid out as `Cells` says, so that counts of parts of the data add up by adding vectors:
that is all a distributed count has to do. For each cell of an axis, and for each joint cell:

    events     how many lie in it           touched   how many subscriptions overlap it
    weight     the sum of their weights     covered   the sum of the shares of it that these want
    crossing   how many subscriptions a cut at its lower edge would split (axes only)

Within a cell wider than one value, events and interests are taken to be evenly spread.
Cost: one binary search per event and axis; for a filter its parsing, and one pass over the joint cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from siftcast.model import Filter
from siftcast.model.values import Kind
from siftcast.planning.space_partition import split_space
from siftcast.space import Axis, ContentSpace, Partition, Region, overlapped, regions

Floats = npt.NDArray[np.float64]

VALUES_MAX = 10_000
QUANTILE_CELLS = 1_000
JOINT_CELLS = 1_024


def grid_size(axis: Axis) -> int | None:
    """How many values an axis has, None where they are dense."""
    return None if axis.step is None else max(1, round((axis.high - axis.low) / axis.step))


def axis_edges(axis: Axis, quantiles: Sequence[float] = (), *, values_max: int = VALUES_MAX) -> Floats:
    """The edges of an axis's cells: every value where there are few, else the given quantiles of its events."""
    size = grid_size(axis)
    if size is not None and size <= values_max:
        step = axis.attribute.scale.step
        if step is None:
            return axis.low + np.arange(size + 1, dtype=np.float64)
        # As fractions: 0.1 + 0.2 must give the very float that a filter's `= 0.3` gives.
        origin = axis.attribute.scale.origin
        return np.array([*(float(origin + index * step) for index in range(size)), axis.high])
    inner = np.sort(np.asarray(quantiles, dtype=np.float64))
    inner = inner[(inner >= axis.low) & (inner < axis.high)]
    repeated = np.unique(inner[1:][inner[1:] == inner[:-1]])
    after = repeated + axis.step if axis.step is not None else np.nextafter(repeated, np.inf)
    edges = np.unique(np.concatenate(([axis.low], inner, after, [axis.high])))
    return edges[edges <= axis.high]


def joint_cells(space: ContentSpace, edges: Sequence[Floats], sample: Floats, *, most: int = JOINT_CELLS) -> Partition:
    """Boxes that each hold about as many points of a sample, cut along the edges of the axes' cells."""
    inside = sample[np.isfinite(sample).all(axis=1)]
    if not len(inside):
        return Partition(space)
    lows, highs = np.empty_like(inside), np.empty_like(inside)
    for axis, places in enumerate(edges):
        cell = np.clip(np.searchsorted(places, inside[:, axis], side="right") - 1, 0, len(places) - 2)
        lows[:, axis], highs[:, axis] = places[cell], places[cell + 1]
    cuts, _ = split_space(lows, highs, np.ones(len(inside)), most)
    return Partition(space, cuts)


def places_of(axis: Axis, column: pa.Array) -> Floats:
    """Where the values of a column lie on an axis; NaN where null, of another kind or outside the domain."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    type_, kind = column.type, axis.attribute.kind
    if kind is Kind.NUMBER and (pa.types.is_integer(type_) or pa.types.is_floating(type_)):
        found = column.cast(pa.float64(), safe=False)
    elif kind is Kind.NUMBER and pa.types.is_decimal(type_):
        found = column.cast(pa.float64())
    elif kind is Kind.STRING and (pa.types.is_string(type_) or pa.types.is_large_string(type_)):
        found = pc.index_in(column.cast(pa.string()), value_set=pa.array(axis.strings, pa.string()))
    elif kind is Kind.BOOLEAN and pa.types.is_boolean(type_):
        found = column.cast(pa.int8())
    elif kind is Kind.TIMESTAMP and (pa.types.is_timestamp(type_) or pa.types.is_date(type_)):
        moments = column.cast(pa.timestamp("us", getattr(type_, "tz", None)), safe=False)
        found = moments.cast(pa.int64())
    else:
        return np.full(len(column), np.nan)
    places: Floats = found.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
    return np.where((places >= axis.low) & (places < axis.high), places, np.nan)


@dataclass(frozen=True)
class Cells:
    """The cells of a space: the edges on each axis, and joint cells where there are several axes.

    Event vectors: for each axis events and weight of its cells, then the joint cells' two. Interest vectors: for each
    axis touched, covered and crossing, then the joint cells' two, then the number of subscriptions that constrain
    each axis, and of all.
    """

    space: ContentSpace
    edges: tuple[Floats, ...]
    joint: Partition | None = None
    _lows: Floats = field(init=False, repr=False, compare=False)
    _highs: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        boxes = [zone.box for zone in self.joint.zones] if self.joint is not None else []
        dimensions = len(self.space.axes)
        object.__setattr__(self, "_lows", np.array([box.lows for box in boxes]).reshape(-1, dimensions))
        object.__setattr__(self, "_highs", np.array([box.highs for box in boxes]).reshape(-1, dimensions))

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """The lows and highs of the joint cells, a row each."""
        return self._lows, self._highs

    def split_events(self, vector: Floats) -> list[Floats]:
        """The parts of an event vector."""
        return self._split(vector, 2)

    def split_interests(self, vector: Floats) -> list[Floats]:
        """The parts of an interest vector."""
        return self._split(vector, 3)

    @property
    def event_entries(self) -> int:
        """The length of an event vector."""
        return sum(self._sizes(2))

    @property
    def interest_entries(self) -> int:
        """The length of an interest vector."""
        return sum(self._sizes(3)) + len(self.edges) + 1

    def _sizes(self, each: int) -> list[int]:
        return [len(places) - 1 for places in self.edges for _ in range(each)] + [len(self._lows)] * 2

    def _split(self, vector: Floats, each: int) -> list[Floats]:
        return np.split(vector, np.cumsum(self._sizes(each)))

    def count_events(self, points: Floats, weights: Floats) -> Floats:
        """The event vector of points (a row each, NaN where an axis has no place)."""
        parts: list[Floats] = []
        for axis, places in enumerate(self.edges):
            known = ~np.isnan(points[:, axis])
            cell = np.searchsorted(places, points[known, axis], side="right") - 1
            parts += _counted(cell, weights[known], len(places) - 1)
        if self.joint is None:
            return np.concatenate(parts)
        cell = self.joint.zones_of_points(points)
        return np.concatenate([*parts, *_counted(cell[cell >= 0], weights[cell >= 0], len(self._lows))])

    def count_interests(self, filters: Iterable[Filter]) -> Floats:
        """The interest vector of filters."""
        dimensions = len(self.edges)
        flat: list[list[tuple[int, float, float]]] = [[] for _ in range(dimensions)]
        touched, covered = np.zeros(len(self._lows)), np.zeros(len(self._lows))
        constrained = np.zeros(dimensions)
        count = 0
        for index, filter_ in enumerate(filters):
            count += 1
            found = regions(self.space, filter_)
            for axis in range(dimensions):
                ranges = _union([each for region in found for each in region[axis]])
                flat[axis] += [(index, low, high) for low, high in ranges]
                whole = (self.space.axes[axis].low, self.space.axes[axis].high)
                constrained[axis] += ranges != [whole]
            if found and len(self._lows):
                shares = _shares(found, self._lows, self._highs)
                touched += shares > 0
                covered += shares
        parts: list[Floats] = []
        for axis, places in enumerate(self.edges):
            parts += _tally_ranges(np.array(flat[axis]).reshape(-1, 3), places)
        return np.concatenate([*parts, touched, covered, constrained, [float(count)]])


def _counted(cell: npt.NDArray[np.int64], weights: Floats, size: int) -> list[Floats]:
    return [
        np.bincount(cell, minlength=size).astype(np.float64),
        np.bincount(cell, weights=weights, minlength=size).astype(np.float64),
    ]


def _union(ranges: list[tuple[float, float]]) -> list[tuple[float, float]]:
    if len(ranges) < 2:
        return ranges
    merged: list[tuple[float, float]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged


def _tally_ranges(ranges: Floats, edges: Floats) -> list[Floats]:
    """touched, covered and crossing of an axis's cells, from rows (subscription, low, high) in ascending order."""
    size = len(edges) - 1
    owner, low, high = ranges.T
    first = np.searchsorted(edges, low, side="right") - 1
    last = np.searchsorted(edges, high, side="left") - 1
    fresh = np.ones(len(owner), dtype=np.bool_)
    fresh[1:] = owner[1:] != owner[:-1]
    # Two ranges of one subscription may end and begin in the same cell, which then counts once.
    begin = first.copy()
    begin[1:] = np.where(fresh[1:], first[1:], np.maximum(first[1:], last[:-1] + 1))
    touched = _steps(begin, last + 1, size, begin <= last)
    covered = _steps(first, last + 1, size, np.ones(len(owner), dtype=np.bool_))
    np.add.at(covered, first, -_missing(edges[first], low, edges[first + 1]))
    np.add.at(covered, last, -_missing(high, edges[last + 1], edges[last + 1], edges[last]))
    final = np.ones(len(owner), dtype=np.bool_)
    final[:-1] = fresh[1:]
    crossing = _steps(first[fresh] + 1, last[final] + 1, size, first[fresh] < last[final])
    return [touched, covered, crossing]


def _missing(low: Floats, high: Floats, end: Floats, start: Floats | None = None) -> Floats:
    """The share of cells that lies between low and high; half of an infinite cell, if any."""
    width = end - (low if start is None else start)
    with np.errstate(invalid="ignore"):
        share: Floats = np.where(np.isfinite(width), (high - low) / width, 0.5)
    return np.where(high > low, share, 0.0)


def _steps(begin: npt.NDArray[np.int64], end: npt.NDArray[np.int64], size: int, kept: npt.NDArray[np.bool_]) -> Floats:
    """How many of the ranges [begin, end) lie over each cell."""
    change = np.zeros(size + 1)
    np.add.at(change, begin[kept], 1.0)
    np.add.at(change, end[kept], -1.0)
    return np.cumsum(change)[:-1]


def _shares(found: list[Region], lows: Floats, highs: Floats) -> Floats:
    """The share of each box that lies in any of the regions (their sum, at most 1)."""
    total = np.zeros(len(lows))
    for region in found:
        hit = np.flatnonzero(overlapped(region, lows, highs))
        share = np.ones(len(hit))
        for axis, ranges in enumerate(region):
            low, high = lows[hit, axis], highs[hit, axis]
            inside = sum(np.maximum(np.minimum(high, end) - np.maximum(low, start), 0.0) for start, end in ranges)
            with np.errstate(invalid="ignore"):
                share *= np.where(np.isfinite(high - low), inside / (high - low), 0.5)
        total[hit] += share
    return np.minimum(total, 1.0)
