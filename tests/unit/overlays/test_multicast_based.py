"""Multicast-based routing by example: who is in a group, where an event enters it, and when it goes by unicast."""

from collections import Counter

import numpy as np
import pytest

from siftcast.model import Attribute, Event, Filter, Schema, Subscription
from siftcast.overlays.contract import (
    Deliver,
    MessageReceived,
    PeerFound,
    PublishRequested,
    SendMessage,
    SubscribeRequested,
    UnsubscribeRequested,
)
from siftcast.overlays.links import TreeLinks
from siftcast.overlays.loopback import Loopback
from siftcast.overlays.messages import Publication
from siftcast.overlays.protocols.kyra import SubscriptionMovement
from siftcast.overlays.protocols.multicast_based import EVENTS_REMEMBERED, UNICAST, MulticastBased
from siftcast.overlays.tables import matcher_tables
from siftcast.planning import group_trees, plan_kyra
from siftcast.space import ContentGroups, ContentSpace, Partition, Tree

SPACE = ContentSpace(Schema([Attribute("value", "int", (0, 9), 1)]))
GROUPS = ContentGroups(Partition.along(SPACE, 0, range(1, 10)), [0, 0, 0, 1, 1, 1, 0, 0, 0, 0])
CHAIN = Tree(range(6), [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)])
LATENCIES = np.array([[float(abs(a - b)) for b in range(6)] for a in range(6)])
TABLES = matcher_tables("brute_force")


def server(node, **options):
    tree_of = group_trees(LATENCIES)
    return MulticastBased(node, TreeLinks.of(CHAIN, node), TABLES, GROUPS, tree_of, LATENCIES[node].tolist(), **options)


def network(**options):
    return Loopback(range(6), lambda node: server(node, **options))


def subscribe(net, node, id, text):
    net.do(node, SubscribeRequested((Subscription(id, Filter.parse(text)),)))


def publish(net, node, value):
    net.sent.clear()
    net.delivered.clear()
    net.do(node, PublishRequested(Event({"value": value}, id="e")))
    return [(a, b) for a, b, message in net.sent if isinstance(message, Publication)]


def test_an_event_goes_to_all_members_of_its_group_and_to_nobody_else():
    net = network()
    subscribe(net, 0, "a", "value = 3")
    subscribe(net, 3, "b", "value = 4")
    subscribe(net, 5, "c", "value = 8")
    assert publish(net, 0, 3) == [(0, 3)]
    assert net.delivered == [(0, "e", "a")]


def test_a_publisher_that_is_no_member_hands_the_event_to_the_nearest_member():
    net = network()
    subscribe(net, 0, "a", "value = 3")
    subscribe(net, 4, "b", "value = 3")
    assert publish(net, 3, 3) == [(3, 4), (4, 0)]
    assert publish(net, 1, 3) == [(1, 0), (0, 4)]


def test_who_unsubscribes_leaves_the_group():
    net = network()
    subscribe(net, 0, "a", "value = 3")
    subscribe(net, 4, "b", "value = 3")
    subscribe(net, 4, "c", "value = 5")
    net.do(4, UnsubscribeRequested(("b",)))
    assert publish(net, 0, 3) == [(0, 4)]  # 5 is in the same group
    net.do(4, UnsubscribeRequested(("c",)))
    assert publish(net, 0, 3) == []


@pytest.mark.parametrize(("share", "unicast"), [(0.5, False), (0.6, True)])
def test_below_the_threshold_an_event_goes_straight_to_those_who_want_it(share, unicast):
    net = network(unicast_below=share)
    for node in range(2, 6):
        subscribe(net, node, f"s{node}", "value = 3" if node > 3 else "value = 4")
    hops = publish(net, 0, 3)  # wanted by two of four members
    marks = {message.network for *_, message in net.sent}
    assert sorted(net.delivered) == [(4, "e", "s4"), (5, "e", "s5")]
    assert (marks == {UNICAST}) is unicast
    assert hops == ([(0, 4), (0, 5)] if unicast else [(0, 2), (2, 3), (3, 4), (4, 5)])


def test_a_server_that_came_back_hears_of_all_subscriptions():
    net = network()
    for node in range(6):
        subscribe(net, node, f"s{node}", "value = 3")
    net.protocols[2] = server(2)
    for node in (1, 3):
        net.do(node, PeerFound(2))
    assert net.protocols[2].state()["entries"] == 5
    assert net.protocols[2].handle(PeerFound(5), 0.0) == ()  # no neighbour of its


def test_movement_makes_proxies_the_members_of_groups():
    """Four of six servers want values of one group; their three proxies are all who must be reached."""
    layout = plan_kyra(LATENCIES, SPACE, np.arange(11), np.ones(10), clique_ms_max=2.0)
    moved = Loopback(range(6), lambda node: SubscriptionMovement(node, layout, TABLES, server(node)))
    plain = network()
    received = []
    for net in (plain, moved):
        for node in (0, 1, 3, 4):
            subscribe(net, node, f"s{node}", "value = 4")
        hops = publish(net, 2, 4)
        received.append(len(hops))
        assert sorted(net.delivered) == [(node, "e", f"s{node}") for node in (0, 1, 3, 4)]
        assert max(Counter(to for _, to in hops).values()) == 1
    assert received == [4, 2]


def arrive(net, node, sender, id, origin=5, group=1):
    """What a server does with an event of value 3 that comes from another: to whom it goes on, and who gets it."""
    publication = Publication(Event({"value": 3}, id=id), origin, group)
    effects = net.protocols[node].handle(MessageReceived(sender, publication), 0.0)
    onward = [to for effect in effects if isinstance(effect, SendMessage) for to in effect.destinations]
    return onward, [id for effect in effects if isinstance(effect, Deliver) for id in effect.subscriptions]


def test_an_event_that_comes_again_over_another_way_is_neither_passed_on_nor_delivered():
    net = network()
    for node in (0, 2, 4):
        subscribe(net, node, f"s{node}", "value = 3")
    assert arrive(net, 2, 0, "e") == ([4], ["s2"])
    assert arrive(net, 2, 4, "e") == ([], [])  # from a server that sees another tree
    assert arrive(net, 2, 0, "other") == ([4], ["s2"])
    assert arrive(net, 2, 0, "e", origin=1) == ([4], ["s2"])  # another event: ids are those of a publisher's server
    assert arrive(net, 2, 0, "e", origin=1, group=UNICAST) == ([], ["s2"])


def test_an_event_that_comes_round_to_its_publisher_ends_there():
    net = network()
    for node in (0, 2, 4):
        subscribe(net, node, f"s{node}", "value = 3")
    publish(net, 2, 3)
    assert arrive(net, 2, 0, "e", origin=2) == ([], [])


def test_servers_remember_so_many_events_and_no_more():
    net = network()
    subscribe(net, 2, "s", "value = 3")
    for number in range(EVENTS_REMEMBERED):
        arrive(net, 2, 0, f"e{number}")
    assert arrive(net, 2, 0, f"e{EVENTS_REMEMBERED // 2}") == ([], [])
    arrive(net, 2, 0, "one more")
    assert len(net.protocols[2]._had) <= EVENTS_REMEMBERED
    assert arrive(net, 2, 0, f"e{EVENTS_REMEMBERED // 2}") == ([], [])
    assert arrive(net, 2, 0, "e0") == ([], ["s"])  # the oldest is forgotten


def test_events_without_an_id_are_not_taken_for_each_other():
    net = network()
    subscribe(net, 2, "s", "value = 3")
    assert [arrive(net, 2, 0, "") for _ in range(2)] == [([], ["s"])] * 2


def test_values_off_the_grid_and_shares_that_are_none_are_refused():
    net = network()
    publish(net, 0, 2.5)
    assert net.refused == [(0, "e")]
    with pytest.raises(ValueError, match="between 0 and 1"):
        server(0, unicast_below=1.5)


@pytest.mark.parametrize(("group_of", "problem"), [([0, 1], "a group each"), ([-1] * 10, "numbered from 0")])
def test_groups_that_do_not_fit_their_cells_are_refused(group_of, problem):
    with pytest.raises(ValueError, match=problem):
        ContentGroups(GROUPS.cells, group_of)
