"""Fair timing on a machine that others use as well.

The clock is the processor time of this process, all threads together: the wall clock of a shared machine measures the
neighbours, and nobody here may gain from a second thread.

Contenders take turns, round by round, so that a slow spell hits all of them; what counts is the median over the
rounds, and what is reported are ratios. Each contender answers as many events a turn as fit its share of time (slow
ones fewer, down to one), which is found by trying, and these trials are the warm-up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import process_time

Ask = Callable[[int], Callable[[], object]]
GROWTH = 4  # by which the number of events grows while a contender is tried
GAIN = 1.5  # how much cheaper an event must have become for a further try
WAITED = 5
REPEATS_MAX = 50


class TooSlow(Exception):
    """A contender needs more for a single event than anybody wants to wait."""


@dataclass(frozen=True, slots=True)
class Contender:
    """Somebody who answers events: `ask(n)` prepares the first n and returns the call that is timed."""

    name: str
    ask: Ask
    events_max: int
    events_min: int = 1


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a contender took for its events, each time."""

    name: str
    events: int
    seconds: tuple[float, ...]

    @property
    def us_per_event(self) -> float:
        return median(self.seconds) / self.events * 1e6

    @property
    def best_us_per_event(self) -> float:
        """The least disturbed measurement; for curves, where a single bad one would look like a cliff."""
        return min(self.seconds) / self.events * 1e6


@dataclass(slots=True)
class _Runner:
    contender: Contender
    call: Callable[[], object]
    events: int
    repeats: int
    seconds: list[float]


def seconds_of(call: Callable[[], object]) -> float:
    """The processor time of one call."""
    start = process_time()
    call()
    return process_time() - start


def take_turns(
    contenders: Sequence[Contender], *, rounds: int, round_s: float, slowest_s: float = 20.0
) -> tuple[list[Timing], dict[str, str]]:
    """The timings of all contenders, and why some were left out."""
    runners: list[_Runner] = []
    left_out: dict[str, str] = {}
    for contender in contenders:
        try:
            runners.append(_warm_up(contender, round_s, slowest_s))
        except TooSlow as reason:
            left_out[contender.name] = str(reason)
    for number in range(rounds):
        # Every other round goes backwards, so that nobody always follows the one that empties the caches.
        for runner in runners if number % 2 == 0 else reversed(runners):
            runner.seconds.extend(seconds_of(runner.call) for _ in range(runner.repeats))
    timings = [Timing(runner.contender.name, runner.events, tuple(runner.seconds)) for runner in runners]
    return timings, left_out


def _warm_up(contender: Contender, round_s: float, slowest_s: float) -> _Runner:
    """Finds how many events fit a turn; where even all of them are done early, how many repetitions.

    Whoever still gains from larger batches is given up to WAITED times its turn: a join has costs that do not depend
    on the number of events.
    """
    count, before = contender.events_min, float("inf")
    while True:
        call = contender.ask(count)
        taken = seconds_of(call)
        if taken > slowest_s:
            raise TooSlow(f"{taken:.0f} s for {count} event{'s' if count > 1 else ''}")
        if taken < round_s:
            taken = seconds_of(call)  # the first call may have compiled or loaded something
        full = taken * GROWTH > round_s and taken / count * GAIN > before
        if full or taken > round_s * WAITED or count >= contender.events_max:
            break
        count, before = min(count * GROWTH, contender.events_max), taken / count
    repeats = max(1, min(REPEATS_MAX, int(round_s / max(taken, 1e-9))))
    return _Runner(contender, call, count, repeats, [])
