"""The HOMED study: where the printed algorithms fail, the protocol does not; trips are read and rows judged rightly."""

import numpy as np
import pytest

from siftcast.experiments.homed.growth import measure_growth
from siftcast.experiments.homed.judge_network import judge_growth, judge_recovery, judge_variants, ratio_of_growth
from siftcast.experiments.homed.measure import PARTS
from siftcast.experiments.homed.pitfalls import draw_cast, measure_printed
from siftcast.experiments.homed.recovery import measure_recovery
from siftcast.experiments.homed.setup import ROWS, SLOW_BEATS, configurations
from siftcast.experiments.homed.trips import read_trips
from siftcast.experiments.homed.variants import VARIANTS, measure_variant
from siftcast.experiments.table import Table
from siftcast.overlays.trace import Trace
from siftcast.spark.sweeps import Outcome

WRONGS = ("undelivered", "unreached", "wrong", "repeated")

# -- what fails as printed works as repaired -----------------------------------------------------------


@pytest.fixture(scope="module")
def printed():
    return measure_printed(draw_cast("topics", 64, 100, 40, seed=1), np.random.default_rng(1))


@pytest.fixture(scope="module")
def repaired():
    return measure_growth("topics", 24, 1, SLOW_BEATS, probes=12, events=60)


def test_newcomers_that_have_settled_are_reached_at_once_where_the_printed_algorithm_misses_many(printed, repaired):
    assert printed["missed"]["topics"] > 0.1
    events = repaired["events"]
    assert events["required"] > 20
    assert {name: events[name] for name in WRONGS} == dict.fromkeys(WRONGS, 0)


def test_newcomers_find_their_place_where_printed_routes_are_stuck(printed, repaired):
    assert printed["stuck_newcomers"] > 0.1
    names = repaired["subscribe"]["by_name"]
    assert names["Accept"] == 1  # and nobody had to ask again
    assert 1 <= names["Join"] <= np.log2(24) + 3


def test_every_copy_of_an_event_goes_to_another_node(repaired):
    events = repaired["events"]
    assert events["repeated"] == 0
    for group in events["by_group"].values():
        assert group["messages"] == group["uninterested"] + group["interested"]


def test_a_recovery_stays_among_neighbours_where_the_printed_one_reaches_beyond(printed):
    assert printed["outside"] > 1
    found = measure_recovery("topics", 20, 1, crashes=1, events=15)
    assert found["outside_max"] == 0
    assert found["participants"] > 1
    assert found["took_ms"] < 30_000  # whoever has not noticed names the lost node to others, and must not revive it
    assert {name: found["events"][name] for name in WRONGS} == dict.fromkeys(WRONGS, 0)


def test_an_event_for_one_receiver_reaches_nobody_else():
    found = measure_variant("one receiver by its identifier", 16, 1, 20)["events"]
    assert found["required"] > 2
    assert found["undelivered"] == found["wrong"] == 0


# -- trips -----------------------------------------------------------------------------------------------


def test_a_trip_counts_receipts_hops_and_deliveries_from_its_publisher():
    trace = Trace()
    rows = [
        ("published", 1, None, None),
        ("sent", 1, 2, "Cast"),
        ("received", 2, 1, "Cast"),
        ("sent", 2, 3, "Cast"),
        ("sent", 1, 3, "Cast"),
        ("received", 3, 2, "Cast"),
        ("received", 3, 1, "Cast"),
        ("received", 4, 1, "Other"),
    ]
    for number, (kind, node, peer, message) in enumerate(rows):
        trace.records.append((float(number), kind, node, peer, message, "e", 0, 0, 0))
    trace.deliveries.append((9.0, 3, "e", ["s"]))
    trip = read_trips(trace, ("Cast",))["e"]
    assert trip.publisher == 1
    assert trip.sent == 3
    assert trip.participants == {2, 3}
    assert trip.repeated == 1
    assert trip.depths == {1: 0, 2: 1, 3: 2}
    assert trip.delivered == {3}


# -- configurations and judges -----------------------------------------------------------------------------


@pytest.mark.parametrize("quick", [True, False])
def test_every_row_has_configurations_and_every_part_a_function(quick):
    assert {each["part"] for each in configurations(quick, None)} == set(ROWS) == set(PARTS)
    for row in {row for rows in ROWS.values() for row in rows}:
        parts = {each["part"] for each in configurations(quick, row)}
        assert parts == {part for part, rows in ROWS.items() if row in rows}


def outcome(part, result):
    asked = {name: result[name] for name in ("workload", "nodes") if name in result}
    return Outcome({"part": part, "seed": 1, **asked}, result, 0.0)


def held(verdicts):
    return {verdict.id: verdict.holds for verdict in verdicts}


def events_of(**change):
    right = dict.fromkeys(WRONGS, 0) | {"required": 9, "depth_share": 1.0, "depth_max": 4, "depth_mean": 3.0}
    cost = {"interested": 10.0, "messages": 20.0, "false": 2.0, "repeated_share": 0.0}
    group = {"events": 1, "interested": 10, "messages": 20, "uninterested": 10}
    return right | cost | {"by_group": {"5": group}} | change


def grown(nodes, subscribe=20.0, hops=4.0, **change):
    return {
        "workload": "topics",
        "nodes": nodes,
        "bits": 64,
        "entries": 9.0,
        "splits": 8.0,
        "subscribe": {"messages": subscribe, "hops": hops, "by_name": {"Join": subscribe}},
        "unsubscribe": {"messages": 20.0, "by_name": {"Farewell": 20.0}},
        "events": events_of(**change),
    }


@pytest.mark.parametrize(
    ("larger", "row"),
    [
        ({"subscribe": 60.0}, "H3 subscribe"),
        ({"depth_mean": 9.0}, "H3 depth"),
        ({"undelivered": 1}, "H4"),
        ({"unreached": 1}, "H4"),
        ({"repeated": 1}, "H4"),
        ({"wrong": 1}, "H4"),
        ({"messages": 31.0}, "H4 messages"),
        ({"depth_share": 0.98}, "H4 depth"),
        ({"hops": 9.0}, "H4 routing"),
    ],
)
def test_a_row_of_growth_fails_for_what_it_speaks_of(larger, row):
    def verdicts(change):
        return held(judge_growth(Table([outcome("growth", grown(256)), outcome("growth", grown(1_024, **change))])))

    right = verdicts({})
    assert False not in right.values()
    assert [id for id, holds in verdicts(larger).items() if holds is False] == [row]


def test_growth_is_measured_against_log_n_from_256_nodes_on():
    assert ratio_of_growth({64: 90.0, 256: 8.0, 1_024: 20.0}) == pytest.approx(2.0)
    assert ratio_of_growth({64: 6.0, 256: 8.0}) == pytest.approx(1.0)
    assert ratio_of_growth({256: 8.0}) is None


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ({}, True),
        ({"outside_max": 1}, False),
        ({"participants": 0}, False),
        ({"events": events_of(unreached=1)}, False),
    ],
)
def test_recoveries_are_judged_by_who_takes_part_and_by_events_after(change, holds):
    run = {"nodes": 9, "crashes": 2, "outside_max": 0, "participants": 3, "allowed": 5, "took_ms": 9.0}
    run |= {"replaced_outside": 0, "events": events_of()} | change
    assert held(judge_recovery(Table([outcome("recovery", run)])))["H5"] is holds


@pytest.mark.parametrize(
    ("kind", "change", "holds"),
    [
        ("k-ary", {}, True),
        ("k-ary", {"unreached": 1}, False),
        ("piggyback", {"unreached": 1, "false": 1.0}, True),
        ("piggyback", {"undelivered": 1, "false": 1.0}, False),
        ("piggyback", {}, False),
        ("positions", {"repeated": 1}, True),
        ("positions", {"wrong": 1}, False),
    ],
)
def test_variants_are_judged_by_what_each_promises(kind, change, holds):
    names = [name for name, variant in VARIANTS.items() if variant.kind == kind]
    runs = [{"variant": name, "kind": kind, "entries": 9.0, "filters_per_beat": 1.0, "nodes": 9} for name in names]
    table = [outcome("variants", run | {"events": events_of()}) for run in runs[:-1]]
    table.append(outcome("variants", runs[-1] | {"events": events_of(**change)}))
    assert held(judge_variants(Table(table))) == {f"H6 {kind}": holds}
