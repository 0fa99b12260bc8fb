"""Whom a network waits for before it changes, as far as one of its nodes knows.

COORDINATOR     nobody but the coordinator makes changes, and this node is not it
SILENT          the coordinator has asked it how far it is, and has no answer; it says so to those who ask it for
                something
ABSENT          it is expected back with a place in an earlier plan, whose messages it may hold
UNHEARD         the coordinator is declared gone, and most of the others must say what they know before this node
                can take its office
ASKED           this node is no member yet, has asked it for a place, and has no answer
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from siftcast.overlays.contract import NodeId
from siftcast.overlays.epochs.view import ABSENT, PRESENT, View, absent_in_old

COORDINATOR, SILENT, UNHEARD, ASKED = "coordinator", "silent", "unheard", "asked"


def unheard(view: View, node: NodeId, heard: Collection[NodeId], forgotten: Collection[NodeId]) -> list[NodeId]:
    """Who has to say what it knows before `node` can take the office of a coordinator; nobody, if it can."""
    others = [each.node for each in view.members if each.is_expected and each.node not in forgotten]
    asked = [other for other in others if other not in heard and other != node]
    return asked if 2 * (len(others) - len(asked)) <= len(others) else []


def successor(view: View, able: Collection[NodeId]) -> NodeId | None:
    """Who takes the office of a coordinator that leaves."""
    return next((each.node for each in view.members if each.state == PRESENT and each.node in able), None)


def awaited(
    view: View,
    node: NodeId,
    *,
    wants: bool,
    forgotten: Collection[NodeId],
    heard: Collection[NodeId],
    found: Collection[NodeId],
    silent: Collection[NodeId],
) -> list[dict[str, Any]]:
    """Identities, and why each is waited for.

    `wants` says whether a person asked this node for something that has not come about; `found` are those it reaches,
    and `silent` those who do not answer the coordinator, as that has told it.
    """
    why: dict[NodeId, str] = dict.fromkeys(absent_in_old(view), ABSENT)
    if view.coordinator in forgotten:
        why |= dict.fromkeys(unheard(view, node, heard, forgotten), UNHEARD)
    elif view.coordinator != node and not silent:
        why |= {view.coordinator: COORDINATOR} if wants else {}
    elif view.coordinator != node:
        why |= dict.fromkeys(silent, SILENT) if wants else {}
    else:
        why |= dict.fromkeys(silent, SILENT)
        if wants and successor(view, found) is None:
            others = (each.node for each in view.members if each.state == PRESENT and each.node != node)
            why |= dict.fromkeys(others, SILENT)
    return [{"identity": each, "why": reason} for each, reason in why.items() if each not in forgotten]
