"""The nodes of a network as one of them sees them, for `siftcast members`.

A protocol that keeps a list of members says so as the fact `members` of its state: dictionaries with `identity`, and
with `state` and whatever else it knows. Otherwise the connections are all there is to tell. What the runtime knows is
added to either: name, address, delay, coordinate, and the route where one was inferred. What the members
agree on may be long out of date: a member that is down stays present until the others notice, and a coordinator until a
person says so. So what this node sees of a member stands beside its agreed state (`reach`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from siftcast.overlays.contract import NodeId
from siftcast.overlays.epochs.awaited import ASKED, COORDINATOR, SILENT, UNHEARD
from siftcast.overlays.epochs.view import ABSENT, GONE, LEFT
from siftcast.runtimes.live.node.address_book import AddressBook
from siftcast.runtimes.live.node.coordinates import Coordinates, saying
from siftcast.runtimes.live.node.echoes import Echoes
from siftcast.runtimes.live.node.traceroute import Route


class Connections(Protocol):
    """Who is there, and who should be."""

    echoes: Echoes
    coordinates: Coordinates

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
    own: NodeId,
    state: Mapping[str, Any],
    peers: Connections,
    book: AddressBook,
    place: Place,
    routes: Mapping[NodeId, Route],
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
    there = (row["identity"] for row in rows if row.get("state") not in (LEFT, GONE))
    routes = {node: routes[node] for node in there if node in routes}
    shared = routers_in_common(routes)
    members = [
        {
            "identity": row["identity"],
            "name": names[row["identity"]],
            "state": seen(row["identity"]),
            "address": place.address() if row["identity"] == own else book.address(row["identity"]),
            "delay_ms": delays_ms.get(row["identity"]),
            **_whereabouts(own, row["identity"], peers.coordinates),
            **_way(row["identity"], routes, shared.get(row["identity"], {}), names),
            **row,
        }
        for row in rows
    ]
    return sorted(members, key=lambda row: (str(row["name"]), row["identity"]))


def _whereabouts(own: NodeId, node: NodeId, coordinates: Coordinates) -> dict[str, Any]:
    """Where a node is among the others, and how far that says it is; nothing, if nobody knows."""
    if node == own:
        return {"coordinate": saying(coordinates.own)}
    found = coordinates.others.get(node)
    return {} if found is None else {"coordinate": saying(found), "predicted_ms": coordinates.predicted_ms(node)}


def _way(
    node: NodeId, routes: Mapping[NodeId, Route], shared: Mapping[NodeId, Sequence[str]], names: Mapping[NodeId, str]
) -> dict[str, Any]:
    """The route to a node, where it was inferred, and which of its routers lie on the routes to others, too."""
    route = routes.get(node)
    if route is None:
        return {}
    with_others = [{"identity": other, "name": names[other], "routers": found} for other, found in shared.items()]
    said = {"status": route.status, "routers": route.routers, "delays_ms": route.delays_ms, "reason": route.reason}
    return {"route": said, "shared_routers": with_others}


def routers_in_common(routes: Mapping[NodeId, Route]) -> dict[NodeId, dict[NodeId, list[str]]]:
    """For each route, the others that share routers with it, and which; a router without a name is nobody's."""
    at: dict[str, list[NodeId]] = {}
    for node, route in routes.items():
        for router in dict.fromkeys(route.routers):
            if router is not None:
                at.setdefault(router, []).append(node)
    shared: dict[NodeId, dict[NodeId, list[str]]] = {node: {} for node in routes}
    for router, nodes in at.items():
        for one in nodes:
            for other in nodes:
                if one != other:
                    shared[one].setdefault(other, []).append(router)
    return shared


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
