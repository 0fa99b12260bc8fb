"""What all nodes of a planned network agree on: who is a member, and which plans are in force.

A *view* is issued by one node, the coordinator, under a version that only grows; whoever hears of a later one takes it
up. Its members are all nodes there are or have been; those that left or are gone stay in it, so that one that comes
back can be answered. An *epoch* is one plan: the nodes it was made for, in the order of their places, and who stands in
for the members it leaves out. Several epochs are open at a time while the network passes from one to the next.

Nothing here is an address, and nothing says how a plan is made: `settings` is for whoever makes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from siftcast.overlays.contract import NodeId
from siftcast.overlays.envelopes import FIRST
from siftcast.overlays.roles import EDGE

COORDINATOR = "coordinator"
"""How people are shown the node that issues views, among its roles."""
PRESENT, ABSENT, LEAVING, LEFT, GONE = "present", "absent", "leaving", "left", "gone"


class Holdings(msgspec.Struct, frozen=True, gc=False):
    """What a node holds that no other may have: for its durable subscriptions, and of messages on their way."""

    subscriptions: int = 0
    events: int = 0
    messages: int = 0


class Member(msgspec.Struct, frozen=True, gc=False):
    """A node of the network, with its roles (`overlays.roles`); that of an edge is a field of its own.

    `held` is what one that is gone had alone when it last said so.
    """

    node: NodeId
    name: str
    region: str = ""
    edge: bool = False
    state: str = PRESENT
    held: Holdings | None = None
    roles: tuple[str, ...] = ()
    """Those but `edge`, in the order of the alphabet; nodes one version behind do not know them."""

    @classmethod
    def of(cls, node: NodeId, name: str, region: str, roles: Iterable[str]) -> Member:
        """A node as its configuration or its list describes it."""
        return cls(node, name, region, EDGE in roles, roles=tuple(sorted(set(roles) - {EDGE})))

    @property
    def all_roles(self) -> tuple[str, ...]:
        """What it is for, `edge` first."""
        return ((EDGE,) if self.edge else ()) + self.roles

    @property
    def is_expected(self) -> bool:
        """Whether it may come back, so that what waits for it is kept."""
        return self.state not in (LEFT, GONE)

    def as_(self, state: str, held: Holdings | None = None) -> Member:
        """The member in another state."""
        return msgspec.structs.replace(self, state=state, held=held)


class Epoch(msgspec.Struct, frozen=True, gc=False):
    """One plan: for whom it was made, with region and roles of each, and who stands in for whom.

    Where no node has a role, `roles` is empty.
    """

    number: int
    nodes: tuple[NodeId, ...]
    regions: tuple[str, ...] = ()
    stand_ins: tuple[tuple[NodeId, NodeId], ...] = ()
    settings: bytes = b""
    roles: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(
        cls,
        number: int,
        placed: Sequence[Member],
        stand_ins: tuple[tuple[NodeId, NodeId], ...] = (),
        settings: bytes = b"",
    ) -> Epoch:
        """A plan for these members, who have their places in this order."""
        nodes = tuple(member.node for member in placed)
        regions = tuple(member.region for member in placed)
        roles = tuple(member.roles for member in placed)
        return cls(number, nodes, regions, stand_ins, settings, roles if any(roles) else ())

    def stand_in(self, node: NodeId) -> NodeId | None:
        """Who stands in for a member without a place; None if nobody does."""
        return next((other for member, other in self.stand_ins if member == node), None)


class View(msgspec.Struct, frozen=True, gc=False):
    """Members and open epochs, the latter ascending; what is published goes by the plan of epoch `used`."""

    version: int
    coordinator: NodeId
    members: tuple[Member, ...]
    epochs: tuple[Epoch, ...]
    used: int

    def member(self, node: NodeId) -> Member | None:
        """The member of this identity."""
        return next((each for each in self.members if each.node == node), None)

    def state(self, node: NodeId) -> str:
        """The state of a member; that of a node nobody knows is empty."""
        found = self.member(node)
        return "" if found is None else found.state

    def epoch(self, number: int) -> Epoch | None:
        """An open epoch."""
        return next((each for each in self.epochs if each.number == number), None)

    def has_place(self, node: NodeId) -> bool:
        """Whether an open epoch has a place for a node."""
        return any(node in epoch.nodes for epoch in self.epochs)

    @property
    def newest(self) -> Epoch:
        """The last epoch that was begun."""
        return self.epochs[-1]

    @property
    def is_calm(self) -> bool:
        """Whether one plan is open, all who have a place in it are present, and nobody leaves."""
        placed = all(self.state(node) == PRESENT for node in self.newest.nodes)
        return len(self.epochs) == 1 and placed and not any(each.state == LEAVING for each in self.members)

    @property
    def names(self) -> Mapping[NodeId, str]:
        """What people call the members."""
        return {each.node: each.name for each in self.members}


def is_expected(view: View, node: NodeId) -> bool:
    """Whether a node is a member that is here or may come back."""
    member = view.member(node)
    return member is not None and member.is_expected


def absent_in_old(view: View) -> list[NodeId]:
    """Those who are expected back with a place in an epoch that is not used any more: they may hold its messages."""
    old = {node for epoch in view.epochs if epoch.number < view.used for node in epoch.nodes}
    return [member.node for member in view.members if member.state == ABSENT and member.node in old]


def is_last(view: View | None, node: NodeId) -> bool:
    """Whether no other member is left, or may come back."""
    return view is None or not any(each.is_expected and each.node != node for each in view.members)


def first_view(members: tuple[Member, ...], coordinator: NodeId, settings: bytes = b"") -> View:
    """The view of a network that begins with a list of members, all of them present."""
    placed = [member for member in members if not member.edge]
    stand_ins = tuple((member.node, placed[0].node) for member in members if member.edge and placed)
    return View(1, coordinator, members, (Epoch.of(FIRST, placed, stand_ins, settings),), FIRST)
