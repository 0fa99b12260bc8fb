"""Zones of balanced load: a line or a space of cells cut into n contiguous parts (Kyra, section B of its design).

The load of a cell is popularity^α · volume · weight: the share of subscriptions that want its events, how often they
are published, and what one costs. The exponent is Kyra's Figure 7: on a tree an event passes more servers than want
it, a share of popularity^0.6101 of them.

One axis is cut exactly: no other contiguous zones have a smaller largest load. The search halves the interval in which
that bottleneck lies and asks a greedy pass whether n zones suffice; O(n log m) per pass for m cells. Many partitions
share the least bottleneck, so the zones are then laid as near to equal as it allows: each takes the place nearest to
an even share of what is left, among those from which the rest can still be done. Rejected: the greedy pass
itself as the answer, which fills the first zones to the brim and leaves the last ones idle; dynamic
programming, which is exact as well but needs O(n · m²).

Several axes are cut by `space_partition`. Everything here is deterministic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from siftcast.space import ContentSpace, Partition

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

ALPHA = 0.6101
# Sums of floats differ in their last bits by the order of adding; two loads this near count as equal.
_SLACK = 1e-12


@dataclass(frozen=True, slots=True)
class Quality:
    """How good zones are: how even their loads, and how many zones a subscription touches."""

    zones: int
    load_max: float
    load_mean: float
    spans_mean: float | None = None
    spans_max: int | None = None

    @property
    def imbalance(self) -> float:
        """The largest load over the mean; 1 is perfect."""
        return self.load_max / self.load_mean if self.load_mean > 0 else 1.0


def quality(zone_loads: Sequence[float] | Floats, spans: Sequence[int] | Integers | None = None) -> Quality:
    """The figures of zones with these loads; `spans` says how many zones each subscription touches."""
    loads = np.asarray(zone_loads, dtype=np.float64)
    if spans is None or not len(spans):
        return Quality(len(loads), float(loads.max()), float(loads.mean()))
    return Quality(len(loads), float(loads.max()), float(loads.mean()), float(np.mean(spans)), int(np.max(spans)))


def cell_loads(
    popularity: npt.ArrayLike, volume: npt.ArrayLike, weight: npt.ArrayLike = 1.0, *, alpha: float = ALPHA
) -> Floats:
    """popularity^α · volume · weight, cell by cell."""
    wanted, published, cost = (np.asarray(each, dtype=np.float64) for each in (popularity, volume, weight))
    for name, values in (("popularity", wanted), ("volume", published), ("weight", cost)):
        if not (np.isfinite(values).all() and (values >= 0).all()):
            raise ValueError(f"the {name} of every cell must be a finite number of at least 0")
    # 0^0 is 1 for NumPy: with α = 0 a load counts events only, even those that nobody wants.
    loads: Floats = wanted**alpha * published * cost
    return loads


def split_line(loads: npt.ArrayLike, zones: int) -> list[int]:
    """Where to cut a line of cells: the index of the first cell of every zone but the first.

    The largest zone is as small as it can be. Every zone has a cell; fewer cells than zones make fewer zones.
    """
    sums = _prefix_sums(loads)
    cells = len(sums) - 1
    zones = checked_zones(zones, cells)
    if sums[-1] == 0.0:  # nothing to balance but the cells themselves
        return [zone * cells // zones for zone in range(1, zones)]
    limit = _bottleneck(sums, zones)
    # earliest[k]: the first cell from which the rest fits into k zones under the limit.
    earliest = [cells]
    for _ in range(zones - 1):
        earliest.append(int(np.searchsorted(sums, sums[earliest[-1]] - limit, side="left")))
    cuts: list[int] = []
    start = 0
    for left in range(zones - 1, 0, -1):
        farthest = int(np.searchsorted(sums, sums[start] + limit, side="right")) - 1
        least = max(start + 1, min(earliest[left], cells - left))
        most = max(least, min(farthest, cells - left))
        even = sums[start] + (sums[-1] - sums[start]) / (left + 1)
        place = min(max(int(np.searchsorted(sums, even, side="left")), least), most)
        if place > least and even - sums[place - 1] < sums[place] - even:
            place -= 1
        cuts.append(place)
        start = place
    return cuts


def bottleneck(loads: npt.ArrayLike, zones: int) -> float:
    """The least load that the largest of n contiguous zones can have."""
    sums = _prefix_sums(loads)
    zones = checked_zones(zones, len(sums) - 1)
    return _attained(sums, _greedy(sums, zones, _bottleneck(sums, zones)) or [])


def partition_line(space: ContentSpace, edges: npt.ArrayLike, loads: npt.ArrayLike, zones: int) -> Partition:
    """The first axis of a space in zones of balanced load; cell i reaches from edge i to edge i + 1."""
    return zones_along(space, 0, edges, loads, split_line(loads, zones))


def zones_along(
    space: ContentSpace, axis: int, edges: npt.ArrayLike, loads: npt.ArrayLike, cuts: Sequence[int]
) -> Partition:
    """An axis cut before these cells, each zone with the sum of the loads of its cells."""
    each = np.asarray(loads, dtype=np.float64)
    sums = [float(part.sum()) for part in np.split(each, cuts)]
    return Partition.along(space, axis, checked_edges(edges, len(each))[list(cuts)], loads=sums)


def checked_edges(edges: npt.ArrayLike, cells: int) -> Floats:
    """The edges of so many cells, one more than these."""
    places = np.asarray(edges, dtype=np.float64)
    if len(places) != cells + 1:
        raise ValueError(f"{cells} cells have {cells + 1} edges, not {len(places)}")
    return places


def checked_zones(zones: int, cells: int) -> int:
    if zones < 1:
        raise ValueError(f"there must be at least one zone, not {zones}")
    if cells < 1:
        raise ValueError("there are no cells to divide")
    return min(zones, cells)


def _prefix_sums(loads: npt.ArrayLike) -> Floats:
    each = np.asarray(loads, dtype=np.float64)
    if not (np.isfinite(each).all() and (each >= 0).all()):
        raise ValueError("loads must be finite numbers of at least 0")
    return np.concatenate(([0.0], np.cumsum(each)))


def _bottleneck(sums: Floats, zones: int) -> float:
    """A limit under which n zones suffice and which the best partition attains, but for the last bits."""
    low = max(float(np.diff(sums).max()), float(sums[-1]) / zones)
    cuts = _greedy(sums, zones, low * (1 + _SLACK))
    if cuts is not None:
        return low * (1 + _SLACK)
    high = float(sums[-1])
    while high - low > _SLACK * high:
        middle = (low + high) / 2
        cuts = _greedy(sums, zones, middle)
        if cuts is None:
            low = middle
        else:
            high = min(middle, _attained(sums, cuts))  # a load that zones really have, so the end is exact
    return high * (1 + _SLACK)


def _greedy(sums: Floats, zones: int, limit: float) -> list[int] | None:
    """Cuts that fill each zone up to the limit, None if n zones do not suffice."""
    cuts: list[int] = []
    start = 0
    for _ in range(zones):
        start = int(np.searchsorted(sums, sums[start] + limit, side="right")) - 1
        if start == len(sums) - 1:
            return cuts
        cuts.append(start)
    return None


def _attained(sums: Floats, cuts: list[int]) -> float:
    return float(np.diff(sums[[0, *cuts, len(sums) - 1]]).max())
