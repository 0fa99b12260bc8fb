"""A matcher: subscriptions under labels, each from its origin, and whether all that belong here have arrived.

A label is a zone of a circle (`space.ring_plan`). One cluster keeps parts of several zones, and an event is matched
with the labels that it brings and no others; so a subscription that is entered under several zones is met once.

A matcher that has begun afresh knows nothing. It asks every node of the plan what it is to keep, and has *caught up*
with a node when that has stated all labels of this matcher's clusters. Nodes that cannot be reached do not count, and
after `catch_up_ms` nobody is waited for any more: one that is silent for other reasons must not keep a matcher idle.
Such a node is *excused*. It may have subscribed while this matcher was down, and others of the cluster may know of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from siftcast.model import Event, Filter
from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.layered.messages import Drop, Keep
from siftcast.overlays.routing_rows import Entry
from siftcast.overlays.tables import TableFactory


class Keeper:
    """What one matcher keeps; `others` are all nodes of the plan but itself."""

    __slots__ = ("_excused", "_missing", "_owners", "_rows", "_tables", "labels")

    def __init__(self, labels: Iterable[int], others: Iterable[NodeId], tables: TableFactory) -> None:
        self.labels = tuple(sorted(set(labels)))
        self._tables = {label: tables() for label in self.labels}
        self._rows: dict[tuple[NodeId, int], dict[str, Filter]] = {}
        self._owners: dict[str, NodeId] = {}
        self._missing = {node: set(self.labels) for node in others}
        self._excused: dict[NodeId, set[int]] = {}

    def keep(self, message: Keep) -> bool:
        """Takes subscriptions in; True if the last one who was missing has stated all by this."""
        if message.label not in self._tables:
            return False  # of a plan that is not this one
        rows = self._rows.setdefault((message.origin, message.label), {})
        if message.anew:
            kept = {entry[0] for entry in message.entries}
            self._remove(message.origin, message.label, [id for id in rows if id not in kept])
        for entry in message.entries:
            self._put(message.origin, message.label, entry)
        return message.anew and self._note_stated(message.origin, message.label)

    def drop(self, message: Drop) -> None:
        """Subscriptions go."""
        self._remove(message.origin, message.label, message.ids)

    def _put(self, origin: NodeId, label: int, entry: Entry) -> None:
        id, filter_, _ = entry
        rows = self._rows[origin, label]
        if rows.get(id) == filter_:
            return
        key = _key(id, origin, label)
        if id in rows:
            self._tables[label].remove(key)
            self._forget(key)
        self._tables[label].add(key, filter_)
        rows[id] = filter_
        self._enter(key, origin, entry)

    def _remove(self, origin: NodeId, label: int, ids: Iterable[str]) -> None:
        rows = self._rows.get((origin, label), {})
        for id in ids:
            if rows.pop(id, None) is not None:
                key = _key(id, origin, label)
                self._tables[label].remove(key)
                self._forget(key)

    def _enter(self, key: str, origin: NodeId, entry: Entry) -> None:
        """Notes whose a row is."""
        self._owners[key] = origin

    def _forget(self, key: str) -> None:
        """A row is gone."""
        del self._owners[key]

    # -- catching up -------------------------------------------------------------------------------------

    @property
    def has_caught_up(self) -> bool:
        """Whether nobody is waited for."""
        return not self._missing

    @property
    def missing(self) -> tuple[NodeId, ...]:
        """Who has not stated everything yet."""
        return tuple(sorted(self._missing))

    def excuse(self, nodes: Iterable[NodeId]) -> bool:
        """Waits for these no longer; True if they were the last."""
        was_missing = bool(self._missing)
        for node in nodes:
            if (labels := self._missing.pop(node, None)) is not None:
                self._excused[node] = labels
        return was_missing and not self._missing

    @property
    def excused(self) -> Collection[NodeId]:
        """Who is not waited for, and has not stated everything all the same."""
        return self._excused.keys()

    def forget(self, node: NodeId) -> bool:
        """A node does not come back; True if it was the last that was waited for."""
        was_last = self.excuse((node,))
        self._excused.pop(node, None)
        return was_last

    def _note_stated(self, origin: NodeId, label: int) -> bool:
        waiting = self._missing.get(origin) or self._excused.get(origin)
        if waiting is None:
            return False
        waiting.discard(label)
        return not waiting and self.forget(origin)

    # -- events ------------------------------------------------------------------------------------------

    def match(self, event: Event, labels: Iterable[int]) -> tuple[NodeId, ...]:
        """The nodes that want an event, of those that are kept under these labels."""
        return tuple(dict.fromkeys(self._owners[key] for key in self._matched(event, labels)))

    def _matched(self, event: Event, labels: Iterable[int]) -> Iterator[str]:
        for label in labels:
            table = self._tables.get(label)
            if table is not None and len(table):
                yield from table.match(event)

    def __len__(self) -> int:
        return sum(map(len, self._tables.values()))


def _key(id: str, origin: NodeId, label: int) -> str:
    """A row has a name of its own: a subscription is under several labels, and for a while at two nodes if it moves."""
    return f"{id}@{origin}/{label}"
