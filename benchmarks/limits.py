"""One client's largest inputs: whatever the limits let through must not block the others.

Every shape of filter and event (see `limit_inputs`) grows to its limit through everything that is done to a filter. The
slope of time against size on logarithmic scales is the exponent: 1 is linear, 2 quadratic. Above 1.3, or where anything
takes too long at the limit, the run ends with status 1. Answers are compared with the definition (`evaluate`) at every
size. What takes next to nothing at the limit has no exponent worth judging.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from math import log
from statistics import linear_regression
from string import ascii_lowercase
from time import process_time
from typing import TypeVar

import pyarrow as pa

from benchmarks.exactness import WrongResult, check_equal
from benchmarks.limit_inputs import Shape, shapes
from benchmarks.report import Report
from benchmarks.settings import Settings
from siftcast import Filter, Matcher
from siftcast.matching import wait_until_prepared
from siftcast.matching.collector import collector_paused
from siftcast.matching.registry import ENGINES
from siftcast.model import SiftcastError
from siftcast.model.limits import CEILING
from siftcast.overlays.wire_messages import parse_filter

GOAL_EXPONENT, GOAL_MS = 1.3, 1_000
JUDGED_MS = 15.0  # at the limit; what takes less has no exponent
STEPS = (8, 4, 2, 1)  # of the size at the limit, what it is divided by
TRIES = 3  # a slope that is too steep is measured again: a disturbed machine is no quadratic algorithm

Times = dict[str, float]  # milliseconds by what was done


@dataclass(slots=True)
class Worst:
    """The worst of all shapes, for one thing that is done to filters."""

    exponent: float = 0.0
    steepest: str = "never takes long enough to be judged"
    longest_ms: float = 0.0
    slowest: str = ""

    def take(self, shape: str, exponent: float | None, longest_ms: float) -> None:
        """Considers one more shape."""
        if exponent is not None and exponent > self.exponent:
            self.exponent, self.steepest = exponent, shape
        if longest_ms > self.longest_ms:
            self.longest_ms, self.slowest = longest_ms, shape


@dataclass(slots=True)
class Marks:
    """Beginnings of names that no cache has seen, all of one length."""

    letters: Iterator[tuple[str, ...]] = field(default_factory=lambda: product(ascii_lowercase, repeat=3))

    def next(self) -> str:
        return "m" + "".join(next(self.letters))


def run(settings: Settings, report: Report) -> None:
    """Measures every shape and reports the worst of them for everything that is done to filters."""
    wait_until_prepared()
    _measure_many(settings, report)
    marks, worst = Marks(), dict[str, Worst]()
    Matcher("kd_tree").add("kernels", "a = 1")  # compiled before anything is timed
    _chain(Shape("warm up", 1, lambda n, m: (f"{m}a != 1 AND {m}b LIKE '%_x%'", {f"{m}b": "x"})), 1, marks)
    for shape in shapes():
        report.progress(f"limits: {shape.name}, up to {shape.size_max:,}")
        for done, (exponent, longest_ms) in _measured(shape, marks, settings).items():
            worst.setdefault(done, Worst()).take(shape.name, exponent, longest_ms)
    for done, found in worst.items():
        note = f"exponent; steepest: {found.steepest}"
        report.add(f"limits: {done}, growth", found.exponent, "", "lower", goal=GOAL_EXPONENT, note=note, required=True)
    for done, found in worst.items():
        note = f"slowest: {found.slowest}"
        report.add(f"limits: {done}", found.longest_ms, "ms", "lower", goal=GOAL_MS, note=note, required=True)


def _measure_many(settings: Settings, report: Report) -> None:
    """All that one client may send: filters at the limit, each of attributes of its own, 8 MB of them."""
    times: dict[int, float] = {}
    for count in (settings.size(28, 7), settings.size(56, 14), settings.size(112, 28)):
        report.progress(f"limits: {count} filters of 3,000 attributes each")
        texts = [" AND ".join(f"m{number}_{place} != {place}" for place in range(3_000)) for number in range(count)]
        matcher = Matcher()
        for number, text in enumerate(texts):
            matcher.add(str(number), text)
        start = process_time()
        matcher.settle()
        times[count] = 1e3 * (process_time() - start)
        event = {f"m1_{place}": place + 1 for place in range(3_000)}
        check_equal("limits, one of many large filters", matcher.match(event), ["1"])
    slope, _ = linear_regression([log(count) for count in times], [log(spent) for spent in times.values()])
    note = f"{max(times)} filters of 3,000 attributes"
    report.add(
        "limits: index all of a client", max(times.values()), "ms", "lower", goal=4_000, note=note, required=True
    )
    report.add(
        "limits: index all of a client, growth", slope, "", "lower", goal=GOAL_EXPONENT, note=note, required=True
    )


def _measured(shape: Shape, marks: Marks, settings: Settings) -> dict[str, tuple[float | None, float]]:
    """The exponent, where there is one, and the time at the limit of everything that is done to a shape."""
    largest = max(1, shape.size_max // settings.size(1, 8))
    sizes = sorted({max(1, largest // step) for step in (STEPS if not settings.quick else (1,))})
    times: dict[int, Times] = {size: {} for size in sizes}
    result: dict[str, tuple[float | None, float]] = {}
    for attempt in range(settings.size(TRIES, 1)):
        for size in sizes:
            gc.collect()
            with collector_paused():  # or it would scan all that others left behind, in whatever is timed just then
                taken = _chain(shape, size, marks)
            for done, ms in taken.items():
                times[size][done] = min(ms, times[size].get(done, ms))
        result = {done: (exponent_of(times, done), times[sizes[-1]][done]) for done in times[sizes[-1]]}
        if attempt and all((exponent or 0.0) <= GOAL_EXPONENT for exponent, _ in result.values()):
            break
    return result


def exponent_of(times: dict[int, Times], done: str) -> float | None:
    """The slope of time against size on logarithmic scales; None where there is too little time to tell."""
    largest = max(times)
    if times[largest][done] < JUDGED_MS or len(times) < len(STEPS):
        return None
    logs = [(log(size), log(max(found[done], 1e-3))) for size, found in times.items()]
    return linear_regression([size for size, _ in logs], [ms for _, ms in logs]).slope


def _chain(shape: Shape, size: int, marks: Marks) -> Times:
    """Everything that is done to a filter, once, on a text that is new; every answer is compared."""
    text, event = shape.make(size, marks.next())
    times: Times = {}
    if not shape.readable:
        _timed(times, "refuse", lambda: _refused(text))
        return times
    filter_ = _timed(times, "parse", lambda: Filter.parse(text))
    expected = filter_.expression.evaluate(event) is True
    who = f"limits, {shape.name} of {size:,}"
    printed = _timed(times, "print", lambda: str(filter_))
    check_equal(f"{who}, printed", Filter.parse(printed, limits=CEILING), filter_)
    check_equal(f"{who}, sent", _timed(times, "read by a node", lambda: parse_filter(printed)), filter_)
    check_equal(f"{who}, first match", _timed(times, "first matches", lambda: filter_.matches(event)), expected)
    check_equal(f"{who}, match", _timed(times, "matches", lambda: filter_.matches(event)), expected)
    verdict = _timed(times, "explain", lambda: (str(why := filter_.explain(event)), why.verdict)[1])
    check_equal(f"{who}, explained", verdict is True, expected)
    wider = filter_ | Filter.parse("something_else = 1")
    overlap = _timed(times, "overlaps", lambda: wider.overlaps(filter_))
    check_equal(f"{who}, overlaps", overlap or not expected, True)
    _timed(times, "covers", lambda: (filter_.covers(wider), wider.covers(filter_)))
    for name in ENGINES:
        _engine(name, Filter.parse(text), event, expected, times, who)
    return times


def _engine(name: str, filter_: Filter, event: dict[str, object], expected: bool, times: Times, who: str) -> None:
    matcher, right = Matcher(name), ["id"] if expected else []
    # Compiled before, which is timed by itself: else one that needs no verifying up to some size would seem to leap.
    filter_.matches(event)
    _timed(times, f"{name}: add", lambda: _added(matcher, filter_))
    check_equal(f"{who}, {name}", _timed(times, f"{name}: match", lambda: matcher.match(event)), right)
    saved = _timed(times, f"{name}: to_bytes", matcher.to_bytes)
    loaded = _timed(times, f"{name}: from_bytes", lambda: Matcher.from_bytes(saved))
    check_equal(f"{who}, {name} loaded", loaded.match(event), right)
    try:
        table = pa.table({key: pa.array([value]) for key, value in event.items()} or {"none": [0]})
    except OverflowError:  # an integer that no Arrow column holds
        return
    found = _timed(times, f"{name}: match_batch", lambda: matcher.match_batch(table))
    check_equal(f"{who}, {name} in a batch", found.to_pylist(), [right])


def _added(matcher: Matcher, filter_: Filter) -> None:
    matcher.add("id", filter_)
    matcher.settle()


def _refused(text: str) -> None:
    try:
        Filter.parse(text)
    except SiftcastError as error:
        str(error)
    else:
        raise WrongResult(f"limits: accepted {text[:100]}…")


T = TypeVar("T")


def _timed(times: Times, done: str, call: Callable[[], T]) -> T:
    start = process_time()
    result = call()
    times[done] = (process_time() - start) * 1e3
    return result
