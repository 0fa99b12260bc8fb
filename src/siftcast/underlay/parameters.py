"""Checks of what a caller passes to a generator of networks: bad values are refused at the door, with name and rule."""

from __future__ import annotations

import math

from siftcast.model.errors import UnderlayError
from siftcast.model.showing import shown

Range = tuple[float, float]
COUNT_MAX = 10_000_000
"""More routers or servers than any network has, and few enough to be counted with."""


def require(name: str, value: float, *, least: float, most: float = math.inf) -> None:
    """Refuses a parameter outside its range, or that is not a number."""
    if not (isinstance(value, int | float) and math.isfinite(value) and least <= value <= most):
        rule = f"at least {least:g}" if most == math.inf else f"between {least:g} and {most:g}"
        raise UnderlayError(f"parameter '{name}' must be {rule}, got {shown(value)}")


def require_count(name: str, value: int, *, least: int, most: int = COUNT_MAX) -> None:
    """Refuses anything but a whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UnderlayError(f"parameter '{name}' must be a whole number from {least:,} to {most:,}, got {shown(value)}")


def require_range(name: str, value: Range) -> None:
    """Refuses a range of latencies that is not two ascending numbers of at least 0."""
    if len(value) != 2 or not (math.isfinite(value[1]) and 0 <= value[0] <= value[1]):
        raise UnderlayError(f"parameter '{name}' must be two ascending numbers of milliseconds, got {value!r}")
