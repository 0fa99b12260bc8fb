"""A node's place in one cluster: its parent and children, what they want, and which of its own subscriptions are there.

All of it is known by version, because an event is handled as things were when it entered the network, whatever
changed since:

    places   parent and children, each since a version; None while the node is not in the tree
    spans    a subscription is here from one version until before another; it may come back
    below    what each child's part of the tree wants, if events are filtered. It may hold too much, which costs a
             message, and never too little: what is new is added before its version, what is old goes after a flush

A flush of version f says that no event of a version before f is behind it on its way. Such events may come from every
parent that the node had before f, so all of these must have flushed before anything goes; and it is passed on to every
child that there was before f. Parent and child keep the place that joins them for the same versions, so whoever waits
for a flush is sent one. Rejected: to change places as they are, and flush along the newest ones. An event of an older
version may then still be on an older way, and whoever it is for is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from siftcast.model import Event, Filter
from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.clustered.messages import ClusterChange, Place
from siftcast.overlays.tables import Table, TableFactory

_FOREVER = float("inf")
_GONE = -1
"""In place of a parent that was lost: nothing is to be waited for."""
Span = tuple[int, float]
Onward = tuple[int, tuple[NodeId, ...]]
"""A flush that goes on from here, and to whom."""


class Membership:
    """One cluster, as one node sees it; it may be on its way out of it."""

    __slots__ = ("_below", "_fading", "_flushed", "_own", "_places", "_rendezvous", "_spans", "_tables", "_waiting")

    def __init__(self, tables: TableFactory, rendezvous: Iterable[NodeId]) -> None:
        self._tables = tables
        self._rendezvous = set(rendezvous)  # from whom a root has its events
        self._own = tables()
        self._spans: dict[str, list[Span]] = {}
        self._places: list[tuple[int, Place | None]] = [(0, None)]
        self._below: dict[NodeId, Table] = {}
        self._fading: dict[tuple[NodeId, str], int] = {}  # what goes from below when a version is flushed
        self._flushed: dict[tuple[NodeId, bool], int] = {}  # the last flush of each parent and rendezvous
        self._waiting: set[int] = set()  # flushes that wait for others

    # -- changes ---------------------------------------------------------------------------------------

    def prepare(self, change: ClusterChange, version: int, filters: Mapping[str, Filter]) -> None:
        """Takes in a change. A subscription without a filter has gone, or is yet to come back, at this node."""
        if self._places[-1][1] != change.place:
            self._places.append((version, change.place))
        for id in change.own_removed:
            spans = self._spans.get(id)
            if spans and spans[-1][1] == _FOREVER:
                spans[-1] = spans[-1][0], version
        for id in change.own_added:
            self._spans.setdefault(id, []).append((version, _FOREVER))
            if id in filters:
                self.hold(id, filters[id])
        for child, ids in change.below_removed:
            # A node that has lost its memory meanwhile may be told to forget what it does not know.
            known = self._below.get(child, ())
            self._fading.update({(child, id): version for id in ids if id in known})
        for child, entries in change.below_added:
            table = self._below.setdefault(child, self._tables())
            for id, filter_ in entries:
                self._fading.pop((child, id), None)
                if id in table:
                    table.remove(id)
                table.add(id, filter_)

    # -- subscribers of this node ----------------------------------------------------------------------

    def hold(self, id: str, filter_: Filter) -> None:
        """Gives a subscription its filter, if it is here."""
        if id in self._spans:
            self.release(id)
            self._own.add(id, filter_)

    def release(self, id: str) -> None:
        """Nothing more is delivered to a subscription."""
        if id in self._own:
            self._own.remove(id)

    # -- events ----------------------------------------------------------------------------------------

    def own_matches(self, event: Event, version: int) -> list[str]:
        """The subscriptions of this node that get an event of a version here."""
        return [
            id for id in self._own.match(event) if any(since <= version < until for since, until in self._spans[id])
        ]

    def children(self, version: int) -> tuple[NodeId, ...]:
        """The children at a version."""
        found = next((place for since, place in reversed(self._places) if since <= version), None)
        return () if found is None else found[1]

    def wanting(self, event: Event, children: Sequence[NodeId]) -> list[NodeId]:
        """Those of the children below whom somebody may want an event."""
        return [child for child in children if child in self._below and self._below[child].match_any(event)]

    # -- what is over ----------------------------------------------------------------------------------

    def flush(self, version: int, sender: NodeId, *, entering: bool) -> list[Onward]:
        """Events before a version are through on the way from a parent, or if they are entering a rendezvous."""
        way = sender, entering
        self._flushed[way] = max(version, self._flushed.get(way, 0))
        self._waiting.add(version)
        return self._flush_ready()

    def lose(self, peer: NodeId) -> list[Onward]:
        """A node is lost, and will flush nothing."""
        self._rendezvous.discard(peer)
        self._places = [
            (since, (_GONE, place[1]) if place is not None and place[0] == peer else place)
            for since, place in self._places
        ]
        return self._flush_ready()

    def find(self, peer: NodeId) -> None:
        """A rendezvous is back."""
        self._rendezvous.add(peer)

    def _flush_ready(self) -> list[Onward]:
        onward: list[Onward] = []
        for version in sorted(self._waiting):
            before = [place for since, place in self._places if since < version and place is not None]
            ways = {(place[0], False) for place in before if place[0] is not None and place[0] != _GONE}
            if any(place[0] is None for place in before):
                ways |= {(each, True) for each in self._rendezvous}
            if any(self._flushed.get(way, 0) < version for way in ways):
                break
            self._waiting.discard(version)
            onward.append((version, tuple(dict.fromkeys(child for place in before for child in place[1]))))
            self._let_go(version)
        return onward

    def _let_go(self, version: int) -> None:
        while len(self._places) > 1 and self._places[1][0] <= version:
            del self._places[0]
        for id, spans in list(self._spans.items()):
            self._spans[id] = [span for span in spans if span[1] > version]
            if not self._spans[id]:
                del self._spans[id]
                self.release(id)
        for (child, id), gone in list(self._fading.items()):
            if gone <= version:
                del self._fading[child, id]
                self._below[child].remove(id)
                if not len(self._below[child]):
                    del self._below[child]

    @property
    def is_over(self) -> bool:
        """Whether nothing is left of it."""
        return len(self._places) == 1 and self._places[0][1] is None and not (self._spans or self._fading)

    @property
    def entries(self) -> int:
        """What it keeps to route by: the children, and what they want."""
        place = self._places[-1][1]
        return sum(map(len, self._below.values())) + (0 if place is None else len(place[1]))
