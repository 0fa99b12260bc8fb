"""HOMED as printed: the paper's example comes out as it shows it, and each flaw can be seen."""

from collections import Counter

import numpy as np
import pytest

from siftcast.experiments.homed.covering import measure_covering
from siftcast.experiments.homed.example import follow_example
from siftcast.experiments.homed.judge_printed import judge_covering, judge_example, judge_printed
from siftcast.experiments.homed.pitfalls import draw_cast, measure_printed
from siftcast.experiments.homed.printed import Part, PrintedCube
from siftcast.experiments.homed.world import WORKLOADS, draw_world
from siftcast.experiments.table import Table
from siftcast.space.digests import DIGEST_KINDS
from siftcast.spark.sweeps import Outcome


@pytest.fixture(scope="module")
def cube():
    return PrintedCube.settled(3, range(8))


def test_the_event_of_the_example_is_routed_to_100(cube):
    hops, reached = cube.route(cube.nodes[0b000], Part.parse("1**"), by_cover=False)
    assert (hops, reached.identifier) == (1, 0b100)


def parts(copies):
    return {(copy.sender.identifier, copy.receiver.identifier): copy.part for copy in copies}


def test_the_example_is_split_as_the_figure_shows(cube):
    cost = {(0b100, 0b101): 1.0, (0b100, 0b110): 2.0, (0b101, 0b111): 1.0}
    copies = cube.disseminate(cube.nodes[0b100], Part.parse("1**"), shrinks=True, cost=cost)
    assert parts(copies) == {
        (0b100, 0b101): Part.parse("1*1"),
        (0b100, 0b110): Part.parse("110"),
        (0b101, 0b111): Part.parse("111"),
    }


def test_the_cheaper_neighbour_is_given_the_larger_part(cube):
    cost = {(0b100, 0b101): 2.0, (0b100, 0b110): 1.0, (0b110, 0b111): 1.0}
    copies = cube.disseminate(cube.nodes[0b100], Part.parse("1**"), shrinks=True, cost=cost)
    assert (0b110, 0b111) in parts(copies)


def test_a_sender_that_does_not_shrink_its_part_delivers_111_twice(cube):
    for shrinks, times in ((False, 2), (True, 1)):
        copies = cube.disseminate(cube.nodes[0b100], Part.parse("1**"), shrinks=shrinks)
        received = Counter(copy.receiver.identifier for copy in copies)
        assert received == {0b101: 1, 0b110: 1, 0b111: times}


def test_a_broadcast_in_four_dimensions_takes_64_messages_as_printed_and_15_with_shrinking():
    cube = PrintedCube.settled(4, range(16))
    assert [len(cube.disseminate(cube.nodes[0], Part(0, 0), shrinks=shrinks)) for shrinks in (False, True)] == [64, 15]


@pytest.mark.parametrize("bits", [1, 3, 5])
def test_on_a_full_cube_every_interested_node_gets_an_event_once_and_nobody_else_does(bits):
    cube = PrintedCube.settled(bits, range(1 << bits))
    rng = np.random.default_rng(bits)
    for _ in range(20):
        fixed, value = rng.integers(0, 1 << bits, size=2).tolist()
        event = Part(fixed, value & fixed)
        interested = [node for node in cube.nodes.values() if node.identifier in event]
        copies = cube.disseminate(interested[0], event, shrinks=True)
        assert Counter(copy.receiver for copy in copies) == Counter(interested[1:])


def test_on_a_full_cube_tables_that_are_filled_as_printed_are_right_if_back_pointers_are_mended():
    cube = PrintedCube(2, 0b00)
    for identifier in (0b10, 0b01, 0b11):
        cube.mend()
        cube.subscribe(identifier)
    for node in cube.nodes.values():
        assert {bit: owner.identifier for bit, owner in node.table.items()} == {
            bit: node.identifier ^ (1 << bit) for bit in range(2)
        }


def test_identifiers_are_distinct():
    cube = PrintedCube.settled(3, [1, 2])
    with pytest.raises(ValueError, match="010 is there already"):
        cube.subscribe(2)


def test_covers_are_parts_of_the_cube_that_meet_nowhere_and_leave_nothing_out():
    cube = PrintedCube.settled(6, draw_cast("uniform", 6, 20, 0, seed=3).identifiers)
    for identifier in range(64):
        assert [node for node in cube.nodes.values() if identifier in node.cover] == [cube.owner(identifier)]


def test_sparse_cubes_defeat_the_printed_algorithms():
    found = measure_printed(draw_cast("uniform", 16, 200, 40, seed=4), np.random.default_rng(4))
    assert found["filled"] < 1
    assert found["unfilled"] > 0.01
    assert found["unfilled_late"] > found["unfilled"]
    assert found["stale"] > 0.01
    assert found["stuck_events"] > 0.1
    assert found["stuck_newcomers"] > 0.1
    assert found["missed"]["1"] > 0.1
    assert found["outside"] > 1
    assert found["joins"] < 0.5


def test_full_cubes_only_defeat_their_joining():
    found = measure_printed(draw_cast("uniform", 6, 64, 20, seed=5), np.random.default_rng(5))
    assert found["filled"] == 1
    assert found["stuck_events"] == found["repeated"] == 0
    assert set(found["missed"].values()) == {0}
    assert found["stuck_newcomers"] is None
    assert found["unfilled_late"] > 0.01


def test_digests_of_a_workload_are_missed_as_well():
    found = measure_printed(draw_cast("topics", 64, 100, 30, seed=6), np.random.default_rng(6))
    assert found["missed"]["topics"] > 0.1


# -- digests and worlds --------------------------------------------------------------------------------


def test_digests_keep_covering_and_those_of_whole_predicates_do_not():
    found = measure_covering(150, seed=7)
    assert {kind: found[kind] for kind in DIGEST_KINDS} == dict.fromkeys(DIGEST_KINDS, 0)
    assert found["pairs"] > 100
    assert found["events"] > 100
    assert found["predicates"] > 10


@pytest.mark.parametrize("workload", WORKLOADS)
def test_worlds_are_drawn_from_their_seed_and_hold_to_their_schema(workload):
    world = draw_world(workload, 60, 40, seed=8)
    assert world == draw_world(workload, 60, 40, seed=8)
    assert world != draw_world(workload, 60, 40, seed=9)
    for filter_ in world.filters:
        filter_.check(world.schema)
    wanting = [sum(filter_.matches(event) for filter_ in world.filters) for event in world.events]
    assert max(wanting) > min(wanting)


# -- judges ----------------------------------------------------------------------------------------------


def outcome(part, result):
    return Outcome({"part": part, "seed": 1}, result, 0.0)


def held(verdicts):
    return {verdict.id: verdict.holds for verdict in verdicts}


def test_the_example_is_judged_by_the_figure():
    right, wrong = follow_example(), follow_example()
    wrong["shrinking"] = wrong["printed"]
    for run, holds in ((right, True), (wrong, False)):
        assert held(judge_example(Table([outcome("example", run)])))["H2"] is holds


@pytest.mark.parametrize(
    ("change", "holds"), [({}, True), ({"bloom": 1}, False), ({"pairs": 0}, False), ({"events": 0}, False)]
)
def test_digests_are_judged_by_what_breaks_the_law_and_only_if_something_could(change, holds):
    run = {"pairs": 9, "events": 9, "predicates": 3, "segments": 0, "hashed": 0, "bloom": 0}
    later = {"pairs": 9, "events": 9, "predicates": 3, "segments": 0, "hashed": 0, "bloom": 0} | change
    verdicts = held(judge_covering(Table([outcome("covering", run), outcome("covering", later)])))
    assert verdicts["H1 bloom"] is holds


@pytest.mark.parametrize(
    ("change", "holds"),
    [({}, True), ({"missed": {"1": 0.1}}, False), ({"repeated": 1}, False), ({"stuck_events": 0.1}, False)],
)
def test_full_cubes_are_judged_by_who_is_missed_doubled_and_never_found(change, holds):
    run = {"cube": "c", "filled": 1, "missed": {"1": 0.0, "2": None}, "repeated": 0, "stuck_events": 0.0} | change
    assert held(judge_printed(Table([outcome("printed", run)]))) == {"H4 full cube": holds}
