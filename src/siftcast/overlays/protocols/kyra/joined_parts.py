"""One entry for each subscription and tree: parts of one subscription that a neighbour hears of together are joined.

Where the zone of a tree overlaps those of several servers of a clique, each of these is proxy for a part of the same
subscription, and announces it on that tree. To everyone beyond, the parts lie in the same direction:

    s in 0–4 ──▶ A ┐                                                            zones of the clique: A 0–4, B 5–9
                   ├─▶ X ── s@A.0: value in 3–7 ──▶ N ──▶ …                     tree 0: 3–7
    s in 5–9 ──▶ B ┘

X tells N their union, which is exact: an event goes from N to X if some part wants it, and from X to whom it is for.
The union keeps the name of the part that was there first for as long as any is left; the proxy of that part lies
behind whoever announces it, so nobody else announces that name in the same direction. Parts of one subscription that
come from different directions stay apart.

With lookup reuse parts are not joined, because a list of keys must say which of them an event matches.

Cost: a change of a part announces the union again, a message for each server beyond, as the part alone would be.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce

from siftcast.model import Filter
from siftcast.overlays.announcements import Difference, Summary
from siftcast.overlays.contract import NodeId
from siftcast.overlays.merging import merge
from siftcast.overlays.routing_rows import Entry

_UNIONS_REMEMBERED = 4_096


@dataclass(slots=True)
class _Union:
    """Parts of one subscription, and what they are announced as."""

    id: str
    origin: NodeId
    parts: dict[str, Filter]

    def entry(self) -> Entry:
        return self.id, reduce(_union, self.parts.values()), self.origin


class JoinedParts(Summary):
    """What a neighbour on a tree is told: all parts, those of one subscription as one."""

    exact = False

    def __init__(self) -> None:
        self._unions: dict[str, _Union] = {}

    def add(self, entry: Entry) -> Difference:
        id, filter_, origin = entry
        subscription = subscription_of(id)
        union = self._unions.get(subscription)
        if union is None:
            self._unions[subscription] = _Union(id, origin, {id: filter_})
            return [entry], []
        union.parts[id] = filter_
        return [union.entry()], []

    def remove(self, id: str) -> Difference:
        subscription = subscription_of(id)
        union = self._unions[subscription]
        del union.parts[id]
        if union.parts:
            return [union.entry()], []
        del self._unions[subscription]
        return [], [union.id]

    def announced(self) -> list[Entry]:
        return [union.entry() for union in self._unions.values()]


def subscription_of(part: str) -> str:
    """The subscription that a part on a tree is of: ids of parts end at the last '@'."""
    return part.rpartition("@")[0]


@lru_cache(_UNIONS_REMEMBERED)
def _union(one: Filter, other: Filter) -> Filter:
    """All servers on a tree join the same parts, so in one process it is found once."""
    return merge(one, other) or one | other
