"""The nodes of a network as one of them sees them, for `siftcast members`.

A protocol that keeps a list of members says so as the fact `members` of its state: dictionaries with `identity`, and
with `state` and whatever else it knows. Otherwise the connections are all there is to tell. What the runtime knows, the
name, the address and the delay, is added to either. What the members agree on may be long out of date: a member that is
down stays present until the others notice, and a coordinator until a person says so. So what this node sees of a member
stands beside its agreed state (`reach`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from siftcast.overlays.contract import NodeId
from siftcast.overlays.epochs.awaited import ASKED, COORDINATOR, SILENT, UNHEARD
from siftcast.overlays.epochs.view import ABSENT, GONE, LEFT
from siftcast.runtimes.live.node.address_book import AddressBook
from siftcast.runtimes.live.node.echoes import Echoes


class Connections(Protocol):
    """Who is there, and who should be."""

    echoes: Echoes

    @property
    def connected(self) -> tuple[NodeId, ...]: ...

    @property
    def watched(self) -> frozenset[NodeId]: ...

    @property
    def unreached(self) -> frozenset[NodeId]: ...


HERE, CONNECTED, NOT_REACHED = "this node", "connected", "not reached"
"""What a node sees of a member; nothing, if it has had no reason to call it."""


class Place(Protocol):
    """Where this node is."""

    def address(self) -> str: ...


def list_members(
    own: NodeId, state: Mapping[str, Any], peers: Connections, book: AddressBook, place: Place
) -> list[dict[str, Any]]:
    """All members, in the order of their names."""
    connected = set(peers.connected)
    names, delays_ms = book.names, peers.echoes.delays_ms

    def seen(node: NodeId) -> str:
        if node == own:
            return HERE
        if node in connected:
            return CONNECTED
        return "lost" if node in peers.watched else "known"

    unreached = peers.unreached

    def reach(node: NodeId) -> str:
        if node == own or node in connected:
            return seen(node)
        return NOT_REACHED if node in unreached else ""

    told = state.get("members")
    if told is None:
        rows: list[dict[str, Any]] = [{"identity": node} for node in sorted({own, *names, *connected})]
    else:
        found = [row for row in told if isinstance(row, Mapping) and isinstance(row.get("identity"), int)]
        rows = [{"reach": "" if row.get("state") in (LEFT, GONE) else reach(row["identity"]), **row} for row in found]
    members = [
        {
            "identity": row["identity"],
            "name": names[row["identity"]],
            "state": seen(row["identity"]),
            "address": place.address() if row["identity"] == own else book.address(row["identity"]),
            "delay_ms": delays_ms.get(row["identity"]),
            **row,
        }
        for row in rows
    ]
    return sorted(members, key=lambda row: (str(row["name"]), row["identity"]))


_WHY = {
    COORDINATOR: "waits for coordinator '{name}'",
    SILENT: "waits for node '{name}', which does not answer",
    ABSENT: "waits for node '{name}', which is absent and may hold messages of an earlier plan",
    UNHEARD: "waits for most of the other nodes, and '{name}' has not answered yet",
    ASKED: "asks '{name}' for a place, which does not answer",
}
_UNREACHED = {
    COORDINATOR: "waits for coordinator '{name}', which this node does not reach",
    UNHEARD: "waits for most of the other nodes, and does not reach '{name}'",
    ASKED: "asks '{name}' for a place, and does not reach it at {address}",
}
_NAMED_MAX = 3


def waiting_words(state: Mapping[str, Any], peers: Connections, book: AddressBook) -> list[str]:
    """Whom a change of the network waits for, as far as this node knows, and what a person can do about it."""
    words, names = [], {row["identity"]: row["name"] for row in state.get("members", ())}
    awaited, unreached = state.get("awaited", ()), peers.unreached
    for row in awaited[:_NAMED_MAX]:
        node, why = row["identity"], row["why"]
        name = names.get(node, book.name(node))
        said = _UNREACHED.get(why, _WHY[why]) if node in unreached else _WHY[why]
        said = said.format(name=name, address=book.address(node))
        # Only a node that is down can be forgotten, and one that is about to join could not ask for it.
        can_be_forgotten = why == ABSENT or (node in unreached and why != ASKED)
        words.append(f"{said}; if it never comes back: siftcast forget {name}" if can_be_forgotten else said)
    more = len(awaited) - _NAMED_MAX
    return words if more <= 0 else [*words, f"and for {more} more"]
