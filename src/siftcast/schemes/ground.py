"""What is known about a network before it runs: all that a scheme may be planned from.

A runtime fills in what it knows. The simulator has the latencies of its underlay, and takes the workload itself as
the forecast of who wants what and what is published; a scheme must not rely on it. A live network has regions instead
of measured latencies, links that people wrote down, and no forecast.

Places are 0 … n-1 in the order of the latencies. They exist inside a plan only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from siftcast.model import Schema, Subscription
from siftcast.space import Tree


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
class Ground:
    """Latencies between places, and whatever else is known about the network and its content."""

    latencies_ms: npt.NDArray[np.float64]
    rng: np.random.Generator
    schema: Schema | None = None
    tree: Tree | None = None
    """The links that people wrote down; without them a scheme finds its own."""
    forecast: Forecast | None = None

    @property
    def places(self) -> range:
        """All places."""
        return range(len(self.latencies_ms))
