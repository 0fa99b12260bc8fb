"""A node of a layered scheme: a finder says who wants an event, a delivery gets it there.

The node knows what its own subscribers want. So a destination matches an event once more, with its own few
subscriptions, and delivers to all of them at once; where the finder may name it twice for one search, it remembers
searches, and drops what comes again. `_REMEMBERED` bounds how late a repetition is recognised.

With a `carrier`, what a finder says to single nodes travels by that delivery as well, so that nobody needs to know all
others: the log N tables of the layering paper, where the direct way is its full mesh.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar

from siftcast.model import Event
from siftcast.overlays.contract import (
    Deliver,
    Effect,
    Effects,
    Message,
    MessageReceived,
    NodeId,
    Protocol,
    PublishRequested,
    Refuse,
    SendMessage,
    Stimulus,
    SubscribeRequested,
    UnsubscribeRequested,
)
from siftcast.overlays.delivery import Delivery, Parcel
from siftcast.overlays.messages import Announce, Publication, Retract
from siftcast.overlays.protocols.layered.finder import Finder, Found
from siftcast.overlays.protocols.layered.messages import LAYERED_MESSAGES, Notice, Search
from siftcast.overlays.tables import TableFactory

CARRIER = -3
"""The number of the delivery that carries what finders say."""
_REMEMBERED = 65_536


class Layered(Protocol):
    """One node."""

    __slots__ = ("_carrier", "_delivery", "_finder", "_node", "_own", "_seen", "_seen_order")

    def __init__(
        self, node: NodeId, finder: Finder, delivery: Delivery, tables: TableFactory, carrier: Delivery | None = None
    ) -> None:
        self._node = node
        self._finder = finder
        self._delivery = delivery
        self._carrier = carrier
        self._own = tables()
        self._seen: set[Search] | None = set() if finder.repeats else None
        self._seen_order: deque[Search] = deque()

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        if type(stimulus) is MessageReceived:
            return self._receive(stimulus.sender, stimulus.message, now)
        match stimulus:
            case PublishRequested(event):
                found = self._finder.find(event, now)
                if any(isinstance(effect, Refuse) for effect in found):
                    return found
                return [*self._deliver(event), *self._carry_out(found, now)]
            case SubscribeRequested(subscriptions):
                for item in subscriptions:
                    if item.id in self._own:
                        self._own.remove(item.id)
                    self._own.add(item.id, item.filter)
                return self._carry_out(self._finder.subscribe(subscriptions), now)
            case UnsubscribeRequested(ids):
                for id in ids:
                    if id in self._own:
                        self._own.remove(id)
                return self._carry_out(self._finder.unsubscribe(ids), now)
        return self._carry_out(self._finder.meet(stimulus, now), now)

    def _receive(self, sender: NodeId, message: Message, now: float) -> Effects:
        if not isinstance(message, Parcel):
            return self._carry_out(self._finder.hear(sender, message, now), now)
        if message.network == CARRIER and self._carrier is not None:
            content, effects = self._carrier.receive(message)
            return effects if content is None else [*effects, *self._receive(sender, content, now)]
        content, effects = self._delivery.receive(message)
        match content:
            case Notice():
                return [*self._take(content, now), *effects]
            case Publication(event):  # on its way since a version that sent these
                return [*self._deliver(event), *effects]
        return effects

    def _take(self, notice: Notice, now: float) -> list[Effect]:
        search = notice.origin, notice.number
        delivered = self._deliver(notice.event) if self._seen is None or self._is_new(search, self._seen) else []
        if notice.keeper is None:
            return delivered
        return [*delivered, *self._carry_out(self._finder.receive(search, notice.keeper), now)]

    def _carry_out(self, effects: list[Effect], now: float) -> list[Effect]:
        """Delivers to whom the finder found, and sends what it says by the carrier."""
        done: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Found):
                done += self._hand_on(effect, now)
            elif self._carrier is not None and isinstance(effect, SendMessage):
                done += self._carrier.send(effect.message, effect.destinations)
            else:
                done.append(effect)
        return done

    def _hand_on(self, found: Found, now: float) -> list[Effect]:
        notice = Notice(found.event, found.origin, found.number, found.keeper)
        others = [node for node in found.destinations if node != self._node]
        here = self._take(notice, now) if len(others) < len(found.destinations) else []
        return [*here, *self._delivery.send(notice, others)]

    def _deliver(self, event: Event) -> list[Effect]:
        found = self._own.match(event)
        return [Deliver(event, found)] if found else []

    def _is_new(self, search: Search, seen: set[Search]) -> bool:
        if search in seen:
            return False
        seen.add(search)
        self._seen_order.append(search)
        if len(self._seen_order) > _REMEMBERED:
            seen.discard(self._seen_order.popleft())
        return True

    @property
    def is_settled(self) -> bool:
        return self._finder.is_settled

    def state(self) -> Mapping[str, Any]:
        return {**self._finder.state(), "local": len(self._own)}


class FloodedLayers(Layered):
    """Over the finder `Everywhere`."""

    messages: ClassVar[tuple[type[Message], ...]] = (Announce, Retract, Notice, Publication, Parcel)


class RendezvousLayers(Layered):
    """Over the finder `Rendezvous`."""

    messages: ClassVar[tuple[type[Message], ...]] = (*LAYERED_MESSAGES, Parcel)


class AnyLayers(Layered):
    """Over any finder."""

    messages: ClassVar[tuple[type[Message], ...]] = (Announce, Retract, *LAYERED_MESSAGES, Publication, Parcel)
