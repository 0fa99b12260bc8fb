"""Filter-based routing on a tree whose links come and go: a `ContentRouter` that is told of them.

While a part of a tree moves from one place to another, its subscriptions are known from both: the new way is announced
before the old one is retracted, or the other way round. So an id may come over several interfaces at a time, and a
neighbour is told of it as long as one of the others still says so. On a tree, whose links make no circle, what each
neighbour says is then right as soon as nobody has anything more to say (ADR 30).

    attach(c)   c is told all that is wanted here; what c wants follows from c
    detach(c)   what c wanted is wanted no more, unless somebody else says the same

What routes on it decides itself what it sends: it asks who wants an event (`wanting`).

Cost: as a `ContentRouter`; a link that comes or goes, one change for each subscription that is told over it.
"""

from __future__ import annotations

from typing import Any

from siftcast.model import Event
from siftcast.overlays.content_router import ContentRouter, _News
from siftcast.overlays.contract import Effect, NodeId
from siftcast.overlays.keys import Interface, Local
from siftcast.overlays.links import TreeLinks
from siftcast.overlays.routing_rows import Entry
from siftcast.overlays.tables import TableFactory


class ChangingRouter(ContentRouter):
    """One node's tables on one tree. With `by_origin`, no subscription stands for one of another origin."""

    __slots__ = ("_make", "_said", "_tree")

    def __init__(
        self, tables: TableFactory, *, network: int = 0, summary: str = "covering", by_origin: bool = False
    ) -> None:
        self._tree = TreeLinks(by_origin=by_origin)
        self._make = tables
        self._said: dict[NodeId, dict[str, Entry]] = {}
        super().__init__(self._tree, tables, network=network, summary=summary)
        self._tells_all = False

    @property
    def neighbours(self) -> tuple[NodeId, ...]:
        """Where links lead."""
        return self._tree.neighbours

    # -- links -----------------------------------------------------------------------------------------------

    def attach(self, neighbour: NodeId) -> list[Effect]:
        """A link is new; what is wanted at its other end is not known yet."""
        self._tree.attach(neighbour)
        self._tables[neighbour] = self._make()
        self._entries[neighbour] = {}
        self._summaries[neighbour] = {}
        self._told[neighbour] = {}
        self._said[neighbour] = {}
        unsaid = _News()  # for the introduction says it all
        for interface, entries in self._entries.items():
            if interface != neighbour:
                for entry in entries.values():
                    self._tell(neighbour, entry, unsaid)
        return self.introduce(neighbour)

    def detach(self, neighbour: NodeId) -> list[Effect]:
        """A link is gone, and so is all that was wanted over it."""
        news = _News()
        for id in tuple(self._entries[neighbour]):
            self._drop(id, neighbour, news)
        self._tree.detach(neighbour)
        for kept in (self._tables, self._entries, self._summaries, self._told, self._said):
            del kept[neighbour]
        return news.effects(self._network)

    # -- subscriptions that are known from several sides -------------------------------------------------------

    def _tell(self, neighbour: NodeId, entry: Entry, news: Any) -> None:
        said = self._said[neighbour].get(entry[0])
        if said == entry:
            return
        if said is not None:
            self._untell(neighbour, entry[0], news)
        self._said[neighbour][entry[0]] = entry
        super()._tell(neighbour, entry, news)

    def _untell(self, neighbour: NodeId, id: str, news: Any) -> None:
        del self._said[neighbour][id]
        super()._untell(neighbour, id, news)

    def _drop(self, id: str, interface: Interface, news: Any) -> None:
        entry = self._entries[interface].pop(id)
        self._table(interface).remove(id)
        for neighbour in self._links.onward(entry[2], None):
            if neighbour == interface or id not in self._told[neighbour]:
                continue
            other = self._held_elsewhere(id, neighbour)
            if other is None:
                self._untell(neighbour, id, news)
            else:
                self._tell(neighbour, other, news)

    def _held_elsewhere(self, id: str, neighbour: NodeId) -> Entry | None:
        """The same subscription as somebody else than a neighbour says it."""
        return next(
            (entries[id] for interface, entries in self._entries.items() if interface != neighbour and id in entries),
            None,
        )

    # -- events ------------------------------------------------------------------------------------------------

    def local(self, event: Event) -> list[str]:
        """The node's own subscriptions that want an event."""
        return self._local.match(event)

    def wanting(self, event: Event, sender: NodeId | None) -> list[NodeId]:
        """The neighbours that want an event, but for the one it came from."""
        return [other for other in self._tree.neighbours if other != sender and self._tables[other].match_any(event)]

    def wants(self, neighbour: NodeId, event: Event) -> bool:
        """Whether a neighbour wants an event."""
        return self._tables[neighbour].match_any(event)

    def origins(self, event: Event) -> set[NodeId]:
        """Where the subscriptions of others began that want an event."""
        return {
            self._entries[other][id][2] for other in self._tree.neighbours for id in self._tables[other].match(event)
        }

    def holds(self, interface: Interface) -> int:
        """How many subscriptions are known from a side."""
        return len(self._local) if isinstance(interface, Local) else len(self._entries[interface])
