"""Multicast-based routing (MBR): events are mapped to groups, and a group's tree joins all who want anything of it.

The content is divided into few groups beforehand (`ContentGroups`). A server with a subscription that touches a group
is a member of it; every server knows all subscriptions, so each finds the same members, and from them the same tree. An
event goes to all members of its group along their tree, whether they want it or not, and nobody on the way matches it;
members pick out what their own subscribers want (Kyra, II.B). A publisher that is no member hands the event to the
member nearest to it, which starts.

Option (`unicast_below`): where a smaller share of the members wants an event, it goes straight to these instead, as the
companion of the scheme's paper proposes. The publisher's server must match it with all subscriptions then.

As a backbone under `SubscriptionMovement` the members are proxies, and nearer in content to each other: the
combination that the Kyra paper leaves to future work.

While subscriptions are on their way, or after one was lost, servers disagree on who the members are, and so on the
tree; laid over each other, their trees have circles. A server therefore passes on and delivers an event, by group,
origin and id, the first time only: it may miss some then, but neither goes round for ever nor comes twice. A server
remembers `EVENTS_REMEMBERED` events at most, and at least half as many of the latest; one that comes round after so
many others counts as new. Events without an id cannot be told apart, and are all passed on.

Cost: every server knows every subscription; an event is one message for each other member of its group (and one to
enter it), and while servers disagree at most one for each neighbour that each of them sees in its own tree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from siftcast.model import Event
from siftcast.model.bounded_cache import remember
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
from siftcast.overlays.keys import LOCAL
from siftcast.overlays.links import Links
from siftcast.overlays.messages import Announce, Publication, Retract
from siftcast.overlays.routing_rows import Entry
from siftcast.overlays.subscription_flood import FloodChange, SubscriptionFlood
from siftcast.overlays.tables import Table, TableFactory
from siftcast.space import ContentGroups, Tree

EVENTS_REMEMBERED = 10_000
"""How many events a server knows to have had before, at most."""
UNICAST = -3
"""In place of a group's number: the event is for the receiver alone."""
TreeOf = Callable[[tuple[NodeId, ...]], Tree]
"""The tree over members (ascending); the same at every server."""


class MulticastBased(Protocol):
    """A server of a multicast-based network; `distances` are those from it to every server."""

    messages: ClassVar[tuple[type[Message], ...]] = (Announce, Retract, Publication)

    __slots__ = (
        "_counts", "_distances", "_flood", "_groups", "_had", "_links", "_members", "_node", "_others", "_own",
        "_tree_of", "_unicast_below",
    )  # fmt: skip

    def __init__(
        self,
        node: NodeId,
        links: Links,
        tables: TableFactory,
        groups: ContentGroups,
        tree_of: TreeOf,
        distances: Sequence[float],
        *,
        unicast_below: float = 0.0,
    ) -> None:
        if not 0.0 <= unicast_below <= 1.0:
            raise ValueError(f"a share of members lies between 0 and 1: {unicast_below!r}")
        self._node = node
        self._links = links
        self._flood = SubscriptionFlood(links)
        self._groups = groups
        self._tree_of = tree_of
        self._distances = distances
        self._unicast_below = unicast_below
        self._own = tables()
        self._others = tables() if unicast_below else None
        self._counts: dict[int, Counter[NodeId]] = {}  # how many subscriptions of each server touch a group
        self._members: dict[int, tuple[NodeId, ...]] = {}  # found anew after a change
        self._had: dict[tuple[int, NodeId, str], None] = {}  # group, origin and id of events

    def handle(self, stimulus: Stimulus, now: float) -> Effects:
        match stimulus:
            case MessageReceived(sender, message):
                return self._receive(message, sender)
            case PublishRequested(event):
                return self._publish(event)
            case SubscribeRequested(subscriptions):
                entries = [(item.id, item.filter, self._node) for item in subscriptions]
                return self._apply(self._flood.announce(entries, LOCAL))
            case UnsubscribeRequested(ids):
                return self._apply(self._flood.retract(ids, LOCAL))
            case PeerFound(peer) if peer in self._links.neighbours:
                return self._flood.introduce(peer)
        return NOTHING

    def _receive(self, message: Message, sender: NodeId) -> Effects:
        match message:
            case Publication(event):
                if not self._is_first(message):
                    return NOTHING
                return [*self._deliver(event), *self._multicast(message, sender)]
            case Announce(entries, _, anew):
                return self._apply(self._flood.announce(entries, sender, anew=anew))
            case Retract(ids, _):
                return self._apply(self._flood.retract(ids, sender))
        return NOTHING

    # -- events ------------------------------------------------------------------------------------------

    def _publish(self, event: Event) -> Effects:
        wrong = self._groups.cells.space.off_grid(event.attributes)
        if wrong is not None:
            return [Refuse(event.id, f"the value of '{wrong}' lies between two values that the schema allows")]
        group = self._groups.of_event(event.attributes)
        members = self._members_of(group)
        local = self._deliver(event)
        if self._others is not None and members:
            wanted = tuple(dict.fromkeys(map(self._flood.owner, self._others.match(event))))
            if len(wanted) + len(local) < self._unicast_below * len(members):
                sent = [SendMessage(Publication(event, self._node, UNICAST), wanted)] if wanted else []
                return [Spent(1), *local, *sent]
            local = [Spent(1), *local]
        publication = Publication(event, self._node, group)
        self._is_first(publication)  # so that it is known if it comes round
        if members and self._node not in members:
            nearest = min(members, key=lambda member: (self._distances[member], member))
            return [*local, SendMessage(publication, (nearest,))]
        return [*local, *self._multicast(publication, None)]

    def _multicast(self, publication: Publication, sender: NodeId | None) -> list[Effect]:
        """Passes an event on along the tree of its group; from the one who handed it over, to all neighbours."""
        if publication.network == UNICAST:
            return []
        members = self._members_of(publication.network)
        if self._node not in members:
            return []
        onward = [near for near in self._tree_of(members).neighbours[self._node] if near != sender]
        return [SendMessage(publication, onward)] if onward else []

    def _is_first(self, publication: Publication) -> bool:
        """Whether an event is here for the first time; from now on it is not."""
        event = publication.event
        key = publication.network, publication.origin, event.id
        if not event.id:
            return True
        if key in self._had:
            return False
        remember(self._had, key, None, EVENTS_REMEMBERED)
        return True

    def _deliver(self, event: Event) -> list[Effect]:
        found = self._own.match(event)
        return [Deliver(event, found)] if found else []

    def way_of(self, event: Event) -> str | None:
        """The group, whose tree is the way while its members stay the same; where some go straight, each its own."""
        return event.id if self._unicast_below else str(self._groups.of_event(event.attributes))

    # -- subscriptions -----------------------------------------------------------------------------------

    def _members_of(self, group: int) -> tuple[NodeId, ...]:
        members = self._members.get(group)
        if members is None:
            members = self._members[group] = tuple(sorted(self._counts.get(group, ())))
        return members

    def _apply(self, change: FloodChange) -> Effects:
        for entry in change.removed:
            self._count(entry, -1)
            if (table := self._table(entry[2])) is not None:
                table.remove(entry[0])
        for entry in change.added:
            self._count(entry, 1)
            if (table := self._table(entry[2])) is not None:
                table.add(entry[0], entry[1])
        return change.effects

    def _count(self, entry: Entry, change: int) -> None:
        _, filter_, owner = entry
        for group in self._groups.of_filter(filter_):
            counts = self._counts.setdefault(group, Counter())
            before = counts[owner]
            counts[owner] = before + change
            if not counts[owner]:
                del counts[owner]
            if not before or before + change == 0:
                self._members.pop(group, None)

    def _table(self, owner: NodeId) -> Table | None:
        return self._own if owner == self._node else self._others

    def state(self) -> Mapping[str, Any]:
        return {"entries": len(self._flood) - len(self._own), "local": len(self._own), "groups": len(self._counts)}
