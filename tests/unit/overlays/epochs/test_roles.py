"""Roles: how they get from a member into an epoch, and over the wire to nodes that do not know of them."""

import msgspec

from siftcast.overlays.epochs.coordinator import Coordinator
from siftcast.overlays.epochs.messages import VIEW_MESSAGES, AskToJoin, Issue, Progress
from siftcast.overlays.epochs.view import Epoch, Holdings, Member, first_view
from siftcast.overlays.epochs.words import facts_of_view
from siftcast.overlays.roles import roles_by_place
from siftcast.overlays.wire_messages import MessageCodec

MEMBERS = tuple(
    Member.of(node, f"n{node}", "", roles) for node, roles in ((1, ()), (2, ("matcher",)), (3, ("matcher", "edge")))
)


class FormerMember(msgspec.Struct, frozen=True):
    """A member as nodes one version behind write and read it."""

    node: int
    name: str
    region: str = ""
    edge: bool = False
    state: str = "present"
    held: None = None


def test_a_view_has_the_roles_of_those_with_a_place_and_leaves_edges_out():
    view = first_view(MEMBERS, 1)
    assert view.newest == Epoch(1, (1, 2), ("", ""), ((3, 1),), b"", ((), ("matcher",)))
    assert roles_by_place(view.newest.roles) == {1: {"matcher"}}
    facts = facts_of_view(view, 1, view.names, Holdings())["members"]
    assert [row.get("roles") for row in facts] == [["coordinator"], ["matcher"], ["edge", "matcher"]]


def test_nobody_has_said_anything_where_nobody_has_a_role():
    view = first_view(MEMBERS[:1], 1)
    assert view.newest.roles == ()
    assert roles_by_place(view.newest.roles) == {}


def test_the_next_plan_has_the_roles_of_its_own_nodes_in_the_order_of_places():
    coordinator, view = Coordinator(1, durable=False, absent_ms=100.0), first_view(MEMBERS, 1)
    coordinator.join(view, Member.of(4, "n0", "", ["matcher"]))
    coordinator.forget(view, 2)
    coordinator.unasked(view, 0.0)
    for node in (1, 3):
        coordinator.note(node, Progress(coordinator.round, view.version, 7, 0, 0, 0))
    changed = coordinator.next_view(view, 0.0)
    assert (changed.newest.nodes, changed.newest.roles) == ((4, 1), (("matcher",), ()))
    assert changed.member(4).all_roles == ("matcher",)
    assert changed.member(3).all_roles == ("edge", "matcher")


def test_roles_travel_and_a_node_one_version_behind_reads_the_rest():
    codec = MessageCodec(VIEW_MESSAGES)
    for message in (Issue(first_view(MEMBERS, 1)), AskToJoin(MEMBERS[2])):
        assert codec.decode(codec.encode(message)) == message
    encoded = msgspec.msgpack.encode(MEMBERS[2])
    assert msgspec.msgpack.decode(encoded, type=FormerMember) == FormerMember(3, "n3", edge=True)
    former = msgspec.msgpack.encode(FormerMember(3, "n3", edge=True))
    assert msgspec.msgpack.decode(former, type=Member).all_roles == ("edge",)
