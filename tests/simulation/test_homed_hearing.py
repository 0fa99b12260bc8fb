"""HOMED under the simulator: what a subscription misses after its node has said that all have heard of it (nothing)."""

import pytest

from siftcast.runtimes.sim import Faults
from tests.simulation.homed_network import BLIND, QUICK, HomedNetwork


def run_until_heard(net, node):
    protocol = net.simulation.protocols[node]
    waited_ms = 0
    while not protocol.is_heard:
        net.run(1)
        waited_ms += 1
        assert waited_ms < 5_000
    return waited_ms


def expect_from_everybody(net, subscription):
    """Events that are published right now, at all nodes, reach it."""
    for node in net.running:
        got, expected, _ = net.publish(node, x=97, y=3)
        assert (net.held[subscription][0], subscription) in expected
        assert set(got) >= {(net.held[subscription][0], subscription)}


@pytest.mark.parametrize("loss", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(4))
def test_a_first_subscription_misses_nothing_from_the_moment_that_it_is_heard(seed, loss):
    net = HomedNetwork(14, seed).run(1_500)
    net.unsubscribe("s9")
    net.run(1_000)
    assert net.homes(9) == ()
    if loss:
        net.simulation.change_faults(Faults(loss=loss, detect_ms=BLIND), at_ms=net.now)
    net.subscribe(9, "first", "x = 97 AND y = 3")
    net.run(1)
    assert not net.simulation.protocols[9].is_heard, "it has to find its place"
    run_until_heard(net, 9)
    net.simulation.change_faults(Faults(detect_ms=BLIND), at_ms=net.now)
    expect_from_everybody(net, "first")


@pytest.mark.parametrize("seed", range(4))
def test_a_filter_that_widens_and_makes_its_place_move_is_heard_before_the_move_is_done(seed):
    net = HomedNetwork(14, seed, move_ms=5.0).run(1_500)
    net.subscribe(9, "s9", "x = 97 AND y = 3")
    net.run(1)
    assert not net.simulation.protocols[9].is_heard
    run_until_heard(net, 9)
    expect_from_everybody(net, "s9")


def test_a_node_that_wants_nothing_new_is_heard_at_once():
    net = HomedNetwork(10).run(1_500)
    _, wanted = net.held["s4"]
    net.subscribe(4, "again", wanted)
    net.run(0)
    assert net.simulation.protocols[4].is_heard
    net.unsubscribe("again")
    net.run(0)
    assert net.simulation.protocols[4].is_heard


@pytest.mark.parametrize("seed", range(6))
def test_nodes_that_take_new_places_at_the_same_time_are_in_place_before_a_beat_could_help(seed):
    net = HomedNetwork(8, seed, interests=False, entrances=lambda node: (0,) if node else (), linger_ms=30_000.0).run(
        1_100
    )
    for node in range(8):
        net.subscribe(node, f"s{node}", "x >= 0" if node < 3 else net.draw(5))
    net.run(3_000)
    for _ in range(8):
        changed = net.random.sample(range(3, 8), 2)
        begun = net.now
        for node in changed:
            net.unsubscribe(f"s{node}")
            net.subscribe(node, f"s{node}", net.draw(5), at_ms=net.now + 7.0)
            net.run(2)
        net.run(10)
        while not all(net.simulation.protocols[node].is_heard for node in changed):
            net.run(2)
        # A round trip or two, and at most one `Join` that came to a place which had ended and was sent again.
        assert net.now - begun < 2 * QUICK["request_ms"]
        for node in (*changed, 0, 1):
            low = net.random.randrange(100)
            got, expected, _ = net.publish(node, x=low, y=low)
            assert got == expected
