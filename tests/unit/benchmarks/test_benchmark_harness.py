"""The harness itself: a benchmark that does not notice a wrong answer is worse than none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.boxes import BoxWorkload, make_skewed, make_w1, make_w2, make_w3
from benchmarks.cliffs import worst_point
from benchmarks.exactness import WrongResult, check_rows, rows_of_batch
from benchmarks.limit_inputs import MARK, Shape, shapes
from benchmarks.limits import exponent_of
from benchmarks.machine import Machine
from benchmarks.measuring import Contender, take_turns
from benchmarks.mixed_filters import make_mixed
from benchmarks.peers import (
    DuckDBJoin,
    LeftOut,
    NumPyScan,
    NumPySparseScan,
    NumPySymbolScan,
    PeerClass,
    PredicateLoop,
    SpatialIndex,
    SQLiteRTree,
)
from benchmarks.report import Report, Result
from benchmarks.sweeps import Curve, predicted
from siftcast import Event, Filter, Matcher
from siftcast.model import FilterError
from siftcast.model.limits import DEFAULT_LIMITS
from siftcast.overlays.wire_events import EventLimits, encode_event

EVENTS = 20


def workloads() -> list[BoxWorkload]:
    rng = np.random.default_rng(7)
    return [
        make_w1(rng, 0.05, count=300, events=EVENTS),
        make_w2(rng, 0.05, count=300, events=EVENTS),
        make_w3(rng, count=300, symbols=5, events=EVENTS),
        make_skewed(rng, 0.05, values="lognormal", count=300, attributes=5, constrained=(5, 5), events=EVENTS),
    ]


each_workload = pytest.mark.parametrize("workload", workloads(), ids=lambda workload: workload.name)


@each_workload
@pytest.mark.parametrize(
    "peer_class",
    [NumPyScan, NumPySparseScan, NumPySymbolScan, DuckDBJoin, SQLiteRTree, SpatialIndex, PredicateLoop],
    ids=lambda peer_class: peer_class.__name__,
)
def test_every_peer_agrees_with_the_brute_force(workload: BoxWorkload, peer_class: PeerClass) -> None:
    try:
        peer = peer_class(workload)
    except LeftOut as reason:
        pytest.skip(str(reason))
    expected = [workload.matching_rows(event) for event in workload.events]
    assert sum(map(len, expected)) > 0
    check_rows(peer.name, peer.rows(peer.ask(EVENTS)()), expected)


@each_workload
def test_columns_and_texts_mean_the_same(workload: BoxWorkload) -> None:
    expected = [workload.matching_rows(event) for event in workload.events]
    for table in (workload.subscription_table(), workload.filter_table()):
        found = Matcher.from_arrow(table, engine="brute_force").match_batch(workload.event_table())
        check_rows("brute force", rows_of_batch(found, EVENTS), expected)


def test_skewed_values_keep_the_density() -> None:
    rng = np.random.default_rng(3)
    workload = make_skewed(rng, 0.01, values="lognormal", count=2_000, attributes=5, constrained=(5, 5), events=200)
    share = np.mean([len(workload.matching_rows(event)) for event in workload.events]) / len(workload)
    assert share == pytest.approx(0.01, rel=0.2)


def test_w2_constrains_three_to_five_attributes() -> None:
    workload = make_w2(np.random.default_rng(1), 0.01, count=500, events=1)
    widths = (workload.lows != workload.lows.min()).sum(axis=0)
    assert (int(widths.min()), int(widths.max())) == (3, 5)


def test_mixed_filters_repeat_with_their_seed_and_match_something() -> None:
    one, other = (make_mixed(5, 200, attributes=12, events=EVENTS) for _ in range(2))
    assert one.filters == other.filters
    assert any(len(rows) for rows in one.matching_rows(EVENTS))


@pytest.mark.parametrize("found", [[1, 2], [1, 2, 3, 4], [1, 2, 2], [1, 2, 4]])
def test_a_wrong_answer_is_noticed(found: list[int]) -> None:
    with pytest.raises(WrongResult):
        check_rows("somebody", [np.array(found)], [np.array([1, 2, 3])])


def test_rows_in_another_order_are_right() -> None:
    assert check_rows("somebody", [np.array([3, 1, 2])], [np.array([1, 2, 3])]) is None


def test_slow_contenders_get_fewer_events_and_hopeless_ones_none() -> None:
    def ask_slow(count: int) -> object:
        return lambda: sum(range(count * 300_000))

    contenders = [
        Contender("fast", lambda count: lambda: range(count), 1000),
        Contender("slow", ask_slow, 1000),  # type: ignore[arg-type]
    ]
    timings, left_out = take_turns(contenders, rounds=2, round_s=0.002)
    events = {timing.name: timing.events for timing in timings}
    assert events["fast"] == 1000
    assert events["slow"] < 1000
    assert not left_out
    _, left_out = take_turns(contenders[1:], rounds=1, round_s=0.002, slowest_s=0)
    assert list(left_out) == ["slow"]


def test_goals_are_judged_in_their_direction() -> None:
    assert Result("a", 10, "×", "higher", goal=9).verdict == "ok"
    assert Result("a", 10, "×", "higher", goal=11).verdict == "missed"
    assert Result("a", 10, "µs", "lower", goal=11).verdict == "ok"
    assert Result("a", 10, "µs", "lower", goal=9).verdict == "missed"
    assert Result("a", 10, "µs", "lower").verdict == ""


def test_only_missing_a_required_goal_fails_a_run() -> None:
    report = Report(Machine("a processor", 2, True, True, 8.0, {"Python": "3"}))
    report.add("missed", 10, "×", "higher", goal=11)
    report.add("reached", 1.1, "", "lower", goal=1.3, required=True)
    assert report.failed == []
    report.add("quadratic", 2.0, "", "lower", goal=1.3, required=True)
    assert [result.name for result in report.failed] == ["quadratic"]


def test_the_exponent_of_a_power_law_is_its_power() -> None:
    times = {
        size: {"quadratic": size**2 / 100, "linear": size / 10, "tiny": size**2 / 1e9} for size in (100, 200, 400, 800)
    }
    assert exponent_of(times, "quadratic") == pytest.approx(2)
    assert exponent_of(times, "linear") == pytest.approx(1)
    assert exponent_of(times, "tiny") is None


@pytest.mark.parametrize("shape", shapes(), ids=lambda shape: shape.name)
def test_every_largest_input_is_within_the_limits(shape: Shape) -> None:
    text, event = shape.make(shape.size_max, MARK)
    assert len(text) <= DEFAULT_LIMITS.length_max
    assert len(encode_event(Event(event))) <= EventLimits().bytes_max
    if shape.readable:
        assert Filter.parse(text).template.depth <= DEFAULT_LIMITS.depth_max
    else:
        with pytest.raises(FilterError):
            Filter.parse(text)


def test_a_power_law_has_no_cliff_and_a_step_has_one() -> None:
    sizes = (10.0, 30.0, 100.0, 1000.0)
    smooth = tuple(size**0.7 for size in sizes)
    assert predicted(sizes, smooth) == pytest.approx(smooth[1:-1])
    ratio, note = worst_point(Curve("sweep", "subscriptions", "match", sizes, (1.0, 1.0, 100.0, 100.0)))
    assert ratio > 3
    assert "worst at 100 subscriptions" in note


def test_json_has_what_the_comparison_script_reads(tmp_path: Path) -> None:
    machine = Machine("a processor", 2, True, True, 8.0, {"Python": "3"})
    report = Report(machine)
    report.add("W1: match_batch", 50.0, "×", "higher", goal=40, note="the scan")
    report.write_json(tmp_path / "results.json")
    (result,) = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["results"]
    assert {key: result[key] for key in ("name", "value", "unit", "better")} == {
        "name": "W1: match_batch",
        "value": 50.0,
        "unit": "×",
        "better": "higher",
    }
    assert "| W1: match_batch | 50 × | ≥ 40 × | ok | the scan |" in report.to_markdown()
