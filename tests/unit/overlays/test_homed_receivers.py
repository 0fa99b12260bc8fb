"""HOMED's option `receivers`: publishers name the nodes that may receive an event, and nothing else stops a node."""

import math

import numpy as np
import pytest

from siftcast.model import Attribute, Event, Filter, Schema, Subscription
from siftcast.overlays.contract import (
    Deliver,
    MessageReceived,
    PublishRequested,
    Refuse,
    SendMessage,
    Started,
    SubscribeRequested,
)
from siftcast.overlays.protocols.homed import Cast, Homed, HomedSettings
from siftcast.overlays.tables import matcher_tables
from siftcast.schemes import Ground, SchemeError, scheme
from siftcast.space.digests import InterestDigests

SCHEMA = Schema([Attribute("x", "int", (0, 99), 1), Attribute("to", "int")])
NOT_NODES = ["n1", "", 1.0, math.nan, math.inf, ["n1"], [1, "n1"], [1, True], [[1]], {"a": 1}, b"1", True, False]


def founder():
    node = Homed(5, InterestDigests.of(SCHEMA, bits=16), matcher_tables("brute_force"), HomedSettings(receivers="to"))
    node.handle(Started(), 0.0)
    node.handle(SubscribeRequested((Subscription("s", Filter.parse("x >= 0")),)), 0.0)
    return node


@pytest.mark.parametrize("value", NOT_NODES, ids=repr)
def test_what_names_no_nodes_is_refused_where_it_is_published_and_reaches_nobody_from_elsewhere(value):
    node, event = founder(), Event({"x": 1, "to": value}, id="e")
    (refusal,) = node.handle(PublishRequested(event), 1.0)
    assert isinstance(refusal, Refuse)
    assert refusal.request == "e"
    assert "'to' names the nodes" in refusal.reason
    assert "siftcast members" in refusal.reason
    effects = node.handle(MessageReceived(7, Cast(0, event, -1, -1)), 2.0)
    assert not any(isinstance(effect, Deliver | SendMessage) for effect in effects)


@pytest.mark.parametrize(("value", "is_for_it"), [(None, 1), (5, 1), ([5, 6], 1), ([], 0), (6, 0), (-1, 0), (2**80, 0)])
def test_nodes_are_named_by_one_identity_or_a_list_and_all_are_meant_without(value, is_for_it):
    effects = founder().handle(PublishRequested(Event({"x": 1, "to": value}, id="e")), 1.0)
    assert len([effect for effect in effects if isinstance(effect, Deliver)]) == is_for_it
    assert not any(isinstance(effect, Refuse) for effect in effects)


def ground(schema):
    return Ground(np.zeros((2, 2)), np.random.default_rng(1), schema=schema)


def test_receivers_take_their_bits_from_the_default_and_must_be_in_the_schema():
    homed = scheme("homed")
    assert homed.plan(ground(SCHEMA), homed.configure({})).digests.bits > 48
    options = homed.configure({"receivers": "to"})
    assert 2 <= homed.plan(ground(SCHEMA), options).digests.bits <= 48
    with pytest.raises(SchemeError, match="'to' for receivers takes 16 more; leave them out"):
        homed.configure({"receivers": "to", "bits": 64})
    with pytest.raises(SchemeError, match="attribute 'nosuch', which the schema has not"):
        homed.plan(ground(SCHEMA), homed.configure({"receivers": "nosuch"}))
