"""Where new subscriptions wait for their index: tried one by one, without compiling anything for so short a time.

Most filters are one box, which is ready for the index in a few microseconds (`plans`) and is tried on an event by
comparing keys. The others are evaluated. A stage holds a few hundred at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

import pyarrow as pa

from siftcast.matching.contract import Attributes
from siftcast.matching.event_rows import named_columns
from siftcast.matching.tiles.boxes import Box
from siftcast.matching.tiles.event_keys import value_key
from siftcast.matching.tiles.keys import Dimension
from siftcast.matching.tiles.plans import Leaf, box_by_plan, plan_of
from siftcast.model import Filter
from siftcast.model.template import Template

_plans: WeakKeyDictionary[Template, list[Leaf] | None] = WeakKeyDictionary()


def plan_for(template: Template) -> list[Leaf] | None:
    """The plan of a template, worked out once for as long as the template lives."""
    try:
        return _plans[template]
    except KeyError:
        plan = _plans[template] = plan_of(template)
        return plan


class Stage:
    """Filters by slot, those that are one box apart from the rest."""

    __slots__ = ("_boxes", "_filters", "size")

    def __init__(self) -> None:
        self._boxes: dict[int, Box] = {}
        self._filters: dict[int, Filter] = {}
        self.size = 0  # an attribute, since it is looked at for every event

    def __iter__(self) -> Iterator[int]:
        yield from self._boxes
        yield from self._filters

    @property
    def boxes(self) -> dict[int, Box]:
        return self._boxes

    @property
    def filters(self) -> dict[int, Filter]:
        return self._filters

    def add(self, slot: int, filter_: Filter) -> None:
        plan = plan_for(filter_.template)
        box = None if plan is None else box_by_plan(plan, filter_.values)
        if box is None:
            self._filters[slot] = filter_
        else:
            self._boxes[slot] = box
        self.size += 1

    def remove(self, slot: int) -> None:
        self.size -= 1
        if self._boxes.pop(slot, None) is None:
            del self._filters[slot]

    def named_columns(self, table: pa.Table) -> pa.Table:
        """The table with only the columns that what waits may look at."""
        names = {
            name
            for box in list(self._boxes.values())
            for (path, _), *_ in box.sides
            for name in (".".join(path), path[0])
        }
        names.update(named_columns(table, list(self._filters.values())).column_names)
        return table.select([name for name in table.column_names if name in names])

    def find(self, event: Attributes) -> Iterator[int]:
        """The slots of the filters that an event satisfies, as they are found."""
        keys: dict[Dimension, int | str | None] = {}
        # Copied, which takes a tenth of the time: another thread may add to them or take from them.
        for slot, box in list(self._boxes.items()):
            for dimension, low, high in box.sides:
                if dimension in keys:
                    key = keys[dimension]
                else:
                    key = keys[dimension] = value_key(event, dimension)
                # Both ends of a side are keys, or both are the one string that is allowed.
                if key is None or not low <= key <= high:  # type: ignore[operator]
                    break
            else:
                yield slot
        for slot, filter_ in list(self._filters.items()):
            if filter_.matches(event):
                yield slot
