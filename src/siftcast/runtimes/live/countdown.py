"""Warnings of what ends at a known time, such as a token: each is given a week, a day and an hour before.

What ends is known by a name. A warning that was due while nobody looked is given late; of several only the last is. If
the end moves, all warnings are before it once more. The calendar decides, since that is what people wrote down.
"""

from __future__ import annotations

WARNINGS_S = (7 * 86_400.0, 86_400.0, 3_600.0)
"""How long before the end each warning is given."""


class Countdown:
    """Which warnings were given, for each name."""

    def __init__(self) -> None:
        self._given: dict[str, tuple[float, int]] = {}

    def is_due(self, name: str, end_s: float, now_s: float) -> bool:
        """Whether a warning is to be given now; it counts as given from here on."""
        before, given = self._given.get(name, (end_s, 0))
        if before != end_s:
            given = 0
        due = sum(end_s - now_s <= each for each in WARNINGS_S)
        self._given[name] = end_s, max(due, given)
        return due > given

    def keep(self, names: set[str]) -> None:
        """Forgets all names but these."""
        for name in self._given.keys() - names:
            del self._given[name]


def next_warning_s(left_s: float) -> float | None:
    """In how many seconds the next warning is due, where so many are left; None if there is none any more."""
    return min((left_s - each for each in WARNINGS_S if left_s > each), default=None)


def time_left(left_s: float) -> str:
    """How long something still lasts, for people."""
    for unit_s, unit in ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")):
        if left_s >= 2 * unit_s:
            return f"{left_s / unit_s:.0f} {unit}"
    return f"{max(left_s, 0.0):.0f} seconds"
