"""Where the entries of ordered rows go: tile, place in the tile, and facet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siftcast.matching.compiling import kernel

from .lines import LINE_BYTES
from .ordering import Int64Array


@dataclass(frozen=True, slots=True)
class Placement:
    """Where each entry went: its tile, its place in the tile and the number of its (tile, dim) facet or -1."""

    tiles: int
    tile: NDArray[np.int32]
    place: NDArray[np.uint16]
    counts: Int64Array  # Entries of each (tile, dim).
    facet: NDArray[np.int32]
    facet_cells: Int64Array  # The (tile, dim) of each facet, flattened, ascending.
    exact: NDArray[np.bool_]  # Of each tile.


@kernel
def locate(position: Any, row: Any, dim: Any, tile: Any, place: Any, counts: Any) -> None:
    """Tile and place of each entry, and the number of entries of each tile and dimension."""
    for i in range(len(row)):
        at = position[row[i]]
        tile[i], place[i] = at >> 9, at & 511
        counts[at >> 9, dim[i]] += 1


def aligned(words: int) -> Int64Array:
    """Zeroed int64 array that starts at a cache line."""
    space = np.zeros(words + LINE_BYTES // 8, np.int64)
    skip = -space.ctypes.data % LINE_BYTES // 8
    return space[skip : skip + words]
