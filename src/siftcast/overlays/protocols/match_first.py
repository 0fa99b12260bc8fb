"""Match once where the event is published, then deliver to the servers found: three schemes in one.

Every server knows every subscription of the others, so the publisher's server can name all destinations. How they are
reached is the delivery's business:

- with `Direct` this is **unicast**, with `NetworkMulticast` **ideal multicast**: the two yardsticks of the Kyra paper;
- with `AlongTree` it is **match-early**, Kyra's future work: the destination list is split hop by hop, and no server on
  the way matches anything.

Subscriptions flood a tree. Cost: an event is matched once with everything, and once at each destination with that
server's own subscriptions; the list of destinations adds to its size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from siftcast.model import Event
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
    Spent,
    Stimulus,
    SubscribeRequested,
    UnsubscribeRequested,
)
from siftcast.overlays.delivery import Delivery, Parcel
from siftcast.overlays.keys import LOCAL
from siftcast.overlays.links import Links
from siftcast.overlays.messages import Announce, Publication, Retract
from siftcast.overlays.subscription_flood import FloodChange, SubscriptionFlood
from siftcast.overlays.tables import TableFactory


class MatchFirst(Protocol):
    """A server that matches what its own publishers publish, and nothing else."""

    messages: ClassVar[tuple[type[Message], ...]] = (Announce, Retract, Publication, Parcel)

    __slots__ = ("_delivery", "_flood", "_node", "_others", "_own")

    def __init__(self, node: NodeId, links: Links, tables: TableFactory, delivery: Delivery) -> None:
        self._node = node
        self._flood = SubscriptionFlood(links)
        self._delivery = delivery
        self._own = tables()
        self._others = tables()

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        match stimulus:
            case MessageReceived(sender, message):
                return self._receive(message, sender)
            case PublishRequested(event):
                destinations = dict.fromkeys(map(self._flood.owner, self._others.match(event)))
                sent = self._delivery.send(Publication(event, self._node), destinations)
                return [Spent(1), *self._deliver(event), *sent]
            case SubscribeRequested(subscriptions):
                entries = [(item.id, item.filter, self._node) for item in subscriptions]
                return self._apply(self._flood.announce(entries, LOCAL))
            case UnsubscribeRequested(ids):
                return self._apply(self._flood.retract(ids, LOCAL))
            case PeerFound(peer):
                return self._flood.introduce(peer)
        return NOTHING

    def _receive(self, message: Message, sender: NodeId) -> Effects:
        match message:
            case Parcel():
                content, effects = self._delivery.receive(message)
                return [*self._deliver(content.event), *effects] if isinstance(content, Publication) else effects
            case Announce(entries, _, anew):
                return self._apply(self._flood.announce(entries, sender, anew=anew))
            case Retract(ids, _):
                return self._apply(self._flood.retract(ids, sender))
        return NOTHING

    def _deliver(self, event: Event) -> list[Effect]:
        found = self._own.match(event)
        return [Deliver(event, found)] if found else []

    def _apply(self, change: FloodChange) -> Effects:
        for id, _, owner in change.removed:
            (self._own if owner == self._node else self._others).remove(id)
        for id, filter_, owner in change.added:
            (self._own if owner == self._node else self._others).add(id, filter_)
        return change.effects

    def state(self) -> Mapping[str, Any]:
        return {"entries": len(self._others), "local": len(self._own)}
