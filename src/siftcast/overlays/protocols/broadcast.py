"""Broadcast: every event goes to every server along a tree, and each picks out what its own subscribers want.

No server knows the subscriptions of another. Cost: an event is one message for each other server, whoever wants it.
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
    Protocol,
    PublishRequested,
    SendMessage,
    Stimulus,
    SubscribeRequested,
    UnsubscribeRequested,
)
from siftcast.overlays.links import Links
from siftcast.overlays.messages import Publication
from siftcast.overlays.tables import TableFactory


class Broadcast(Protocol):
    """A server that passes everything on."""

    messages: ClassVar[tuple[type[Message], ...]] = (Publication,)

    __slots__ = ("_links", "_node", "_own")

    def __init__(self, node: NodeId, links: Links, tables: TableFactory) -> None:
        self._node = node
        self._links = links
        self._own = tables()

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        if type(stimulus) is MessageReceived:
            publication = stimulus.message
            assert isinstance(publication, Publication)
            return self._pass_on(publication.event, publication, stimulus.sender)
        match stimulus:
            case PublishRequested(event):
                return self._pass_on(event, Publication(event, self._node), None)
            case SubscribeRequested(subscriptions):
                for item in subscriptions:
                    if item.id in self._own:
                        self._own.remove(item.id)
                    self._own.add(item.id, item.filter)
            case UnsubscribeRequested(ids):
                for id in ids:
                    if id in self._own:
                        self._own.remove(id)
        return NOTHING

    def _pass_on(self, event: Event, publication: Publication, sender: NodeId | None) -> Effects:
        effects: list[Effect] = []
        found = self._own.match(event)
        if found:
            effects.append(Deliver(event, found))
        onward = self._links.onward(publication.origin, sender)
        if onward:
            effects.append(SendMessage(publication, onward))
        return effects

    def state(self) -> Mapping[str, Any]:
        return {"entries": 0, "local": len(self._own)}
