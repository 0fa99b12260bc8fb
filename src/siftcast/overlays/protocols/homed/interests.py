"""What the subscribers of one node want, dealt out to its positions, and what an event asks of a digest.

A node of many interests has a wide digest: it is sent much that it does not want, and widens the summaries of all
splits above it. So it may have several positions; a subscription goes to the position whose digest it widens least, and
to a new one as long as the node may have more. Without room, digests are united (OR), and saturate.

A publisher may say who is to receive an event (section 3.1): the attribute `receivers` lists nodes. Digests then have
16 more bits, one for each hash of a node; an event for one node has its bit, any other event has none. What is no list
of nodes names nobody: it is refused where it is published, and must do no harm where it comes in.

Invariant: a position's digest is the union of those of its subscriptions.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TypeGuard

from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.contract import NodeId
from siftcast.overlays.tables import TableFactory
from siftcast.space.digests import InterestDigests

RECEIVER_BITS = 16
_JOINED_MAX = 32
_EVERYTHING = Filter.parse("TRUE")


class Interests:
    """The subscriptions of one node."""

    __slots__ = ("_digests", "_node", "_of", "_own", "_receivers", "groups", "version")

    def __init__(self, node: NodeId, digests: InterestDigests, tables: TableFactory, receivers: str) -> None:
        self._node = node
        self._digests = digests
        self._own = tables()
        self._receivers = receivers
        self._of: dict[str, tuple[int, Filter]] = {}
        self.groups: list[dict[str, int]] = []
        """The subscriptions of each position, with their digests."""
        self.version = 0
        """Counts the changes."""

    def __len__(self) -> int:
        return len(self._of)

    @property
    def bits(self) -> int:
        """How many bits digests have here."""
        return self._digests.bits + (RECEIVER_BITS if self._receivers else 0)

    def put(self, subscription: Subscription, positions_max: int) -> None:
        """Adds a subscription, or gives it a new filter."""
        self.remove(subscription.id)
        self.version += 1
        self._own.add(subscription.id, subscription.filter)
        digest = self._digests.of_filter(subscription.filter) | self._own_bit()
        fit = min(self.groups, key=lambda group: (digest & ~_union(group)).bit_count(), default=None)
        if fit is None or (digest & ~_union(fit) and len(self.groups) < positions_max):
            fit = {}
            self.groups.append(fit)
        fit[subscription.id] = digest
        self._of[subscription.id] = digest, subscription.filter

    def remove(self, id: str) -> None:
        """Removes a subscription, if it is there; positions that are left without any go."""
        if self._of.pop(id, None) is None:
            return
        self.version += 1
        self._own.remove(id)
        for group in self.groups:
            group.pop(id, None)
        self.groups = [group for group in self.groups if group]

    def digest(self, position: int) -> int:
        """What one position wants; nothing, if there is no such position."""
        return _union(self.groups[position]) if position < len(self.groups) else 0

    def filter(self, position: int) -> Filter:
        """The same as a filter; everything, where that would be long."""
        wanted = [self._of[id][1] for id in self.groups[position]] if position < len(self.groups) else []
        if not wanted:
            return Filter.parse("FALSE")
        return reduce(or_, wanted) if len(wanted) <= _JOINED_MAX else _EVERYTHING

    def objection(self, event: Event) -> str | None:
        """Why an event is not one to publish, in words, if it is not."""
        value = event.get(self._receivers) if self._receivers else None
        if value is None or _is_node(value) or (isinstance(value, list | tuple) and all(map(_is_node, value))):
            return None
        kind = type(value).__name__
        if isinstance(value, list | tuple):
            kind = f"a list with {type(next(each for each in value if not _is_node(each))).__name__}"
        return (
            f"'{self._receivers}' names the nodes that may receive an event, by their identities: "
            f"an integer or a list of integers, not {kind}; `siftcast members` shows them"
        )

    def matching(self, event: Event) -> list[str]:
        """The subscriptions that are to be handed an event."""
        if self._receivers:
            named = _named(event, self._receivers)
            if named is not None and self._node not in named:
                return []
        return list(self._own.match(event))

    def of_event(self, event: Event) -> int:
        """The digest of an event, with the bit of its only receiver if it names one."""
        digest = self._digests.of_event(event)
        named = _named(event, self._receivers) if self._receivers else None
        if named is not None and len(named) == 1:
            digest |= self._bit(named[0])
        return digest

    def _own_bit(self) -> int:
        return self._bit(self._node) if self._receivers else 0

    def _bit(self, node: NodeId) -> int:
        return 1 << (self._digests.bits + node % RECEIVER_BITS)


def _union(group: dict[str, int]) -> int:
    return reduce(or_, group.values(), 0)


def _named(event: Event, attribute: str) -> list[NodeId] | None:
    """The nodes that may receive an event; None for all."""
    value = event.get(attribute)
    if value is None:
        return None
    return [each for each in (value if isinstance(value, list | tuple) else (value,)) if _is_node(each)]


def _is_node(value: object) -> TypeGuard[NodeId]:
    return isinstance(value, int) and not isinstance(value, bool)
