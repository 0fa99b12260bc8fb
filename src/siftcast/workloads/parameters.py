"""Checks of what a caller passes to a generator.

A generator that silently clamps a bad rate produces a data set that looks fine and measures something else,
so every parameter is checked at the door and the error names the parameter, the rule and the value received.
All checks are O(1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from siftcast.model.errors import WorkloadError

_T = TypeVar("_T", int, float)


def _refuse(name: str, rule: str, value: object) -> WorkloadError:
    return WorkloadError(f"parameter '{name}' {rule}, got {value!r}")


def require_integer(name: str, value: object) -> None:
    """Refuse anything but an integer."""
    # bool is an int to Python; a caller who passes True for a count has made a mistake.
    if isinstance(value, bool) or not isinstance(value, int):
        raise _refuse(name, "must be an integer", value)


def _require_real(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _refuse(name, "must be a number", value)


def require_count(name: str, value: int, *, least: int = 0, most: int | None = None) -> None:
    """Refuse anything but an integer in [least, most]."""
    require_integer(name, value)
    if value < least or (most is not None and value > most):
        rule = f"must be at least {least}" if most is None else f"must be from {least} to {most}"
        raise _refuse(name, rule, value)


def require_fraction(name: str, value: float, *, zero_allowed: bool = False) -> None:
    """Refuse anything outside (0, 1], or [0, 1] where zero is allowed."""
    _require_real(name, value)
    if not (0.0 < value <= 1.0 or (zero_allowed and value == 0.0)):
        raise _refuse(name, f"must be in {'[' if zero_allowed else '('}0, 1]", value)


def require_positive(name: str, value: float) -> None:
    """Refuse anything but a finite number above zero."""
    _require_real(name, value)
    if not 0.0 < value < float("inf"):
        raise _refuse(name, "must be a finite number above 0", value)


def require_ordered(names: tuple[str, str], low: _T, high: _T) -> None:
    """Refuse a range whose low end lies above its high end."""
    if low > high:
        raise WorkloadError(f"parameter '{names[0]}' must not exceed '{names[1]}', got {low!r} > {high!r}")


def require_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a word that is not one of the choices, and list them."""
    if value not in choices:
        raise _refuse(name, f"must be one of {', '.join(choices)}", value)


def require_flag(name: str, value: bool) -> None:
    """Refuse anything but True or False."""
    if not isinstance(value, bool):
        raise _refuse(name, "must be true or false", value)


def require_at_least(name: str, value: float, least: float) -> None:
    """Refuse a number below `least`, or one that is not finite."""
    _require_real(name, value)
    if not least <= value < float("inf"):
        raise _refuse(name, f"must be a finite number of at least {least:g}", value)
