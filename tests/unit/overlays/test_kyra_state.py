"""What Kyra's servers hold: one entry a subscription and tree, and what becomes of servers that nobody is near to."""

from collections import Counter

import numpy as np
import pytest

from siftcast.model import Attribute, Event, Filter, Schema, Subscription
from siftcast.overlays.contract import PublishRequested, SubscribeRequested, UnsubscribeRequested
from siftcast.overlays.loopback import Loopback
from siftcast.overlays.messages import Announce, Publication, Retract
from siftcast.overlays.protocols.kyra import Kyra
from siftcast.overlays.protocols.kyra.joined_parts import JoinedParts, subscription_of
from siftcast.overlays.reuse import Reuse
from siftcast.overlays.tables import matcher_tables
from siftcast.planning import cluster_cliques, plan_kyra
from siftcast.space import ContentSpace
from siftcast.underlay import TransitStub

SPACE = ContentSpace(Schema([Attribute("value", "int", (0, 99), 1)]))
TABLES = matcher_tables("brute_force")
UNDERLAY = TransitStub(
    transit_domains=2, transit_routers=4, stubs_per_router=2, stub_routers=5, links=160
).build(np.random.default_rng(1)).attach(24, np.random.default_rng(2))  # fmt: skip
LATENCIES = UNDERLAY.latencies_ms
CLIQUE_MS = 60.0


def plan(**options):
    limits = {"clique_ms_max": CLIQUE_MS, "trees": 3, **options}
    return plan_kyra(LATENCIES, SPACE, np.arange(101), np.ones(100), **limits)


def network(layout=None, **options):
    layout = layout or plan()
    return Loopback(layout.servers, lambda node: Kyra(node, layout, TABLES, **options))


def wanted(number):
    """Ranges of all sizes, lists, and what is no simple filter."""
    low = 7 * number % 60
    kinds = (f"value BETWEEN {low} AND {low + 35}", f"value IN ({low}, {low + 20}, {low + 39})", f"value != {low}")
    return Filter.parse(kinds[number % 3])


def subscribe_all(net, count=48):
    for number in range(count):
        net.do(number % 24, SubscribeRequested((Subscription(f"s{number}", wanted(number)),)))


def held(net, node):
    """Subscription, tree and neighbour of every entry that a server has on its trees."""
    routers = net.protocols[node]._backbone._routers
    return Counter(
        (subscription_of(id), tree, neighbour)
        for tree, router in routers.items()
        for neighbour, entries in router._entries.items()
        if isinstance(neighbour, int)
        for id in entries
    )


def lone_servers():
    return [clique[0] for clique in cluster_cliques(LATENCIES, latency_ms_max=CLIQUE_MS) if len(clique) == 1]


def assert_exact(net, filters):
    for value in range(0, 100, 7):
        net.delivered.clear()
        net.sent.clear()
        net.do(value % 24, PublishRequested(Event({"value": value}, id=f"e{value}")))
        matching = sorted(
            (home, f"e{value}", id) for id, (home, each) in filters.items() if each.matches({"value": value})
        )
        assert sorted(net.delivered) == matching
        routed = Counter(to for _, to, message in net.sent if isinstance(message, Publication))
        assert all(count == 1 for count in routed.values())


def test_a_server_holds_one_entry_for_each_subscription_tree_and_direction():
    net = network()
    subscribe_all(net)
    for node in range(24):
        assert set(held(net, node).values()) <= {1}, node
    apart = network(summary="none", reuse=Reuse("partial", 1))  # whose lists must name every part
    subscribe_all(apart)
    more = sum(sum(held(apart, node).values()) - len(held(apart, node)) for node in range(24))
    assert more > 100  # parts of one subscription that lay beside each other
    lone = lone_servers()
    assert lone
    for node in lone:
        assert net.protocols[node].state()["entries"] < apart.protocols[node].state()["entries"]


def test_joined_parts_cost_no_message_more_and_events_take_the_same_ways():
    nets = [network(), network(reuse=Reuse("partial", 1))]
    for net in nets:
        subscribe_all(net)
    told = [sum(isinstance(message, Announce | Retract) for *_, message in net.sent) for net in nets]
    assert told[0] == told[1] > 1_000
    ways = []
    for net in nets:
        net.sent.clear()
        net.do(5, PublishRequested(Event({"value": 41}, id="e")))
        ways.append(sorted((a, b, type(message).__name__) for a, b, message in net.sent))
    assert ways[0] == ways[1]
    assert ways[0]


def test_joined_parts_stay_exact_while_subscriptions_come_change_and_go():
    net = network()
    subscribe_all(net)
    filters = {f"s{number}": (number % 24, wanted(number)) for number in range(48)}
    for number in range(0, 48, 3):
        net.do(number % 24, UnsubscribeRequested((f"s{number}",)))
        del filters[f"s{number}"]
    for number in range(1, 48, 3):
        changed = Filter.parse(f"value < {2 * number}")
        net.do(number % 24, SubscribeRequested((Subscription(f"s{number}", changed),)))
        filters[f"s{number}"] = number % 24, changed
    assert_exact(net, filters)
    for id, (home, _) in filters.items():
        net.do(home, UnsubscribeRequested((id,)))
    assert all(protocol.state()["entries"] == 0 for protocol in net.protocols.values())


def test_a_server_that_joins_a_clique_holds_a_members_share_and_not_everything():
    alone, joined = network(), network(plan(join_singletons=True))
    filters = {f"s{number}": (number % 24, wanted(number)) for number in range(48)}
    for net in (alone, joined):
        subscribe_all(net)
        assert_exact(net, filters)
    lone = lone_servers()
    before = [alone.protocols[node].state()["entries"] for node in lone]
    after = [joined.protocols[node].state()["entries"] for node in lone]
    assert sum(after) < 0.7 * sum(before)
    assert all(len(joined.protocols[node]._clique.members) > 1 for node in range(24))
    assert all(joined.protocols[node].state()["trees"] < 3 for node in lone)


# -- the summary by itself -----------------------------------------------------------------------------


def part(id, text):
    return id, Filter.parse(text), 4


def test_parts_of_one_subscription_are_announced_as_one_under_the_name_of_the_first():
    summary = JoinedParts()
    assert summary.add(part("s@1.0", "value < 3")) == ([part("s@1.0", "value < 3")], [])
    assert summary.add(part("t@1.0", "value = 9")) == ([part("t@1.0", "value = 9")], [])
    (((id, union, _),), retracted) = summary.add(part("s@2.0", "value = 7"))
    assert (id, retracted) == ("s@1.0", [])
    assert [value for value in range(10) if union.matches({"value": value})] == [0, 1, 2, 7]
    assert sorted(entry[0] for entry in summary.announced()) == ["s@1.0", "t@1.0"]


def test_a_union_keeps_its_name_until_its_last_part_goes():
    summary = JoinedParts()
    for id, text in (("a@b@1.0", "value < 3"), ("a@b@2.0", "value = 7 AND kind LIKE 'x%'")):
        summary.add(part(id, text))
    assert summary.remove("a@b@1.0") == ([("a@b@1.0", Filter.parse("value = 7 AND kind LIKE 'x%'"), 4)], [])
    assert summary.remove("a@b@2.0") == ([], ["a@b@1.0"])
    assert summary.announced() == []


@pytest.mark.parametrize("texts", [("value IN (1, 2)", "value = 5"), ("kind = 'x'", "value > 3"), ("value < 2",)])
def test_a_union_matches_what_any_of_its_parts_does(texts):
    summary = JoinedParts()
    for number, text in enumerate(texts):
        summary.add(part(f"s@{number}.0", text))
    ((_, union, _),) = summary.announced()
    for event in ({"value": value, "kind": kind} for value in range(6) for kind in ("x", None)):
        assert union.matches(event) == any(Filter.parse(text).matches(event) for text in texts)
