"""The study of the ring: a zone of H parts costs what the formulas say, and each row can fail."""

import pytest

from siftcast.experiments.rendezvous.hops import MatchCost, Zone, measure_best, measure_idle, measure_queues
from siftcast.experiments.rendezvous.judge import judge_hops, judge_load, judge_meetings, judge_queues, judge_sharing
from siftcast.experiments.rendezvous.judge_runs import judge_applications, judge_layers, judge_pairs
from siftcast.experiments.rendezvous.placements import measure_meetings
from siftcast.experiments.rendezvous.runs import measure_layers, measure_pair, measure_shared
from siftcast.experiments.rendezvous.setup import DELIVERIES, MATCHINGS, configurations
from siftcast.experiments.table import Table
from siftcast.spark.sweeps import Outcome


def table(*rows):
    """Outcomes from parts, results and settings."""
    return Table([Outcome({"part": part, "seed": 1, **setting}, result, 0.0) for part, result, setting in rows])


# -- a zone ----------------------------------------------------------------------------------------------


def test_latency_and_throughput_are_the_formulas_and_a_scatter_uploads_h_copies():
    found = measure_idle(120, [1, 4], 40, 1)
    for cell in found.values():
        assert cell["latency_ms"] == pytest.approx(cell["formula_ms"], rel=0.01)
        assert cell["throughput_s"] == pytest.approx(cell["formula_s"], rel=0.01)
    assert found["4 scatter"]["latency_ms"] < found["4 walk"]["latency_ms"]
    assert (found["4 walk"]["uploads"], found["4 scatter"]["uploads"]) == (1, 4)


def test_a_part_beyond_its_memory_is_dear_with_the_printed_h_and_ours_has_room():
    (row,) = measure_best(50, [2.97], 2).values()
    assert (row["printed"], row["largest_ours"] <= 50 < row["largest_printed"]) == (3, True)
    assert row["walk"]["3"] > row["walk"][str(row["ours"])]
    assert MatchCost(room=50).at(51) > 1.5 * MatchCost(room=50).at(50)


def test_events_that_come_at_random_wait():
    found = measure_queues(100, 2, [0.9], 60, 1)
    assert all(cell["latency_ms"] > cell["idle_ms"] for cell in found.values())


def test_a_subscription_is_in_one_part():
    assert sum(Zone(50, 4, MatchCost(), 1, walk=True).stores) == 50


# -- runs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("matching", "delivery"), [("ring", "tree"), ("clusters", "direct")])
def test_pairs_deliver_and_their_bytes_are_weighed(matching, delivery):
    found = measure_pair(matching, delivery, 16, 15, 1)
    assert (found["violations"], found["required"] > 0) == (0, True)
    assert found["event_bytes"] > 20 * found["messages"]


def test_a_list_of_destinations_is_weighed():
    along, direct = (
        measure_layers("layered", {"matching": "publisher", "delivery": delivery}, 16, 15, 0.5, 1)
        for delivery in ("tree", "direct")
    )
    assert along["event_bytes"] / along["messages"] > direct["event_bytes"] / direct["messages"]
    assert along["upload_bytes"] < direct["upload_bytes"] == direct["event_bytes"]


@pytest.mark.full
def test_applications_share_servers_in_a_run():
    found = measure_shared(40, 1)
    assert (found["violations"], found["required"] > 0, found["changes"] > 0) == (0, True, True)


# -- judges ----------------------------------------------------------------------------------------------


def test_meetings_are_judged_by_the_repaired_ring_and_the_printed_one_must_show_its_flaw():
    result = measure_meetings(3, 10, 10, 10, 4, 400, 1)
    assert [verdict.holds for verdict in judge_meetings(table(("meetings", result, {})))] == [True, True, None]
    missed = result | {"repaired": {"once": 9, "missed": 1}}
    assert judge_meetings(table(("meetings", missed, {})))[0].holds is False
    unshown = result | {"missed_by_hops": {"2": [0.0, 0.0]}}
    assert judge_meetings(table(("meetings", unshown, {})))[0].holds is False
    assert judge_meetings(table(("meetings", result | {"empty_by_rank": 1}, {})))[1].holds is False


@pytest.mark.parametrize(("ratio", "held"), [(1.0, True), (1.2, True), (1.21, False), (0.9, False)])
def test_load_is_judged_between_1_and_a_fifth_more(ratio, held):
    result = {"one": [ratio, 1.1], "uniform": [0.5, 0.5]}
    assert [each.holds for each in judge_load(table(("load", result, {"replicas": 2, "hops": 4})))] == [held, True]


def idle(walk, scatter, throughput=100.0, uploads=2):
    cell = {"formula_ms": 10.0, "even_ms": 10.0, "throughput_s": throughput, "formula_s": 100.0, "even_s": 90.0}
    found = {"2 walk": cell | {"latency_ms": walk, "uploads": 1}}
    return found | {"2 scatter": cell | {"latency_ms": scatter, "uploads": uploads}}


@pytest.mark.parametrize(
    ("result", "held"),
    [
        (idle(10.4, 5.0), [True, True, True]),
        (idle(10.6, 5.0), [False, True, True]),
        (idle(10.0, 5.0, throughput=94.0), [True, False, True]),
        (idle(10.0, 10.0), [True, True, False]),
        (idle(10.0, 5.0, uploads=1), [True, True, False]),
    ],
    ids=["right", "slow", "few", "no gain", "no upload"],
)
def test_hops_are_judged_by_the_formulas(result, held):
    assert [verdict.holds for verdict in judge_hops(table(("idle", result, {})))] == held


@pytest.mark.parametrize(("printed", "ours", "held"), [(101, 90, True), (99, 90, False), (101, 101, False)])
def test_the_best_h_holds_if_ours_has_room_and_the_printed_one_overflows(printed, ours, held):
    row = {"printed": 2, "ours": 3, "walk": {"2": 4.0, "3": 2.0}, "scatter": {"2": 3.0, "3": 1.0}}
    result = {"1.97": row | {"largest_printed": printed, "largest_ours": ours}}
    assert [each.holds for each in judge_queues(table(("best", result, {"room": 100})))] == [held]


@pytest.mark.parametrize(
    ("change", "held"),
    [({}, True), ({"copies": 1}, False), ({"visits": 1}, False), ({"met": {"once": 9, "again": 1}}, False)],
)
def test_sharing_is_exact(change, held):
    result = {"met": {"once": 9}, "copies": 0, "visits": 0, "applications": 3} | change
    assert [each.holds for each in judge_sharing(table(("circles", result, {})))] == [held]


def ran(**change):
    delays = {"mean": 1.0, "p99": 2.0, "max": 3.0}
    names = "late violations wait_ms_max messages control_during stress_max state_mean state_max publisher_kbps"
    numbers = dict.fromkeys([*names.split(), "event_bytes", "matches"], 0.0)
    return numbers | {"required": 10, "judged": 1_000, "changes": 3, "delay_ms": delays} | change


@pytest.mark.parametrize(
    ("change", "held"),
    [
        ({"late": 10}, True),
        ({"late": 11}, False),
        ({"violations": 1}, False),
        ({"required": 0}, False),
        ({"changes": 0}, False),
        ({"judged": 0}, False),
    ],
)
def test_an_application_is_served_if_nothing_is_wrong_and_a_hundredth_late_at_most(change, held):
    setting = {"application": "games", "scheme": "rendezvous"}
    served, shown, rows = judge_applications(table(("application", ran(**change), setting)))
    assert (served.holds, shown.holds, rows.holds) == (held, None, True)


def test_a_publisher_that_sends_more_than_its_bandwidth_is_named():
    rows = [
        ("application", ran(publisher_kbps=kbps), {"application": "games", "scheme": scheme})
        for scheme, kbps in (("rendezvous", 30.0), ("unicast", 31.0))
    ]
    said = {verdict.id: "(too much)" in verdict.ours for verdict in judge_applications(table(*rows))}
    assert (said["R6 games, rendezvous"], said["R6 games, unicast"]) == (False, True)


def test_all_pairs_must_have_run_and_delivered():
    pairs = [
        ("pair", ran(), {"matching": matching, "delivery": delivery})
        for matching in MATCHINGS
        for delivery in DELIVERIES
    ]
    assert [each.holds for each in judge_pairs(table(*pairs))] == [True]
    (verdict,) = judge_pairs(table(*pairs[1:]))
    assert (verdict.holds, "not publisher with direct" in verdict.ours) == (False, True)
    wrong = ("pair", ran(violations=1), {"matching": "ring", "delivery": "tree"})
    assert judge_pairs(table(*pairs, wrong))[0].holds is False


def test_layers_are_printed_for_each_interest():
    rows = [("layers", ran(), {"scheme": "filter-based", "options": {}, "interest": each}) for each in (0.1, 0.5)]
    (verdict,) = judge_layers(table(*rows))
    assert (verdict.id, verdict.ours.count("messages"), "50%: " in verdict.ours) == ("R7 filter-based", 2, True)


@pytest.mark.parametrize("row", ["R1", "R5", "R7"])
def test_a_row_asks_for_its_parts_only(row):
    parts = {each["part"] for each in configurations(True, row)}
    assert parts == {"R1": {"meetings"}, "R5": {"pair"}, "R7": {"layers"}}[row]
