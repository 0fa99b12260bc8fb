"""How fast filters and events become interest digests.

Filters are `Filter` objects that were parsed before, 300,000 of one form each, over digests of 64 bits: the time is
that of `of_filters`, or of `of_columns` where the literals stand in arrays already. The goal of 10⁶ a second is for
batches; every thirtieth digest is compared with that of the filter alone. One by one is parsing and `of_filter`, so
that no normal form is known yet.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from benchmarks.exactness import WrongResult
from benchmarks.report import Report
from benchmarks.settings import Settings
from siftcast.model import Attribute, Event, Filter, Schema
from siftcast.space.digests import InterestDigests

GOAL_RATE = 1e6
REPEATS = 3
CHECKED_EACH = 30
Answer = TypeVar("Answer")
Digests = npt.NDArray[np.uint64]
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
    one = _rate("ranges of one attribute, as filters", count, lambda: digests.of_filters(ranges), report, GOAL_RATE)
    three = _rate(
        "three attributes with a string, as filters", count, lambda: digests.of_filters(mixed), report, GOAL_RATE
    )
    form, columns = Filter.parse("price >= 0 AND price <= 0"), [lows, lows + widths]
    again = _rate(
        "ranges of one attribute, as columns", count, lambda: digests.of_columns(form, columns), report, GOAL_RATE
    )
    _check(digests, ranges, one, again)
    names = np.array([f"S{number:03}" for number in range(100)])[symbols]
    form = Filter.parse("symbol = 'S' AND price >= 0 AND price <= 0 AND volume < 0.5")
    wide = [names, lows, lows + widths, volumes]
    again = _rate(
        "three attributes with a string, as columns", count, lambda: digests.of_columns(form, wide), report, GOAL_RATE
    )
    _check(digests, mixed, three, again)
    few = [Filter.parse(str(filter_)) for filter_ in mixed[: count // 30]]
    _rate("one by one", len(few), lambda: [digests.of_filter(Filter.parse(str(each))) for each in few], report)
    events = [
        Event({"symbol": f"S{symbol:03}", "price": low, "volume": volume})
        for symbol, low, volume in zip(symbols[:30_000].tolist(), lows.tolist(), volumes.tolist(), strict=False)
    ]
    _rate("events, one by one", len(events), lambda: [digests.of_event(event) for event in events], report)


def _rate(what: str, count: int, work: Callable[[], Answer], report: Report, goal: float | None = None) -> Answer:
    best = float("inf")
    for _ in range(REPEATS):
        started = process_time()
        found = work()
        best = min(best, process_time() - started)
    report.add(f"digests of {what}", count / best, "/s", "higher", goal=goal)
    return found


def _check(digests: InterestDigests, filters: list[Filter], *found: Digests) -> None:
    """Raises unless all ways give the digests of the filters one by one; every thirtieth is looked at."""
    for rows in found:
        for place in range(0, len(filters), CHECKED_EACH):
            if [digests.of_filter(filters[place])] != rows[place].tolist():
                raise WrongResult(f"the digest of {filters[place]} is another than that of the filter alone")
