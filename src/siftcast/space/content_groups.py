"""Content groups: the cells of a space in groups, each of which multicast-based routing gives a tree of its own.

Cells are the zones of a fine partition; a group may have any of them, near or far. Events without a cell (an
attribute is missing, or lies outside its domain) form one more group, so no event is lost.

The groups that a filter touches are remembered, because where one process plays many servers, each of them asks.
Cost: one binary search per event on one axis; one pass over the cells for a new filter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from siftcast.model import Filter
from siftcast.space.zones import Partition

_REMEMBERED_FILTERS = 100_000


class ContentGroups:
    """The group of each cell; groups are numbered from 0, and the last one is for what has no cell."""

    __slots__ = ("_touched", "cells", "group_of", "outside")

    def __init__(self, cells: Partition, group_of: Sequence[int]) -> None:
        self.cells = cells
        self.group_of = tuple(int(group) for group in group_of)
        if len(self.group_of) != len(cells):
            raise ValueError(f"{len(cells)} cells have a group each, not {len(self.group_of)}")
        if min(self.group_of) < 0:
            raise ValueError("groups are numbered from 0")
        self.outside = max(self.group_of) + 1
        self._touched: dict[int, tuple[Filter, tuple[int, ...]]] = {}

    def __len__(self) -> int:
        return self.outside + 1

    def of_event(self, event: Mapping[str, object]) -> int:
        """The group of an event."""
        cell = self.cells.zone_of_event(event)
        return self.outside if cell is None else self.group_of[cell]

    def of_filter(self, filter_: Filter) -> tuple[int, ...]:
        """The groups whose events may match, ascending."""
        known = self._touched.get(id(filter_))
        if known is not None:
            return known[1]
        touched = {self.group_of[cell] for cell in self.cells.zones_of(filter_)}
        if self.cells.reaches_outside(filter_):
            touched.add(self.outside)
        if len(self._touched) >= _REMEMBERED_FILTERS:
            self._touched.clear()
        # Holding the filter keeps its identity from being reused.
        self._touched[id(filter_)] = filter_, tuple(sorted(touched))
        return self._touched[id(filter_)][1]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ContentGroups):
            return NotImplemented
        return (self.cells, self.group_of) == (other.cells, other.group_of)

    def __hash__(self) -> int:
        return hash((self.cells, self.group_of))

    def __repr__(self) -> str:
        return f"<ContentGroups of {len(self.cells)} cells in {len(self)} groups>"
