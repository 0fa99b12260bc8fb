"""Several sets of hot spots: interests lie around all of them, events around one set at a time (thesis, section 3.6.3).

Chapter 3 changes the hot spots of the events completely after every 2,000 events and watches how the clusters follow.
If the new hot spots were drawn anywhere, hardly a subscription would lie there, and an event would match next to none
instead of 5 %. So the hot spots of all times are drawn together, apart from each other: subscriptions gather around
all of them, in equal parts, and events go from one set to the next.

    events       set 0 │ set 1 │ set 2 │ set 0 │ …      changes after every `move_every` events
    interests    a third around each set, all the time

Spots are numbered through: that of rank r in set s is s · (spots of a set) + r. Cost: O(points · dimensions).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from siftcast.workloads.boxes import IntegerDomain
from siftcast.workloads.hot_spots import NO_SPOT, HotSpots, SpotPoints, draw_hot_spots
from siftcast.workloads.parameters import require_count
from siftcast.workloads.streams import Streams


@dataclass(frozen=True, slots=True)
class HotSpotSets:
    """Sets of equally many hot spots."""

    sets: tuple[HotSpots, ...]

    def draw(self, count: int, rng: np.random.Generator) -> SpotPoints:
        """Draw points around all sets in equal parts, in random order."""
        require_count("count", count)
        chosen = rng.integers(0, len(self.sets), size=count)
        points = np.zeros((count, self.sets[0].domain.dimensions), dtype=np.int64)
        spots = np.zeros(count, dtype=np.int64)
        for number in range(len(self.sets)):
            rows = np.flatnonzero(chosen == number)
            drawn = self._draw_from(number, len(rows), rng)
            points[rows], spots[rows] = drawn.points, drawn.spots
        return SpotPoints(points, spots)

    def draw_moving(self, count: int, *, move_every: int, streams: Streams, name: str) -> SpotPoints:
        """Draw points around one set, and after every `move_every` of them around the next, again and again."""
        require_count("count", count)
        require_count("move_every", move_every, least=1)
        drawn = [
            self._draw_from(epoch % len(self.sets), min(move_every, count - start), streams.generator(name, epoch))
            for epoch, start in enumerate(range(0, max(count, 1), move_every))
        ]
        return SpotPoints(
            np.concatenate([part.points for part in drawn]), np.concatenate([part.spots for part in drawn])
        )

    def _draw_from(self, number: int, count: int, rng: np.random.Generator) -> SpotPoints:
        drawn = self.sets[number].draw(count, rng)
        first = number * len(self.sets[number].centres)
        return SpotPoints(drawn.points, np.where(drawn.spots == NO_SPOT, NO_SPOT, drawn.spots + first))


def draw_hot_spot_sets(
    domain: IntegerDomain,
    sets: int,
    count: int,
    *,
    rng: np.random.Generator,
    share: float = 0.8,
    extent: float = 0.2,
    exponent: float = 1.0,
) -> HotSpotSets:
    """Place `sets` times `count` hot spots, their regions apart from each other as far as there is room."""
    require_count("hot_spot_sets", sets, least=1)
    together = draw_hot_spots(domain, sets * count, rng=rng, share=share, extent=extent, exponent=exponent)
    return HotSpotSets(
        tuple(
            replace(together, centres=together.centres[number * count : (number + 1) * count]) for number in range(sets)
        )
    )
