"""Boxes of interest with a chosen chance of being hit: unit boxes and integer boxes.

An interval of length l placed uniformly *inside* [0, 1] holds a uniform point with probability exactly l, and
w integers placed uniformly inside a domain of n hold a uniform integer with probability exactly w / n. So a
box over d attributes whose lengths are independent with mean p^(1/d) is hit with probability p. That is all
of lookup reuse's "by controlling the length of each subinterval we control the probability that a
subscription matches" (section 3.1), and it stays exact for the thesis' integer domains because widths are
rounded up or down at random, never always the same way.

`spread` says how much lengths vary around their mean: 0 makes all boxes alike, 1 spreads lengths uniformly
as far as the unit interval allows. Boxes of one size never contain one another, so studies of covering need a spread.

Cost: O(count * dimensions); `match_rate` is O(boxes * points * dimensions) in blocks of bounded memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from siftcast.workloads.content_values import Flags, Floats, Integers
from siftcast.workloads.parameters import require_count, require_fraction

_BLOCK_CELLS = 250_000  # A block of flags stays in the cache.


@dataclass(frozen=True, slots=True)
class Boxes:
    """Closed boxes: row i spans low[i, k] .. high[i, k] in attribute k."""

    low: npt.NDArray[Any]
    high: npt.NDArray[Any]

    def __len__(self) -> int:
        return int(self.low.shape[0])

    @property
    def dimensions(self) -> int:
        """How many attributes each box constrains."""
        return int(self.low.shape[1])

    def contains(self, points: npt.NDArray[Any]) -> Flags:
        """Say which box (rows) holds which point (columns)."""
        inside: Flags = np.ones((len(self), points.shape[0]), dtype=np.bool_)
        for axis in range(self.dimensions):
            column = points[None, :, axis]
            inside &= (self.low[:, axis, None] <= column) & (column <= self.high[:, axis, None])
        return inside

    def match_rate(self, points: npt.NDArray[Any]) -> float:
        """The mean share of boxes that hold a point: the papers' matching density."""
        if len(self) == 0 or points.shape[0] == 0:
            return 0.0
        low, high, points = _narrow(self.low), _narrow(self.high), _narrow(points)
        rows = max(1, _BLOCK_CELLS // points.shape[0])
        hits = 0
        for start in range(0, len(self), rows):
            block = Boxes(low[start : start + rows], high[start : start + rows])
            hits += int(np.count_nonzero(block.contains(points)))
        return hits / (len(self) * int(points.shape[0]))


def _narrow(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Small integers in 16 bits, which a processor compares four times as many at once."""
    limit = np.iinfo(np.int16).max
    if np.issubdtype(numbers.dtype, np.integer) and np.abs(numbers).max(initial=0) <= limit:
        return numbers.astype(np.int16)
    return numbers


def vary_lengths(uniforms: Floats, mean: float, spread: float) -> Floats:
    """Map uniform numbers to lengths in [0, 1] with the given mean and spread."""
    reach = spread * min(mean, 1.0 - mean)
    return mean + reach * (2.0 * uniforms - 1.0)


def unit_boxes(
    count: int,
    dimensions: int,
    *,
    density: float,
    rng: np.random.Generator,
    spread: float = 0.0,
    decimals: int = 6,
) -> Boxes:
    """Boxes wholly inside [0, 1]^d that a uniform point hits with probability `density`.

    Bounds are multiples of 10^-decimals, so that a filter's text says exactly what the numbers say.
    """
    require_count("count", count)
    require_count("dimensions", dimensions, least=1)
    require_fraction("density", density)
    require_fraction("spread", spread, zero_allowed=True)
    require_count("decimals", decimals, least=1, most=12)
    lengths = vary_lengths(rng.random((count, dimensions)), density ** (1.0 / dimensions), spread)
    low = np.round(rng.random((count, dimensions)) * (1.0 - lengths), decimals)
    high = np.round(np.minimum(1.0, low + lengths), decimals)
    return Boxes(low, high)


@dataclass(frozen=True, slots=True)
class IntegerDomain:
    """A space of `dimensions` integer attributes that all range over low .. high."""

    low: int
    high: int
    dimensions: int

    @property
    def size(self) -> int:
        """How many values an attribute can take."""
        return self.high - self.low + 1

    def uniform_points(self, count: int, rng: np.random.Generator) -> Integers:
        """Draw points, every value of every attribute equally likely."""
        require_count("count", count)
        return rng.integers(self.low, self.high, size=(count, self.dimensions), endpoint=True, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class BoxDraws:
    """The random numbers behind a set of integer boxes, kept so that one mean length can replace another.

    With the numbers held fixed every box grows with the mean length, so that the match rate rises with it and
    `calibrate_length` in `match_rates.py` can bisect. Where `centres` are given boxes lie around them (pushed
    inside the domain); otherwise they lie anywhere inside it.
    """

    domain: IntegerDomain
    length_draws: Floats
    rounding_draws: Floats
    place_draws: Floats
    spread: float
    centres: Integers | None = None

    def boxes(self, mean_length: float) -> Boxes:
        """Integer boxes whose mean width is `mean_length` of the domain (at least one value)."""
        size = self.domain.size
        exact = vary_lengths(self.length_draws, mean_length, self.spread) * size
        whole = np.floor(exact)
        width = np.clip(whole + (self.rounding_draws < exact - whole), 1, size).astype(np.int64)
        if self.centres is None:
            start = np.floor(self.place_draws * (size - width + 1)).astype(np.int64)
        else:
            start = np.clip(self.centres - self.domain.low - width // 2, 0, size - width)
        low = start + self.domain.low
        return Boxes(low, low + width - 1)


def draw_boxes(
    domain: IntegerDomain,
    count: int,
    *,
    rng: np.random.Generator,
    spread: float = 1.0,
    centres: Integers | None = None,
) -> BoxDraws:
    """Draw what is random about `count` integer boxes; their mean length is chosen afterwards."""
    require_count("count", count)
    require_fraction("spread", spread, zero_allowed=True)
    shape = (count, domain.dimensions)
    return BoxDraws(domain, rng.random(shape), rng.random(shape), rng.random(shape), spread, centres)
