"""Zones of balanced load in a space of several axes: recursive (k-d) cuts.

The least bottleneck of contiguous boxes is NP-hard to find for two axes already, so each cut takes the axis and the
place that balance its two sides best, among all places where a cell ends. Any number of zones is reached, not only
powers of two: n zones are asked of a region, and each side of a cut gets its share of n. Halves are tried first, to
keep the tree shallow; where no place halves a region well, as around a hot cell, any share is.

Where it is known how many subscriptions each cut would split, the cut that splits fewest is taken among those that
balance within 5 % of the best: a subscription is kept in every zone it touches, so a needless split is paid for at
each of them. Cells are kept by the ranks of their edges, so nothing depends on units and infinite ends do no harm.

Cost: O(cells log cells) per level of the tree and axis.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from siftcast.planning.zone_partition import Floats, Integers, checked_zones
from siftcast.space import ContentSpace, Cuts, Partition

# Among cuts this near to the best balance, the one that splits fewest subscriptions is taken.
NEARLY = 1.05
_SLACK = 1e-12
_PLACES_KEPT = 64
Crossings = Sequence[tuple[Floats, Floats]]


def partition_space(
    space: ContentSpace,
    lows: npt.ArrayLike,
    highs: npt.ArrayLike,
    loads: npt.ArrayLike,
    zones: int,
    *,
    crossings: Crossings = (),
) -> Partition:
    """All axes of a space in zones of balanced load; see `split_space`."""
    cuts, sums = split_space(lows, highs, loads, zones, crossings=crossings)
    return Partition(space, cuts, loads=sums)


def split_space(
    lows: npt.ArrayLike,
    highs: npt.ArrayLike,
    loads: npt.ArrayLike,
    zones: int,
    *,
    crossings: Crossings = (),
) -> tuple[Cuts | None, list[float]]:
    """The cuts of a space of cells (boxes, a row of lows and highs each) into at most n zones, and their loads.

    Cells need not line up: one that a cut passes through is taken to be evenly filled. A cell is not cut in two
    unless another one ends inside it, so that fewer zones come out where cells are few. `crossings` gives for
    each axis ascending places and how many subscriptions a cut at each would split.
    """
    below, above = (np.atleast_2d(np.asarray(each, dtype=np.float64)) for each in (lows, highs))
    each = np.asarray(loads, dtype=np.float64)
    if below.shape != above.shape or len(below) != len(each):
        raise ValueError("cells need as many lows as highs and one load each")
    checked_zones(zones, max(1, len(each)))
    edges = [np.unique(np.concatenate((below[:, axis], above[:, axis]))) for axis in range(below.shape[1])]
    starts = np.column_stack([np.searchsorted(places, below[:, axis]) for axis, places in enumerate(edges)])
    ends = np.column_stack([np.searchsorted(places, above[:, axis]) for axis, places in enumerate(edges)])
    split = [np.zeros(len(places)) for places in edges]
    for axis, (places, counts) in enumerate(crossings):
        if len(places):
            split[axis] = np.interp(edges[axis], places, counts)
    whole = [(0, len(places) - 1) for places in edges]
    splitter = _Splitter(edges, split, bool(crossings))
    return splitter.cut(starts, ends, each, whole, zones), splitter.loads


class _Splitter:
    """The recursion of `split_space`, on ranks of edges."""

    def __init__(self, edges: list[Floats], split: list[Floats], informed: bool) -> None:
        self._edges = edges
        self._split = split
        self._nearly = NEARLY if informed else 1.0 + _SLACK
        self.loads: list[float] = []  # of the zones found so far, from left to right

    def cut(
        self, starts: Integers, ends: Integers, loads: Floats, region: list[tuple[int, int]], zones: int
    ) -> Cuts | None:
        best = self._best(starts, ends, loads, region, zones) if zones > 1 else None
        if best is None:
            self.loads.append(float(loads.sum()))
            return None
        axis, rank, first = best
        parts = []
        for low, high, count in ((region[axis][0], rank, first), (rank, region[axis][1], zones - first)):
            inside = (starts[:, axis] < high) & (ends[:, axis] > low)
            kept_starts, kept_ends = starts[inside].copy(), ends[inside].copy()
            width = kept_ends[:, axis] - kept_starts[:, axis]
            np.maximum(kept_starts[:, axis], low, out=kept_starts[:, axis])
            np.minimum(kept_ends[:, axis], high, out=kept_ends[:, axis])
            kept = loads[inside] * (kept_ends[:, axis] - kept_starts[:, axis]) / width
            part = [*region[:axis], (low, high), *region[axis + 1 :]]
            parts.append(self.cut(kept_starts, kept_ends, kept, part, count))
        return Cuts(axis, (float(self._edges[axis][rank]),), tuple(parts))

    def _best(
        self, starts: Integers, ends: Integers, loads: Floats, region: list[tuple[int, int]], zones: int
    ) -> tuple[int, int, int] | None:
        """The axis, the rank of the place and the zones to be had below it."""
        total = float(loads.sum())
        halves = sorted({zones // 2, zones - zones // 2})
        profiles = [_below(starts[:, axis], ends[:, axis], loads, *region[axis]) for axis in range(len(region))]
        found = _candidates(profiles, total, zones, halves)
        if found and min(found)[0] > NEARLY and zones > 3:
            # A hot cell may want fewer zones on its side than half of them.
            found = _candidates(profiles, total, zones, range(1, zones))
        if not found:
            return None
        allowed = max(min(found)[0], 1.0) * self._nearly
        near = [each for each in found if each[0] <= allowed]

        def order(each: tuple[float, int, int, int]) -> tuple[float, float, int, int]:
            balance, axis, offset, first = each
            rank = region[axis][0] + 1 + offset
            return float(self._split[axis][rank]), balance, axis, abs(2 * first - zones)

        _, axis, offset, first = min(near, key=order)
        return axis, region[axis][0] + 1 + offset, first


def _below(starts: Integers, ends: Integers, loads: Floats, low: int, high: int) -> Floats:
    """The load below each rank strictly inside (low, high), with every cell evenly filled between its ends."""
    if high - low < 2:
        return np.zeros(0)
    slope = np.zeros(high - low + 1)
    rate = loads / (ends - starts)
    np.add.at(slope, starts - low, rate)
    np.add.at(slope, ends - low, -rate)
    below: Floats = np.cumsum(np.cumsum(slope[:-1]))[:-1]
    return below


def _candidates(
    profiles: list[Floats], total: float, zones: int, choices: Sequence[int]
) -> list[tuple[float, int, int, int]]:
    """For each axis and number of zones below, places and how far the fuller side is above its share (1 is even)."""
    found = []
    for axis, below in enumerate(profiles):
        for first in choices:
            if not len(below):
                continue
            if total <= 0:  # nothing to balance: cut in the middle
                balance = 1.0 + np.abs(np.arange(1, len(below) + 1) / (len(below) + 1) - first / zones)
            else:
                balance = np.maximum(below / first, (total - below) / (zones - first)) * zones / total
            found += [
                (float(balance[offset]), axis, int(offset), first)
                for offset in np.argsort(balance, kind="stable")[:_PLACES_KEPT]
            ]
    return found
