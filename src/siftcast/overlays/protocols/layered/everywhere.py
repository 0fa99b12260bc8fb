"""Every node knows every subscription, and matches what its own publishers publish (the matcher `publisher`).

Subscriptions flood a tree. Cost: each subscription at each node; one table matched per event, and nothing is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from siftcast.model import Event, Subscription
from siftcast.overlays.contract import Effect, Message, NodeId, PeerFound, Spent, Stimulus
from siftcast.overlays.keys import LOCAL
from siftcast.overlays.links import Links
from siftcast.overlays.messages import Announce, Retract
from siftcast.overlays.protocols.layered.finder import Finder, Found
from siftcast.overlays.subscription_flood import FloodChange, SubscriptionFlood
from siftcast.overlays.tables import TableFactory


class Everywhere(Finder):
    """All subscriptions at one node."""

    messages: ClassVar[tuple[type[Message], ...]] = (Announce, Retract)

    __slots__ = ("_flood", "_node", "_others")

    def __init__(self, node: NodeId, links: Links, tables: TableFactory) -> None:
        self._node = node
        self._flood = SubscriptionFlood(links)
        self._others = tables()

    def subscribe(self, subscriptions: tuple[Subscription, ...]) -> list[Effect]:
        return self._apply(self._flood.announce([(item.id, item.filter, self._node) for item in subscriptions], LOCAL))

    def unsubscribe(self, ids: tuple[str, ...]) -> list[Effect]:
        return self._apply(self._flood.retract(ids, LOCAL))

    def find(self, event: Event, now: float) -> list[Effect]:
        wanted = tuple(dict.fromkeys(map(self._flood.owner, self._others.match(event))))
        return [Spent(1), *([Found(event, self._node, 0, wanted)] if wanted else [])]

    def hear(self, sender: NodeId, message: Message, now: float) -> list[Effect]:
        match message:
            case Announce(entries, _, anew):
                return self._apply(self._flood.announce(entries, sender, anew=anew))
            case Retract(ids, _):
                return self._apply(self._flood.retract(ids, sender))
        return []

    def meet(self, stimulus: Stimulus, now: float) -> list[Effect]:
        return self._flood.introduce(stimulus.peer) if isinstance(stimulus, PeerFound) else []

    def _apply(self, change: FloodChange) -> list[Effect]:
        for id, _, owner in change.removed:
            if owner != self._node:
                self._others.remove(id)
        for id, filter_, owner in change.added:
            if owner != self._node:
                self._others.add(id, filter_)
        return change.effects

    def state(self) -> Mapping[str, Any]:
        return {"entries": len(self._others)}
