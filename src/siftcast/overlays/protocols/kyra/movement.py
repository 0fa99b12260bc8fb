"""Subscription movement: inside a clique, subscriptions go to the server that answers for their content (Kyra, III).

Each server of a clique has a zone of the content space and is *proxy* for all subscriptions of the clique that overlap
it. The *original* server of a subscription sends each proxy the part in its zone; proxies subscribe these parts on the
*backbone*, any protocol that joins the cliques, as if they were their own:

      original ──part in z──▶ proxy of z ──part──▶ backbone
      publisher ──event──▶ proxy of its zone ──▶ backbone ──▶ other cliques' proxies ──▶ their original servers
                                          └──▶ original servers of this clique

What the backbone delivers to a proxy it sends on to the original servers of the matching parts, once each, marked as
the final notification; they match it with their own subscribers. The publisher's own server delivers at once, and the
proxy does not send the event back to it. Zones of a clique are disjoint, so one proxy answers for an event: whoever
wants it hears of it once, however many zones and subscriptions of a server it touches.

Events without a point have a proxy and a tree as well (see `KyraLayout`), with filter-based routing on it.

Inside the clique messages go directly, or, where cliques are large, over a ring of log n contacts. Cost of an event: at
most one message to the proxy, one to each original server of the clique that wants it, and what the backbone does.
Work: a match with the parts of others counts as one; a server alone in its clique is its own proxy, which does not
count. So a `Publication` that took a single match was received by a leaf of its tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from siftcast.model import Event, Filter, Subscription
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
    Refuse,
    SendMessage,
    Spent,
    Stimulus,
    SubscribeRequested,
    UnsubscribeRequested,
)
from siftcast.overlays.delivery import OnRing, Parcel
from siftcast.overlays.keys import LOCAL
from siftcast.overlays.links import TreeLinks
from siftcast.overlays.messages import Announce, Publication, Retract
from siftcast.overlays.protocols.kyra.messages import Entrust, Handover, Notification, Withdraw
from siftcast.overlays.reuse import NEVER, Reuse
from siftcast.overlays.routing_rows import Entry
from siftcast.overlays.tables import Table, TableFactory
from siftcast.space import OUTSIDE, KyraLayout, parts_by_owner

CLIQUE_DELIVERIES = ("direct", "ring")
_CLIQUE = -2
Place = tuple[NodeId, bool]
"""A proxy, and whether it is asked for events without a point."""


class SubscriptionMovement(Protocol):
    """A server of a clique, over a backbone."""

    messages: ClassVar[tuple[type[Message], ...]] = (
        Entrust, Withdraw, Handover, Notification, Parcel, Announce, Retract, Publication,
    )  # fmt: skip

    __slots__ = (
        "_backbone", "_clique", "_layout", "_node", "_outside", "_own", "_placed", "_proxied", "_ring",
    )  # fmt: skip

    def __init__(
        self,
        node: NodeId,
        layout: KyraLayout,
        tables: TableFactory,
        backbone: Protocol,
        *,
        summary: str = "none",
        reuse: Reuse = NEVER,
        clique_delivery: str = "direct",
    ) -> None:
        if clique_delivery not in CLIQUE_DELIVERIES:
            raise ValueError(f"inside a clique, delivery is {' or '.join(CLIQUE_DELIVERIES)}, not {clique_delivery!r}")
        self._node = node
        self._layout = layout
        self._clique = layout.clique_of(node)
        self._backbone = backbone
        self._own = tables()
        self._ring = OnRing(node, self._clique.members, _CLIQUE) if clique_delivery == "ring" else None
        self._outside: ContentRouter | None = None
        if node in layout.outside_tree.neighbours:
            self._outside = ContentRouter(
                TreeLinks.of(layout.outside_tree, node), tables,
                network=OUTSIDE, summary=summary, reuse=reuse,
            )  # fmt: skip
        self._placed: dict[str, dict[Place, Filter]] = {}  # own subscriptions: their parts, by proxy
        self._proxied: dict[str, tuple[NodeId, bool]] = {}  # parts: their original server, and whether `outside`

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        if type(stimulus) is MessageReceived:
            return self._receive(stimulus.message, stimulus.sender, stimulus, now)
        match stimulus:
            case PublishRequested(event):
                return self._publish(event, now)
            case SubscribeRequested(subscriptions):
                return self._subscribe(subscriptions, now)
            case UnsubscribeRequested(ids):
                return self._unsubscribe(ids, now)
            case PeerFound(peer):
                return self._introduce(peer, stimulus, now)
        return self._backbone.handle(stimulus, now)

    def _receive(self, message: Message, sender: NodeId, stimulus: Stimulus, now: float) -> Effects:
        if type(message) is Announce and message.network != OUTSIDE:
            return self._backbone.handle(stimulus, now)
        match message:
            case Publication() if message.network != OUTSIDE:
                matched = not (message.keys is not None and message.complete)
                return self._notify(message.event, self._backbone.handle(stimulus, now), matched=matched)
            case Notification(event):
                return self._deliver(event)
            case Handover(event, publisher):
                return self._enter(event, publisher, now)
            case Entrust(origin, entries, outside, anew):
                return self._take(entries, origin, now, outside=outside, anew=anew)
            case Withdraw(ids):
                return self._give_up(ids, now)
            case Parcel() if message.network == _CLIQUE:
                assert self._ring is not None
                content, passed = self._ring.receive(message)
                return passed if content is None else [*passed, *self._receive(content, sender, stimulus, now)]
        if getattr(message, "network", None) == OUTSIDE and self._outside is not None:
            return self._receive_outside(self._outside, message, sender)
        effects = self._backbone.handle(stimulus, now)
        found = next((effect for effect in effects if type(effect) is Deliver), None)
        return effects if found is None else self._notify(found.event, effects)

    def _receive_outside(self, router: ContentRouter, message: Message, sender: NodeId) -> Effects:
        match message:
            case Publication():
                matched = not (message.keys is not None and message.complete)
                return self._notify(message.event, router.receive(message, sender), matched=matched)
            case Announce(entries, _, anew):
                return router.subscribe(entries, sender, anew=anew)
            case Retract(ids, _):
                return router.unsubscribe(ids, sender)
        return NOTHING

    def _send(self, message: Message, destinations: Iterable[NodeId]) -> list[Effect]:
        listed = tuple(destinations)
        if not listed:
            return []
        return [SendMessage(message, listed)] if self._ring is None else self._ring.send(message, listed)

    # -- subscriptions: the original server --------------------------------------------------------------

    def _subscribe(self, subscriptions: Iterable[Subscription], now: float) -> Effects:
        moved: dict[Place, dict[str, Entry]] = {}
        left: dict[Place, list[str]] = {}
        for item in subscriptions:
            before = self._placed.get(item.id)
            if before is not None:
                self._own.remove(item.id)
            self._own.add(item.id, item.filter)
            parts = self._placed[item.id] = self.parts_of(item.filter)
            for place, filter_ in parts.items():
                moved.setdefault(place, {})[item.id] = (part_id(item.id, place), filter_, self._node)
            for place in before or ():
                if place not in parts:
                    left.setdefault(place, []).append(item.id)
                    moved.get(place, {}).pop(item.id, None)
        effects: list[Effect] = []
        for place, entries in moved.items():
            if entries:
                effects += self._entrust(place, tuple(entries.values()), now)
        return effects + self._withdraw(left, now)

    def _unsubscribe(self, ids: Iterable[str], now: float) -> Effects:
        left: dict[Place, list[str]] = {}
        for id in ids:
            for place in self._placed.pop(id, ()):
                left.setdefault(place, []).append(id)
            if id in self._own:
                self._own.remove(id)
        return self._withdraw(left, now)

    def parts_of(self, filter_: Filter) -> dict[Place, Filter]:
        """Who must be proxy for a subscription, and for which part of it."""
        zones, space = self._clique.zones, self._layout.space
        found = parts_by_owner(filter_, zones, space)
        parts: dict[Place, Filter] = {(owner, False): part for owner, part in found.items()}
        if zones.partition.reaches_outside(filter_):
            parts[self._clique.outside, True] = filter_
        return parts

    def adopt(self, own: Table, proxied: Mapping[str, NodeId]) -> None:
        """Takes over the own subscriptions, and the parts with their original servers, as `ContentRouter.adopt`."""
        self._own = own
        self._proxied = {part: (origin, False) for part, origin in proxied.items()}

    def _entrust(self, place: Place, entries: tuple[Entry, ...], now: float, *, anew: bool = False) -> Effects:
        proxy, outside = place
        if proxy == self._node:
            return self._take(entries, self._node, now, outside=outside, anew=anew)
        return self._send(Entrust(self._node, entries, outside, anew), (proxy,))

    def _withdraw(self, left: Mapping[Place, list[str]], now: float) -> list[Effect]:
        effects: list[Effect] = []
        for place, ids in left.items():
            names = tuple(part_id(id, place) for id in ids if place not in self._placed.get(id, ()))
            if names:
                effects += (
                    self._give_up(names, now) if place[0] == self._node else self._send(Withdraw(names), place[:1])
                )
        return effects

    def _introduce(self, peer: NodeId, stimulus: Stimulus, now: float) -> Effects:
        """Tells a peer that came back what it must know, as a neighbour on trees and as a proxy."""
        effects = [*self._backbone.handle(stimulus, now)]
        if self._outside is not None and peer in self._layout.outside_tree.neighbours[self._node]:
            effects += self._outside.introduce(peer)
        places = [(peer, False)] if peer in self._clique.zones.owners else []
        places += [(peer, True)] if peer == self._clique.outside else []
        for place in places:
            parts = ((id, parts[place]) for id, parts in self._placed.items() if place in parts)
            entries = tuple((part_id(id, place), filter_, self._node) for id, filter_ in parts)
            effects += self._entrust(place, entries, now, anew=True)
        return effects

    # -- subscriptions: the proxy ------------------------------------------------------------------------

    def _take(
        self, entries: tuple[Entry, ...], origin: NodeId, now: float, *, outside: bool, anew: bool = False
    ) -> Effects:
        effects: list[Effect] = []
        if anew:
            kept = {entry[0] for entry in entries}
            same = (part for part, source in self._proxied.items() if source == (origin, outside))
            effects += self._give_up([part for part in same if part not in kept], now)
        self._proxied.update((entry[0], (origin, outside)) for entry in entries)
        if outside:
            assert self._outside is not None
            return [*effects, *self._outside.subscribe([(id, part, self._node) for id, part, _ in entries], LOCAL)]
        wanted = tuple(Subscription(id, part) for id, part, _ in entries)
        return [*effects, *self._backbone.handle(SubscribeRequested(wanted), now)]

    def _give_up(self, ids: Iterable[str], now: float) -> Effects:
        gone = [(id, self._proxied.pop(id)[1]) for id in list(ids) if id in self._proxied]
        effects: list[Effect] = []
        if inside := tuple(id for id, outside in gone if not outside):
            effects += self._backbone.handle(UnsubscribeRequested(inside), now)
        if self._outside is not None:
            effects += self._outside.unsubscribe([id for id, outside in gone if outside], LOCAL)
        return effects

    # -- events ------------------------------------------------------------------------------------------

    def _publish(self, event: Event, now: float) -> Effects:
        wrong = self._layout.space.off_grid(event.attributes)
        if wrong is not None:
            return [Refuse(event.id, f"the value of '{wrong}' lies between two values that the schema allows")]
        proxy = self._clique.proxy_of(event.attributes)
        if proxy == self._node:
            return [*self._deliver(event), *self._enter(event, self._node, now)]
        return [*self._deliver(event), *self._send(Handover(event, self._node), (proxy,))]

    def _enter(self, event: Event, publisher: NodeId, now: float) -> Effects:
        """Sends an event that this server is proxy for on its way."""
        if self._layout.tree_of(event.attributes) != OUTSIDE:
            effects = self._backbone.handle(PublishRequested(event), now)
        else:
            assert self._outside is not None
            effects = self._outside.route(event, self._node)
        return self._notify(event, effects, publisher=publisher)

    def _notify(
        self, event: Event, effects: Effects, *, publisher: NodeId | None = None, matched: bool = True
    ) -> Effects:
        """Turns deliveries to parts into final notifications of their original servers."""
        if self._clique.proxy_of(event.attributes) != self._node:  # only passed on
            return [effect for effect in effects if type(effect) is not Deliver]
        result: list[Effect] = []
        for effect in effects:
            if type(effect) is not Deliver:
                result.append(effect)
                continue
            servers = dict.fromkeys(self._proxied[part][0] for part in effect.subscriptions if part in self._proxied)
            if publisher is not None:
                servers.pop(publisher, None)
            if self._node in servers:
                del servers[self._node]
                result += self._deliver(event)
            result += self._send(Notification(event), servers)
        if matched and len(self._clique.members) > 1:
            result.append(Spent(1))
        return result

    def _deliver(self, event: Event) -> list[Effect]:
        found = self._own.match(event)
        return [Deliver(event, found)] if found else []

    # -- facts -------------------------------------------------------------------------------------------

    def way_of(self, event: Event) -> str | None:
        """The proxy of each clique, which also decides about the tree, or about the backbone's way."""
        attributes = event.attributes
        if self._layout.space.off_grid(attributes) is not None:
            return None  # it will be refused
        proxies = [clique.proxy_of(attributes) for clique in self._layout.cliques if len(clique.members) > 1]
        tree = self._layout.tree_of(attributes)
        return f"{tree}:{'.'.join(map(str, proxies))}:{self._backbone.way_of(event) or ''}"

    def state(self) -> Mapping[str, Any]:
        """`entries` are the backbone's and the parts of other servers; `proxied` are all parts held here."""
        inner = dict(self._backbone.state())
        entrusted = sum(origin != self._node for origin, _ in self._proxied.values())
        outside = self._outside.entries if self._outside is not None else 0
        return {
            **inner,
            "entries": inner.get("entries", 0) + outside + entrusted,
            "proxied": len(self._proxied),
            "local": len(self._own),
        }


def part_id(id: str, place: Place) -> str:
    """A name of its own for each part: ids end at the last '@', and an owner has one zone."""
    return f"{id}@outside" if place[1] else f"{id}@{place[0]}"
