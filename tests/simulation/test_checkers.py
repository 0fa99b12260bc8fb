"""Checkers, on traces written by hand and on runs of the schemes."""

import math

import numpy as np
import pytest

from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.links import TreeLinks
from siftcast.overlays.protocols.filter_based import FilterBased
from siftcast.overlays.tables import matcher_tables
from siftcast.overlays.trace import Trace
from siftcast.runtimes.sim import Faults, Simulation
from siftcast.runtimes.sim.checkers import (
    Spread,
    arc_stress,
    delays_ms,
    exactly_once,
    hops_of,
    link_stress,
    matching_load,
    node_stress,
    publisher_of,
    receivers_of,
    resource_usage,
    routing_state,
    tell_event,
)
from siftcast.space import Tree
from siftcast.underlay import Network


class Script:
    """A trace written by hand."""

    def __init__(self):
        self.trace = Trace()

    def row(self, time, kind, node, peer=None, message=None, event=None, matches=0):
        self.trace.records.append((float(time), kind, node, peer, message, event, matches, 0, 0))
        return self

    def subscribed(self, time, node, id, text="TRUE"):
        return self.row(
            time, "subscribed", node, None, self.trace.keep_subscription(Subscription(id, Filter.parse(text)))
        )

    def published(self, time, node, id, matches=0, **attributes):
        self.trace.events[id] = Event(attributes, id=id)
        return self.row(time, "published", node, event=id, matches=matches)

    def hop(self, time, node, peer, event, matches=0, kind="sent"):
        self.row(time, kind, node, peer, "Publication", event)
        return self.row(time + 1, "received", peer, node, "Publication", event, matches)

    def delivered(self, time, node, event, *ids):
        self.trace.deliveries.append((float(time), node, event, list(ids)))
        return self


def verdict(script, **options):
    found = exactly_once(script.trace, **options)
    assert (found.outcome == "failed") == bool(found.violations)
    assert found.ok == (found.required > 0 and not found.violations)
    return found.missing, found.duplicate, found.wrong


# -- exactly once --------------------------------------------------------------------------------------


def test_a_right_run_is_right():
    script = Script().subscribed(0, 1, "a", "x > 5").subscribed(0, 2, "b", "x < 5").published(1, 0, "e", x=9)
    assert verdict(script.delivered(2, 1, "e", "a")) == (0, 0, 0)
    assert exactly_once(script.trace).required == 1


def test_a_missing_delivery_is_found_and_told_with_its_hops():
    script = (
        Script().subscribed(0, 2, "a").published(1, 0, "e").hop(1, 0, 1, "e").row(2, "lost", 1, 2, "Publication", "e")
    )
    assert verdict(script) == (1, 0, 0)
    told = str(exactly_once(script.trace).violations[0])
    assert "missing: event 'e' and subscription 'a' at node 2" in told
    assert (
        told.index("published at node 0") < told.index("node 1 has it from 0") < told.index("lost between node 1 and 2")
    )


def test_duplicates_are_counted_beyond_the_first():
    script = Script().subscribed(0, 1, "a").published(1, 0, "e")
    for time in (2, 3, 4):
        script.delivered(time, 1, "e", "a")
    assert verdict(script) == (0, 2, 0)


@pytest.mark.parametrize(
    ("node", "id", "event"),
    [(1, "b", "e"), (2, "a", "e"), (1, "stranger", "e"), (1, "a", "unpublished")],
    ids=["filter does not match", "other server", "unknown subscription", "unknown event"],
)
def test_wrong_deliveries_are_found(node, id, event):
    script = Script().subscribed(0, 1, "a", "x = 1").subscribed(0, 1, "b", "x = 2").published(1, 0, "e", x=1)
    assert verdict(script.delivered(2, 1, "e", "a").delivered(3, node, event, id)) == (0, 0, 1)


def test_deliveries_to_those_who_are_gone_are_wrong_and_not_owed():
    script = Script().subscribed(0, 1, "a").row(5, "unsubscribed", 1, None, "a").published(9, 0, "e")
    assert verdict(script) == (0, 0, 0)
    assert verdict(script.delivered(10, 1, "e", "a")) == (0, 0, 1)


@pytest.mark.parametrize("delivered", [True, False])
def test_within_the_time_to_settle_a_delivery_may_be_or_not_be(delivered):
    script = Script().subscribed(100, 1, "new").subscribed(0, 1, "old").row(104, "unsubscribed", 1, None, "old")
    script.published(102, 0, "e")
    if delivered:
        script.delivered(103, 1, "e", "new", "old")
    assert verdict(script, settle_ms=10) == (0, 0, 0)
    assert verdict(script, settle_ms=1) == ((0, 0, 0) if delivered else (2, 0, 0))


def test_a_replaced_filter_counts_from_its_time_on():
    script = Script().subscribed(0, 1, "a", "x = 1").subscribed(50, 1, "a", "x = 2")
    script.published(10, 0, "e1", x=1).published(60, 0, "e2", x=1).published(61, 0, "e3", x=2)
    script.delivered(11, 1, "e1", "a").delivered(62, 1, "e3", "a")
    assert verdict(script, settle_ms=5) == (0, 0, 0)
    assert verdict(script.delivered(63, 1, "e2", "a"), settle_ms=5) == (0, 0, 1)


def test_refused_and_missed_events_are_owed_to_nobody():
    script = (
        Script()
        .subscribed(0, 1, "a")
        .published(1, 0, "e")
        .row(1, "refused", 0, event="e")
        .row(2, "missed", 0, event="f")
    )
    assert verdict(script) == (0, 0, 0)


def test_around_a_crash_events_may_be_missed_but_not_doubled():
    script = Script().subscribed(0, 1, "a").row(100, "crashed", 5).row(200, "restarted", 5)
    for number, time in enumerate((50, 99, 150, 205, 300)):
        script.published(time, 0, f"e{number}")
    found = exactly_once(script.trace, settle_ms=10)
    assert [each.event for each in found.violations] == ["e0", "e4"]
    assert verdict(script, settle_ms=10, repair_ms=20) == (3, 0, 0)
    script.delivered(151, 1, "e2", "a").delivered(152, 1, "e2", "a")
    assert verdict(script, settle_ms=10) == (2, 1, 0)


def test_a_cut_disturbs_until_it_is_healed():
    script = Script().subscribed(0, 1, "a").row(100, "cut", -1).row(200, "healed", -1)
    for number, time in enumerate((50, 150, 250)):
        script.published(time, 0, f"e{number}")
    assert [each.event for each in exactly_once(script.trace, settle_ms=5).violations] == ["e0", "e2"]


def test_the_crash_of_a_server_ends_its_subscriptions_until_they_come_again():
    script = Script().subscribed(0, 1, "a").row(100, "crashed", 1).row(110, "restarted", 1).published(150, 0, "e1")
    script.subscribed(160, 1, "a").published(200, 0, "e2").delivered(201, 1, "e2", "a")
    assert verdict(script, settle_ms=5) == (0, 0, 0)


# -- stress and resources ------------------------------------------------------------------------------

# Three routers in a row, 10 ms each; servers 0, 1, 2 on them over access links of 1 ms.
LINE = Network.of(3, [(0, 1, 10.0), (1, 2, 10.0)]).attach_at([0, 1, 2], 1.0)


def test_stress_is_counted_over_the_routes_of_the_underlay():
    script = Script().published(0, 0, "e").hop(0, 0, 2, "e").hop(0, 0, 1, "e").hop(5, 2, 1, "e")
    assert node_stress(script.trace, 3).tolist() == [2, 2, 2]
    # 0→1 twice, 1→2 once, 2→1 once; 1→0 is not used.
    assert link_stress(script.trace, LINE) == Spread(mean=4 / 3, median=1, max=2, count=3)
    assert int(arc_stress(script.trace, LINE).sum()) == 4 + 3 + 3


def test_control_messages_count_only_if_asked_for():
    script = Script().row(0, "sent", 0, 1, "Announce").row(1, "received", 1, 0, "Announce")
    assert node_stress(script.trace, 3).tolist() == [0, 0, 0]
    assert node_stress(script.trace, 3, control=True).tolist() == [1, 1, 0]
    assert link_stress(script.trace, LINE).count == 0
    assert link_stress(script.trace, LINE, control=True).count == 1


def test_a_multicast_is_one_send_that_crosses_each_arc_once():
    script = Script().published(0, 0, "e")
    for peer in (1, 2):
        script.row(0, "multicast", 0, peer, "Parcel", "e")
    for peer in (1, 2):
        script.row(1, "received", peer, 0, "Parcel", "e").delivered(1, peer, "e", f"s{peer}")
    script.published(0, 0, "f").row(0, "multicast", 0, 1, "Parcel", "f")
    assert node_stress(script.trace, 3).tolist() == [2, 1, 1]
    assert link_stress(script.trace, LINE) == Spread(mean=1.5, median=1.5, max=2, count=2)


def test_ideal_multicast_has_a_resource_usage_of_one_and_unicast_more():
    script = Script().published(0, 0, "e").delivered(0, 0, "e", "s0")
    for peer in (1, 2):
        script.row(0, "multicast", 0, peer, "Parcel", "e").delivered(1, peer, "e", f"s{peer}")
    assert resource_usage(script.trace, LINE) == pytest.approx(1.0)
    unicast = (
        Script()
        .published(0, 0, "e")
        .hop(0, 0, 1, "e")
        .hop(0, 0, 2, "e")
        .delivered(1, 1, "e", "s")
        .delivered(1, 2, "e", "t")
    )
    assert resource_usage(unicast.trace, LINE) == pytest.approx((12 + 22) / (1 + 10 + 1 + 10 + 1))
    assert math.isnan(resource_usage(Script().published(0, 0, "e").trace, LINE))


def test_stress_agrees_with_walking_every_route():
    rng = np.random.default_rng(5)
    network = Network.of(
        12, [(a, b, float(rng.integers(1, 9))) for b in range(1, 12) for a in rng.choice(b, min(b, 2), False)]
    )
    underlay = network.attach(8, rng)
    script, expected = Script(), np.zeros(len(underlay.arcs), dtype=int)
    for number in range(300):
        a, b = rng.choice(8, 2, replace=False)
        script.row(number, "sent", int(a), int(b), "Publication", "e")
        expected[list(underlay.route(int(a), int(b)))] += 1
    assert arc_stress(script.trace, underlay).tolist() == expected.tolist()


def test_spreads_scale_to_a_thousand_events():
    assert Spread.of(np.array([1, 2, 6])).per(500) == Spread(6.0, 4.0, 12.0, 3)
    assert Spread.of(np.array([])) == Spread(0, 0, 0, 0)


# -- work and delays -----------------------------------------------------------------------------------


def test_matching_load_counts_servers_that_matched_to_route():
    script = (
        Script().published(0, 0, "e", matches=2).hop(0, 0, 1, "e", matches=1).hop(1, 1, 2, "e").published(9, 2, "f")
    )
    assert matching_load(script.trace).tolist() == [2, 0]


def test_delays_run_from_publication_to_delivery():
    script = Script().published(5, 0, "e").delivered(5, 0, "e", "a").delivered(17.5, 1, "e", "b", "c")
    script.delivered(20, 1, "unknown", "b")
    assert delays_ms(script.trace).tolist() == [0.0, 12.5]


def test_checkers_take_an_empty_trace():
    trace = Trace()
    assert exactly_once(trace).outcome == "vacuous"
    assert node_stress(trace, 2).tolist() == [0, 0]
    assert link_stress(trace, LINE).count == 0
    assert len(matching_load(trace)) == len(delays_ms(trace)) == 0
    assert tell_event(trace, "e") == "  nothing is recorded of this event"


# -- a scheme under faults -----------------------------------------------------------------------------


def chain(count=5, **options):
    tree = Tree(range(count), [(node, node + 1) for node in range(count - 1)])
    return Simulation(tree.nodes, lambda node: FilterBased(node, TreeLinks.of(tree, node), matcher_tables()), **options)


def wants(node):
    return Subscription(f"s{node}", Filter.parse(f"value <= {node}"))


def test_a_broker_that_comes_back_is_routed_through_again():
    """Crash the middle: neighbours introduce themselves to the new incarnation, its subscribers subscribe again."""
    sim = chain(faults=Faults(detect_ms=20))
    for node in range(5):
        sim.subscribe(node, wants(node))
    sim.crash(2, at_ms=100)
    sim.publish(0, Event({"value": 0}, id="meanwhile"), at_ms=110)
    sim.restart(2, at_ms=200)
    sim.subscribe(2, wants(2), at_ms=205)
    for number in range(5):
        sim.publish(number, Event({"value": number}, id=f"e{number}"), at_ms=400 + number)
    trace = sim.run()
    found = exactly_once(trace, settle_ms=50)
    assert found.ok, "\n".join(map(str, found.violations))
    assert receivers_of(trace, "meanwhile") == (0, 1)
    assert receivers_of(trace, "e0") == (0, 1, 2, 3, 4)
    assert [(hop.sender, hop.receiver) for hop in hops_of(trace, "e3")] == [(3, 4)]
    assert publisher_of(trace, "e3") == 3
    assert routing_state(sim.protocols).tolist() == [4, 4, 4, 4, 4]


def test_both_sides_of_a_cut_learn_what_changed_meanwhile():
    sim = chain(faults=Faults(detect_ms=20))
    sim.subscribe(4, wants(4))
    sim.cut([[0, 1, 2]], at_ms=100)
    sim.unsubscribe(4, "s4", at_ms=150)
    sim.subscribe(3, wants(3), at_ms=150)
    sim.heal(at_ms=200)
    sim.publish(0, Event({"value": 0}, id="e"), at_ms=400)
    trace = sim.run()
    assert exactly_once(trace, settle_ms=50).ok
    assert receivers_of(trace, "e") == (3,)
    assert routing_state(sim.protocols).tolist() == [1, 1, 1, 0, 1]


def test_lost_messages_are_found_as_missing_deliveries():
    sim = chain()
    for node in range(5):
        sim.subscribe(node, wants(node))
    sim.run()
    lossy = chain(faults=Faults(loss=0.4), seed=3)
    for node in range(5):
        lossy.subscribe(node, wants(node))
    for each in (sim, lossy):
        for number in range(20):
            each.publish(0, Event({"value": 0}, id=f"e{number}"), at_ms=100)
        each.run()
    assert exactly_once(sim.trace, settle_ms=10).ok
    found = exactly_once(lossy.trace, settle_ms=10)
    assert found.missing
    assert found.nothing_false
