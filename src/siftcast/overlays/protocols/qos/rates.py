"""How many bytes per second come from parts of the content space: counted where a node gets them, else heard of.

    counted     events of each cell that came here in the last windows: one of up to two windows, and the one before
    heard       what others say that they count, a sample with each exchange of news
    of(region)  their sum over the cells of the region, of a cell that lies across its border a share by volume

The thesis counts in the expressions of a peer divided once more, and asks others about those divided once less. Here
all nodes count in the same cells, those of the first places of an expression. So rates are added up for any region,
finer or coarser, whatever a peer wants next, and what one node says is of use to all. Of cells that nobody counts
nothing is known; a place that takes one on and receives too much refines again.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from siftcast.model import Event
from siftcast.overlays.wire_events import encode_event
from siftcast.space.dz import Dz, DzSet

CELL_PLACES = 8
"""So many places beyond those that tell values in a domain from others make a cell."""
_WINDOW_ROUNDS, _HEARD_ROUNDS = 5, 30
_SAMPLE, _HEARD_MAX = 16, 1_024


class Rates:
    """What one node knows of rates."""

    __slots__ = ("_before", "_before_ms", "_began_ms", "_heard", "_length", "_now", "_round_ms")

    def __init__(self, axes: int, length: int, round_ms: float) -> None:
        self._length = min(length, axes + CELL_PLACES)
        self._round_ms = round_ms
        self._now: dict[int, int] = {}
        self._before: dict[int, int] = {}
        self._began_ms: float | None = None
        """When this window began; None before anything was counted."""
        self._before_ms = 0.0
        self._heard: dict[int, tuple[float, float]] = {}

    def count(self, event: Event, point: Dz) -> None:
        """An event has come."""
        cell = point.bits >> (point.length - self._length)
        self._now[cell] = self._now.get(cell, 0) + len(encode_event(event))

    def expire(self, now: float) -> None:
        """Begins a new window, and forgets what was heard long ago."""
        if self._began_ms is None:
            self._began_ms = now
        if now - self._began_ms >= _WINDOW_ROUNDS * self._round_ms:
            self._before, self._now = self._now, {}
            self._before_ms, self._began_ms = now - self._began_ms, now
            oldest = now - _HEARD_ROUNDS * self._round_ms
            self._heard = {cell: heard for cell, heard in self._heard.items() if heard[1] >= oldest}

    def hear(self, rates: Iterable[tuple[int, float]], now: float) -> None:
        """Others have said what they count."""
        for cell, rate in rates:
            if cell >> self._length:
                continue  # no cell of this space
            self._heard.pop(cell, None)
            self._heard[cell] = rate, now
            if len(self._heard) > _HEARD_MAX:
                del self._heard[next(iter(self._heard))]

    def report(self, random: Random, now: float) -> tuple[tuple[int, float], ...]:
        """A sample of what is counted here."""
        cells = sorted(self._now.keys() | self._before.keys())
        return tuple((cell, self._counted(cell, now)) for cell in random.sample(cells, min(_SAMPLE, len(cells))))

    def of(self, region: DzSet, received: DzSet, now: float) -> float:
        """Bytes per second in a region, as counted where all of a cell is `received` here, else as heard."""
        total = 0.0
        for cell in self._now.keys() | self._before.keys() | self._heard.keys():
            place = Dz(cell, self._length)
            if not region.overlaps(place):
                continue
            rate = self._counted(cell, now)
            if cell in self._heard and not received.covers(place):
                rate = max(rate, self._heard[cell][0])
            share = 1.0 if region.covers(place) else float((region & place).volume) * 2.0**self._length
            total += rate * share
        return total

    def _counted(self, cell: int, now: float) -> float:
        # A window that has only just begun says little, and counts with the one before.
        began_ms = now if self._began_ms is None else self._began_ms
        span_ms = max(now - began_ms + self._before_ms, self._round_ms)
        return 1_000.0 * (self._now.get(cell, 0) + self._before.get(cell, 0)) / span_ms
