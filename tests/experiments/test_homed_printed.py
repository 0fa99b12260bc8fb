"""HOMED as printed: the paper's example comes out as it shows it, and each flaw can be seen."""

from collections import Counter

import numpy as np
import pytest

from siftcast.experiments.homed.pitfalls import draw_identifiers, measure_printed
from siftcast.experiments.homed.printed import Part, PrintedCube


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
    rng = np.random.default_rng(3)
    cube = PrintedCube.settled(6, draw_identifiers(6, 20, rng))
    for identifier in range(64):
        assert [node for node in cube.nodes.values() if identifier in node.cover] == [cube.owner(identifier)]


def test_sparse_cubes_defeat_the_printed_algorithms():
    rng = np.random.default_rng(4)
    found = measure_printed(16, draw_identifiers(16, 200, rng), 40, rng)
    assert found["unfilled"] > 0.01
    assert found["unfilled_late"] > found["unfilled"]
    assert found["stale"] > 0.01
    assert found["stuck_events"] > 0.1
    assert found["stuck_newcomers"] > 0.1
    assert found["missed"][1] > 0.1
    assert found["outside"] > 1
    assert found["joins"] < 0.5
