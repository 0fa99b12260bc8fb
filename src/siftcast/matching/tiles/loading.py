"""Turns filters into rows: by plan and columns where filters share a template, by boxes otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from siftcast.matching.contract import Bounds, BulkLoader, filters_of
from siftcast.matching.tiles.bound_columns import bound_columns
from siftcast.matching.tiles.boxes import boxes_of
from siftcast.matching.tiles.keys import Mask
from siftcast.matching.tiles.plans import Columns, Leaf, apply_plan, box_by_plan
from siftcast.matching.tiles.rows import RowBuilder, RowSet
from siftcast.matching.tiles.stage import Stage, plan_for
from siftcast.model import Filter
from siftcast.model.template import Template

_TOGETHER_MIN = 8  # filters of one template from which columns beat one by one


class Loader(BulkLoader):
    """Reads filters in chunks, keeping only their rows, and those that rows cannot decide.

    At the end the rows of plain filters, those of general ones and the undecided filters are handed to `install`.
    """

    def __init__(self, install: Callable[[RowSet, RowSet, Mapping[int, Filter]], None]) -> None:
        self._install = install
        self._plain = RowBuilder()
        self._general = RowBuilder()
        self._undecided: dict[int, Filter] = {}

    def add(self, slots: Sequence[int], filters: Sequence[Filter]) -> None:
        """Adds a chunk of filters."""
        groups: dict[Template, list[int]] = {}
        for place, filter_ in enumerate(filters):
            groups.setdefault(filter_.template, []).append(place)
        for template, places in groups.items():
            plan = plan_for(template)
            if plan is not None and len(places) >= _TOGETHER_MIN:
                self._add_together(plan, places, slots, filters)
                continue
            for place in places:
                box = None if plan is None else box_by_plan(plan, filters[place].values)
                if box is not None:
                    self._plain.add_box(slots[place], box)
                else:
                    self._add_one(slots[place], filters[place])

    def add_stage(self, stage: Stage) -> None:
        """Adds what a stage holds."""
        for slot, box in stage.boxes.items():
            self._plain.add_box(slot, box)
        for slot, filter_ in stage.filters.items():
            self._add_one(slot, filter_)

    def add_bounds(self, slots: Sequence[int], bounds: Sequence[Bounds]) -> None:
        columns: list[Columns] = []
        regular = np.ones(len(slots), bool)
        for column in bounds:
            found = bound_columns(column, regular)
            if found is not None:
                columns.append(found)
        chosen = np.asarray(slots, np.int32)
        if not regular.all():
            rest = np.flatnonzero(~regular)
            for slot, filter_ in zip(chosen[rest].tolist(), filters_of(_taken(bounds, rest), len(rest)), strict=True):
                self._add_one(slot, filter_)
            chosen, columns = chosen[regular], [_chosen(column, regular) for column in columns]
        self._plain.add_columns(chosen, columns)

    def finish(self) -> None:
        self._install(self._plain.finish(), self._general.finish(), self._undecided)

    def _add_together(
        self, plan: Sequence[Leaf], places: Sequence[int], slots: Sequence[int], filters: Sequence[Filter]
    ) -> None:
        columns, decided = apply_plan(plan, [filters[place].values for place in places])
        chosen = np.array([slots[place] for place in places], np.int32)
        if not decided.all():
            for number in np.flatnonzero(~decided).tolist():
                self._add_one(int(chosen[number]), filters[places[number]])
            chosen, columns = chosen[decided], [_chosen(column, decided) for column in columns]
        self._plain.add_columns(chosen, columns)

    def _add_one(self, slot: int, filter_: Filter) -> None:
        boxes = boxes_of(filter_)
        if len(boxes) == 1 and boxes[0].plain:
            self._plain.add_box(slot, boxes[0])
            return
        for box in boxes:
            self._general.add_box(slot, box)
        if any(box.doubtful for box in boxes):
            self._undecided[slot] = filter_


def _chosen(column: Columns, keep: Mask) -> Columns:
    """A column of only the filters marked in `keep`, renumbered."""
    rows = np.arange(len(keep), dtype=np.int32) if column.rows is None else column.rows
    inside = keep[rows]
    numbers = (np.cumsum(keep) - 1).astype(np.int32)[rows[inside]]
    if isinstance(column.lows, list):
        places = np.flatnonzero(inside).tolist()
        lows, highs = [column.lows[place] for place in places], [column.highs[place] for place in places]
        return Columns(column.dimension, lows, highs, numbers)
    assert not isinstance(column.highs, list)
    return Columns(column.dimension, column.lows[inside], column.highs[inside], numbers)


def _taken(bounds: Sequence[Bounds], rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[Bounds]:
    chosen = pa.array(rows)
    return [Bounds(column.path, column.lows.take(chosen), column.highs.take(chosen)) for column in bounds]
