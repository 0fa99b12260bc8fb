"""The ring at work: who is asked, what happens when a matcher is lost or has just begun, and what the knobs change."""

from __future__ import annotations

from collections import Counter
from math import log2

import numpy as np
import pytest

from siftcast.model import Attribute, Event, Filter, Schema, Subscription
from siftcast.overlays.contract import (
    MessageReceived,
    PeerFound,
    PeerLost,
    PublishRequested,
    Refuse,
    SubscribeRequested,
)
from siftcast.overlays.delivery import Parcel
from siftcast.overlays.loopback import Loopback
from siftcast.overlays.protocols.layered.messages import Busy, Inquire, InquireAgain, Keep
from siftcast.overlays.tables import matcher_tables
from siftcast.schemes import Ground, SchemeError, scheme

SCHEMA = Schema([Attribute("value", "int", (0, 9), 1), Attribute("application", "string")])
RING = scheme("rendezvous")


def ring(count: int, **options: object) -> Loopback:
    places = np.arange(float(count))
    ground = Ground(np.abs(np.subtract.outer(places, places)), np.random.default_rng(1), schema=SCHEMA)
    made = RING.configure(options)
    plan = RING.plan(ground, made)
    net = Loopback(range(count), RING.nodes(plan, made, matcher_tables("brute_force")), 5)
    net.rest()
    return net


def subscribe(net: Loopback, node: int, id: str, text: str) -> None:
    net.tell(node, SubscribeRequested((Subscription(id, Filter.parse(text)),)))
    net.rest()


def publish(net: Loopback, node: int, **attributes: object) -> None:
    net.sent.clear()
    net.delivered.clear()
    net.tell(node, PublishRequested(Event(dict(attributes), "e")))


def asked(net: Loopback) -> list[int]:
    return [to for _, to, message in net.sent if isinstance(message, Inquire)]


def lose(net: Loopback, node: int) -> None:
    """Takes a node down, and lets all others know."""
    net.crash(node)
    for other in list(net.protocols):
        net.tell(other, PeerLost(node))


def bring_back(net: Loopback, node: int) -> None:
    net.restart(node)
    for other in list(net.protocols):
        if other != node:
            net.tell(other, PeerFound(node))


def test_a_lost_matcher_is_replaced_by_its_replica_and_nobody_gets_an_event_twice() -> None:
    net = ring(4, clusters=1, replicas=4, confirm="received")
    subscribe(net, 3, "s", "value = 3")
    for number in range(12):
        publish(net, 3 - number % 2, value=3)
        first = asked(net)
        if first and first[0] not in (2, 3):
            lose(net, first[0])  # before it has said anything
            net.rest()
            again = [to for _, to, message in net.sent if isinstance(message, InquireAgain)]
            assert first[0] not in again  # the publisher's own node may have been drawn, which needs no message
            assert Counter(net.delivered) == {(3, "e", "s"): 1}
            return
        net.rest()
    raise AssertionError("no matcher elsewhere was asked")


def test_without_confirmations_what_a_lost_matcher_had_is_lost() -> None:
    net = ring(3, clusters=1, replicas=3, confirm="none")
    subscribe(net, 2, "s", "value = 3")
    while True:
        publish(net, 1, value=3)
        first = asked(net)
        if first == [0]:
            break
        net.rest()
    lose(net, 0)
    net.rest()
    assert net.delivered == []


def test_a_matcher_that_begins_says_that_it_is_busy_until_it_knows_what_it_is_to_keep() -> None:
    net = ring(2, clusters=1, replicas=2)
    subscribe(net, 1, "s", "value = 3")
    net.crash(0)
    net.restart(0)
    assert not net.protocols[0].state()["caught_up"]
    fresh = net.protocols[0].handle
    effects = fresh(MessageReceived(1, Inquire(Event({"value": 3}, "e"), 1, 1, 0, (0, 1, 2))), 0.0)
    assert any(isinstance(getattr(effect, "message", None), Busy) for effect in effects)
    bring_back(net, 0)
    net.rest()
    assert net.protocols[0].state()["caught_up"]
    assert net.protocols[0].state()["entries"] == 1
    for _ in range(8):
        publish(net, 0, value=3)
        net.rest()
        assert net.delivered == [(1, "e", "s")]


def test_a_publisher_that_collects_sends_once_to_whom_all_clusters_found() -> None:
    options = {"clusters": 3, "replicas": 1, "parts": 3, "rendezvous": "none"}
    plain, collecting = ring(6, **options), ring(6, collect=True, confirm="matched", **options)
    for net in (plain, collecting):
        for number in range(12):
            subscribe(net, 5, f"s{number}", "value < 5")
        publish(net, 4, value=3)
        net.rest()
        assert len(net.delivered) == 12
    notices = [sum(isinstance(message, Parcel) for _, _, message in net.sent) for net in (plain, collecting)]
    assert notices[0] > 1
    assert notices[1] == 1


@pytest.mark.parametrize("visit", ["scatter", "walk"])
def test_an_event_asks_one_matcher_of_each_cluster_of_its_zone(visit: str) -> None:
    net = ring(12, clusters=4, replicas=3, parts=2, span_parts=1, visit=visit)
    publish(net, 0, value=9)
    net.rest()
    clusters = [matcher // 3 for matcher in asked(net)]
    assert len(clusters) == len(set(clusters))
    senders = {sender for sender, _, message in net.sent if isinstance(message, Inquire)}
    assert (senders == {0}) == (visit == "scatter" or len(clusters) < 2)


def test_a_filter_is_entered_under_each_zone_it_may_want_and_a_wide_one_spans() -> None:
    net = ring(10, clusters=10, replicas=1, parts=1)
    subscribe(net, 0, "narrow", "value IN (2, 7)")
    kept = Counter(message.label for _, _, message in net.sent if isinstance(message, Keep))
    assert sum(node.state()["entries"] for node in net.protocols.values()) == 2
    assert kept
    subscribe(net, 0, "wide", "value >= 2")
    assert sum(node.state()["entries"] for node in net.protocols.values()) == 3


def test_with_log_tables_nobody_needs_to_know_more_than_a_logarithm_of_the_others() -> None:
    count = 64
    places = np.zeros((count, count))
    ground = Ground(places, np.random.default_rng(1), schema=SCHEMA)
    contacts = {}
    for tables in ("full", "log"):
        made = RING.configure({"tables": tables, "delivery": "ring"})
        plan = RING.plan(ground, made)
        contacts[tables] = max(len(RING.contacts(plan, node)) for node in range(count))
    assert contacts["full"] == count - 1
    assert contacts["log"] <= 2 * log2(count)


def test_applications_have_knobs_of_their_own_on_the_same_nodes() -> None:
    options = {"clusters": 2, "replicas": 2, "applications": "games: replicas=4; alerts: clusters=4, parts=4"}
    net = ring(4, **options)
    subscribe(net, 1, "any", "value = 3")
    subscribe(net, 2, "games", "application = 'games' AND value < 5")
    subscribe(net, 3, "alerts", "application = 'alerts'")
    for name, wanted in (("games", ["any", "games"]), ("alerts", ["alerts", "any"]), ("other", ["any"])):
        publish(net, 0, value=3, application=name)
        net.rest()
        assert sorted(id for _, _, id in net.delivered) == wanted
        if name == "alerts":
            assert len(set(asked(net))) >= 3  # all four clusters but perhaps the publisher's own


def test_publishing_is_refused_when_too_many_events_wait() -> None:
    net = ring(3, clusters=3, replicas=1, parts=3, rendezvous="none", open_max=2)
    lose(net, 1)
    lose(net, 2)
    for number in range(5):
        net.tell(0, PublishRequested(Event({"value": number}, f"e{number}")))
    assert net.protocols[0].state()["open"] == 2
    assert len(net.refused) == 3


def test_a_refusal_says_whether_matchers_are_away_or_busy() -> None:
    def told(*, away: tuple[int, ...]) -> str:
        net = ring(3, clusters=3, replicas=1, parts=3, rendezvous="none", open_max=1)
        for node in away:
            lose(net, node)
        for number in range(2):
            effects = net.protocols[0].handle(PublishRequested(Event({"value": number}, f"e{number}")), 0.0)
        (refusal,) = (effect for effect in effects if isinstance(effect, Refuse))
        return refusal.reason

    assert "2 of 3 clusters cannot be reached" in told(away=(1, 2))
    assert "all can be reached and are busy" in told(away=())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"replicas": 0}, "at least 1"),
        ({"clusters": 10**22}, "from -9,223,372,036,854,775,807 to"),
        ({"clusters": 10**12}, "clusters is at most 65,536"),
        ({"zones": 10**7}, "zones is at most 4,096"),
        ({"key": "value", "cuts": str(list(range(5_000)))}, "cuts make more than 4,096 zones"),
        ({"key": "nosuch"}, "'nosuch' is not in the schema, which has value, application"),
        ({"cuts": [1, 2], "key": "value"}, "so write it in quotes"),
        ({"cuts": '["a"]', "key": "value"}, "cuts are strings, and 'value' is a number"),
        ({"cluster_weights": "[0, 0]"}, "cluster_weights are all 0"),
        ({"node_weights": "[0, 0, 0, 0]"}, "node_weights are all 0"),
        ({"node_weights": "[1e999, 1, 1, 1]"}, "node_weights"),
        ({"zone_parts": "[0, 1]"}, "none below 1"),
        ({"zone_parts": "[1.5, 1]"}, "whole numbers"),
        ({"visit": "run"}, "visit is one of"),
        ({"delivery": "pigeon"}, "delivery is one of"),
        ({"confirm": "maybe"}, "confirm is one of"),
        ({"collect": True}, "collect goes with"),
        ({"rendezvous": "hash"}, "wants a key"),
        ({"cuts": "3, 4", "key": "value"}, "a list in JSON"),
        ({"cuts": "[4, 3]", "key": "value"}, "ascend"),
        ({"cuts": '[4, "x"]', "key": "value"}, "all of one kind"),
        ({"zone_parts": "[1, 2, 1]"}, "zone_parts has 3 numbers"),
        ({"node_weights": "[1]"}, "node_weights has 1 numbers"),
        ({"cluster_weights": "[1, -1]"}, "none below 0"),
        ({"applications": "games"}, "an application has"),
        ({"applications": "games: speed=3"}, "an application has"),
        ({"tables": "some"}, "tables is one of"),
        ({"retry_ms": 0.0}, "longer than 0"),
    ],
)
def test_knobs_that_make_no_ring_are_refused_in_words(options: dict[str, object], problem: str) -> None:
    with pytest.raises(SchemeError, match=problem):
        ring(4, **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, []),
        ({"clusters": 2, "parts": 2, "key": "value", "cuts": "[5]", "zones": 2}, []),
        ({"clusters": 9, "replicas": 1}, ["clusters = 9, but there are no more than 4 matchers"]),
        ({"clusters": 9, "replicas": 1, "cluster_weights": str([1] * 9)}, ["clusters = 9, but"]),
        ({"clusters": 2, "parts": 9}, ["parts = 9, but there are 2 clusters, so a zone has at most 2"]),
        ({"clusters": 2, "span_parts": 3}, ["span_parts = 3, but"]),
        ({"clusters": 2, "zone_parts": "[7, 1]"}, ["zone_parts = 7, but"]),
        ({"replicas": 9}, ["replicas = 9, but of 4 matchers in 1 cluster the smallest cluster has 4"]),
        ({"clusters": 4}, ["replicas = 2, but of 4 matchers in 4 clusters the smallest cluster has 1"]),
        ({"zones": 50}, ["zones = 50, but value has 10 zones"]),
        ({"key": "value", "cuts": "[5, 500, 600]"}, ["cuts at 500, 600 lie outside the domain of value, 0 to 9"]),
        ({"key": "application"}, ["key = 'application' of no effect"]),
        ({"rendezvous": "none", "key": "value", "zones": 3}, ["key and zones of no effect"]),
        ({"rendezvous": "hash", "key": "nosuch"}, ["key = 'nosuch' is not in the schema"]),
        ({"applications": "games: replicas=9"}, ["application games: replicas = 9, but"]),
    ],
)
def test_knobs_that_do_not_come_out_as_they_say_are_told(options: dict[str, object], said: list[str]) -> None:
    places = np.arange(4.0)
    ground = Ground(np.abs(np.subtract.outer(places, places)), np.random.default_rng(1), schema=SCHEMA)
    made = RING.configure(options)
    remarks = RING.remarks(ground, made, RING.plan(ground, made))
    assert len(remarks) == len(said)
    for remark, words in zip(remarks, said, strict=True):
        assert remark.startswith(words)


def test_one_matcher_with_defaults_is_told_nothing() -> None:
    ground = Ground(np.zeros((1, 1)), np.random.default_rng(1), schema=SCHEMA)
    assert RING.remarks(ground, RING.options, RING.plan(ground, RING.options)) == ()
