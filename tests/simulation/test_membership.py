"""Peers under the simulator: join storms, churn, loss, reordering, silence, partitions, and half of them gone at once.

Every network runs with `strict_introductions`: a peer that talks to one that nobody introduced to it stops the run.
What must hold is the papers' claims in small; `python -m benchmarks membership` holds ten thousand peers to them.
"""

import numpy as np
import pytest

from siftcast.runtimes.sim import Faults
from siftcast.runtimes.sim.checkers import detection
from tests.simulation.peer_network import BLIND, PeerNetwork

TROUBLE = Faults(loss=0.1, jitter_ms=30.0, reorder=True, detect_ms=BLIND)
"""Links that lose and reorder, and connections that never say that they broke."""


def settled(nodes=60, seed=1, **kinds):
    net = PeerNetwork(nodes, seed, **kinds)
    net.run(5_000)
    return net


def expect_whole(views, net):
    assert views.outcome == "passed", f"{net}: groups of {views.component_sizes.tolist()}"


def test_peers_that_join_one_after_another_hold_together_and_know_few():
    net = settled(150)
    views = net.run(3_000)
    expect_whole(views, net)
    assert views.sizes("neighbours").max() <= 5
    assert views.sizes("neighbours").mean() > 4.8
    assert views.symmetric_share > 0.99
    assert views.known_max <= 5 + 30 + 20
    assert not views.knows_everyone
    degrees = views.in_degrees("sampled")
    assert views.sizes("sampled").min() >= 18  # one may be on its way
    assert degrees.std() < 0.3 * degrees.mean()  # a random graph would have 0.22, and so many joins begin with 0.6
    assert degrees.min() > 0
    assert detection(net.trace).false_suspicions == 0


def test_a_storm_of_joins_through_one_node_leaves_no_hub():
    net = PeerNetwork(100, 2, joining_ms=1.0, entrance=0)
    views = net.run(4_000)
    expect_whole(views, net)
    assert views.in_degrees("neighbours").max() <= 5 + 1  # one may be just being asked
    assert views.in_degrees("sampled").max() < 45


def test_half_of_the_peers_crash_and_the_others_hold_together_and_forget_them():
    net = settled(200)
    net.subscribe_all()
    net.crash(0.5)
    views = net.run(2_000)
    expect_whole(views, net)
    assert views.dead_share("neighbours") == 0.0
    before = views.dead_share("sampled")
    views = net.run(5_000)
    assert views.dead_share("sampled") < 0.75 * before  # one name per exchange
    found = detection(net.trace)
    assert found.outcome == "passed"
    assert len(found.delays_ms) == 100
    net.publish(net.running[0], "after")
    net.run(1_500)
    assert sorted(net.delivered("after")) == net.running


def test_silent_crashes_are_found_out_by_probes_alone():
    net = settled(faults=Faults(detect_ms=BLIND))
    victims = net.crash(0.1)
    views = net.run(8_000)
    expect_whole(views, net)
    assert views.dead_share("neighbours") == 0.0
    found = detection(net.trace)
    assert found.undetected == ()
    assert len(found.delays_ms) == len(victims)
    # A round over five neighbours, a probe, and a suspicion that all helpers confirm.
    assert np.median(found.delays_ms) < 5 * 400 + 300 + 2 * 600
    assert found.false_losses == 0


def test_a_tenth_of_all_messages_lost_and_the_rest_in_any_order_costs_nobody_its_place():
    net = settled(faults=TROUBLE)
    views = net.run(4_000)
    expect_whole(views, net)
    assert views.symmetric_share > 0.97
    found = detection(net.trace)
    assert found.false_losses == 0
    net.crash(0.3)
    views = net.run(8_000)
    expect_whole(views, net)
    assert views.dead_share("neighbours") < 0.1


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_a_partition_that_heals_leaves_one_network(share):
    net = settled()
    side = net.random.sample(net.running, round(share * 60))
    net.simulation.cut([side], at_ms=net.now)
    assert net.run(10_000).component_sizes.tolist() == [60 - len(side), len(side)]
    net.simulation.heal(at_ms=net.now)
    views = net.run(1_500)
    expect_whole(views, net)
    net.subscribe_all()
    net.publish(side[0], "after")
    net.run(1_500)
    assert sorted(net.delivered("after")) == list(range(60))


def test_peers_that_come_and_go_all_the_time_are_replaced_and_taken_in_again():
    net = settled()
    for _ in range(40):
        node = net.random.choice(net.running)
        net.simulation.crash(node, at_ms=net.now)
        net.simulation.restart(node, at_ms=net.now + net.random.uniform(10, 2_000))
        net.run(100)
    views = net.run(4_000)
    assert len(views.nodes) == 60
    expect_whole(views, net)
    assert views.dead_share("spare") == 0.0
    assert views.symmetric_share > 0.99


def test_who_leaves_in_peace_is_neither_missed_nor_kept():
    net = settled()
    leaving = net.random.sample(net.running[1:], 20)
    for node in leaving:
        net.leave(node)
    views = net.run(200)
    assert net.running == sorted(set(range(60)) - set(leaving))
    expect_whole(views, net)
    assert views.dead_share("neighbours") == 0.0
    found = detection(net.trace)
    assert (found.suspicions, found.losses) == (0, 0)


def test_events_reach_everyone_once_and_the_tree_forms():
    net = settled(messages=True)
    net.subscribe_all()
    for number in range(12):
        net.publish(net.random.choice(net.running), f"e{number}")
        net.run(400)
    net.run(1_000)
    for number in range(12):
        assert sorted(net.delivered(f"e{number}")) == net.running
    rows = net.trace.record_table().to_pylist()
    pushes = [row["event"] for row in rows if (row["kind"], row["message"]) == ("sent", "Push")]
    assert pushes.count("e0") > 2 * 60
    assert pushes.count("e11") < 1.6 * 60  # new neighbours are eager at first, and these networks mix ten times as fast


def test_an_event_finds_its_way_around_nodes_that_crash_under_it():
    net = settled(faults=Faults(detect_ms=BLIND))
    net.subscribe_all()
    for number in range(4):
        net.publish(net.random.choice(net.running), f"e{number}")
        net.run(400)
    victims = net.crash(0.2)
    net.publish(min(set(net.running) - set(victims)), "late")
    net.run(3_000)
    got = net.delivered("late")
    assert len(got) == len(set(got))
    assert len(set(got) & set(net.running)) >= 0.97 * len(net.running)


def test_one_seed_gives_one_run():
    digests = [settled(30, seed, faults=TROUBLE, messages=True).trace.digest() for seed in (3, 3, 4)]
    assert digests[0] == digests[1] != digests[2]


def test_the_checker_of_views_sees_what_is_broken():
    net = settled(60)
    assert net.run(0).outcome == "passed"
    side = net.running[:20]
    net.simulation.cut([side], at_ms=net.now)
    views = net.run(3_000)
    assert views.outcome == "failed"
    assert views.component_sizes.tolist() == [40, 20]
    net.simulation.heal(at_ms=net.now)
    net.run(1_000)
    net.crash(0.5)
    views = net.run(0)
    assert 0.3 < views.dead_share("neighbours") < 0.7
    assert len(detection(net.trace).undetected) == 30
