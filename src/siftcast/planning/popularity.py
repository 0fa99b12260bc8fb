"""How many servers of a tree an event passes, and the exponent that says so (Kyra, Figure 7).

An event is wanted by a share of the servers, its popularity. On a tree it passes those, its publisher, and whoever
lies between: the smallest subtree that holds publisher and subscribers. On minimum spanning trees that
share is about popularity^α, and zones are balanced by loads that count popularity^α rather than popularity.

The power law is fitted as a spreadsheet does it, by least squares on logarithms, and R² is that of the logarithms.
The exponent alone is fitted, without a factor, since all servers must be passed when all want the event.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from siftcast.space import Tree

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """y ≈ x^exponent, and how much of the variance of log y that explains."""

    exponent: float
    r_squared: float


def traversed_shares(tree: Tree, popularities: Sequence[float], rng: np.random.Generator, *, draws: int = 20) -> Floats:
    """The mean share of a tree's servers that an event of each popularity passes, over random servers.

    A popularity p stands for round(p · servers) random subscribers, at least one, and a random publisher.
    """
    if not all(0 < popularity <= 1 for popularity in popularities):
        raise ValueError("a popularity is a share above 0 and of at most 1")
    if draws < 1:
        raise ValueError(f"there must be at least one draw, not {draws}")
    nodes = np.array(tree.nodes)
    shares = np.empty(len(popularities))
    for index, popularity in enumerate(popularities):
        takers = max(1, round(popularity * len(nodes)))
        passed = 0
        for _ in range(draws):
            subscribers = rng.choice(nodes, size=takers, replace=False).tolist()
            passed += len(tree.spanning([int(rng.choice(nodes)), *subscribers]))
        shares[index] = passed / (draws * len(nodes))
    return shares


def fit_power_law(x: npt.ArrayLike, y: npt.ArrayLike) -> PowerLaw:
    """The power law nearest to these points in logarithms."""
    across, up = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if across.shape != up.shape or across.ndim != 1 or len(set(across.tolist())) < 2:
        raise ValueError("a power law is fitted to at least two points with different x")
    if not ((across > 0).all() and (up > 0).all() and np.isfinite(across).all() and np.isfinite(up).all()):
        raise ValueError("a power law is fitted to finite numbers above 0")
    logs, targets = np.log(across), np.log(up)
    exponent = float(logs @ targets / (logs @ logs))
    residual = float(((targets - exponent * logs) ** 2).sum())
    total = float(((targets - targets.mean()) ** 2).sum())
    return PowerLaw(exponent, 1.0 - residual / total if total > 0 else float(residual == 0))
