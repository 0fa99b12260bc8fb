"""What people are shown of a view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from siftcast.overlays.contract import NodeId, Report
from siftcast.overlays.epochs.view import ABSENT, COORDINATOR, GONE, LEAVING, Holdings, Member, View

FORGOTTEN = "the node was declared gone, and the others have given up what it holds; begin with an empty folder"
LAST = "this is the last node of its network, and nobody could take over what it holds"


def announce(member: Member) -> Report:
    """That a member is something else than before."""
    facts: dict[str, str | int | float] = {"member": member.name, "identity": member.node}
    if member.held is not None:
        held = member.held
        facts |= {"subscriptions": held.subscriptions, "events": held.events, "messages": held.messages}
    return Report(f"member is {member.state}", facts, routine=member.state not in (ABSENT, GONE))


def facts_of_view(view: View, node: NodeId, names: Mapping[NodeId, str], held: Holdings) -> dict[str, Any]:
    """The view as one of its nodes, which holds something, has it."""
    facts: dict[str, Any] = {
        "version": view.version,
        "members": [_facts_of(member, view) for member in view.members],
    }
    if view.state(node) == LEAVING:
        facts["leaving"] = _leaving_words(view, node, names, held)
    return facts


def _facts_of(member: Member, view: View) -> dict[str, Any]:
    """A member; what it is not is left out."""
    facts: dict[str, Any] = {"identity": member.node, "name": member.name, "state": member.state}
    if roles := [*([COORDINATOR] if member.node == view.coordinator else ()), *member.all_roles]:
        facts["roles"] = roles
    if member.region:
        facts["region"] = member.region
    if member.held is not None:
        held = member.held
        facts["held"] = f"{held.subscriptions} durable subscriptions, {held.events} events, {held.messages} messages"
    return facts


def _leaving_words(view: View, node: NodeId, names: Mapping[NodeId, str], held: Holdings) -> str:
    """How far a node is that leaves."""
    if view.has_place(node):
        return f"the others plan without it; {len(view.epochs)} plans are open"
    heir = view.newest.stand_in(node)
    to = "nobody" if heir is None else f"'{names.get(heir, heir)}'"
    return f"its durable subscriptions go to {to}; {held.messages} messages are on their way"
