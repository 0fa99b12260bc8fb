"""Runs every kernel of the engine once, on next to nothing, so that all are compiled or loaded."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from siftcast.matching.tiles.boxes import Box
from siftcast.matching.tiles.columns import KeyColumns
from siftcast.matching.tiles.combining import join_codes
from siftcast.matching.tiles.general_segment import GeneralSegment
from siftcast.matching.tiles.keys import compiled_number_keys
from siftcast.matching.tiles.rows import RowBuilder
from siftcast.matching.tiles.segment import PlainSegment
from siftcast.model.like import LikePattern
from siftcast.model.values import Kind


def run_every_kernel() -> None:
    """Builds and asks one segment of each kind; a test looks whether a kernel was left out."""
    wide, narrow = RowBuilder(), RowBuilder()
    for slot in range(64):  # so many lists that the rows are found by them
        demands, sets = (
            [(("y",), LikePattern("%y"), True)],
            [((("z",), Kind.NUMBER), ((slot, slot), (slot + 99, slot + 99)))],
        )
        wide.add_box(slot, Box([((("x",), Kind.NUMBER), 0, 1)], demands, sets))
    wide.add_box(0, Box([((("x",), Kind.NUMBER), 0, 1)]))  # a filter of two rows
    for slot in range(512):  # so few matches that tiles are filtered
        narrow.add_box(slot, Box([(((name,), Kind.NUMBER), slot, slot) for name in "xyz"]))
    general = wide.finish()
    compiled_number_keys(np.zeros(1))
    segments = (PlainSegment(narrow.finish()), PlainSegment(general), GeneralSegment(general, {}))
    table = pa.table({"x": [0.0], "y": [0]})
    columns = KeyColumns(table)
    for segment in segments:
        segment.index.warm_up()
        segment.find({"x": 0.0})
        segment.exists({"x": 0.0})
    join_codes([segment.find_batch(columns, table) for segment in segments], [len(each.slots) for each in segments])
