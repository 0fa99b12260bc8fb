"""What was counted into the cells of a content space, as the figures that planning and people read.

    volume        the share of the events that lie in a cell
    weight        the mean weight of its events, 1 where it has none
    popularity    the share of all subscriptions that want an event of the cell
    selectivity   the share of the cell that is wanted by a subscription that overlaps it at all

In a cell of one value, popularity is simply touched / subscriptions and selectivity is 1. In a wide cell a
subscription may want only a part, and Kyra's load is a sum over events: what counts is how many subscriptions an
event there meets, not how many want something near it. On one axis of several, a subscription counts by what it asks
of that axis alone; where the attributes are independent this only scales every load alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from siftcast.model import Filter
from siftcast.planning.cells import Cells, Floats
from siftcast.planning.zone_partition import ALPHA, cell_loads


@dataclass(frozen=True, slots=True)
class JointTable:
    """Boxes over several axes, each a row of lows and highs, and their counts."""

    lows: Floats
    highs: Floats
    events: Floats
    weights: Floats
    touched: Floats
    covered: Floats
    subscriptions: int

    def __len__(self) -> int:
        return len(self.events)

    @property
    def volume(self) -> Floats:
        return self.events / max(float(self.events.sum()), 1.0)

    @property
    def weight(self) -> Floats:
        return np.where(self.events > 0, self.weights / np.maximum(self.events, 1.0), 1.0)

    @property
    def popularity(self) -> Floats:
        # A sum of shares may end a rounding below 0 or above the whole.
        return np.clip(self.covered / max(self.subscriptions, 1), 0.0, 1.0)

    @property
    def selectivity(self) -> Floats:
        shares: Floats = np.where(self.touched > 0, self.covered / np.maximum(self.touched, 1.0), 0.0)
        return np.clip(shares, 0.0, 1.0)

    def loads(self, alpha: float = ALPHA) -> Floats:
        """popularity^α · volume · weight of each cell."""
        return cell_loads(self.popularity, self.volume, self.weight, alpha=alpha)


@dataclass(frozen=True, slots=True)
class AxisTable(JointTable):
    """The cells of one axis in ascending order; `crossing` counts what a cut at a cell's lower edge splits."""

    attribute: str
    edges: Floats
    crossing: Floats
    constrained: int

    @property
    def match_rate(self) -> float:
        """The mean share of subscriptions that an event satisfies as far as this attribute goes."""
        return float((self.volume * self.popularity).sum())

    def quantiles(self, shares: Sequence[float]) -> list[float]:
        """The cells (by lower edge) in which the events reach these shares."""
        if not self.events.sum():
            return []
        reached = np.cumsum(self.events) / self.events.sum()
        found = np.searchsorted(reached, np.asarray(shares) - 1e-12, side="left")
        return [float(place) for place in self.edges[np.minimum(found, len(self.events) - 1)]]


@dataclass(frozen=True, slots=True)
class CellTable:
    """The counts of a whole content space."""

    cells: Cells
    axes: tuple[AxisTable, ...]
    joint: JointTable | None
    subscriptions: int

    @classmethod
    def of(cls, cells: Cells, events: Floats, interests: Floats) -> CellTable:
        """The table of two summed vectors, laid out as `Cells` says."""
        counted, wanted = cells.split_events(events), cells.split_interests(interests)
        dimensions = len(cells.edges)
        subscriptions = int(wanted[-1][-1])
        axes = tuple(
            AxisTable(
                cells.edges[axis][:-1, None],
                cells.edges[axis][1:, None],
                counted[2 * axis],
                counted[2 * axis + 1],
                wanted[3 * axis],
                wanted[3 * axis + 1],
                subscriptions,
                cells.space.axes[axis].attribute.name,
                cells.edges[axis],
                wanted[3 * axis + 2],
                int(wanted[-1][axis]),
            )
            for axis in range(dimensions)
        )
        joint = None
        if cells.joint is not None:
            lows, highs = cells.bounds
            number, weights = counted[2 * dimensions : 2 * dimensions + 2]
            touched, covered = wanted[3 * dimensions : 3 * dimensions + 2]
            joint = JointTable(lows, highs, number, weights, touched, covered, subscriptions)
        return cls(cells, axes, joint, subscriptions)

    @classmethod
    def count(
        cls, cells: Cells, points: Floats, filters: Iterable[Filter], *, weights: Floats | None = None
    ) -> CellTable:
        """The table of data in memory."""
        each = np.ones(len(points)) if weights is None else weights
        return cls.of(cells, cells.count_events(points, each), cells.count_interests(filters))
