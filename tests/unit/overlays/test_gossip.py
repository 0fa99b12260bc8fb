"""Gossip as a protocol: its messages as bytes, what it says about itself, and its goodbye."""

import pytest

from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.contract import Deliver, Leave, LeaveRequested, PublishRequested, Started, SubscribeRequested
from siftcast.overlays.discovery.messages import (
    Census,
    DistanceAnswer,
    DistanceRequest,
    LinkAnswer,
    LinkRequest,
    Part,
    Place,
    Standing,
    TreeLeave,
    TreeParent,
    TreePlace,
    Visited,
    Walk,
)
from siftcast.overlays.epidemic_tree import Graft, Have, Prune, Push
from siftcast.overlays.loopback import Loopback
from siftcast.overlays.membership.detector_messages import Ack, Ping, ProbeAnswer, ProbeRequest
from siftcast.overlays.membership.random_view import Exchange, ExchangeReply
from siftcast.overlays.membership.view_messages import (
    Disconnect,
    ForwardJoin,
    Join,
    NeighbourAnswer,
    NeighbourRequest,
    Shuffle,
    ShuffleReply,
)
from siftcast.overlays.protocols.gossip import Gossip
from siftcast.overlays.tables import matcher_tables
from siftcast.overlays.wire_messages import MessageCodec

FAR = 2**62 + 1
TABLES = matcher_tables("brute_force")
HERE = (1.0, -2.5, 0.5, 0.25)
NAMED = [
    (Join(), ()),
    (ForwardJoin(FAR, 6), (FAR,)),
    (NeighbourRequest(True), ()),
    (NeighbourAnswer(False), ()),
    (Disconnect((4, FAR), leaving=True), (4, FAR)),
    (Shuffle(3, (4, FAR), 2), (3, 4, FAR)),
    (ShuffleReply((FAR,)), (FAR,)),
    (Exchange(((3, 0), (FAR, 7))), (3, FAR)),
    (ExchangeReply(((FAR, 7),)), (FAR,)),
    (Ping(1, accused=2, errand=True), ()),
    (Ack(1, 2, mutual=False), ()),
    (ProbeRequest(1, FAR, accused=3), (FAR,)),
    (ProbeAnswer(1, FAR, None), ()),  # who asked for the probe knows its subject
    (Have((("e", 1.5),)), ()),
    (Graft("e"), ()),
    (Prune(), ()),
    (Push(Event({"a": 1}, id="e"), 2.5), ()),
    (Place(FAR, HERE, ("a", None), 2.5, (4,), urgent=True), (FAR,)),  # whom it has passed need not be talked to
    (LinkRequest(HERE, 2.5, ("a",), ((FAR, None), (4, ("a", None)))), (FAR, 4)),
    (LinkAnswer(HERE, False, (4, FAR)), (4, FAR)),
    (Part((4, FAR), leaving=True), (4, FAR)),
    (Walk(FAR, 1, HERE, 2.5, 3, 4), (FAR,)),
    (Visited(1, HERE, None, 3), ()),
    (DistanceRequest(FAR), (FAR,)),
    (DistanceAnswer(FAR, None), ()),  # who asked knows the subject
    (Standing(HERE), ()),
    (Census(((3, 0), (FAR, 7)), asks=True), (3, FAR)),
    (TreePlace(3, FAR, ("a", None)), (FAR,)),
    (TreeParent(3, (), ((FAR, ("a",)),)), (FAR,)),
    (TreeLeave(3), ()),
]


@pytest.mark.parametrize(("message", "named"), NAMED, ids=lambda each: type(each).__name__)
def test_a_message_is_the_same_after_the_wire_and_introduces_whom_it_names(message, named):
    codec = MessageCodec(Gossip.messages)
    assert codec.decode(codec.encode(message)) == message
    assert message.introduces == named
    assert message.repeated or isinstance(message, Push)


def test_every_message_is_among_those_above():
    assert {type(message) for message, _ in NAMED} == set(Gossip.messages)


def test_a_peer_alone_delivers_to_itself_and_leaves_at_once():
    alone = Gossip(0, TABLES)
    alone.handle(Started(), 0.0)
    alone.handle(SubscribeRequested((Subscription("s", Filter.parse("a = 1")),)), 0.0)
    event = Event({"a": 1}, id="e")
    assert alone.handle(PublishRequested(event), 0.0) == [Deliver(event, ["s"])]
    assert alone.is_settled
    assert alone.can_leave
    assert alone.handle(LeaveRequested(), 0.0) == [Leave()]


def test_two_peers_see_each_other_and_say_so():
    net = Loopback((0, 1), lambda node: Gossip(node, TABLES), contacts=lambda node: (1 - node,))
    net.rest()
    for node, protocol in net.protocols.items():
        (member,) = protocol.members()
        assert (member.node, member.state) == (1 - node, "neighbour")
        assert member.delay_ms is not None
        assert protocol.state()["neighbours"] == (1 - node,)
    net.leave(0)
    net.settle()
    assert net.protocols[1].members() == ()
