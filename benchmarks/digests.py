"""How fast filters and events become interest digests.

Filters are `Filter` objects that were parsed before, 300,000 of one form each, over digests of 64 bits: the time is
that of `of_filters`, or of `of_columns` where the literals stand in arrays already. The goal of 10⁶ a second is for
ranges in batches. One by one is parsing and `of_filter`, so that no normal form is known yet.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import numpy as np

from benchmarks.report import Report
from benchmarks.settings import Settings
from siftcast.model import Attribute, Event, Filter, Schema
from siftcast.space.digests import InterestDigests

GOAL_RATE = 1e6
REPEATS = 3
SCHEMA = Schema(
    [
        Attribute("price", "int", (0, 999), 1),
        Attribute("symbol", "string", tuple(f"S{number:03}" for number in range(100))),
        Attribute("volume", "float", (0.0, 1.0)),
    ]
)


def run(settings: Settings, report: Report) -> None:
    """Measures all of it."""
    count = settings.size(300_000, 30_000)
    rng = settings.generator(9, 1)
    digests = InterestDigests.of(SCHEMA, bits=64)
    lows, widths = rng.integers(0, 900, count), rng.integers(0, 100, count)
    symbols, volumes = rng.integers(0, 100, count), rng.random(count)
    report.progress(f"digests of {count:,} filters of each form")
    ranges = [
        Filter.parse(f"price BETWEEN {low} AND {low + width}")
        for low, width in zip(lows.tolist(), widths.tolist(), strict=True)
    ]
    mixed = [
        Filter.parse(f"symbol = 'S{symbol:03}' AND price BETWEEN {low} AND {low + width} AND volume < {volume}")
        for symbol, low, width, volume in zip(
            symbols.tolist(), lows.tolist(), widths.tolist(), volumes.tolist(), strict=True
        )
    ]
    _rate("ranges of one attribute, as filters", count, lambda: digests.of_filters(ranges), report, GOAL_RATE)
    _rate("three attributes with a string, as filters", count, lambda: digests.of_filters(mixed), report)
    form, columns = Filter.parse("price >= 0 AND price <= 0"), [lows, lows + widths]
    _rate("ranges of one attribute, as columns", count, lambda: digests.of_columns(form, columns), report, GOAL_RATE)
    names = np.array([f"S{number:03}" for number in range(100)])[symbols]
    form = Filter.parse("symbol = 'S' AND price >= 0 AND price <= 0 AND volume < 0.5")
    wide = [names, lows, lows + widths, volumes]
    _rate(
        "three attributes with a string, as columns", count, lambda: digests.of_columns(form, wide), report, GOAL_RATE
    )
    few = [Filter.parse(str(filter_)) for filter_ in mixed[: count // 30]]
    _rate("one by one", len(few), lambda: [digests.of_filter(Filter.parse(str(each))) for each in few], report)
    events = [
        Event({"symbol": f"S{symbol:03}", "price": low, "volume": volume})
        for symbol, low, volume in zip(symbols[:30_000].tolist(), lows.tolist(), volumes.tolist(), strict=False)
    ]
    _rate("events, one by one", len(events), lambda: [digests.of_event(event) for event in events], report)


def _rate(what: str, count: int, work: Callable[[], object], report: Report, goal: float | None = None) -> None:
    best = float("inf")
    for _ in range(REPEATS):
        started = process_time()
        work()
        best = min(best, process_time() - started)
    report.add(f"digests of {what}", count / best, "/s", "higher", goal=goal)
