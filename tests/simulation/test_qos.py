"""The QoS overlay under the simulator: whoever wants an event gets it, once, as soon as it is quiet.

Every network runs with `strict_introductions`.
"""

import pytest

from siftcast.model import Event
from siftcast.runtimes.sim import Faults
from siftcast.underlay import MeasuredUnderlay
from tests.simulation.core_network import Delays
from tests.simulation.qos_network import HOP_MS, QosNetwork


@pytest.mark.parametrize(("degree", "theta"), [(8, 16), (3, 4), (2, 2)])
def test_at_rest_each_piece_has_one_parent_or_all_publishers_and_events_are_exact(degree, theta):
    net = QosNetwork(40, degree=degree, theta=theta).settle()
    net.run(2_000).settle()
    net.check_overlay(degree)
    net.expect_exact(40, within_ms=40 * HOP_MS)


@pytest.mark.full
def test_two_hundred_peers_of_eight_publishers_are_all_served_and_nobody_waits_for_somebody_who_waits():
    net = QosNetwork(200, publishers=8, degree=6, theta=8).settle()
    net.expect_exact(60, within_ms=1_000)
    for place in net.places:  # those that were sent away are served a little longer
        assert sum(child.until_ms is None for child in place.children.links.values()) <= 6


def test_a_node_that_never_said_what_it_publishes_loses_none_of_its_first_events():
    net = QosNetwork(20, publishers=0).settle()
    expected = [net.publish(node) for node in (3, 7, 19) for _ in range(10)]
    net.run(2_000)
    assert sum(len(wanted) for _, wanted in expected) > 10
    assert [net.got(event) for event, _ in expected] == [wanted for _, wanted in expected]


def test_what_a_node_has_not_advertised_is_refused_where_it_has_advertised_something():
    net = QosNetwork(3, publishers=0, interests=False)
    net.subscribe(2, "all", "TRUE")
    net.advertise(0, "x < 32")
    net.settle()
    inside, _ = net.publish(0, x=3, y=3)
    outside, _ = net.publish(0, x=40, y=3)
    off_grid, _ = net.publish(1, x=2.5, y=3)
    net.run(500)
    assert net.got(inside) == [(2, "all")]
    assert net.got(outside) == net.got(off_grid) == []
    assert net.recorded("refused") == [outside, off_grid]


def test_nobody_gets_what_was_published_before_they_subscribed_although_it_is_still_kept():
    net = QosNetwork(12).settle()
    before, _ = net.publish(0, x=1, y=1)
    net.run(300)
    net.subscribe(11, "late", "TRUE")
    net.settle()
    after, _ = net.publish(0, x=1, y=1)
    net.run(500)
    assert (11, "late") not in net.got(before)
    assert (11, "late") in net.got(after)


def test_after_crashes_all_are_served_again_and_what_was_on_its_way_is_made_up_for():
    net = QosNetwork(25, degree=3, linger_ms=4_000.0).settle()
    victims = sorted(net.places, key=lambda place: -len(place.children.links))[:4]
    net.crash(*{place.id[0] for place in victims})
    expected = [net.publish() for _ in range(20)]
    net.settle().run(2_000).settle()
    net.expect_exact(20)
    for event, wanted in expected:
        assert net.got(event) == wanted


def test_who_leaves_in_peace_costs_nobody_an_event():
    net = QosNetwork(25, degree=3).settle()
    leavers = {place.id[0] for place in sorted(net.places, key=lambda place: -len(place.children.links))[:4]}
    net.leave(*leavers)
    expected = []
    for _ in range(20):
        expected.append(net.publish())
        net.run(50)
    net.settle()
    assert not leavers & set(net.simulation.protocols)
    for event, wanted in expected:
        assert net.got(event) == wanted


@pytest.mark.full
def test_changing_interests_cost_nobody_an_event_and_what_was_taken_on_for_others_goes():
    net = QosNetwork(30, degree=2).settle()
    expected = []
    for turn in range(30):
        net.unsubscribe(f"s{2 + turn % 28}") if f"s{2 + turn % 28}" in net.held else None
        net.run(20)
        expected.append(net.publish())
        net.run(60)
    net.settle().run(2_000).settle()
    for event, wanted in expected:
        assert [each for each in net.got(event) if each in wanted] == wanted
    assert not net.held
    assert not net.places


@pytest.mark.full
def test_losses_and_reordering_leave_an_overlay_that_is_right_when_they_end():
    net = QosNetwork(30, degree=3, faults=Faults(loss=0.2, jitter_ms=40.0, reorder=True, detect_ms=50.0))
    net.run(8_000)
    net.simulation.change_faults(Faults(detect_ms=50.0), at_ms=net.now)
    net.run(3_000).settle()
    net.expect_exact(40)


def test_a_publisher_that_crashed_is_forgotten_and_one_that_came_later_is_found():
    net = QosNetwork(20, publishers=2).settle()
    net.crash(1)
    net.publishers = 1
    net.run(4_000).settle()
    assert all(1 not in node.state()["publishing"] for node in net.simulation.protocols.values())
    net.expect_exact(10, node=0)
    expected = [net.publish(19) for _ in range(5)]
    net.run(1_500)
    assert [net.got(event) for event, _ in expected] == [wanted for _, wanted in expected]


def _line(*places):
    """Nodes on a line: as far from each other as they stand apart."""
    return MeasuredUnderlay([[float(abs(one - other)) for other in places] for one in places])


def test_of_two_possible_parents_one_that_keeps_the_bound_is_chosen():
    # 0 publishes and has room for 1 and 2, which both want everything; 3 is near 1 and far from 2.
    net = QosNetwork(4, publishers=1, degree=2, interests=False, underlay=_line(0, 10, 60, 20))
    net.subscribe(1, "near", "TRUE")
    net.subscribe(2, "far", "TRUE")
    net.settle()
    net.subscribe(3, "bounded", "x < 32", bound_ms=30.0)
    net.settle().run(3_000)
    place = net.place(3)
    assert place.bound.missed_since_ms is None
    assert place.parents.supply.reach_ms <= 30.0
    net.expect_exact(5, within_ms=300)


def _parents(net, node):
    return {peer[0] for peer in net.place(node).parents.links}


@pytest.mark.parametrize("near", [1, 2])
def test_of_two_equal_parents_the_one_measured_as_nearer_is_chosen_and_left_when_it_moves_away(near):
    # 0 publishes and has room for 1 and 2, which want the same and are as far from it; only measuring tells them apart.
    # 3 has a bound that it misses at 0 itself.
    far = 3 - near
    delays = Delays([[0.0 if one == other else 20.0 for other in range(4)] for one in range(4)])
    delays.change(3, far, 60.0)
    delays.change(3, 0, 60.0)
    net = QosNetwork(4, publishers=1, degree=2, interests=False, underlay=delays)
    for parent in (1, 2):
        net.subscribe(parent, f"parent{parent}", "TRUE")
    net.settle()
    net.subscribe(3, "bounded", "x < 32", bound_ms=50.0)
    net.settle().run(3_000)
    assert _parents(net, 3) == {near}
    delays.change(3, near, 60.0)
    delays.change(3, far, 20.0)
    expected = []
    for _ in range(40):
        expected.append(net.publish(0, x=1))
        net.run(100)
    net.settle().run(1_000)
    assert _parents(net, 3) == {far}
    assert net.place(3).bound.missed_since_ms is None
    assert [net.got(event) for event, _ in expected] == [wanted for _, wanted in expected]


def test_a_bound_below_the_way_to_the_publisher_is_called_impossible_and_events_still_come():
    net = QosNetwork(2, publishers=1, interests=False, underlay=_line(0, 40))
    net.subscribe(1, "hasty", "TRUE", bound_ms=25.0)
    net.settle().run(1_000)
    place = net.place(1)
    assert place.bound.is_impossible
    assert place.bound.missed_since_ms is not None
    event, wanted = net.publish(0, x=1, y=1)
    net.run(200)
    assert net.got(event) == wanted == [(1, "hasty")]


def test_subscriptions_of_different_bounds_get_each_event_once():
    net = QosNetwork(6, publishers=1).settle()
    for number, bound_ms in enumerate((None, 50.0, 500.0)):
        net.subscribe(4, f"bounded{number}", "x < 60", bound_ms=bound_ms)
    net.settle()
    assert len(net.simulation.protocols[4].places) == 3
    net.expect_exact(10)
    net.unsubscribe("bounded1")
    net.settle().run(1_000)
    assert len(net.simulation.protocols[4].places) == 2
    net.expect_exact(10)


def test_an_event_for_several_places_of_a_node_crosses_the_network_once():
    net = QosNetwork(2, publishers=1, interests=False)
    for number, bound_ms in enumerate((None, 50.0, 500.0)):
        net.subscribe(1, f"s{number}", "TRUE", bound_ms=bound_ms)
    net.settle().run(1_000)
    event = Event({"x": 1, "y": 2}, id="once")
    net.simulation.publish(0, event)
    net.run(200)
    assert net.recorded("sent").count("once") == 1
    assert net.got("once") == [(1, "s0"), (1, "s1"), (1, "s2")]


def test_parents_that_were_down_for_a_while_are_parents_again():
    net = QosNetwork(8, publishers=1, degree=2, interests=False)
    wide = {1: "TRUE", 2: "TRUE"}
    for node in range(1, 8):
        net.subscribe(node, f"s{node}", wide.get(node, f"x >= {node}"))
    net.settle()
    for node in wide:
        net.simulation.crash(node, at_ms=net.now)
        net.simulation.restart(node, at_ms=net.now + 1_500.0)
    net.run(1_500)
    for node, text in wide.items():
        net.subscribe(node, f"s{node}", text)
    net.run(3_000).settle()
    net.expect_exact(10, node=0)


@pytest.mark.parametrize("who", [0, 1])
def test_what_was_published_during_a_cut_is_made_up_for_although_nobody_changes_parents(who):
    net = QosNetwork(4, publishers=1, interests=False)
    for node in range(1, 4):
        net.subscribe(node, f"s{node}", "TRUE")
    net.settle().run(1_000)
    net.simulation.cut([[who], [node for node in range(4) if node != who]], at_ms=net.now)
    net.run(200)
    expected = [net.publish(0) for _ in range(5)]
    net.run(200)
    net.simulation.heal(at_ms=net.now)
    net.run(3_000).settle()
    for event, wanted in expected:
        assert net.got(event) == wanted


def test_publishers_are_not_forgotten_however_many_there_are():
    net = QosNetwork(34, publishers=30, interests=False)
    for node in range(30):
        net.advertise(node, f"x = {node}")
    for node in range(30, 34):
        net.subscribe(node, f"s{node}", "TRUE")
    net.settle().run(4_000)
    expected = [net.publish(node, x=node, y=1) for node in range(30)]
    net.run(500)
    for event, wanted in expected:
        assert net.got(event) == wanted


def test_round_trips_longer_than_a_request_settle_as_well():
    slow = MeasuredUnderlay([[0.0 if one == other else 50.0 for other in range(10)] for one in range(10)])
    net = QosNetwork(10, publishers=1, underlay=slow, request_ms=60.0).settle()
    net.run(1_000).settle()
    net.expect_exact(10, within_ms=2_000)


def test_a_node_that_leaves_publishes_nothing_any_more_and_is_gone():
    net = QosNetwork(8, 2).settle()
    net.leave(1)
    for _ in range(20):  # whoever publishes through it is refused; otherwise it would advertise again and find children
        net.run(200)
        if 1 in net.simulation.protocols:
            net.publish(1)
    assert 1 not in net.simulation.protocols
    assert [reason for _, effect in net.simulation.refused if (reason := effect.reason)] != []
    net.run(2_000).expect_exact(10, node=0)
