"""Time against size: one quantity grows by steps while the rest stays, and every point is timed and verified.

Used twice: `cliffs` looks for points that stick out, `curves` draws them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.boxes import BoxWorkload, make_w1, make_w2
from benchmarks.exactness import Rows, check_rows, id_of, rows_of_batch, rows_of_ids
from benchmarks.machine import memory_bytes
from benchmarks.measuring import Contender, take_turns
from benchmarks.mixed_filters import make_mixed
from benchmarks.report import Report
from benchmarks.settings import Settings
from siftcast import Matcher

BATCH, SINGLE = "match_batch", "match"
CHECKED_EVENTS = 2
SINGLE_EVENTS = 100
BOX_BYTES_MAX = 2_500  # needed for each subscription while a matcher is built beside its workload


@dataclass(frozen=True, slots=True)
class Sweep:
    """A growing quantity, and how a point of it is made: matcher, events, and the right answers to the first."""

    name: str
    quantity: str
    sizes: Sequence[float]
    make: Callable[[float], Point]


@dataclass(frozen=True, slots=True)
class Point:
    """What is timed at one size."""

    matcher: Matcher
    events: pa.Table
    expected: list[Rows]


@dataclass(frozen=True, slots=True)
class Curve:
    """Microseconds an event by size, for one way of matching."""

    sweep: str
    quantity: str
    way: str
    sizes: tuple[float, ...]
    times: tuple[float, ...]


def sweeps(settings: Settings) -> list[Sweep]:
    """Everything that can grow: subscriptions of several kinds, attributes, density, lists."""
    size_max = min(settings.size(5_000_000, 100_000), memory_bytes() // (2 * BOX_BYTES_MAX) or 1_000_000)
    text_max = settings.size(100_000, 3_000)
    attributes = [1, 2, 5, 10, 20, 50, 100, 200]
    lengths = [2, 5, 10, 20, 50, 64, 65, 100, 200, 500]  # from 65 on lists are kept as sets

    def ranges(quantity: str) -> Callable[[float], Point]:
        return lambda size: _ranges(settings, quantity, size)

    def lists(domain: int) -> Callable[[float], Point]:
        return lambda length: _lists(settings, int(length), domain)

    added = sorted({*_steps(settings.size(10_000, 3_000)), 200, 255, 257, 400})
    densities = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.6]
    some = settings.size(5_000, 1_000)
    return [
        Sweep("ranges, number of subscriptions", "subscriptions", _steps(size_max), ranges("subscriptions")),
        Sweep(
            "all operators, number of subscriptions", "subscriptions", _steps(text_max), lambda n: _mixed(settings, n)
        ),
        Sweep("added one by one, number of subscriptions", "subscriptions", added, lambda n: _added(settings, n)),
        Sweep("ranges, number of attributes", "attributes", attributes, ranges("attributes")),
        Sweep("all operators, number of attributes", "attributes", attributes, lambda d: _mixed(settings, some, d)),
        Sweep("ranges, density", "density", densities, ranges("density")),
        Sweep("IN, length of the list", "values", lengths, lists(1_000)),
        Sweep("IN of a million, length of the list", "values", lengths, lists(1_000_000)),
    ]


def measure(sweep: Sweep, settings: Settings, report: Report) -> list[Curve]:
    """One curve for batches, one for single events; the least disturbed of several measurements at each point."""
    times: dict[str, list[float]] = {BATCH: [], SINGLE: []}
    for size in sweep.sizes:
        point = sweep.make(size)
        report.progress(f"  {sweep.name}: {size:,}")
        _verify(sweep, size, point)
        for name, time in _time(point, settings):
            times[name].append(time)
    sizes = tuple(sweep.sizes)
    return [Curve(sweep.name, sweep.quantity, way, sizes, tuple(found)) for way, found in times.items()]


def _time(point: Point, settings: Settings) -> Iterator[tuple[str, float]]:
    events = point.events.slice(0, SINGLE_EVENTS).to_pylist()
    match = point.matcher.match

    def ask_batch(count: int) -> Callable[[], object]:
        table = point.events.slice(0, count)
        return lambda: point.matcher.match_batch(table)

    def ask_single(count: int) -> Callable[[], object]:
        return lambda: [match(event) for event in events[:count]]

    # Single events first: a batch flushes what was staged, and the single match then has an easier time.
    contenders = [Contender(SINGLE, ask_single, len(events), 4), Contender(BATCH, ask_batch, len(point.events), 64)]
    for contender in contenders:
        timings, _ = take_turns([contender], rounds=3, round_s=settings.round_s / 4)
        yield contender.name, timings[0].best_us_per_event


def _verify(sweep: Sweep, size: float, point: Point) -> None:
    events = point.events.slice(0, CHECKED_EVENTS)
    single = [rows_of_ids(point.matcher.match(event)) for event in events.to_pylist()]
    check_rows(f"{sweep.name} {size:,}, match", single, point.expected)
    if point.matcher.stats().get("staged"):
        return  # a batch would flush it, and with it what the sweep wants to see
    batch = rows_of_batch(point.matcher.match_batch(events), CHECKED_EVENTS)
    check_rows(f"{sweep.name} {size:,}, match_batch", batch, point.expected)


# -- points ------------------------------------------------------------------------------------------


def _steps(largest: int) -> list[int]:
    """10, 30, 100, … and the largest itself; the last is left out where it would lie close below."""
    steps = [int(base * 10**power) for power in range(1, 8) for base in (1, 3) if base * 10**power <= largest]
    return steps if steps[-1] * 1.5 > largest else [*steps, largest]


def make_ranges(settings: Settings, quantity: str, size: float) -> BoxWorkload:
    """The ranges of a sweep, of which one quantity has some size."""
    if quantity == "density":
        return make_w1(settings.generator(6), size, count=settings.size(10_000, 3_000), events=500)
    sizes = {"subscriptions": settings.size(30_000, 3_000), "attributes": 8} | {quantity: int(size)}
    count, attributes = sizes["subscriptions"], sizes["attributes"]
    constrained = (min(2, attributes), min(4, attributes))
    rng = settings.generator(5, attributes)
    return make_w2(rng, 0.001, count=count, attributes=attributes, constrained=constrained, events=500)


def _ranges(settings: Settings, quantity: str, size: float) -> Point:
    workload = make_ranges(settings, quantity, size)
    matcher = Matcher.from_arrow(workload.subscription_table())
    expected = [workload.matching_rows(event) for event in workload.events[:CHECKED_EVENTS]]
    return Point(matcher, workload.event_table(), expected)


def _lists(settings: Settings, length: int, domain: int) -> Point:
    """Subscriptions to some of the integers below a number each; every event has one that somebody wants."""
    rng = settings.generator(7, length)
    wanted = np.array([rng.choice(domain, length, replace=False) for _ in range(settings.size(2_000, 500))])
    texts = [f"value IN ({', '.join(map(str, row))})" for row in wanted.tolist()]
    matcher = Matcher.from_arrow(pa.table({"id": [id_of(row) for row in range(len(texts))], "filter": texts}))
    values = rng.choice(wanted.ravel(), 500)
    expected = [np.flatnonzero((wanted == value).any(axis=1)) for value in values[:CHECKED_EVENTS]]
    return Point(matcher, pa.table({"value": values}), expected)


def _mixed(settings: Settings, count: float, attributes: float = 12) -> Point:
    workload = make_mixed(settings.seed, int(count), attributes=int(attributes), events=256)
    matcher = Matcher.from_arrow(workload.filter_table())
    return Point(matcher, workload.events, workload.matching_rows(CHECKED_EVENTS))


def _added(settings: Settings, count: float) -> Point:
    """The same filters one by one with a match now and then, which leaves some of them staged."""
    workload = make_mixed(settings.seed, int(count), attributes=12, events=256)
    matcher = Matcher()
    (event,) = workload.event_dicts(1)
    for row, text in enumerate(workload.filters):
        matcher.add(id_of(row), text)
        if row % 100 == 99:
            matcher.match(event)
    return Point(matcher, workload.events, workload.matching_rows(CHECKED_EVENTS))


def predicted(sizes: Sequence[float], times: Sequence[float]) -> list[float]:
    """For every inner point what its neighbours predict: the straight line between them on logarithmic scales."""
    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(times, float))
    share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    return [float(value) for value in np.exp(y[:-2] + share * (y[2:] - y[:-2]))]
