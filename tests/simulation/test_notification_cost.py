"""Notification cost and false positives, on traces written by hand and on runs of schemes."""

import pytest

from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.links import TreeLinks
from siftcast.overlays.protocols.broadcast import Broadcast
from siftcast.overlays.protocols.filter_based import FilterBased
from siftcast.overlays.tables import matcher_tables
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim import Simulation, UniformNetwork
from siftcast.runtimes.sim.checkers import NotificationCost, notification_cost, notification_costs
from siftcast.space import Tree

CHAIN = Tree(range(4), [(0, 1), (1, 2), (2, 3)])


def trace_of(*rows, deliveries=()):
    trace = Trace()
    for time, kind, node, peer, event in rows:
        trace.records.append((float(time), kind, node, peer, None, event, 0, 0, 0))
    for time, node, event, *ids in deliveries:
        trace.deliveries.append((float(time), node, event, ids))
    return trace


def hop(time, node, peer, event):
    return (time, "sent", node, peer, event), (time + 1, "received", peer, node, event)


def test_all_traffic_counts_over_the_subscriptions_notified():
    trace = trace_of(
        *hop(0, 2, 0, None),
        (10, "published", 0, None, "e"),
        *hop(10, 0, 1, "e"),
        *hop(11, 1, 2, "e"),
        deliveries=[(12, 2, "e", "s", "t")],
    )
    found = notification_cost(trace)
    assert found == NotificationCost(events=1, deliveries=2, event_messages=2, control_messages=1, false_positives=1)
    assert found.cost == 3 / 2
    assert found.false_positive_share == 1 / 2


def test_a_node_that_wants_one_event_is_a_false_positive_for_another():
    trace = trace_of(
        (0, "published", 0, None, "e"),
        *hop(0, 0, 1, "e"),
        (5, "published", 0, None, "f"),
        *hop(5, 0, 1, "f"),
        *hop(6, 0, 1, "f"),
        deliveries=[(1, 1, "e", "s")],
    )
    found = notification_cost(trace)
    assert (found.false_positives, found.false_positives_per_event) == (2, 1.0)


def test_what_is_computed_beside_the_network_is_added():
    trace = trace_of((0, "published", 0, None, "e"), deliveries=[(0, 0, "e", "s")])
    assert notification_cost(trace).cost == 0
    assert notification_cost(trace, more_control=[(5, 7), (6, 1)]).control_messages == 8


def test_windows_share_out_everything_after_the_first_publication():
    rows = [*hop(0, 3, 0, None)]
    for number in range(5):
        rows += [(10 * number + 10, "published", 0, None, f"e{number}"), *hop(10 * number + 12, 0, 1, f"e{number}")]
    rows += [*hop(35, 1, 0, None)]
    trace = trace_of(*rows, deliveries=[(10 * number + 13, 1, f"e{number}", "s") for number in (0, 1, 3)])
    windows = notification_costs(trace, 2, more_control=[(25, 10), (60, 5)])
    assert [each.events for each in windows] == [2, 2, 1]
    assert [each.control_messages for each in windows] == [10, 1, 5]
    assert [each.event_messages for each in windows] == [2, 2, 1]
    assert [each.false_positives for each in windows] == [0, 1, 1]
    assert [each.cost for each in windows] == [6.0, 3.0, float("inf")]
    whole = notification_cost(trace, more_control=[(25, 10), (60, 5)])
    assert whole.control_messages == sum(each.control_messages for each in windows) + 1


def test_a_window_has_at_least_one_event():
    with pytest.raises(ValueError, match="window"):
        notification_costs(Trace(), 0)


def test_nothing_costs_nothing():
    assert notification_cost(Trace()) == NotificationCost(0, 0, 0, 0, 0)
    assert notification_cost(Trace()).cost == 0
    assert notification_costs(Trace(), 5) == ()


@pytest.mark.parametrize(("scheme", "messages", "control", "false"), [(Broadcast, 3, 0, 2), (FilterBased, 2, 3, 1)])
def test_schemes_differ_in_what_they_send_for_nothing(scheme, messages, control, false):
    """A chain of four; the third wants the event that the first publishes."""
    sim = Simulation(
        CHAIN.nodes, lambda node: scheme(node, TreeLinks.of(CHAIN, node), matcher_tables()), UniformNetwork(1.0)
    )
    sim.subscribe(2, Subscription("s", Filter.parse("value = 1")))
    sim.publish(0, Event({"value": 1}, id="e"), at_ms=100)
    assert notification_cost(sim.run()) == NotificationCost(1, 1, messages, control, false)
