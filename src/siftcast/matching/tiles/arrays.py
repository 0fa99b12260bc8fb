"""Arrays that kernels make for themselves."""

from __future__ import annotations

import numpy as np

from siftcast.matching.compiling import piece
from siftcast.matching.contract import Int64Array


@piece
def numbers(count: int, value: int) -> Int64Array:
    """So many cells of one value: NumPy's `zeros` and `full`, which take Numba half a second more to compile."""
    made = np.empty(count, np.int64)
    for place in range(count):
        made[place] = value
    return made
