"""Peers that discover the ground, under the simulator: what they find, and that they hold together whatever happens.

The histories are those of `test_membership`; the part has the same face and is held to the same.
"""

import numpy as np
import pytest

from siftcast.experiments.underlay import discovery as model
from siftcast.experiments.underlay.quality import measure, nearest_links
from siftcast.experiments.underlay.world import World
from siftcast.runtimes.sim import Faults
from siftcast.runtimes.sim.checkers import detection
from siftcast.underlay import Underlay
from tests.simulation.ground_network import SCALE, Delays, GroundNetwork, generator
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


# -- what they find -------------------------------------------------------------------------------------------


def rdp_of_model(net, *, ttl, **options):
    """What the study's overlay, which everything happens to at once, comes to on the same ground: mean of three."""
    asked = model.Options(heuristic=model.Heuristic.NEAREST, ttl=ttl, **options)
    found = [model.Discovery(net.world, asked, generator(seed)).build() for seed in (1, 2, 3)]
    return np.mean([measure(net.world, each.links()).rdp for each in found])


def expect_as_the_model(net, **options):
    found, expected = net.quality(), rdp_of_model(net, **options)
    assert found.cut == 0.0
    assert found.rdp == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("ground", ["waxman", "transit-stub"])
def test_delays_over_the_overlay_are_those_of_the_study_and_inferences_keep_to_their_budget(ground):
    net = settled(80, ground=ground, degree=0, walk_ms=60_000.0)
    expect_as_the_model(net, ttl=30)
    assert net.total("inferences") <= 80 * (10 + 1) + net.total("rejoins") + 10 * net.total("walks")
    nearest = measure(net.world, nearest_links(net.world.delays_ms, 10, generator())).rdp
    assert net.quality().rdp < (1.03 if ground == "waxman" else 0.97) * nearest


def test_without_routes_the_triangle_of_delays_does_as_well():
    net = settled(80, degree=0, walk_ms=60_000.0, routes="triangle")
    expect_as_the_model(net, ttl=30)
    assert net.total("inferences") == 0


def test_with_coordinates_fewer_are_measured_for_about_the_same_delays():
    probed, predicted = (settled(80, degree=0, walk_ms=60_000.0, source=source) for source in ("probes", "coordinates"))
    assert predicted.total("measurements") < 0.75 * probed.total("measurements")
    assert predicted.quality().rdp < 1.05 * probed.quality().rdp


def test_routers_without_a_name_still_tell_who_lies_before_whom_by_their_position():
    """Taken for other ones each time, nobody lies before anybody behind them, and all become neighbours."""
    world = World.draw("waxman", 50, 1, routers=150)
    silent = np.flatnonzero(generator().random(world.network.routers) < 1 / 3).tolist()
    merged, apart = (
        settled(50, degree=0, walk_ms=60_000.0, world=world, anonymous=silent, invents_names=invents)
        for invents in (False, True)
    )
    assert len(merged.links()) < 0.8 * len(apart.links())


def test_the_overlay_follows_when_the_ground_moves():
    """All delays are those of another network from one moment on."""
    ground = Delays(World.draw("waxman", 40, 1, routers=120), SCALE)
    net = settled(40, world=ground.world, network=ground, degree=8, walk_ms=2_000.0, walking_share=0.5)
    net.world = ground.world = World.draw("waxman", 40, 99, routers=120)
    before = net.quality().rdp
    net.run(12_000)
    assert net.quality().rdp < 0.85 * before
    assert net.quality().cut == 0.0


def test_all_at_one_router_hold_together_and_are_no_chain():
    """As on one machine or in one LAN."""
    none = np.zeros(0, dtype=np.int64)
    alone = Underlay.over_routers(1, none, none, np.zeros(0), np.zeros(30, dtype=np.int64), np.full(30, 0.5))
    net = settled(30, network=alone)
    views = net.run(10)
    expect_whole(views, net)
    assert net.total("routes") > 0
    assert views.sizes("neighbours").mean() > 4


# -- landmarks ------------------------------------------------------------------------------------------------


def expect_all_trees(net):
    """All agree on the landmarks, and are below each of them, where both ends know it."""
    states = net.states()
    parents = {node: dict(state["parents"]) for node, state in states.items()}
    (landmarks,) = {state["landmarks"] for state in states.values()}
    assert set(landmarks) <= set(states)
    for node in states:
        assert set(parents[node]) == set(landmarks)
        for root in landmarks:
            at, passed = node, set()
            while at != root:
                assert at not in passed
                passed.add(at)
                parent = parents[at][root]
                assert parent in states[at]["neighbours"]
                at = parent
    return landmarks


def test_landmark_trees_hold_all_peers_and_outlive_a_landmark():
    net = settled(40, heuristic="landmarks", targets=3, walk_ms=2_000.0)
    landmarks = expect_all_trees(net)
    assert net.total("inferences") < 40 * (2 * 3 + 1)
    assert net.states()[0]["size"] == pytest.approx(40, rel=0.5)
    net.simulation.crash(landmarks[0], at_ms=net.now)
    views = net.run(12_000)
    expect_whole(views, net)
    assert landmarks[0] not in expect_all_trees(net)


def test_landmark_trees_survive_losses_of_messages():
    net = settled(30, heuristic="landmarks", targets=2, walk_ms=2_000.0, faults=TROUBLE)
    net.simulation.change_faults(Faults(), at_ms=net.now)
    expect_whole(net.run(6_000), net)
    expect_all_trees(net)


# -- at the size of the study ---------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize("ground", ["waxman", "transit-stub"])
def test_512_peers_come_to_the_delays_of_the_study(ground):
    world = World.draw(ground, 512, 1)
    net = GroundNetwork(512, 1, world=world, degree=0, ttl=100, joining_ms=20_000.0, walk_ms=120_000.0)
    net.run(40_000)
    expect_as_the_model(net, ttl=100)
