"""Records that belong to another node, network or version are refused in words; nodes are known by their identities."""

import msgspec
import pytest

from siftcast.model import Event
from siftcast.overlays.contract import PeerFound, PublishRequested, Report, SendMessage, Started
from siftcast.overlays.durability import ControlRelay, Durable, Greet, Relay, RestoreError, Roster
from siftcast.overlays.links import TreeLinks
from siftcast.overlays.protocols.filter_based import FilterBased
from siftcast.overlays.tables import matcher_tables
from tests.unit.overlays.durability.single_node import SingleNode, of
from tests.unit.overlays.durability.test_relays import announce, from_peer, sent, wants

IDENTITIES = {"me": 2**62 + 5, "a": 7, "b": 2**63 - 1, "c": 40}


class NamedNode(SingleNode):
    """A node whose neighbours are listed, in a list that may change between two lives."""

    def __init__(self, names, layout="net", own="me"):
        self.names, self.layout, self.own, self.network = list(names), layout, own, "siftcast"
        super().__init__()

    def start(self):
        node = self.number(self.own)
        others = tuple(sorted(self.number(name) for name in self.names if name != self.own))
        scheme = FilterBased(node, TreeLinks(others), matcher_tables("brute_force"))
        listed = {self.number(name): name for name in self.names}
        roster = Roster(listed, network=self.network, layout=self.layout)
        self.durable = Durable(node, scheme, self.settings, roster)
        self.writing, self.effects = None, []
        self.tell(Started(dict(self.disk), nonce=7))

    def number(self, name):
        return IDENTITIES[name]

    def is_wanted_by(self, name):
        entry = wants("s", origin=self.number(name))
        self.tell(from_peer(announce(entry), sender=self.number(name)))


def test_what_waits_for_a_neighbour_goes_to_it_wherever_it_stands_in_the_list():
    node = NamedNode(["me", "a", "b"])
    node.is_wanted_by("a")
    node.silent = True
    node.publish("e")
    node.names = ["b", "a", "me"]
    node.silent = False
    node.restart()
    found = [effect for effect in of(node.effects, SendMessage) if isinstance(effect.message, Relay)]
    assert [(each.message.event_id, each.destinations) for each in found] == [("e", (node.number("a"),))]
    assert [each.event_id for each in sent(node.publish("f"), Relay, to=node.number("a"))] == ["f"]


def test_routes_are_kept_by_identity():
    node = NamedNode(["me", "a", "b"])
    node.is_wanted_by("b")
    node.names = ["b", "me", "a"]
    node.restart()
    assert len(sent(node.publish("e"), Relay, to=node.number("b"))) == 1
    assert not sent(node.effects, Relay, to=node.number("a"))


def test_a_folder_of_another_node_is_refused():
    node = NamedNode(["me", "a"])
    node.own = "a"
    with pytest.raises(RestoreError, match=r"belongs to node 'me' with the identity 4611.*, and this is 'a' with 7"):
        node.restart()


def test_a_folder_of_another_network_is_refused():
    node = NamedNode(["me", "a"])
    node.network = "elsewhere"
    with pytest.raises(RestoreError, match="of network 'siftcast', and this is network 'elsewhere'"):
        node.restart()


def test_a_node_may_be_renamed():
    node = NamedNode(["me", "a"])
    node.subscribe()
    node.publish("e")
    listed = {node.number("me"): "renamed", node.number("a"): "a"}
    scheme = FilterBased(node.number("me"), TreeLinks((7,)), matcher_tables("brute_force"))
    node.durable = Durable(node.number("me"), scheme, node.settings, Roster(listed, network="siftcast", layout="net"))
    node.writing, node.effects = None, []
    node.tell(Started(dict(node.disk), nonce=8))
    assert node.attach() == [(1, "e")]


def test_messages_that_wait_for_another_layout_keep_a_node_from_starting():
    node = NamedNode(["me", "a"])
    node.is_wanted_by("a")
    node.silent = True
    node.publish("e", "f")
    node.layout = "other"
    with pytest.raises(RestoreError, match=r"2 for 'a'.*former"):
        node.restart()
    node.layout = "net"
    node.silent = False
    node.restart()
    assert [each.event_id for each in sent(node.effects, Relay)] == ["e", "f"]


def test_in_a_new_layout_queues_are_kept_and_routes_are_learned_again():
    node = NamedNode(["me", "a"])
    node.is_wanted_by("a")
    node.subscribe(name="s2")
    node.tell(PublishRequested(Event({}, id="mine"), durable=True))
    for greeting in sent(node.effects, Greet):
        assert greeting.stream[0] == 1
    acknowledged = [key for key in node.disk if key.startswith("outbox/")]
    for key in acknowledged:  # as if the neighbour had taken it
        del node.disk[key]
    node.names, node.layout = ["me", "c"], "other"
    node.restart()
    assert [each.what for each in of(node.effects, Report)] == ["network was laid out otherwise before"]
    assert not of(node.effects, SendMessage)
    assert node.attach("s2") == [(1, "mine")]
    found = node.tell(PeerFound(node.number("c")))
    assert [entry[0] for each in sent(found, ControlRelay) for entry in each.content.entries] == ["s2"]
    assert not [key for key in node.disk if key.startswith(("route/", "link/7"))]


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (msgspec.msgpack.encode((1_700_000_000, 3)), "format 1"),
        (msgspec.msgpack.encode({"format": 9, "node": 5}), "format 9"),
        (msgspec.msgpack.encode({"format": 2, "node": "me", "network": "net"}), "format 2"),
        (None, "does not say whose it is"),
    ],
    ids=["oldest", "newer", "older", "none"],
)
def test_records_of_another_format_are_refused_and_never_misread(record, told):
    node = NamedNode(["me", "a"])
    node.subscribe()
    if record is None:
        del node.disk["self"]
    else:
        node.disk["self"] = record
    with pytest.raises(RestoreError, match=told):
        node.restart()
