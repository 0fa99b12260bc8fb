"""Kyra's upper level: one filter-based network for each routing tree, over the servers whose zone overlaps the tree's.

Its subscribers are proxies: what a server subscribes here are the parts of subscriptions that it is proxy for. Each is
announced on every tree whose zone it overlaps, reduced to that zone; an event is routed on the one tree whose zone it
lies in. A server is in few trees, and holds what is wanted in these only: for each neighbour one entry a subscription,
however many proxies have a part of it there (`joined_parts`), unless parts are summarised otherwise or lookups reused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from siftcast.model import Subscription
from siftcast.overlays.content_router import ContentRouter
from siftcast.overlays.contract import (
    NOTHING,
    Deliver,
    Effect,
    Effects,
    Message,
    MessageReceived,
    NodeId,
    PeerFound,
    Protocol,
    PublishRequested,
    Stimulus,
    SubscribeRequested,
    UnsubscribeRequested,
)
from siftcast.overlays.keys import LOCAL, Interface
from siftcast.overlays.links import TreeLinks
from siftcast.overlays.messages import Announce, Publication, Retract
from siftcast.overlays.protocols.kyra.joined_parts import JoinedParts
from siftcast.overlays.reuse import NEVER, Reuse
from siftcast.overlays.routing_rows import Entry
from siftcast.overlays.tables import Table, TableFactory
from siftcast.space import KyraLayout, parts_by_owner


class RoutingTrees(Protocol):
    """A server's routers, one for each tree it has joined."""

    messages: ClassVar[tuple[type[Message], ...]] = (Announce, Retract, Publication)

    __slots__ = ("_announced", "_layout", "_neighbours", "_node", "_routers")

    def __init__(
        self,
        node: NodeId,
        layout: KyraLayout,
        tables: TableFactory,
        *,
        summary: str = "none",
        reuse: Reuse = NEVER,
    ) -> None:
        self._node = node
        self._layout = layout
        kind = JoinedParts if summary == "none" and reuse.strategy == "never" else summary
        joined = {tree: shape for tree, shape in layout.trees.items() if node in shape.neighbours}
        self._neighbours = {tree: shape.neighbours[node] for tree, shape in joined.items()}
        self._routers = {
            tree: ContentRouter(TreeLinks.of(shape, node), tables, network=tree, summary=kind, reuse=reuse)
            for tree, shape in joined.items()
        }
        self._announced: dict[str, tuple[int, ...]] = {}  # the trees on which each part is

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        if type(stimulus) is MessageReceived:
            return self._receive(stimulus.message, stimulus.sender)
        match stimulus:
            case PublishRequested(event):
                return _named(self._routers[self._layout.tree_of(event.attributes)].route(event, self._node))
            case SubscribeRequested(subscriptions):
                return self._subscribe(subscriptions)
            case UnsubscribeRequested(ids):
                return self._unsubscribe((id, tree) for id in ids for tree in self._announced.pop(id, ()))
            case PeerFound(peer):
                near = [tree for tree, neighbours in self._neighbours.items() if peer in neighbours]
                return [effect for tree in near for effect in self._routers[tree].introduce(peer)]
        return NOTHING

    def _receive(self, message: Message, sender: NodeId) -> Effects:
        if type(message) is Announce:
            return self._routers[message.network].subscribe(message.entries, sender, anew=message.anew)
        match message:
            case Publication():
                return _named(self._routers[message.network].receive(message, sender))
            case Retract(ids, network):
                return self._routers[network].unsubscribe(ids, sender)
        return NOTHING

    def entries_of(self, part: Subscription) -> dict[int, Entry]:
        """What is announced of a part, by tree."""
        found = parts_by_owner(part.filter, self._layout.tree_zones, self._layout.space)
        pieces = ((tree, piece) for tree, piece in found.items() if tree in self._routers)
        return {tree: (f"{part.id}.{tree}", piece, self._node) for tree, piece in pieces}

    def adopt(self, tables: Mapping[int, Mapping[Interface, Table]]) -> None:
        """Takes over each tree's tables, see `ContentRouter.adopt`."""
        for tree, adopted in tables.items():
            self._routers[tree].adopt(adopted)

    def _subscribe(self, parts: Iterable[Subscription]) -> Effects:
        wanted: dict[int, dict[str, Entry]] = {}
        left: list[tuple[str, int]] = []
        for part in parts:
            entries = self.entries_of(part)
            left += [(part.id, tree) for tree in self._announced.get(part.id, ()) if tree not in entries]
            self._announced[part.id] = tuple(entries)
            for tree, entry in entries.items():
                wanted.setdefault(tree, {})[part.id] = entry
        effects: list[Effect] = []
        for tree, announced in wanted.items():
            effects += self._routers[tree].subscribe(announced.values(), LOCAL)
        # The same part may come twice in one request, and be on a tree again.
        effects += self._unsubscribe((id, tree) for id, tree in left if tree not in self._announced[id])
        return effects

    def _unsubscribe(self, parts: Iterable[tuple[str, int]]) -> list[Effect]:
        gone: dict[int, list[str]] = {}
        for id, tree in parts:
            gone.setdefault(tree, []).append(f"{id}.{tree}")
        return [effect for tree, ids in gone.items() for effect in self._routers[tree].unsubscribe(ids, LOCAL)]

    def state(self) -> Mapping[str, Any]:
        return {
            "entries": sum(router.entries for router in self._routers.values()),
            "local": len(self._announced),
            "trees": len(self._routers),
        }


def _named(effects: Effects) -> Effects:
    """Parts under the names they were subscribed by, without the tree's number."""
    return [
        Deliver(effect.event, [id.rpartition(".")[0] for id in effect.subscriptions])
        if type(effect) is Deliver
        else effect
        for effect in effects
    ]
