"""Which sealed events were there before: a window for each run of each publisher.

What a publisher seals has a number that it signs, counted from 1 in each run. Events may overtake each other on their
way, so the newest numbers of a run are remembered, and what is older than all of them is refused. The source of an
event is part of a run here, because order is kept among events of one source: others may be any distance apart.

Runs are remembered up to `RUNS_MAX`, those that were silent for longest are forgotten first. The memory is that of one
subscription in one process: what was recorded before can be shown to a new subscriber once, as far as its epoch still
passes.
"""

from __future__ import annotations

WINDOW = 16_384
RUNS_MAX = 4_096


Run = tuple[str, bytes, str]
"""A publisher, a run of it, and the source that an event names."""


class _Numbers:
    """The numbers of one run that were seen; all up to `floor` count as seen."""

    __slots__ = ("floor", "seen")

    def __init__(self) -> None:
        self.seen: set[int] = set()
        self.floor = 0

    def admit(self, number: int) -> bool:
        if number <= self.floor or number in self.seen:
            return False
        self.seen.add(number)
        if len(self.seen) > 2 * WINDOW:
            newest = sorted(self.seen)
            self.floor = newest[-WINDOW - 1]
            self.seen = set(newest[-WINDOW:])
        return True


class Replays:
    """The events that one subscription has been given."""

    __slots__ = ("_last", "_numbers", "_runs")

    def __init__(self) -> None:
        self._runs: dict[Run, _Numbers] = {}
        self._last: Run | None = None
        self._numbers = _Numbers()

    def admit(self, run: Run, number: int) -> bool:
        """Whether an event was not there before."""
        if run != self._last:
            self._last, self._numbers = run, self._runs.pop(run) if run in self._runs else _Numbers()
            self._runs[run] = self._numbers  # the last one heard of is the last one to be forgotten
            if len(self._runs) > RUNS_MAX:
                del self._runs[next(iter(self._runs))]
        return self._numbers.admit(number)
