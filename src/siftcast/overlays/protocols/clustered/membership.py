"""A node's place in one cluster: who its children are, what they want, and which of its own subscriptions are there.

All of it is known by version, because an event is handled as things were when it entered the network, whatever
changed since:

    children        by version: those of the last change not after the event's version
    own             a subscription is here from one version until before another (a span); it may come back
    below           what each child's part of the tree wants, if events are filtered. It may hold too much, which costs
                    a message, and never too little: what is new is added before, what is old goes after a flush

A flush says that no event of an earlier version is behind it on its way. The ways of two versions may differ, so a
flush waits for the flush of an older change of this node's place; its children then get the two in order as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from siftcast.model import Event, Filter
from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.clustered.messages import Part
from siftcast.overlays.tables import Table, TableFactory

_FOREVER = float("inf")
Span = tuple[int, float]


class Membership:
    """One cluster, as one node sees it; it may be on its way out of it."""

    __slots__ = ("_below", "_fading", "_flushes", "_own", "_places", "_spans", "_tables")

    def __init__(self, tables: TableFactory) -> None:
        self._tables = tables
        self._own = tables()
        self._spans: dict[str, list[Span]] = {}
        self._places: list[tuple[int, tuple[NodeId, ...] | None]] = []  # children since a version; None is outside
        self._below: dict[NodeId, Table] = {}
        self._fading: dict[tuple[NodeId, str], int] = {}  # what goes from below when a version is flushed
        self._flushes: set[int] = set()

    # -- changes ---------------------------------------------------------------------------------------

    def prepare(self, part: Part, version: int, filters: dict[str, Filter]) -> None:
        """Takes in a change. A subscription without a filter has gone, or is yet to come back, at this node."""
        self._take_place(part, version)
        for id in part.own_removed:
            self._end(id, version, fades=part.fades)
        for id in part.own_added:
            spans = self._spans.setdefault(id, [])
            if not spans or spans[-1][1] != _FOREVER:
                spans.append((version, _FOREVER))
            if id in filters:
                self.hold(id, filters[id])
        self._prepare_below(part, version)

    def _take_place(self, part: Part, version: int) -> None:
        place = part.children if part.member else None
        if not self._places:
            self._places.append((version if part.fades else 0, place))
            return
        since, last = self._places[-1]
        if last == place:
            return
        # Whoever was outside gets no events of those versions, and no flush: there is nothing to keep.
        if part.fades and last is not None:
            self._places.append((version, place))
        else:
            self._places[-1] = since, place

    def _prepare_below(self, part: Part, version: int) -> None:
        for child, ids in part.below_removed:
            for id in ids:
                if part.fades:
                    self._fading[child, id] = version
                else:
                    self._drop_below(child, id)
        for child, entries in part.below_added:
            table = self._below.setdefault(child, self._tables())
            for id, filter_ in entries:
                self._fading.pop((child, id), None)
                if id in table:
                    table.remove(id)
                table.add(id, filter_)

    def _end(self, id: str, version: int, *, fades: bool) -> None:
        spans = self._spans.get(id)
        if not spans or spans[-1][1] != _FOREVER:
            return
        since = spans.pop()[0]
        if fades:
            spans.append((since, version))
        self._forget_if_over(id)

    def _forget_if_over(self, id: str) -> None:
        if not self._spans[id]:
            del self._spans[id]
            self.release(id)

    def _drop_below(self, child: NodeId, id: str) -> None:
        table = self._below.get(child)
        if table is not None and id in table:
            table.remove(id)
            if not len(table):
                del self._below[child]

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
            id
            for id in self._own.match(event)
            if any(since <= version < until for since, until in self._spans.get(id, ()))
        ]

    def children(self, version: int) -> tuple[NodeId, ...]:
        """The children at a version."""
        found = next((place for since, place in reversed(self._places) if since <= version), None)
        return found or ()

    def wanting(self, event: Event, children: Sequence[NodeId]) -> list[NodeId]:
        """Those of the children below whom somebody may want an event."""
        return [child for child in children if child in self._below and self._below[child].match_any(event)]

    # -- what is over ----------------------------------------------------------------------------------

    def flush(self, version: int) -> list[tuple[int, tuple[NodeId, ...]]]:
        """Events before a version are through; returns the flushes that go on from here, each with its receivers."""
        self._flushes.add(version)
        onward: list[tuple[int, tuple[NodeId, ...]]] = []
        for ready in sorted(self._flushes):
            if any(since < ready for since, _ in self._places[1:]):
                break
            onward.append((ready, self.children(ready - 1)))
            self._flushes.discard(ready)
            self._let_go(ready)
        return onward

    def _let_go(self, version: int) -> None:
        if len(self._places) > 1 and self._places[1][0] == version:
            del self._places[0]
        for id in list(self._spans):
            self._spans[id] = [span for span in self._spans[id] if span[1] != version]
            self._forget_if_over(id)
        for (child, id), gone in list(self._fading.items()):
            if gone == version:
                del self._fading[child, id]
                self._drop_below(child, id)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left of it."""
        return not self._spans and not self._fading and not self._flushes and len(self._places) == 1 and (
            self._places[0][1] is None
        )  # fmt: skip

    @property
    def entries(self) -> int:
        """What it keeps to route by: the children, and what they want."""
        return len(self._places[-1][1] or ()) + sum(map(len, self._below.values())) if self._places else 0
