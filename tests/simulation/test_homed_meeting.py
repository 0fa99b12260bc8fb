"""HOMED under the simulator: nodes that know of each other become one network, whoever founded it and is gone."""

import random

import pytest

from siftcast.overlays.contract import ContactsFound
from siftcast.overlays.protocols.homed.acquaintances import SIZE, Acquaintances
from siftcast.runtimes.sim import Faults
from tests.simulation.homed_network import BLIND, HomedNetwork

WAYS_IN = {"all through the founder": (0, 0, 0, 0, 0), "one through the other": (0, 0, 1, 2, 3)}


def guests(entrances, **settings):
    """A founder and guests, who have no places because nobody wants anything."""
    net = HomedNetwork(5, interests=False, entrances=lambda node: (entrances[node],) if node else (), **settings)
    return net.run(3_000)


def expect_one_network(net):
    assert len({home.realm for node in net.running for home in net.homes(node)}) == 1
    for node in net.running:
        got, expected, _ = net.publish(node, x=1, y=1)
        assert got == expected
        assert len(got) == len(net.held)


@pytest.mark.parametrize("entrances", WAYS_IN.values(), ids=WAYS_IN)
@pytest.mark.parametrize("ending", ["crash", "leave"])
@pytest.mark.parametrize("faults", [Faults(detect_ms=50.0), Faults(detect_ms=BLIND)], ids=["noticed", "silent"])
def test_guests_find_each_other_when_the_only_place_has_ended(entrances, ending, faults):
    net = guests(entrances, faults=faults)
    getattr(net, ending)(0)
    net.run(1_000)
    for node in net.running:
        net.subscribe(node, f"s{node}", "x < 50")
    net.run(8_000)
    expect_one_network(net)


def test_a_guest_founds_a_network_as_soon_as_all_it_knows_have_said_that_there_is_none():
    """It would have waited for 20 requests, 2 s, if one of them had not answered."""
    net = guests(WAYS_IN["all through the founder"], request_ms=1_000.0)
    net.leave(0)
    net.run(2_000)
    assert 0 not in net.running
    net.subscribe(3, "s3", "x < 50")
    net.run(2_100)
    assert [home.state for home in net.homes(3)] == ["placed"]
    net.subscribe(1, "s1", "x < 50")
    net.run(1_100)
    expect_one_network(net)


def test_a_guest_waits_for_whom_it_knows_and_cannot_reach_yet():
    """They may just be starting: it would found a network of its own beside theirs."""
    net = HomedNetwork(2, interests=False, entrances=lambda node: (1 - node,), joining_ms=3_000.0)
    net.subscribe(0, "s0", "x < 50", at_ms=10.0)
    net.run(1_400)  # the other comes at 1,500 ms
    assert [home.state for home in net.homes(0)] == ["joining"]
    net.run(600)
    assert [home.state for home in net.homes(0)] == ["placed"]
    net.subscribe(1, "s1", "x < 50")
    net.run(500)
    expect_one_network(net)


def test_guests_publish_through_whoever_has_a_place_when_the_founder_is_gone():
    net = guests(WAYS_IN["all through the founder"])
    net.crash(0)
    net.subscribe(3, "s3", "x < 50")
    net.run(6_000)
    expect_one_network(net)


def test_a_founder_that_is_somebody_else_after_a_crash_is_taken_in_once_it_is_known():
    net = guests(WAYS_IN["all through the founder"])
    for node in range(1, 5):
        net.subscribe(node, f"s{node}", "x < 50")
    net.run(1_000)
    net.crash(0)
    net.simulation.restart(0, at_ms=net.now + 1_000.0)
    net.subscribe(0, "s0", "x < 50", at_ms=net.now + 1_010.0)
    net.simulation.at(net.now + 1_500.0, 2, ContactsFound((0,)))
    net.run(2_500)
    expect_one_network(net)


def test_a_node_whose_way_into_an_older_network_has_ended_stays_where_it_is_and_enters_by_another():
    net = HomedNetwork(12, joining_ms=300.0, entrances=lambda node: () if node in (0, 6) else (node // 6 * 6,)).run(900)
    assert len({home.realm for node in net.running for home in net.homes(node)}) == 2
    net.simulation.at(net.now, 8, ContactsFound((2,)))
    net.run(11)  # 8 is told of the older network about now, and is to enter it through 2
    net.run(10)
    net.crash(2)
    net.simulation.at(net.now + 100.0, 9, ContactsFound((3,)))
    net.run(12_000)
    assert len({home.realm for node in net.running for home in net.homes(node)}) == 1
    assert all(protocol.is_settled for protocol in net.simulation.protocols.values())
    net.expect_exact(6)


def test_places_that_were_moved_away_from_end_though_their_successors_moved_before_they_were_known():
    net = HomedNetwork(20, move_ms=1.0, linger_ms=300.0).run(1_500)
    for _ in range(40):
        net.subscribe(5, "s5", net.draw(10))
        net.run(net.random.choice([7, 13, 21, 33]))
    net.run(2_000)
    assert net.simulation.protocols[5].state()["former"] == 0


# -- names -----------------------------------------------------------------------------------------------


def test_names_are_few_change_and_lost_ones_are_not_forgotten_for_those_that_are_there():
    known = Acquaintances(7, 1_000.0, random.Random(1))
    known.begin([7, 1])
    known.lose(1, 0.0)
    known.hear_of(range(100, 200))
    assert known.is_lost(1)
    assert 1 not in known.ways()[:SIZE]
    assert len(known.ways()) == SIZE + 1  # the seed stays
    assert set(known.named(100)) <= set(range(101, 200))
    assert 1 in {known.next_name(500.0) for _ in range(6)}
    known.hear_of([1])
    assert known.is_lost(1), "others may name it because they have not missed it"
    known.meet(1)
    assert not known.is_lost(1)
    known.forget(1)
    assert 1 not in known.ways()


def test_who_is_greeted_in_vain_is_lost_and_in_the_end_forgotten():
    known = Acquaintances(7, 1_000.0, random.Random(1))
    known.hear_of([3])
    assert [known.next_name(0.0) for _ in range(5)] == [3] * 5
    assert known.is_lost(3)
    assert known.way() is None
    assert known.next_name(2_000.0) is None
