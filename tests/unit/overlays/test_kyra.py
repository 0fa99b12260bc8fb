"""Kyra's servers by example: movement, final notifications, who hears what once, state, work, and coming back."""

from math import log2

import numpy as np
import pytest

from siftcast.matching.pool import MatcherPool
from siftcast.model import Attribute, Event, Filter, Schema, Subscription
from siftcast.overlays.contract import (
    Deliver,
    MessageReceived,
    PeerFound,
    PublishRequested,
    SendMessage,
    Spent,
    SubscribeRequested,
    UnsubscribeRequested,
)
from siftcast.overlays.delivery import Parcel
from siftcast.overlays.links import TreeLinks
from siftcast.overlays.loopback import Loopback
from siftcast.overlays.messages import Announce, Publication
from siftcast.overlays.protocols.filter_based import FilterBased
from siftcast.overlays.protocols.kyra import Entrust, Handover, Kyra, Notification, Withdraw
from siftcast.overlays.reuse import Reuse, ReuseUnsafeError
from siftcast.overlays.tables import matcher_tables
from siftcast.planning import minimum_spanning_tree, plan_kyra
from siftcast.space import OUTSIDE, ContentSpace

SPACE = ContentSpace(Schema([Attribute("value", "int", (0, 9), 1)]))
# Two cliques of three servers, far apart.
LATENCIES = np.array([[abs(a - b) + 50.0 * (a // 3 != b // 3) for b in range(6)] for a in range(6)])
TABLES = matcher_tables("brute_force")


def plan(**options):
    return plan_kyra(LATENCIES, SPACE, np.arange(11), np.ones(10), **{"clique_ms_max": 10.0, **options})


def network(layout=None, tables=TABLES, **options):
    layout = layout or plan()
    return Loopback(layout.servers, lambda node: Kyra(node, layout, tables, **options))


def subscribe(net, node, id, text):
    net.do(node, SubscribeRequested((Subscription(id, Filter.parse(text)),)))


def publish(net, node, attributes):
    net.sent.clear()
    net.delivered.clear()
    net.do(node, PublishRequested(Event(attributes, id="e")))
    return net.sent


def test_a_subscription_moves_to_every_proxy_whose_zone_it_overlaps_reduced_to_that_zone():
    net = network()  # zones 0-2, 3-5, 6-9 or alike
    net.tell(0, SubscribeRequested((Subscription("s", Filter.parse("value BETWEEN 2 AND 9")),)))
    moved = {to: message.entries for _, to, message in net.sent if isinstance(message, Entrust)}
    assert set(moved) == {1, 2}
    zones = plan().clique_of(0).zones
    for proxy, ((id, part, origin),) in moved.items():
        assert (id, origin) == (f"s@{proxy}", 0)
        inside = [value for value in range(10) if zones.owner_of_event({"value": value}) == proxy]
        assert [value for value in range(10) if part.matches({"value": value})] == [v for v in inside if v >= 2]


def test_a_server_with_several_matching_subscriptions_is_notified_once():
    net = network()
    for id in "abc":
        subscribe(net, 3, id, "value >= 0")
    sent = publish(net, 0, {"value": 9})
    assert [to for _, to, message in sent if isinstance(message, Notification)] == [3]
    assert sorted(net.delivered) == [(3, "e", id) for id in "abc"]


def test_the_publishers_server_delivers_at_once_and_hears_nothing_back():
    net = network()
    subscribe(net, 0, "own", "value = 9")
    effects = net.protocols[0].handle(PublishRequested(Event({"value": 9}, id="e")), 0.0)
    assert [effect.subscriptions for effect in effects if isinstance(effect, Deliver)] == [["own"]]
    sent = publish(net, 0, {"value": 9})
    assert [type(message) for _, _, message in sent] == [Handover]
    assert net.delivered == [(0, "e", "own")]


def test_an_event_without_a_point_goes_over_the_tree_of_those_who_answer_for_such_events():
    net = network()
    subscribe(net, 5, "any", "kind = 'x'")
    sent = publish(net, 2, {"kind": "x"})
    routed = [(a, b) for a, b, message in sent if isinstance(message, Publication) and message.network == OUTSIDE]
    assert routed == [(plan().cliques[0].outside, plan().cliques[1].outside)]
    assert net.delivered == [(5, "e", "any")]


def test_a_replaced_subscription_leaves_the_proxies_it_no_longer_overlaps():
    net = network()
    subscribe(net, 0, "s", "value = 9")
    held = [net.protocols[node].state()["proxied"] for node in range(3)]
    net.sent.clear()
    subscribe(net, 0, "s", "value = 4")
    assert held == [0, 0, 1]
    assert [net.protocols[node].state()["proxied"] for node in range(3)] == [0, 1, 0]
    assert [to for _, to, message in net.sent if isinstance(message, Withdraw)] == [2]
    net.do(0, UnsubscribeRequested(("s",)))
    assert all(protocol.state()["entries"] == 0 for protocol in net.protocols.values())


def test_servers_without_a_zone_join_no_tree_and_hold_nothing():
    loads = np.array([1.0, 0, 0, 0, 98.0, 0, 0, 0, 0, 1.0])
    layout = plan_kyra(LATENCIES, SPACE, np.arange(11), loads, clique_ms_max=100.0, trees=4, method="shares")
    clique = layout.cliques[0]
    idle = [server for server in clique.members if clique.zones.zone_of(server) is None]
    assert idle
    assert clique.outside in idle
    net = network(layout)
    for node in range(6):
        subscribe(net, node, f"s{node}", "value BETWEEN 0 AND 9")
    assert all(server not in tree.nodes for server in idle for tree in layout.trees.values())
    assert all(net.protocols[server].state()["entries"] == 0 for server in idle)


def test_cliques_of_one_server_and_one_tree_are_filter_based_routing_message_for_message():
    layout = plan(clique_ms_max=0.0, trees=1)
    tree = minimum_spanning_tree(LATENCIES)
    nets = [network(layout), Loopback(range(6), lambda node: FilterBased(node, TreeLinks.of(tree, node), TABLES))]
    for net in nets:
        for node in range(6):
            subscribe(net, node, f"s{node}", f"value BETWEEN {node} AND {node + 2}")
        publish(net, 0, {"value": 4})
    first, second = ([(a, b) for a, b, message in net.sent if isinstance(message, Publication)] for net in nets)
    assert first == second
    for node in range(6):
        assert nets[0].protocols[node].state()["entries"] == nets[1].protocols[node].state()["entries"] == 5
        received = MessageReceived(tree.neighbours[node][0], Publication(Event({"value": 4}, id="f"), 0))
        work = [
            sum(effect.matches for effect in net.protocols[node].handle(received, 0.0) if isinstance(effect, Spent))
            for net in nets
        ]
        assert work[0] == work[1]


def test_in_one_clique_an_event_is_matched_once_by_whoever_answers_for_it():
    net = network(plan(clique_ms_max=100.0))
    for node in range(6):
        subscribe(net, node, f"s{node}", "value < 9")
    event = Event({"value": 0}, id="e")
    owner = plan(clique_ms_max=100.0).cliques[0].proxy_of(event.attributes)
    publisher = (owner + 1) % 6
    work = {}
    for node, stimulus in [
        (publisher, PublishRequested(event)),
        (owner, MessageReceived(publisher, Handover(event, publisher))),
        ((owner + 2) % 6, MessageReceived(owner, Notification(event))),
    ]:
        effects = net.protocols[node].handle(stimulus, 0.0)
        work[node] = sum(effect.matches for effect in effects if isinstance(effect, Spent))
    assert {node for node, matches in work.items() if matches} == {owner}
    assert work[owner] == 1


def test_over_a_ring_messages_inside_a_clique_take_at_most_a_logarithm_of_hops():
    latencies = np.ones((16, 16)) - np.eye(16)
    layout = plan_kyra(latencies, SPACE, np.arange(11), np.ones(10), clique_ms_max=5.0)
    net = network(layout, clique_delivery="ring")
    subscribe(net, 13, "s", "value = 9")
    publisher = 4
    sent = publish(net, publisher, {"value": 9})
    assert net.delivered == [(13, "e", "s")]
    assert all(isinstance(message, Parcel) for _, _, message in sent)
    for kind in (Handover, Notification):
        assert 1 <= sum(isinstance(message.content.open(), kind) for _, _, message in sent) <= log2(16)


def test_a_proxy_that_came_back_empty_is_told_its_parts_and_its_tables_again():
    layout = plan()
    net = network(layout)
    for node in range(6):
        subscribe(net, node, f"s{node}", "value BETWEEN 0 AND 9")
    before = net.protocols[1].state()
    net.protocols[1] = Kyra(1, layout, TABLES)
    subscribe(net, 1, "s1", "value BETWEEN 0 AND 9")
    for node in range(6):
        if node != 1:
            net.do(node, PeerFound(1))
            net.do(1, PeerFound(node))
    assert net.protocols[1].state() == before
    for value in range(10):
        publish(net, 5, {"value": value})
        assert sorted(net.delivered) == [(node, "e", f"s{node}") for node in range(6)]


def test_what_was_withdrawn_while_a_proxy_was_away_is_forgotten_when_it_is_found_again():
    net = network()
    subscribe(net, 0, "s", "value = 9")
    effects = net.protocols[0].handle(UnsubscribeRequested(("s",)), 0.0)
    assert any(isinstance(effect, SendMessage) for effect in effects)  # and is lost on the way
    assert net.protocols[2].state()["proxied"] == 1
    net.do(0, PeerFound(2))
    assert net.protocols[2].state()["proxied"] == 0


def test_an_event_off_the_grid_of_its_attribute_is_refused():
    net = network()
    publish(net, 0, {"value": 3.5})
    assert net.refused == [(0, "e")]
    assert not net.sent


def test_tables_of_one_pool_serve_all_servers():
    net = network(tables=MatcherPool("brute_force").table)
    for node in range(6):
        subscribe(net, node, f"s{node}", "value BETWEEN 2 AND 8")
    publish(net, 4, {"value": 5})
    assert sorted(net.delivered) == [(node, "e", f"s{node}") for node in range(6)]


def test_covering_shortens_what_trees_announce():
    sizes = []
    for summary in ("none", "covering"):
        net = network(summary=summary)
        subscribe(net, 0, "wide", "value BETWEEN 0 AND 9")
        net.sent.clear()
        subscribe(net, 0, "narrow", "value = 4")
        sizes.append(sum(isinstance(message, Announce) for _, _, message in net.sent))
    assert sizes[1] == 0 < sizes[0]


def test_options_that_do_not_exist_or_lose_events_are_refused():
    with pytest.raises(ValueError, match="direct or ring"):
        Kyra(0, plan(), TABLES, clique_delivery="pigeon")
    with pytest.raises(ReuseUnsafeError):
        Kyra(0, plan(), TABLES, summary="covering", reuse=Reuse("always"))
    with pytest.raises(ValueError, match="server 77 is in no clique"):
        Kyra(77, plan(), TABLES)


def test_a_part_that_changes_trees_leaves_nothing_behind_on_the_old_one():
    net = network(plan(clique_ms_max=0.0, trees=2))
    subscribe(net, 0, "s", "value = 9")
    subscribe(net, 0, "s", "value = 1")
    assert [net.protocols[node].state()["entries"] for node in range(6)] == [0, 1, 1, 1, 1, 1]
    net.do(0, UnsubscribeRequested(("s",)))
    assert all(protocol.state()["entries"] == 0 for protocol in net.protocols.values())
