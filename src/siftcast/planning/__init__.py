"""Planning: pure functions from measurements to zones (and, later, trees, groups and schemes).

    cells.py            the cells of a content space, and how events and interests are counted into them
    cell_table.py       what was counted, as loads and shares
    zone_partition.py   the load of a cell; one axis in contiguous zones, exactly
    space_partition.py  several axes, by k-d cuts

What comes out are plain types of `space`. Who measures does not matter: an experiment counts in memory, Spark counts
a table of any size with the same functions on Arrow batches.
"""

from siftcast.planning.cell_table import AxisTable, CellTable, JointTable
from siftcast.planning.cells import Cells, axis_edges, grid_size, joint_cells, places_of
from siftcast.planning.space_partition import partition_space, split_space
from siftcast.planning.zone_choice import Candidate, choose_zones
from siftcast.planning.zone_partition import (
    ALPHA,
    Quality,
    bottleneck,
    cell_loads,
    partition_line,
    quality,
    split_line,
)

__all__ = [
    "ALPHA",
    "AxisTable",
    "Candidate",
    "CellTable",
    "Cells",
    "JointTable",
    "Quality",
    "axis_edges",
    "bottleneck",
    "cell_loads",
    "choose_zones",
    "grid_size",
    "joint_cells",
    "partition_line",
    "partition_space",
    "places_of",
    "quality",
    "split_line",
    "split_space",
]
