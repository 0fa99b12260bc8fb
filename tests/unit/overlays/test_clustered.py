"""Clustered dissemination, message by message."""

from collections import Counter

import pytest

from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.contract import PublishRequested, SubscribeRequested, UnsubscribeRequested
from siftcast.overlays.loopback import Loopback
from siftcast.overlays.protocols.clustered import Clustered, ClustersPlanned, Flush, Prepare
from siftcast.overlays.protocols.clustered.membership import Membership
from siftcast.overlays.protocols.clustered.messages import ClusterChange
from siftcast.overlays.tables import matcher_tables
from siftcast.schemes import SchemeError, scheme
from siftcast.space import ClusterAssignment, ClusterLayout

# Nodes on a line. Node 0 coordinates; 1, 2 and 3 like low values, 4 and 5 high ones.
COUNT = 7
DISTANCES = [[abs(a - b) for b in range(COUNT)] for a in range(COUNT)]
WANTED = {1: "value < 5", 2: "value < 4", 3: "value < 3", 4: "value > 5", 5: "value > 6"}
CLUSTER_OF = {"s1": 0, "s2": 0, "s3": 0, "s4": 1, "s5": 1}


def place(filter_):
    return 1 if filter_.matches({"value": 9}) else 0


def network(variant="multicast", *, rendezvous=(0,), cluster_of=CLUSTER_OF, degree_max=1):
    layout = ClusterLayout(ClusterAssignment(cluster_of, place), rendezvous, DISTANCES, degree_max)
    net = Loopback(range(COUNT), lambda node: Clustered(node, layout, matcher_tables("brute_force"), variant=variant))
    for node, text in WANTED.items():
        net.do(node, wants(f"s{node}", text))
    net.sent.clear()
    return net


def wants(id, text):
    return SubscribeRequested((Subscription(id, Filter.parse(text)),))


def publish(net, node, value):
    net.sent.clear()
    net.delivered.clear()
    net.do(node, PublishRequested(Event({"value": value}, id="e")))
    return [(sender, receiver, type(message).__name__) for sender, receiver, message in net.sent]


def install(net, **cluster_of):
    net.sent.clear()
    net.do(0, ClustersPlanned(ClusterAssignment({**CLUSTER_OF, **cluster_of}, place)))
    return Counter(type(message).__name__ for _, _, message in net.sent)


def receivers(net, kind):
    return {receiver for _, receiver, message in net.sent if isinstance(message, kind)}


def test_multicast_reaches_all_of_a_cluster_that_wants_an_event_and_nobody_else():
    net = network()
    assert publish(net, 6, 4) == [(6, 0, "Submit"), (0, 1, "Cast"), (1, 2, "Cast"), (2, 3, "Cast")]
    assert net.delivered == [(1, "e", "s1")]


def test_filtering_stops_where_nobody_below_wants_an_event():
    net = network("filtering")
    assert publish(net, 6, 4) == [(6, 0, "Submit"), (0, 1, "Cast")]
    assert publish(net, 6, 3) == [(6, 0, "Submit"), (0, 1, "Cast"), (1, 2, "Cast")]
    assert net.delivered == [(1, "e", "s1"), (2, "e", "s2")]


def test_an_event_that_nobody_wants_goes_no_further_than_the_rendezvous():
    assert publish(network(), 6, 5) == [(6, 0, "Submit")]
    assert publish(network(), 0, 5) == []


def test_publishers_deliver_to_their_own_subscribers_at_once_and_only_once():
    net = network()
    net.tell(1, PublishRequested(Event({"value": 0}, id="e")))
    assert net.delivered == [(1, "e", "s1")]
    net.settle()
    assert sorted(net.delivered) == [(1, "e", "s1"), (2, "e", "s2"), (3, "e", "s3")]


def test_a_node_with_unlike_interests_is_in_several_clusters():
    net = network()
    net.do(2, wants("other", "value >= 8"))
    assert net.protocols[2].state()["memberships"] == 2
    publish(net, 6, 8)
    assert sorted(net.delivered) == [(2, "e", "other"), (4, "e", "s4"), (5, "e", "s5")]


def test_new_subscriptions_are_placed_and_join_as_leaves():
    net = network()
    net.do(6, wants("new", "value > 7"))
    # Its parent, itself, and nobody else is told; no tree is flushed for it.
    assert receivers(net, Prepare) == {5, 6}
    assert not receivers(net, Flush)
    publish(net, 0, 8)
    assert sorted(net.delivered) == [(4, "e", "s4"), (5, "e", "s5"), (6, "e", "new")]


def test_clusters_that_stay_cost_nothing():
    net = network()
    assert install(net) == Counter()
    assert net.protocols[0].state()["moves"] == 0


def test_only_what_changes_its_cluster_moves_and_other_clusters_hear_nothing():
    net = network(cluster_of={**CLUSTER_OF, "s1": 2}, degree_max=4)
    messages = install(net, s1=2, s5=0)
    assert net.protocols[0].state()["moves"] == 1
    assert 1 not in receivers(net, Prepare)
    assert messages["Prepare"] == messages["Prepared"] == 3  # 5 moves, 4 loses a child, one of 2 and 3 gains one
    publish(net, 6, 8)
    assert sorted(net.delivered) == [(4, "e", "s4"), (5, "e", "s5")]


def test_every_rendezvous_knows_what_clusters_want():
    net = network(rendezvous=(0, 6))
    assert publish(net, 5, 4)[0] == (5, 6, "Submit")
    assert net.delivered == [(1, "e", "s1")]
    install(net, s1=1)
    assert publish(net, 5, 4)[0] == (5, 6, "Submit")
    assert net.delivered == [(1, "e", "s1")]


def test_a_leaf_that_wants_nothing_more_leaves_and_a_node_in_the_middle_passes_on():
    net = network()
    net.do(3, UnsubscribeRequested(("s3",)))
    assert (2, 3, "Cast") not in publish(net, 6, 2)
    net = network()
    net.do(2, UnsubscribeRequested(("s2",)))
    publish(net, 6, 2)
    assert sorted(net.delivered) == [(1, "e", "s1"), (3, "e", "s3")]


def test_what_nodes_keep_of_earlier_versions_stays_small_however_often_subscribers_come_and_go():
    net = network()
    for _ in range(200):
        net.do(6, wants("brief", "value > 7"))
        net.do(6, UnsubscribeRequested(("brief",)))
    kept = max(len(each._places) for node in net.protocols.values() for each in node._memberships.values())
    assert kept < 40
    publish(net, 0, 8)
    assert sorted(net.delivered) == [(4, "e", "s4"), (5, "e", "s5")]


def test_filtering_keeps_what_lies_below_and_multicast_only_its_children():
    assert [network("filtering").protocols[node].state()["entries"] for node in (1, 2, 3)] == [3, 2, 0]
    assert [network().protocols[node].state()["entries"] for node in (1, 2, 3)] == [1, 1, 0]


def test_a_node_that_has_forgotten_all_may_be_told_to_forget_what_lies_below():
    member = Membership(matcher_tables("brute_force"), (0,))
    member.prepare(ClusterChange(0, (0, (2,)), below_removed=((2, ("s2",)),)), 5, {})
    member.prepare(ClusterChange(0, (0, (2,)), below_added=((2, (("s3", Filter.parse("value < 3")),)),)), 6, {})
    assert member.flush(7, 0, entering=False) == [(7, (2,))]
    assert member.entries == 2  # the child, and what it wants


def test_wrong_options_are_refused():
    layout = ClusterLayout(ClusterAssignment(), (0,), DISTANCES)
    with pytest.raises(ValueError, match="variant"):
        Clustered(0, layout, matcher_tables(), variant="flood")
    for options in ({"clusters": 0}, {"variant": "flood"}, {"rendezvous": 0}, {"sample_events": 0}):
        with pytest.raises(SchemeError, match=next(iter(options))):
            scheme("clustered").configure(options)
