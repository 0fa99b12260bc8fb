"""The judges of the underlay study: each row holds for results as the thesis tells them, and fails when one differs."""

import pytest

from siftcast.experiments.claims import spread_of
from siftcast.experiments.table import Table
from siftcast.experiments.underlay.judge import judge
from siftcast.experiments.underlay.judge_change import judge_changing, judge_churn, judge_landmarks
from siftcast.experiments.underlay.judge_cores import judge_algorithm_8
from siftcast.experiments.underlay.judge_delays import judge_delays
from siftcast.experiments.underlay.judge_maps import print_maps
from siftcast.experiments.underlay.judge_overlays import (
    judge_counts,
    judge_growth,
    judge_heuristics,
    judge_selectivity,
    judge_targets,
)
from siftcast.experiments.underlay.judge_routing import judge_control, judge_cores, judge_strategies
from siftcast.experiments.underlay.measure import PARTS, run
from siftcast.experiments.underlay.setup import CORES, ROWS, configurations, degree_of
from siftcast.experiments.underlay.world import GROUNDS
from siftcast.space.core_scores import STRATEGIES
from siftcast.spark.sweeps import Outcome

PUBLISHED = {"maps"}


def test_every_row_has_configurations_and_every_configuration_a_part():
    asked = configurations(True, None)
    assert set(PARTS) == set(ROWS)
    assert {each["part"] for each in asked} | PUBLISHED == set(PARTS)
    for row in (f"U{number}" for number in range(1, 14)):
        assert any(row in ROWS[each["part"]] for each in configurations(True, row))
    assert [degree_of(name, 256) for name in ("LG1", "LG2", "SQ", "NC")] == [8, 16, 16, None]


def test_shapes_are_judged_over_five_seeds():
    printed = {"printed", "votes", "potential", "scale", "maps", "triangle", "coordinates"}
    for part in set(ROWS) - printed:
        assert {each["seed"] for each in configurations(False, None) if each["part"] == part} == {1, 2, 3, 4, 5}


def test_a_spread_says_over_what():
    assert spread_of([1.0, 3.0]) == "2 ± 1 over 2 seeds"
    assert spread_of([1.0, 3.0], "runs") == "2 ± 1 over 2 runs"
    assert spread_of([1.0], "runs") == "one run: 1"


def outcome(part, seed=1, **asked):
    configuration = {"part": part, **asked, "seed": seed}
    return Outcome(configuration, run(configuration), 0.0)


def broken(each, **changed):
    return Outcome(each.configuration, {**each.result, **changed}, 0.0)


def holds(verdicts, row):
    return next(each for each in verdicts if each.id == row).holds


# -- overlays ------------------------------------------------------------------------------------------------

RDP = {"WORST": 1.2, "BEST": 1.25, "LINK": 1.2, "RANDOM": 1.5, "NEAREST": 1.15, "DOnly": 1.6}
SHOWN = {"WORST": 0.7, "BEST": 0.75, "LINK": 0.7, "RANDOM": 0.6, "NEAREST": 0.8, "DOnly": 0.6}
JOINS = {"WORST": 20.0, "BEST": 10.0, "LINK": 25.0, "RANDOM": 20.0, "NEAREST": 20.0, "DOnly": 10.0}


def overlay_outcomes(change=lambda asked, result: None):
    """Overlays as the thesis tells them, each changed as a test wants it."""
    cells = [(peers, "NC", 10, 0.1) for peers in (128, 512, 1024)]
    cells += [(512, degree, 10, 0.1) for degree in ("LG1", "LG2", "SQ")]
    cells += [(512, "LG1", 20, 0.1), (512, "LG1", 5, 0.1), (512, "LG1", 10, 0.5)]
    found = []
    for ground in ("waxman", "transit-stub"):
        for peers, degree, targets, selectivity in cells:
            for name in RDP:
                asked = {
                    "part": "overlays",
                    "ground": ground,
                    "heuristic": name,
                    "peers": peers,
                    "degree": degree,
                    "targets": targets,
                    "selectivity": selectivity,
                    "seed": 1,
                }
                result = {
                    "rdp": RDP[name] + 10 / peers,
                    "rdp_mean": 1.3,
                    "rdp_routers": 1.1,
                    "stress": 1.5 + 0.2 * (name == "DOnly"),
                    "discovered": SHOWN[name] + targets / 1_000 + selectivity / 100,
                    "links": 100,
                    "cut": 0.0,
                    "inferred": 1 / peers,
                    "joins": JOINS[name],
                    "steps": 20.0,
                    "inferences": 11.0,
                    "greedy": 0,
                    "cut_without_distant": 0.1,
                    "nearest": {"rdp": 1.1, "stress": 1.4, "discovered": 0.6, "links": 90},
                }
                change(asked, result)
                found.append(Outcome(asked, result, 0.0))
    return found


def lowered(name, what, by, **where):
    """A change of one measure of one heuristic, in the cells that are named."""

    def change(asked, result):
        if asked["heuristic"] == name and all(asked[key] == value for key, value in where.items()):
            result[what] -= by

    return change


@pytest.mark.parametrize(
    ("judged", "row", "change"),
    [
        (judge_heuristics, "U2", lowered("BEST", "discovered", 0.2, ground="transit-stub", degree="LG1")),
        (judge_heuristics, "U2", lowered("BEST", "discovered", 0.2, ground="transit-stub", degree="NC")),
        (judge_delays, "U3", lowered("BEST", "rdp", -0.5, ground="waxman", peers=1024)),
        (judge_delays, "U3", lowered("BEST", "rdp", 0.6, ground="waxman", peers=1024)),
        (judge_delays, "U3 DOnly", lowered("DOnly", "rdp", 0.3, ground="waxman", degree="NC", peers=512)),
        (judge_delays, "U3 DOnly", lowered("DOnly", "stress", 0.1, ground="waxman", degree="NC", peers=1024)),
        (judge_growth, "U4", lowered("LINK", "rdp", -0.1, ground="waxman", peers=1024)),
        (judge_growth, "U4", lowered("LINK", "inferred", -0.1, ground="waxman", peers=1024)),
        (judge_growth, "U4 inferences", lowered("RANDOM", "greedy", -1, ground="waxman", peers=128)),
        (judge_selectivity, "U11", lowered("BEST", "discovered", 0.1, ground="transit-stub", targets=20)),
        (judge_selectivity, "U11", lowered("BEST", "discovered", 0.1, ground="transit-stub", selectivity=0.5)),
        (judge_counts, "U12", lowered("LINK", "joins", 10, ground="waxman", peers=128)),
    ],
)
def test_rows_of_overlays_hold_as_told_and_fail_where_one_measure_differs(judged, row, change):
    assert holds(judged(Table(overlay_outcomes())), row)
    assert not holds(judged(Table(overlay_outcomes(change))), row)


def test_the_page_says_where_the_nearest_by_delays_win():
    def ahead(asked, result):
        result["nearest"]["rdp"] = 1.0

    def behind(asked, result):
        result["nearest"]["rdp"] = 9.0

    for change, words in ((ahead, "ours as well on: waxman LG1"), (behind, "thesis on: nowhere")):
        found = judge_delays(Table(overlay_outcomes(change)))
        assert words in next(each for each in found if each.id == "U3 baseline").spread


def test_a_page_without_published_maps_says_so():
    assert "left out" in print_maps(Table(overlay_outcomes()))[0].ours


@pytest.mark.parametrize(
    ("ground", "nearest", "landmarks", "farthest", "expected"),
    [
        ("transit-stub", 0.59, 0.5, 0.1, True),
        ("transit-stub", 0.57, 0.5, 0.1, False),
        ("transit-stub", 0.59, 0.5, 0.55, False),
        ("multi-level", 0.51, 0.5, 0.1, True),
        ("multi-level", 0.49, 0.5, 0.1, False),
        ("waxman", 0.1, 0.5, 0.9, True),
    ],
)
def test_targets_are_judged_on_grounds_with_domains(ground, nearest, landmarks, farthest, expected):
    usual = {"nearest": 0.7, "landmarks": 0.5, "farthest": 0.1}
    other = {"nearest": nearest, "landmarks": landmarks, "farthest": farthest}
    runs = [
        Outcome({"part": "targets", "ground": each, "targets": 10, "seed": 1}, other if each == ground else usual, 0.0)
        for each in GROUNDS
    ]
    assert holds(judge_targets(Table(runs)), "U1") is expected


def test_landmarks_and_algorithm_8_hold_and_their_judges_can_fail():
    trees = outcome("landmarks", ground="waxman", peers=50, landmarks=4, routers=150)
    assert judge_landmarks(Table([trees]))[0].holds
    assert not judge_landmarks(Table([broken(trees, repaired=1)]))[0].holds
    assert not judge_landmarks(Table([broken(trees, printed=0)]))[0].holds
    flood = outcome("algorithm 8", peers=40, routers=150)
    assert judge_algorithm_8(Table([flood]))[0].holds
    worse = {**flood.result["REPAIRED"], "right": 39}
    assert not judge_algorithm_8(Table([broken(flood, REPAIRED=worse)]))[0].holds


@pytest.mark.parametrize(
    ("what", "share", "walks", "growth", "expected"),
    [
        ("rdp", 0.02, 0.0, 1.09, True),
        ("rdp", 0.02, 0.0, 1.11, False),
        ("stress", 0.02, 0.0, 1.11, False),
        ("rdp", 0.12, 0.0, 1.34, True),
        ("stress", 0.12, 0.0, 1.36, False),
        ("rdp", 0.12, 0.2, 1.06, False),
        ("stress", 0.02, 0.2, 1.06, False),
    ],
)
def test_churn_is_judged_by_how_much_delays_and_stress_grow(what, share, walks, growth, expected):
    runs = []
    for degree in ("NC", "LG1"):
        for cell in ((0.02, 0.0), (0.06, 0.0), (0.12, 0.0), (0.02, 0.2), (0.12, 0.2)):
            after = {"rdp": 1.0, "stress": 1.0} | ({what: growth} if cell == (share, walks) else {})
            asked = {"part": "churn", "degree": degree, "peers": 9, "share": cell[0], "walks": cell[1], "seed": 1}
            before = {"rdp": 1.0, "stress": 1.0}
            result = {"before": before, "after": after, "nearest": {"rdp": 1.0}, "rejoins": 0.0}
            runs.append(Outcome(asked, result, 0.0))
    assert holds(judge_churn(Table(runs)), "U5") is expected


def test_changing_trees_must_get_worse_be_mended_and_peak():
    good = {
        "costs": [1.0] * 4 + [2.0] * 4 + [1.0] * 8,
        "control": [0] + [10] * 7 + [100] + [10] * 7,
        "lost": 0,
        "deliveries": 9,
        "rebuild_step": 8,
    }

    def judged(still, *changing):
        runs = [Outcome({"part": "changing", "share": 0.0, "seed": 1}, still, 0.0)]
        runs += [Outcome({"part": "changing", "share": 0.01 * n, "seed": 1}, r, 0.0) for n, r in enumerate(changing, 1)]
        return judge_changing(Table(runs))[0].holds

    still = good | {"costs": [1.0] * 16}
    assert judged(still, good, good)
    assert not judged(good, good)  # it rises as much without churn
    assert not judged(still, good, still)
    assert not judged(still, good | {"control": [10] * 16})
    assert not judged(still, good | {"costs": [1.0] * 4 + [2.0] * 12})


# -- routing -------------------------------------------------------------------------------------------------

ONE = {"SPath": 1.5, "MaxPath": 1.6, "CNeigh": 1.7, "SPotent": 1.65, "Sim": 1.9, "Rand": 1.8}


def routing_outcomes(change=lambda asked, result: None):
    """Costs as the thesis tells them."""
    found = []
    for ground in ("waxman", "transit-stub"):
        for degree in ("SQ", "NC"):
            for workload in ("WL1", "WL2"):
                for beta in (0.0, 1.0):
                    asked = {"part": "routing", "ground": ground, "degree": degree, "workload": workload, "beta": beta}
                    usual = {"messages": 2.0, "physical": 9.0, "merged_ms": 4.0}
                    result = {
                        f"{name} {count} {joined}": usual
                        | {
                            "cost": ONE[name] + (0.02 if joined == "one tree" else -0.02) * (count - 1),
                            "rdp": 1.6,
                            "efficiency": 5 + count / 100,
                        }
                        for name in STRATEGIES
                        for count in CORES
                        for joined in ("one tree", "all pairs")
                    }
                    for each in ("SPotent", "CNeigh"):
                        result[f"{each} 32 all pairs"]["cost"] = 1.04
                    for name in ("nearest MST", "nearest OPT", "nearest SPotent 1", "nearest SPotent 32", "OPT"):
                        result[name] = usual | {"cost": 1.0}
                    result["MST"] = usual | {"cost": 2.0, "rdp": 3.0, "efficiency": 6.0}
                    change(asked, result)
                    found.append(Outcome(asked | {"seed": 1}, result, 0.0))
    return found


def setting(name, what, value, **where):
    def change(asked, result):
        if all(asked[key] == wanted for key, wanted in where.items()):
            result[name] = result[name] | {what: value}

    return change


@pytest.mark.parametrize(
    ("judged", "row", "change"),
    [
        (judge_strategies, "U6", setting("MaxPath 1 all pairs", "cost", 1.4, ground="waxman", degree="NC")),
        (judge_strategies, "U6", setting("Rand 1 all pairs", "cost", 2.1)),
        (judge_strategies, "U6 SPotent", setting("SPotent 1 all pairs", "cost", 1.9, degree="NC")),
        (
            judge_strategies,
            "U6 SPotent, 32 cores",
            setting("SPotent 32 all pairs", "cost", 1.5, ground="waxman", degree="SQ", workload="WL2", beta=1.0),
        ),
        (
            judge_strategies,
            "U6 CNeigh, 32 cores",
            setting("CNeigh 32 all pairs", "cost", 0.5, ground="waxman", degree="NC", workload="WL2", beta=0.0),
        ),
        (judge_cores, "U7", setting("SPath 32 all pairs", "cost", 1.6)),
        (judge_cores, "U7", setting("SPath 8 one tree", "cost", 1.4)),
        (judge_cores, "U7 RDP", setting("MST", "rdp", 2.2, ground="transit-stub")),
        (judge_cores, "U7 RDP", setting("MST", "rdp", 3.5, ground="waxman")),
        (judge_control, "U9", setting("SPath 32 one tree", "efficiency", 4.9)),
        (judge_control, "U9", setting("SPath 16 one tree", "efficiency", 6.1)),
        (judge_control, "U9", setting("MST", "efficiency", 5.1)),
    ],
)
def test_rows_of_routing_hold_as_told_and_fail_where_one_cost_differs(judged, row, change):
    assert holds(judged(Table(routing_outcomes())), row)
    assert not holds(judged(Table(routing_outcomes(change))), row)


def test_what_is_saved_is_beside_mst():
    shown = next(each for each in judge_strategies(Table(routing_outcomes())) if each.id == "U6 CNeigh, 32 cores")
    assert "48 %" in shown.ours


def test_nothing_measured_is_nothing_judged():
    assert judge([]) == []
