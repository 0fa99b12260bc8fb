"""What covering costs: one `covers`, the index of covering filters as it grows, and a network that summarises by it.

The index is built as a router builds it: of each filter it is asked what covers it and what it covers, and then it
takes it in; the normal form of each filter is made on the way. The yardstick is asking every filter, at a size where
that ends, and both give the same answers. Growth is the exponent between the smallest and the largest size. The
network has 79 servers, and its 60 subscriptions are lists of about 100 values each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from time import process_time
from timeit import repeat

from benchmarks.boxes import make_w1, make_w3
from benchmarks.exactness import check_equal, id_of
from benchmarks.report import Report
from benchmarks.settings import Settings
from siftcast import Filter
from siftcast.matching.covering import CoveringIndex
from siftcast.runtimes.sim import execute, parse_scenario, prepare
from siftcast.runtimes.sim.checkers import exactly_once

GOAL_COVERS_US, GOAL_EXPONENT, GOAL_NETWORK_S = 20, 1.3, 5
CALLS, REPEATS = 2_000, 3
SCENARIO = """
[underlay]
generator = "transit-stub"
servers = 79
[scheme]
name = "filter-based"
[scheme.options]
summary = "{summary}"
[workload]
preset = "kyra-zipf"
events = 100
subscriptions = 60
[workload.options]
values = 1000
interest_rate = 0.1
[checks]
settle_ms = 5000
"""


def run(settings: Settings, report: Report) -> None:
    """Measures all of it."""
    _measure_covers(settings, report)
    sizes = [settings.size(full, quick) for full, quick in ((1_000, 500), (10_000, 1_500), (100_000, 4_500))]
    _measure_growth("W1", sizes, lambda count: make_w1(settings.generator(6, 1), 0.01, count=count, events=1), report)
    _measure_growth("W3", sizes, lambda count: make_w3(settings.generator(6, 3), count=count, events=1), report)
    for summary in ("covering", "merging"):
        _measure_network(summary, settings, report)


def _measure_covers(settings: Settings, report: Report) -> None:
    report.progress("covers: pairs whose forms are known")
    values = sorted(settings.generator(6, 0).choice(1_000, 100, replace=False).tolist())
    ranges = [" AND ".join(f"a{n} BETWEEN {n + by} AND {n + 100 - by}" for n in range(5)) for by in (0, 1)]
    lists = [f"value IN ({', '.join(map(str, some))})" for some in (values, values[:50] + values[51:])]
    for name, texts in (("five ranges", ranges), ("IN of 100 values", lists)):
        wide, narrow = map(Filter.parse, texts)
        check_equal(f"covers, {name}", (wide.covers(narrow), narrow.covers(wide)), (True, False))
        for answer, call in (("yes", lambda: wide.covers(narrow)), ("no", lambda: narrow.covers(wide))):  # noqa: B023
            taken = min(repeat(call, number=CALLS, repeat=settings.rounds, timer=process_time)) / CALLS
            report.add(f"covers, {name}, {answer}", taken * 1e6, "µs", "lower", goal=GOAL_COVERS_US)


def _measure_growth(name: str, sizes: Sequence[int], make: Callable[[int], object], report: Report) -> None:
    taken: list[float] = []
    for size in sizes:
        texts: list[str] = make(size).filter_table()["filter"].to_pylist()  # type: ignore[attr-defined]
        report.progress(f"covering index: {name}, {size:,} filters")
        smallest = size == sizes[0]
        runs = [_timed(_ask_index, texts) for _ in range(REPEATS if smallest else 1)]
        taken.append(min(seconds for seconds, _ in runs))
        found = runs[0][1]
        note = f"{taken[-1]:.2f} s in all, {sum(len(wider) for wider, _ in found):,} pairs"
        report.add(f"covering index, {name}, {size:,}", taken[-1] / size * 1e6, "µs/filter", "lower", note=note)
        if smallest:
            seconds, expected = _timed(_ask_each, texts)
            check_equal(f"covering index, {name}", found, expected)
            note = f"the same answers, {seconds / taken[0]:.0f} times the time of the index"
            report.add(f"one by one, {name}, {size:,}", seconds / size * 1e6, "µs/filter", "lower", note=note)
    exponent = log(taken[-1] / taken[0]) / log(sizes[-1] / sizes[0])
    note = f"of the time to build {sizes[0]:,} to {sizes[-1]:,}; one by one has 2"
    report.add(f"covering index, {name}, growth", exponent, "exponent", "lower", goal=GOAL_EXPONENT, note=note)


Answers = list[tuple[list[str], list[str]]]


def _timed(ask: Callable[[Sequence[Filter]], Answers], texts: Sequence[str]) -> tuple[float, Answers]:
    """The processor time of asking about fresh filters, whose forms nobody knows yet, and the answers."""
    filters = [Filter.parse(text) for text in texts]
    start = process_time()
    found = ask(filters)
    return process_time() - start, found


def _ask_index(filters: Sequence[Filter]) -> Answers:
    index = CoveringIndex()
    found: Answers = []
    for row, filter_ in enumerate(filters):
        found.append((list(index.covering(filter_)), index.covered_by(filter_)))
        index.add(id_of(row), filter_)
    return found


def _ask_each(filters: Sequence[Filter]) -> Answers:
    return [
        (
            [id_of(other) for other in range(row) if filters[other].covers(filter_)],
            [id_of(other) for other in range(row) if filter_.covers(filters[other])],
        )
        for row, filter_ in enumerate(filters)
    ]


def _measure_network(summary: str, settings: Settings, report: Report) -> None:
    report.progress(f"filter-based with {summary}: 79 servers, 60 lists of 100 values")
    run = prepare(parse_scenario(SCENARIO.format(summary=summary)), settings.seed)
    start = process_time()
    execute(run)
    taken = process_time() - start
    verdict = exactly_once(run.simulation.trace, settle_ms=5_000)
    check_equal(f"network with {summary}", (verdict.missing, verdict.duplicate, verdict.wrong), (0, 0, 0))
    note = f"60 lists of 100 values, {verdict.required:,} deliveries, {run.simulation.handled:,} steps"
    report.add(f"79 servers with {summary}", taken, "s", "lower", goal=GOAL_NETWORK_S, note=note)
