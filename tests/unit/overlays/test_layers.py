"""Matching and delivery as layers: any pair works, and delivery never looks into what it carries."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from siftcast.model import Attribute, DataError, Event, Filter, Schema, Subscription
from siftcast.overlays.contract import (
    MessageReceived,
    PublishRequested,
    Report,
    SubscribeRequested,
    UnsubscribeRequested,
)
from siftcast.overlays.delivery import AlongTree, Parcel
from siftcast.overlays.loopback import Loopback
from siftcast.overlays.messages import Publication
from siftcast.overlays.protocols.layered import LAYERED_MESSAGES
from siftcast.overlays.protocols.layered.messages import Inquire, Notice
from siftcast.overlays.tables import matcher_tables
from siftcast.overlays.wire_messages import MessageCodec
from siftcast.overlays.wrapped import Wrapped
from siftcast.schemes import Forecast, Ground, scheme
from siftcast.schemes.delivery_plan import DELIVERIES
from siftcast.schemes.layered import MATCHINGS
from siftcast.space import Tree

COUNT = 6
ENGINES = ("brute_force", "counting", "kd_tree", "auto")
CODEC = MessageCodec((*LAYERED_MESSAGES, Publication, Parcel))
EVENT = Event({"value": 3, "kind": "x"}, "e1", payload=b"secret")


def ground(**facts) -> Ground:
    places = np.arange(float(COUNT))
    return Ground(
        np.abs(np.subtract.outer(places, places)),
        np.random.default_rng(1),
        schema=Schema([Attribute("value", "int", (0, 9), 1), Attribute("kind", "string")]),
        **facts,
    )


def network(name: str, options: dict[str, object], engine: str = "brute_force", **facts) -> Loopback:
    chosen = scheme(name)
    made = chosen.configure(options)
    net = Loopback(range(COUNT), chosen.nodes(chosen.plan(ground(**facts), made), made, matcher_tables(engine)), 3)
    net.rest()
    return net


def subscribe(net: Loopback, node: int, id: str, text: str) -> None:
    net.tell(node, SubscribeRequested((Subscription(id, Filter.parse(text)),)))
    net.rest()


@pytest.mark.parametrize(("matching", "delivery"), list(product(MATCHINGS, DELIVERIES)))
def test_any_matching_goes_with_any_delivery(matching: str, delivery: str) -> None:
    wanted = [(1, Subscription("known", Filter.parse("value < 4")))]
    forecast = Forecast(wanted, pa.table({"value": [1, 3, 8], "kind": ["x", "y", "x"]}))
    options = {"matching": matching, "delivery": delivery, "clique_ms_max": 2.0}
    engine = ENGINES[(MATCHINGS.index(matching) + DELIVERIES.index(delivery)) % len(ENGINES)]
    net = network("layered", options, engine, forecast=forecast)
    for node, text in enumerate(
        ("value = 3", "value < 4", "kind = 'x'", "value > 7 OR kind IS NULL", "TRUE", "value = 8")
    ):
        subscribe(net, node, f"s{node}", text)
    subscribe(net, 5, "s5", "value = 3 AND kind = 'x'")  # in place of what it was
    net.tell(4, UnsubscribeRequested(("s4",)))
    net.rest()
    net.tell(4, PublishRequested(EVENT))
    net.rest()
    assert sorted(net.delivered) == [(node, "e1", f"s{node}") for node in (0, 1, 2, 5)]


def test_matchers_may_be_other_nodes_than_publishers_and_subscribers() -> None:
    roles = {2: frozenset({"matcher"}), 4: frozenset({"matcher"})}
    net = network(
        "rendezvous",
        {"replicas": 1, "delivery": "tree"},
        roles=roles,
        tree=Tree(range(COUNT), [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]),
    )
    subscribe(net, 0, "s", "value = 3")
    net.sent.clear()
    net.tell(5, PublishRequested(EVENT))
    net.rest()
    assert net.delivered == [(0, "e1", "s")]
    asked = {to for _, to, message in net.sent if isinstance(message, Inquire)}
    assert asked
    assert asked <= {2, 4}
    assert net.protocols[1].state()["entries"] == 0


def test_a_hop_passes_bytes_on_that_it_cannot_read() -> None:
    notice = CODEC.encode(Parcel(Wrapped(Notice(EVENT, 0)), (2,)))
    hop = AlongTree(1, {0: 0, 2: 2})
    arrived = CODEC.decode(notice)
    assert isinstance(arrived, Parcel)
    assert arrived.event_id == "e1"
    content, effects = hop.receive(arrived)
    assert content is None
    assert CODEC.encode(effects[0].message) == notice
    garbage = Wrapped.of_bytes(b"\x92\xa6Notice\xc1", CODEC.decode, CODEC.event_id)
    content, effects = hop.receive(Parcel(garbage, (2,)))
    assert content is None
    assert effects[0].message.content is garbage


def test_a_destination_reports_what_it_cannot_read_and_goes_on() -> None:
    garbage = Wrapped.of_bytes(b"\x92\xa6Notice\xc1", CODEC.decode, CODEC.event_id)
    with pytest.raises(DataError):
        garbage.open()
    net = network("layered", {"matching": "hub"})
    effects = net.protocols[2].handle(MessageReceived(1, Parcel(garbage, (2,))), 0.0)
    assert [type(effect) for effect in effects] == [Report]


def test_the_id_of_an_event_is_found_without_reading_it() -> None:
    for message in (Notice(EVENT, 7), Inquire(EVENT, 7, 1, 2, (3,)), Publication(EVENT, 7)):
        wrapped = Wrapped.of_bytes(CODEC.encode(message), pytest.fail, CODEC.event_id)
        assert wrapped.event_id == "e1"
    control = Wrapped.of_bytes(CODEC.encode(LAYERED_MESSAGES[3](5)), pytest.fail, CODEC.event_id)
    assert control.event_id is None
