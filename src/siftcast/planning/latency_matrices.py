"""Latency matrices as planning takes them: square, finite, at least 0; the slower direction counts where two differ."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def symmetric_latencies(latencies_ms: npt.ArrayLike) -> Floats:
    """A checked copy in which both directions of a pair have the latency of the slower one."""
    matrix = np.array(latencies_ms, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"latencies must be a square matrix, not of the shape {matrix.shape}")
    if not (np.isfinite(matrix).all() and (matrix >= 0).all()):
        raise ValueError("latencies must be finite numbers of at least 0")
    symmetric: Floats = np.maximum(matrix, matrix.T)
    return symmetric
