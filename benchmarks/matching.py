"""How much faster a matcher answers than the best of the peers: W1 to W4, batches, single events and `match_any`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import process_time

import numpy as np

from benchmarks.boxes import Array, BoxWorkload, make_skewed, make_w1, make_w2, make_w3
from benchmarks.exactness import Rows, check_equal, check_rows, rows_of_batch, rows_of_ids
from benchmarks.measuring import Contender, Timing, take_turns
from benchmarks.mixed_filters import make_w4
from benchmarks.peers import (
    DuckDBJoin,
    LeftOut,
    NumPyScan,
    NumPySparseScan,
    NumPySymbolScan,
    Peer,
    PeerClass,
    PredicateLoop,
    SpatialIndex,
    SQLiteRTree,
)
from benchmarks.peers.predicate_loop import call_all
from benchmarks.report import Comparison, Report
from benchmarks.settings import Settings
from siftcast import Filter, Matcher
from siftcast.model.predicate import compile_predicate

OURS = "Siftcast"
EVENTS = 1000
SINGLE_EVENTS = 200
CHECKED_EVENTS = 10
ALL_PEERS: tuple[PeerClass, ...] = (
    NumPyScan,
    NumPySparseScan,
    NumPySymbolScan,
    SQLiteRTree,
    SpatialIndex,
    DuckDBJoin,
    PredicateLoop,
)
GOALS_W1 = {0.001: 60, 0.01: 40, 0.05: 20, 0.1: 20, 0.2: 12}
GOALS_W2 = {0.001: 250, 0.01: 100}
GOAL_W3, GOAL_W4, GOAL_MATCH, GOAL_MATCH_ANY = 10, 50, 4, 20


@dataclass(frozen=True, slots=True)
class Case:
    """A workload, by the name it is reported under, and how many times faster than the best peer we want to be."""

    name: str
    make: Callable[[], BoxWorkload]
    goal: float | None = None
    single: bool = False  # whether `match` and `match_any` are measured as well


def run(settings: Settings, report: Report) -> None:
    """Measures all workloads."""
    for case in box_cases(settings):
        _run_boxes(case, settings, report)
    _run_w4(settings, report)


def box_cases(settings: Settings) -> list[Case]:
    """W1, W2, W3 and the skewed variants, each with its own randomness."""
    million = settings.size(1_000_000, 100_000)
    cases = []
    for stream, (density, goal) in enumerate(GOALS_W1.items()):
        rng = settings.generator(1, stream)
        make_1 = lambda rng=rng, density=density: make_w1(rng, density, events=EVENTS)  # noqa: E731
        cases.append(Case(f"W1 {density:.1%}", make_1, goal, single=density == 0.01))
    rng = settings.generator(1, 100)
    skewed = lambda rng=rng: make_skewed(  # noqa: E731
        rng, 0.01, values="lognormal", count=10_000, attributes=5, constrained=(5, 5), events=EVENTS
    )
    cases.append(Case("W1 lognormal 1.0%", skewed))
    for stream, (density, goal) in enumerate(GOALS_W2.items()):
        rng = settings.generator(2, stream)
        make_2 = lambda rng=rng, density=density: make_w2(rng, density, count=million, events=EVENTS)  # noqa: E731
        cases.append(Case(f"W2 {density:.1%}", make_2, goal))
    rng = settings.generator(2, 100)
    skewed = lambda rng=rng: make_skewed(  # noqa: E731
        rng, 0.001, values="zipf", count=million, attributes=20, constrained=(3, 5), events=EVENTS
    )
    cases.append(Case("W2 Zipf 0.1%", skewed))
    rng = settings.generator(3)
    cases.append(Case("W3", lambda rng=rng: make_w3(rng, count=million, events=EVENTS), GOAL_W3))  # type: ignore[misc]
    return cases


# -- boxes -------------------------------------------------------------------------------------------


def _run_boxes(case: Case, settings: Settings, report: Report) -> None:
    workload = case.make()
    report.progress(f"{case.name}: {len(workload):,} subscriptions, {len(workload.attributes)} attributes")
    matcher = Matcher.from_arrow(workload.subscription_table())
    events = workload.event_table()
    expected = [workload.matching_rows(event) for event in workload.events[:CHECKED_EVENTS]]
    answer = matcher.match_batch(events)
    check_rows(f"{case.name}, match_batch", rows_of_batch(answer, CHECKED_EVENTS), expected)
    matches = sum(len(chunk.values) for chunk in answer.chunks) / EVENTS
    del answer

    peers, left_out = _build_peers(workload, expected)
    contenders = [Contender(OURS, lambda _: lambda: matcher.match_batch(events), EVENTS, EVENTS)]
    contenders += [Contender(peer.name, peer.ask, EVENTS) for peer in peers]
    timings, too_slow = take_turns(contenders, rounds=settings.rounds, round_s=settings.round_s)
    _report(case.name, timings, left_out | too_slow, matches, _scaled(case.goal, report), report)
    if case.single:
        scan = next(peer for peer in peers if isinstance(peer, NumPyScan))
        _run_single(case.name, workload, matcher, scan, expected, settings=settings, report=report)


def _build_peers(workload: BoxWorkload, expected: Sequence[Rows]) -> tuple[list[Peer], dict[str, str]]:
    """All peers that take part, verified, and why others do not."""
    peers: list[Peer] = []
    left_out: dict[str, str] = {}
    for peer_class in ALL_PEERS:
        if peer_class is (NumPyScan if workload.symbols else NumPySymbolScan):
            continue
        try:
            peer = peer_class(workload)
        except LeftOut as reason:
            left_out[peer_class.name] = str(reason)
            continue
        count = 1 if len(workload) >= 1_000_000 else len(expected)
        check_rows(f"{workload.name}, {peer.name}", peer.rows(peer.ask(count)()), expected[:count])
        peers.append(peer)
    return peers, left_out


def _report(
    name: str,
    timings: Sequence[Timing],
    left_out: dict[str, str],
    matches: float,
    goal: float | None,
    report: Report,
) -> None:
    times = {timing.name: timing.us_per_event for timing in timings}
    report.compare(Comparison(name, matches, times, left_out))
    ours = times[OURS]
    best = min((time, peer) for peer, time in times.items() if peer != OURS)
    report.add(f"{name}: match_batch", best[0] / ours, "×", "higher", goal=goal, note=f"the {best[1]}")
    report.add(f"{name}: match_batch time", ours, "µs/event", "lower")


def _scaled(goal: float | None, report: Report) -> float | None:
    """The goal of a batch on this processor: a third without AVX-512."""
    return goal if goal is None or report.machine.avx512 else goal / 3


# -- one event at a time -----------------------------------------------------------------------------


def _run_single(
    name: str,
    workload: BoxWorkload,
    matcher: Matcher,
    scan: NumPyScan,
    expected: Sequence[Rows],
    *,
    settings: Settings,
    report: Report,
) -> None:
    """`match` and `match_any` on Python dicts, against the scan."""
    events = workload.event_dicts(SINGLE_EVENTS)
    found = [rows_of_ids(matcher.match(event)) for event in events[:CHECKED_EVENTS]]
    check_rows(f"{name}, match", found, expected)
    check_equal(f"{name}, order of match", [rows.tolist() for rows in found], [rows.tolist() for rows in expected])
    exists = [matcher.match_any(event) for event in events[:CHECKED_EVENTS]]
    check_equal(f"{name}, match_any", exists, [len(rows) > 0 for rows in expected])
    check_equal(f"{name}, scan for any", scan.ask_any(CHECKED_EVENTS)(), exists)
    match, match_any = matcher.match, matcher.match_any
    contenders = [
        Contender("match", lambda _: lambda: [match(event) for event in events], SINGLE_EVENTS, SINGLE_EVENTS),
        Contender("scan", scan.ask, SINGLE_EVENTS, SINGLE_EVENTS),
        Contender("match_any", lambda _: lambda: [match_any(event) for event in events], SINGLE_EVENTS, SINGLE_EVENTS),
        Contender("scan for any", scan.ask_any, SINGLE_EVENTS, SINGLE_EVENTS),
    ]
    timings, _ = take_turns(contenders, rounds=settings.rounds, round_s=settings.round_s)
    time = {timing.name: timing.us_per_event for timing in timings}
    note = "the NumPy scan"
    report.add(f"{name}: match", time["scan"] / time["match"], "×", "higher", goal=GOAL_MATCH, note=note)
    report.add(f"{name}: match time", time["match"], "µs/event", "lower")
    ratio = time["scan for any"] / time["match_any"]
    report.add(f"{name}: match_any", ratio, "×", "higher", goal=GOAL_MATCH_ANY, note=note)
    report.add(f"{name}: match_any time", time["match_any"], "µs/event", "lower")


# -- general filters ---------------------------------------------------------------------------------


def _run_w4(settings: Settings, report: Report) -> None:
    workload = make_w4(settings.seed, settings.size(100_000, 3_000), EVENTS)
    report.progress(f"W4: {len(workload):,} general filters")
    table = workload.filter_table()
    start = process_time()
    matcher = Matcher.from_arrow(table)
    report.add("W4: build from texts", process_time() - start, "s", "lower", note=f"{len(workload):,}")
    checked, counted = 3, 50
    expected = workload.matching_rows(checked)
    answer = matcher.match_batch(workload.events.slice(0, counted))
    check_rows("W4, match_batch", rows_of_batch(answer, checked), expected)
    matches = sum(len(chunk.values) for chunk in answer.chunks) / counted
    predicates = [compile_predicate(Filter.parse(text).expression) for text in workload.filters]
    events = workload.event_dicts(EVENTS)

    def ask_loop(count: int) -> Callable[[], list[list[int]]]:
        return lambda: [call_all(predicates, event) for event in events[:count]]

    def ask_ours(count: int) -> Callable[[], object]:
        table = workload.events.slice(0, count)
        return lambda: matcher.match_batch(table)

    check_rows("W4, predicate loop", [_array(found) for found in ask_loop(checked)()], expected)
    loop = Contender(PredicateLoop.name, ask_loop, EVENTS)
    ours = Contender(OURS, ask_ours, EVENTS, 16)
    timings, too_slow = take_turns([ours, loop], rounds=settings.rounds, round_s=settings.round_s)
    reason = "it has no form for OR, NOT, IN and LIKE"
    left_out = {peer.name: reason for peer in (NumPyScan, SQLiteRTree, SpatialIndex)} | too_slow
    left_out[DuckDBJoin.name] = "a join condition cannot hold a different expression for each row"
    _report("W4", timings, left_out, matches, _scaled(GOAL_W4, report), report)


def _array(rows: list[int]) -> Array:
    return np.array(rows, np.int64)
