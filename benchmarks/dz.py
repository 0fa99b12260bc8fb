"""How fast boxes, filters and events become dz-expressions.

Boxes are one range on each of up to ten attributes of 128 values, as arrays of numbers; the time is that of `of_boxes`,
kernels loaded. Every 200th box is mapped alone as well, by code that shares nothing with the kernels but the rules, and
must have the same expressions. Filters are parsed before, one form with other literals each; their time holds the
normal form. Sets are asked about unions: whether few expressions of a filter together cover
the many that it has with a larger θ.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import numpy as np

from benchmarks.exactness import check_equal
from benchmarks.report import Report
from benchmarks.settings import Settings
from siftcast.model import Attribute, Filter, Schema
from siftcast.space import Box
from siftcast.space.dz import DzSpace

GOAL_RATE = 1e6
GOAL_MS = 4.0  # breadth first, level by level, in Python at θ = 256
REPEATS = 3
CHECKED_EVERY = 200
SCHEMA = Schema([Attribute(f"a{index}", "int", (1, 128)) for index in range(10)])
CASES = ((1, 8, True), (2, 8, True), (5, 1, True), (5, 4, True), (5, 8, True), (5, 8, False), (10, 8, True))


def run(settings: Settings, report: Report) -> None:
    """Measures all of it."""
    count = settings.size(200_000, 20_000)
    for dimensions, theta, wildcards in CASES:
        rng = settings.generator(10, dimensions)
        space = DzSpace.of(SCHEMA, SCHEMA.names[:dimensions])
        lows = rng.integers(1, 129, (count, dimensions)).astype(np.float64)
        highs = np.minimum(lows + rng.integers(1, 65, (count, dimensions)), 129)
        report.progress(f"dz-expressions of {count:,} boxes on {dimensions} attributes, θ = {theta}")
        space.of_boxes(lows[:1], highs[:1], theta, wildcards=wildcards)
        batch = space.of_boxes(lows, highs, theta, wildcards=wildcards)
        for row in range(0, count, CHECKED_EVERY):
            alone = space.of_box(Box(tuple(lows[row]), tuple(highs[row])), theta, wildcards=wildcards)
            check_equal(f"of_boxes, box {row} of {dimensions} sides", str(batch.set_at(row)), str(alone))
        kind = "with stars" if wildcards else "plain"
        _rate(
            f"boxes on {dimensions} attributes, θ = {theta}, {kind}",
            count,
            lambda space=space, lows=lows, highs=highs, theta=theta, wildcards=wildcards: space.of_boxes(
                lows, highs, theta, wildcards=wildcards
            ),
            report,
            GOAL_RATE if dimensions <= 5 else None,
        )
    _alone(settings, report)


def _alone(settings: Settings, report: Report) -> None:
    rng = settings.generator(10, 20)
    space = DzSpace.of(SCHEMA, SCHEMA.names[:5])
    lows = rng.integers(1, 90, (settings.size(300, 30), 5))
    filters = [
        Filter.parse(" AND ".join(f"a{axis} BETWEEN {low} AND {low + 40}" for axis, low in enumerate(row)))
        for row in lows.tolist()
    ]
    for theta in (8, 256):
        milliseconds = (
            _best(lambda theta=theta: [space.of_filter(each, theta) for each in filters]) / len(filters) * 1e3
        )
        goal = GOAL_MS if theta == 256 else None
        report.add(f"dz-expressions of a filter on 5 attributes, θ = {theta}", milliseconds, "ms", "lower", goal=goal)
    few = filters[:30]
    inner = [space.of_filter(each, 64) for each in few]
    wide = [space.of_filter(each, 16) for each in few]
    check_equal("covers", [one.covers(other) for one, other in zip(wide, inner, strict=True)], [True] * len(few))
    covering = _best(lambda: [one.covers(other) for one, other in zip(wide, inner, strict=True)]) / len(few) * 1e3
    report.add("dz-expressions: 16 cover 64 together", covering, "ms", "lower")
    events = [{f"a{axis}": value for axis, value in enumerate(row)} for row in lows.tolist()] * 20
    report.add(
        "dz-expressions of events of 5 attributes, one by one",
        len(events) / _best(lambda: [space.of_event(event) for event in events]),
        "/s",
        "higher",
    )


def _rate(what: str, count: int, work: Callable[[], object], report: Report, goal: float | None = None) -> None:
    report.add(f"dz-expressions of {what}", count / _best(work), "/s", "higher", goal=goal)


def _best(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(REPEATS):
        started = process_time()
        work()
        best = min(best, process_time() - started)
    return best
