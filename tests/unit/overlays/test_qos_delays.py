"""Delays of the QoS overlay: one that was measured at a bad moment does not stay."""

from random import Random

from siftcast.overlays.protocols.qos.delays import Delays


def test_a_delay_is_the_middle_of_the_last_three_and_of_two_the_less():
    delays = Delays(Random(1))
    for measured, known in ((200.0, 200.0), (50.0, 50.0), (60.0, 60.0), (70.0, 60.0), (300.0, 70.0)):
        delays.note(7, measured)
        assert delays.known == {7: known}


def test_how_far_a_node_is_at_best_is_the_least_of_the_last_three():
    delays = Delays(Random(1))
    for measured, least in ((200.0, 200.0), (50.0, 50.0), (60.0, 50.0), (70.0, 50.0), (300.0, 60.0), (310.0, 70.0)):
        delays.note(7, measured)
        assert delays.least == {7: least}


def test_what_is_told_is_whether_anything_changes():
    delays = Delays(Random(1))
    delays.asked.add(7)
    assert delays.note(7, 10.0)
    assert not delays.note(7, 10.0)
    assert not delays.note(7, None)
    assert delays.asked == set()  # so that it is asked again
    assert delays.known == {7: 10.0}


def test_others_than_parents_are_measured_again_while_a_bound_is_missed():
    delays = Delays(Random(1))
    delays.asked |= {1, 2, 3, 4}
    assert {node for _ in range(50) for node in delays.to_measure([1, 2], False)} == {1, 2}
    assert {node for _ in range(100) for node in delays.to_measure([1, 2], True)} == {1, 2, 3, 4}
    assert Delays(Random(1)).to_measure([], True) == []


def test_what_is_known_of_nodes_that_nothing_else_is_known_of_goes():
    delays = Delays(Random(1))
    delays.asked |= {1, 2}
    delays.note(1, 10.0)
    delays.note(2, 20.0)
    delays.keep({2, 3})
    assert (delays.asked, delays.known, delays.least) == ({2}, {2: 20.0}, {2: 20.0})
