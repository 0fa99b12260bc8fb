"""One axis of the content in cells, and what is forecast about them: for schemes that divide the content.

Cells are cut at the quantiles of the events that are forecast. Without a forecast they are those in which the network
has counted while it ran; without either all cells are equally wide, events fall anywhere alike, and every part of the
content is wanted by half of all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from siftcast.model import Filter
from siftcast.planning import Cells, CellTable, axis_edges, cell_loads, places_of
from siftcast.schemes.contract import SchemeError
from siftcast.schemes.ground import Ground
from siftcast.space import ContentSpace

Floats = npt.NDArray[np.float64]
_CELLS = 1_000
_CELLS_UNKNOWN = 256
_POPULARITY_UNKNOWN = 0.5


@dataclass(frozen=True, slots=True)
class ContentCells:
    """An axis of a content space, and the edges of its cells."""

    space: ContentSpace
    axis: int
    edges: Floats
    places: Floats
    """Where the forecast events lie on the axis; NaN for those that do not."""
    filters: tuple[Filter, ...]
    counted: Floats | None = None
    """The load of each cell, where it was counted while the network ran."""

    def loads(self) -> Floats:
        """The load of each cell."""
        if self.counted is not None:
            return self.counted
        if not self.filters and not len(self.places):
            widths = np.diff(self.edges)
            ones = np.ones(len(widths))
            return cell_loads(popularity=ones * _POPULARITY_UNKNOWN, volume=widths / widths.sum(), weight=ones)
        edges = tuple(
            self.edges if number == self.axis else np.array([axis.low, axis.high])
            for number, axis in enumerate(self.space.axes)
        )
        points = np.full((len(self.places), len(edges)), np.nan)
        points[:, self.axis] = self.places
        table = CellTable.count(Cells(self.space, edges, None), points, self.filters)
        return table.axes[self.axis].loads()


def cut_content(ground: Ground, attribute: str) -> ContentCells:
    """The cells along an attribute, or along the first that can be cut; raises SchemeError if none can."""
    if ground.schema is None:
        raise SchemeError("a scheme that divides the content must know its schema")
    space = ContentSpace(ground.schema)
    names = [axis.attribute.name for axis in space.axes]
    wanted = attribute or (names[0] if names else "")
    if wanted not in names:
        known = f"those with a domain are {', '.join(names)}" if names else "none of its attributes has a domain"
        raise SchemeError(f"the content{_named(ground.schema.name)} cannot be cut along '{wanted}': {known}")
    axis = names.index(wanted)
    line = space.axes[axis]
    if ground.forecast is None and wanted in ground.loads:
        found = ground.loads[wanted]
        return ContentCells(space, axis, found.edges, np.empty(0), (), found.loads)
    if ground.forecast is None:
        edges = axis_edges(line, np.linspace(line.low, line.high, _CELLS_UNKNOWN + 1).tolist())
        return ContentCells(space, axis, edges, np.empty(0), ())
    places = places_of(line, ground.forecast.values(wanted))
    inside = places[~np.isnan(places)]
    quantiles = np.quantile(inside, np.linspace(0, 1, _CELLS)).tolist() if len(inside) else []
    filters = tuple(item.filter for _, item in ground.forecast.wanted)
    return ContentCells(space, axis, axis_edges(line, quantiles), places, filters)


def _named(name: str) -> str:
    return f" of '{name}'" if name else ""
