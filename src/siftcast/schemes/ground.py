"""What is known about a network before it runs: all that a scheme may be planned from.

A runtime fills in what it knows. The simulator has the latencies of its underlay, and takes the workload itself as
the forecast of who wants what and what is published; a scheme must not rely on it. A live network has regions instead
of latencies until these are measured, links that people wrote down, and instead of a forecast the load that was counted
along attributes, if it was.

Places are 0 … n-1 in the order of the latencies. They exist inside a plan only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from siftcast.model import Schema, Subscription
from siftcast.space import Tree

Matrix = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What to expect: who will subscribe to what, and a sample of the events, as a table of their attributes."""

    wanted: Sequence[tuple[int, Subscription]]
    """Each subscription with the place of its subscriber."""
    events: pa.Table

    def values(self, attribute: str) -> Any:
        """The values of an attribute in all events, by the name the schema gives it: `position.x` is x of position."""
        name, *path = [attribute] if attribute in self.events.column_names else attribute.split(".")
        column = self.events[name].combine_chunks()
        return pc.struct_field(column, path) if path else column


@dataclass(frozen=True, slots=True)
class AxisLoad:
    """What was counted along an attribute while the network ran: the load of each cell, between two edges."""

    edges: Floats
    loads: Floats


class Ground:
    """Latencies between places, and whatever else is known about the network and its content.

    `tree` has the links that people wrote down; without them a scheme finds its own. Latencies may be given as a
    function that works them out when a scheme asks: a number for each pair of places is much where there are many.
    `roles` says what places are for (`overlays.roles`); those it leaves out may do everything.
    """

    def __init__(
        self,
        latencies_ms: Matrix | Callable[[], Matrix],
        rng: np.random.Generator,
        *,
        places: int | None = None,
        schema: Schema | None = None,
        tree: Tree | None = None,
        forecast: Forecast | None = None,
        loads: Mapping[str, AxisLoad] | None = None,
        roles: Mapping[int, frozenset[str]] | None = None,
    ) -> None:
        self._latencies_ms = latencies_ms
        self._places = places
        self.rng = rng
        self.schema = schema
        self.tree = tree
        self.forecast = forecast
        self.loads = {} if loads is None else loads
        self.roles: Mapping[int, frozenset[str]] = {} if roles is None else roles

    @cached_property
    def latencies_ms(self) -> Matrix:
        """The latency from each place (row) to each other (column)."""
        return self._latencies_ms() if callable(self._latencies_ms) else self._latencies_ms

    @property
    def places(self) -> range:
        """All places."""
        return range(len(self.latencies_ms) if self._places is None else self._places)
