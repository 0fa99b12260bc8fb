"""What passes a node, for whoever plans its network: where in the content its events lie, and what is wanted there.

Events are looked at a hundred times a second at most; each that is looked at stands for all since the one before. The
last `SAMPLES_MAX` are remembered, as places on the axes of the schema and never as events. Of the subscriptions so many
are looked at as take some tens of milliseconds when somebody asks. Cells are of equal width on each axis, or its values
where these are few, so that counts of several nodes can be added up without a word about cells.

Cost: 0.1 µs per event, and about 2 µs for one that is looked at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from siftcast.model import Event, Filter, Schema
from siftcast.model.values import lookup
from siftcast.space import Axis, ContentSpace

SAMPLES_MAX = 4_096
FILTERS_MAX = 500
CELLS = 256
_PAUSE_MS = 10.0

Floats = npt.NDArray[np.float64]


class LoadMeter:
    """Counts what is published and wanted at one node; without a schema only how much is published."""

    def __init__(self, schema: Schema | None) -> None:
        self._space = None if schema is None else ContentSpace(schema)
        self._paths = () if self._space is None else tuple(_path(axis) for axis in self._space.axes)
        self._samples: deque[tuple[float, int, tuple[float | None, ...]]] = deque(maxlen=SAMPLES_MAX)
        self._since_last = 0
        self._due_ms = 0.0

    def note(self, event: Event, now_ms: float) -> None:
        """An event was published here."""
        self._since_last += 1
        if now_ms < self._due_ms:
            return
        self._due_ms = now_ms + _PAUSE_MS
        places: tuple[float | None, ...] = ()
        if self._space is not None:
            axes = zip(self._space.axes, self._paths, strict=True)
            places = tuple(axis.place(lookup(event, *path)) for axis, path in axes)  # type: ignore[arg-type]
        self._samples.append((now_ms, self._since_last, places))
        self._since_last = 0

    def rate(self, now_ms: float) -> float:
        """Events per second, since the oldest that is remembered."""
        if not self._samples:
            return 0.0
        return 1_000.0 * sum(count for _, count, _ in self._samples) / max(now_ms - self._samples[0][0], 1_000.0)

    def describe(self, filters: Sequence[Filter], now_ms: float) -> dict[str, Any]:
        """What can be added up over nodes: events per second, and subscriptions, by the cells of each attribute."""
        facts: dict[str, Any] = {"events_s": self.rate(now_ms), "subscriptions": len(filters)}
        if self._space is None:
            return {**facts, "events": {}, "wanted": {}}
        from siftcast.planning import Cells

        edges = tuple(cell_edges(axis) for axis in self._space.axes)
        cells = Cells(self._space, edges)
        chosen = filters[:: 1 + len(filters) // FILTERS_MAX]
        counted = cells.split_interests(cells.count_interests(chosen)) if chosen else []
        share = len(filters) / max(len(chosen), 1)
        names = [axis.attribute.name for axis in self._space.axes]
        wanted = {name: (counted[3 * place + 1] * share).tolist() for place, name in enumerate(names) if counted}
        published = self._published(edges)
        total = max(sum(count for _, count, _ in self._samples), 1)
        events = {
            name: (by_cell * facts["events_s"] / total).tolist() for name, by_cell in zip(names, published, strict=True)
        }
        return {**facts, "events": events, "wanted": wanted}

    def _published(self, edges: Sequence[Floats]) -> list[Floats]:
        found = []
        for number, bounds in enumerate(edges):
            places = [(places[number], count) for _, count, places in self._samples if places[number] is not None]
            by_cell = np.zeros(len(bounds) - 1)
            if places:
                where, counts = np.array(places, dtype=np.float64).T
                np.add.at(by_cell, np.searchsorted(bounds, where, side="right") - 1, counts)
            found.append(by_cell)
        return found


def cell_edges(axis: Axis) -> Floats:
    """The edges of the cells in which all nodes count along an axis."""
    from siftcast.planning import axis_edges

    return axis_edges(axis, np.linspace(axis.low, axis.high, CELLS + 1).tolist(), values_max=CELLS)


def _path(axis: Axis) -> tuple[str, tuple[str, ...]]:
    name = axis.attribute.name
    return name, tuple(name.split("."))


def added(counts: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, Floats]:
    """Counts of several nodes as one; whoever counts other cells is left out."""
    found: dict[str, Floats] = {}
    for each in counts:
        for name, by_cell in each.items():
            here = np.asarray(by_cell, dtype=np.float64)
            if name not in found:
                found[name] = here
            elif len(found[name]) == len(here):
                found[name] = found[name] + here
    return found
