"""Peers that discover the ground, under the simulator: what they find, and that they hold together whatever happens.

The histories are those of `test_membership`; the part has the same face and is held to the same.
"""

import pytest

from siftcast.runtimes.sim import Faults
from siftcast.runtimes.sim.checkers import detection
from tests.simulation.ground_network import GroundNetwork
from tests.simulation.peer_network import BLIND

TROUBLE = Faults(loss=0.1, jitter_ms=30.0, reorder=True, detect_ms=BLIND)


def settled(peers=60, seed=1, **kinds):
    net = GroundNetwork(peers, seed, **kinds)
    net.run(8_000)
    return net


def expect_whole(views, net):
    assert views.outcome == "passed", f"{net}: groups of {views.component_sizes.tolist()}"


def test_peers_that_join_one_after_another_hold_together_agree_and_keep_to_their_degree():
    net = settled()
    views = net.run(2_000)
    expect_whole(views, net)
    assert views.symmetric_share == 1.0
    for state in net.states().values():
        assert len(state["neighbours"]) - len(state["distant"]) <= 5


def test_half_of_the_peers_crash_and_the_others_find_each_other():
    net = settled(80)
    net.subscribe_all()
    net.crash(0.5)
    views = net.run(4_000)
    expect_whole(views, net)
    assert views.dead_share("neighbours") == 0.0
    net.publish(net.running[0], "after")
    net.run(2_000)
    assert sorted(net.delivered("after")) == net.running


def test_silent_crashes_are_found_out_by_probes_alone():
    net = settled(faults=Faults(detect_ms=BLIND))
    net.crash(0.1)
    views = net.run(12_000)
    expect_whole(views, net)
    assert views.dead_share("neighbours") == 0.0
    assert detection(net.trace).undetected == ()
    assert detection(net.trace).false_losses == 0


def test_a_tenth_of_all_messages_lost_and_the_rest_in_any_order_costs_nobody_its_place():
    net = settled(faults=TROUBLE)
    views = net.run(8_000)
    expect_whole(views, net)
    assert views.symmetric_share > 0.97
    assert detection(net.trace).false_losses == 0


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_a_partition_that_heals_leaves_one_network(share):
    net = settled()
    side = net.random.sample(net.running, round(share * 60))
    net.simulation.cut([side], at_ms=net.now)
    assert net.run(10_000).component_sizes.tolist() == [60 - len(side), len(side)]
    net.simulation.heal(at_ms=net.now)
    views = net.run(3_000)
    expect_whole(views, net)
    net.subscribe_all()
    net.publish(side[0], "after")
    net.run(2_000)
    assert sorted(net.delivered("after")) == list(range(60))


def test_peers_that_come_and_go_all_the_time_are_replaced_and_taken_in_again():
    net = settled()
    for _ in range(40):
        node = net.random.choice(net.running)
        net.simulation.crash(node, at_ms=net.now)
        net.simulation.restart(node, at_ms=net.now + net.random.uniform(10, 2_000))
        net.run(100)
    views = net.run(6_000)
    assert len(views.nodes) == 60
    expect_whole(views, net)
    assert views.dead_share("neighbours") == 0.0
    assert views.symmetric_share > 0.99


def test_who_leaves_in_peace_is_neither_missed_nor_kept():
    net = settled()
    leaving = net.random.sample(net.running[1:], 20)
    for node in leaving:
        net.leave(node)
    views = net.run(1_500)
    assert net.running == sorted(set(range(60)) - set(leaving))
    expect_whole(views, net)
    assert views.dead_share("neighbours") == 0.0
    assert detection(net.trace).losses == 0
