"""Filter-based routing (FBR), as Siena does it: subscriptions flood a tree, events follow them back.

Options: how subscriptions are summarised (`none`, `covering`, `merging`), advertisements, and lookup reuse. Without
any, this is the FBR that the Kyra paper compares with. On `SourceTreeLinks` it runs on graphs with cycles.

Cost: every server holds every subscription (of the others); an event is matched at every server it passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from siftcast.overlays.advertising import Advertisements
from siftcast.overlays.content_router import ContentRouter
from siftcast.overlays.contract import (
    NOTHING,
    AdvertiseRequested,
    Effects,
    Message,
    MessageReceived,
    NodeId,
    PeerFound,
    Protocol,
    PublishRequested,
    Refuse,
    Stimulus,
    SubscribeRequested,
    UnadvertiseRequested,
    UnsubscribeRequested,
)
from siftcast.overlays.keys import LOCAL
from siftcast.overlays.links import Links
from siftcast.overlays.messages import Advertise, Announce, Publication, Retract, Unadvertise
from siftcast.overlays.reuse import NEVER, Reuse
from siftcast.overlays.tables import TableFactory


class FilterBased(Protocol):
    """A server of a filter-based network."""

    messages: ClassVar[tuple[type[Message], ...]] = (Announce, Retract, Advertise, Unadvertise, Publication)

    __slots__ = ("_advertisements", "_node", "_router")

    def __init__(
        self,
        node: NodeId,
        links: Links,
        tables: TableFactory,
        *,
        summary: str = "none",
        advertisements: bool = False,
        reuse: Reuse = NEVER,
        unsafe: bool = False,
    ) -> None:
        self._node = node
        self._advertisements = Advertisements(links) if advertisements else None
        self._router = ContentRouter(
            links, tables, summary=summary, reuse=reuse, unsafe=unsafe, advertisements=self._advertisements
        )

    @property
    def reuse(self) -> Reuse:
        """How lookups are reused; may be changed while it runs, if it was made with reuse."""
        return self._router.reuse

    @reuse.setter
    def reuse(self, reuse: Reuse) -> None:
        self._router.reuse = reuse

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        kind = type(stimulus)
        if kind is MessageReceived:
            return self._receive(stimulus.message, stimulus.sender)  # type: ignore[attr-defined]
        match stimulus:
            case PublishRequested(event):
                if self._advertisements is not None and not self._advertisements.allow(event):
                    return [Refuse(event.id, "no advertisement of this node covers the event")]
                return self._router.route(event, self._node)
            case SubscribeRequested(subscriptions):
                return self._router.subscribe([(item.id, item.filter, self._node) for item in subscriptions], LOCAL)
            case UnsubscribeRequested(ids):
                return self._router.unsubscribe(ids, LOCAL)
            case AdvertiseRequested(advertisements) if self._advertisements is not None:
                return self._advertisements.add([(ad.id, ad.filter, self._node) for ad in advertisements], LOCAL)
            case UnadvertiseRequested(ids) if self._advertisements is not None:
                return self._advertisements.remove(ids, LOCAL)
            case PeerFound(peer):
                effects = self._router.introduce(peer)
                return effects if self._advertisements is None else [*self._advertisements.introduce(peer), *effects]
        return NOTHING

    def _receive(self, message: Message, sender: NodeId) -> Effects:
        kind = type(message)
        if kind is Publication:
            return self._router.receive(message, sender)  # type: ignore[arg-type]
        match message:
            case Announce(entries, _, anew):
                return self._router.subscribe(entries, sender, anew=anew)
            case Retract(ids, _):
                return self._router.unsubscribe(ids, sender)
            case Advertise(entries, _, anew) if self._advertisements is not None:
                effects = self._advertisements.add(entries, sender, anew=anew)
                return [*effects, *self._router.reconsider(sender)]
            case Unadvertise(ids, _) if self._advertisements is not None:
                effects = self._advertisements.remove(ids, sender)
                return [*effects, *self._router.reconsider(sender)]
        return NOTHING

    def state(self) -> Mapping[str, Any]:
        return {"entries": self._router.entries, "local": self._router.local_entries}
