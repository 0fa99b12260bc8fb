"""Skewed integer points: 80/20 Zipf with a handful of hot spots (thesis, sections 2.8.1, 3.3.2.1, 4.6.1).

The thesis says "the widely used 80 %-20 % Zipfian distribution with 4-6 hot spots" and "five hotspot regions
around which subscriptions/events are generated". No formula is given. Our reading:

    share    80 % of the points belong to a hot spot, the other 20 % fall anywhere (uniform)
    extent   a hot spot spans 20 % of the domain in every attribute, around its centre
    weight   the hot spot of rank r draws a part of the share in proportion to 1 / r
    offset   inside a hot spot and in each attribute, distance k from the centre has weight 1 / (k + 1)

Rejected: 20 % of the *volume* as hot. In ten attributes a spot of 4 % of the volume spans 72 % of every
attribute, so five of them would lie on top of each other, while the thesis builds on "very little overlap"
between hot spots. For the same reason centres are drawn again until no two regions meet (or, in a space too
small for that, until they meet least).

Hot spots may move: `moving_points` draws new centres every n events (chapter 3 moves them every 2,000).
Cost: O(points * dimensions).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siftcast.workloads.boxes import IntegerDomain
from siftcast.workloads.content_values import Floats, Integers
from siftcast.workloads.parameters import require_count, require_fraction, require_positive
from siftcast.workloads.streams import Streams

_CENTRE_ATTEMPTS = 256
NO_SPOT = -1


def zipf_weights(count: int, exponent: float = 1.0) -> Floats:
    """Weights in proportion to 1 / rank^exponent that sum to one."""
    require_count("count", count, least=1)
    weights: Floats = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    weights /= weights.sum()
    return weights


def draw_ranks(count: int, weights: Floats, rng: np.random.Generator) -> Integers:
    """Draw `count` ranks (from 0) by weight; a sorted-ladder search, much faster than `Generator.choice`."""
    ladder = np.cumsum(weights)
    positions = rng.random(count) * ladder[-1]
    ranks: Integers = np.searchsorted(ladder, positions, side="right").astype(np.int64)
    np.minimum(ranks, weights.size - 1, out=ranks)
    return ranks


@dataclass(frozen=True, slots=True)
class SpotPoints:
    """Points, and for each the rank of the hot spot it belongs to (NO_SPOT for the background)."""

    points: Integers
    spots: Integers


@dataclass(frozen=True, slots=True)
class HotSpots:
    """Where the hot spots are and how strongly they attract."""

    domain: IntegerDomain
    centres: Integers
    share: float = 0.8
    reach: int = 1
    exponent: float = 1.0

    def draw(self, count: int, rng: np.random.Generator) -> SpotPoints:
        """Draw points around the hot spots and in the background."""
        require_count("count", count)
        domain = self.domain
        spots = draw_ranks(count, zipf_weights(self.centres.shape[0], self.exponent), rng)
        spots[rng.random(count) >= self.share] = NO_SPOT
        shape = (count, domain.dimensions)
        distance = draw_ranks(count * domain.dimensions, zipf_weights(self.reach + 1, self.exponent), rng)
        sign = rng.integers(0, 1, size=shape, endpoint=True, dtype=np.int64) * 2 - 1
        near = self.centres[spots] + distance.reshape(shape) * sign
        far = domain.uniform_points(count, rng)
        return SpotPoints(np.where((spots == NO_SPOT)[:, None], far, near), spots)

    def in_region(self, points: Integers) -> Integers:
        """The rank of the first hot spot whose region holds each point, NO_SPOT where none does."""
        found = np.full(points.shape[0], NO_SPOT, dtype=np.int64)
        for rank in range(self.centres.shape[0] - 1, -1, -1):
            found[(np.abs(points - self.centres[rank]) <= self.reach).all(axis=1)] = rank
        return found


def draw_hot_spots(
    domain: IntegerDomain,
    count: int,
    *,
    rng: np.random.Generator,
    share: float = 0.8,
    extent: float = 0.2,
    exponent: float = 1.0,
) -> HotSpots:
    """Place `count` hot spots at random, their regions inside the domain and apart from each other."""
    require_count("hot_spots", count, least=1)
    require_fraction("share", share, zero_allowed=True)
    require_fraction("extent", extent)
    require_positive("exponent", exponent)
    reach = max(0, min(round(extent * domain.size / 2 - 0.5), (domain.size - 1) // 2))
    tries = rng.integers(
        domain.low + reach,
        domain.high - reach,
        size=(_CENTRE_ATTEMPTS, count, domain.dimensions),
        endpoint=True,
        dtype=np.int64,
    )
    if count > 1:
        first, second = np.triu_indices(count, 1)
        apart = np.abs(tries[:, first] - tries[:, second]).max(axis=2).min(axis=1)
        disjoint = apart > 2 * reach
        chosen = int(np.argmax(disjoint)) if disjoint.any() else int(np.argmax(apart))
    else:
        chosen = 0
    return HotSpots(domain, tries[chosen], float(share), reach, float(exponent))


def moving_points(
    first: HotSpots, count: int, *, move_every: int, streams: Streams, name: str = "moving-hot-spots"
) -> SpotPoints:
    """Draw points whose hot spots are replaced after every `move_every` of them."""
    require_count("move_every", move_every, least=1)
    drawn: list[SpotPoints] = []
    for epoch, start in enumerate(range(0, count, move_every)):
        rng = streams.generator(name, epoch)
        spots = first
        if epoch > 0:
            extent = (2 * first.reach + 1) / first.domain.size
            spots = draw_hot_spots(
                first.domain,
                first.centres.shape[0],
                rng=rng,
                share=first.share,
                extent=extent,
                exponent=first.exponent,
            )
        drawn.append(spots.draw(min(move_every, count - start), rng))
    if not drawn:
        return first.draw(0, streams.generator(name))
    return SpotPoints(np.concatenate([part.points for part in drawn]), np.concatenate([part.spots for part in drawn]))
