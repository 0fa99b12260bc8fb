"""Whom a node knows of, beside the contacts of its places: through whom it enters, and whom it greets now and then.

    seeds        through whom it was to begin; greeted for good, until they are gone
    gateways     those through whom one gets to a place, as others said last; the best first
    names        a sample of the network, guests among them, which changes with every answer
    lost         names that did not answer: kept for as long as a lost contact, and greeted as well

Contacts alone do not keep a network together. Where nobody holds a subscription nobody has contacts, and all guests may
know the same place only; when its node goes, they must find each other. So whoever answers a greeting names a few of
its sample, and everybody greets one of its own now and then, placed or not: two networks of which one knows a name in
the other meet, and become one. What is lost is kept apart from the sample, whose names change so fast that those beyond
a cut would be forgotten before it heals.

Rejected: `membership.RandomView`, which forgets the dead at once, and with them the other side of a cut.

Invariants: never itself; a name is in the sample or lost, not both; at most `SIZE` of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random

from siftcast.overlays.contract import NodeId

SIZE = 16
GATEWAYS_MAX = 8
_NAMED_MAX = 4
_IN_VAIN_MAX = 3


class Acquaintances:
    """The names that one node knows."""

    __slots__ = ("_forget_ms", "_lost", "_node", "_placeless", "_random", "_there", "_turn", "gateways", "seeds")

    def __init__(self, node: NodeId, forget_ms: float, random: Random) -> None:
        self._node = node
        self._forget_ms = forget_ms
        self._random = random
        self._there: dict[NodeId, int] = {}
        """The sample, and how often each was greeted in vain; whose turn it is first."""
        self._lost: dict[NodeId, float] = {}
        self._turn = 0
        self._placeless: set[NodeId] = set()
        """Who has answered, since this node looks for a place, that it has none and knows nobody who has."""
        self.seeds: tuple[NodeId, ...] = ()
        self.gateways: list[NodeId] = []

    def begin(self, seeds: Iterable[NodeId]) -> None:
        """Knows some more from the start."""
        self.seeds = tuple(dict.fromkeys(node for node in (*self.seeds, *seeds) if node != self._node))
        self.prefer(self.seeds)
        self.hear_of(self.seeds)

    # -- who is there ------------------------------------------------------------------------------------

    def meet(self, node: NodeId) -> None:
        """Somebody was heard itself."""
        if node != self._node:
            self._lost.pop(node, None)
            self._put(node)

    def hear_of(self, nodes: Iterable[NodeId]) -> None:
        """Others have named somebody. Who is lost must be heard itself: they may not have missed it yet."""
        for node in nodes:
            if node != self._node and node not in self._lost and node not in self._there:
                self._put(node)

    def _put(self, node: NodeId) -> None:
        if node not in self._there and len(self._there) >= SIZE:
            del self._there[self._random.choice(tuple(self._there))]
        self._there[node] = 0

    def lose(self, node: NodeId, now: float) -> None:
        """Somebody cannot be reached."""
        self.gateways = [each for each in self.gateways if each != node]
        if self._there.pop(node, None) is not None or node in self.seeds:
            if len(self._lost) >= SIZE:
                del self._lost[self._random.choice(tuple(self._lost))]
            self._lost[node] = now

    def is_lost(self, node: NodeId) -> bool:
        """Whether somebody is known and did not answer."""
        return node in self._lost

    def forget(self, node: NodeId) -> None:
        """Somebody is gone for good."""
        self._there.pop(node, None)
        self._lost.pop(node, None)
        self.gateways = [each for each in self.gateways if each != node]
        self.seeds = tuple(each for each in self.seeds if each != node)

    def prefer(self, nodes: Iterable[NodeId]) -> None:
        """Through these one gets in."""
        named = [node for node in nodes if node != self._node]
        self.gateways = list(dict.fromkeys([*named, *self.gateways]))[:GATEWAYS_MAX]

    def hear_places(self, node: NodeId, nodes: Iterable[NodeId], *, is_placed: bool) -> None:
        """Somebody has answered a greeting, has a place or not, and names others who may have one."""
        listed = tuple(nodes)
        if is_placed or listed:
            self._placeless.discard(node)
        else:
            self._placeless.add(node)
        self.meet(node)
        self.prefer((node, *listed) if is_placed else listed)
        self.hear_of(listed)

    # -- whom to talk to ---------------------------------------------------------------------------------

    def ways(self) -> list[NodeId]:
        """All through whom one may get in, the best first."""
        return list(dict.fromkeys((*self.gateways, *self._there, *self.seeds)))

    def next_way(self, tries: int, since_ms: float) -> NodeId | None:
        """Through whom to look for a place this time; nobody, if there is none as far as anybody knows."""
        if not tries:
            self._placeless.clear()
        ways = self.ways()
        return ways[tries % len(ways)] if ways and self.unanswered(since_ms) else None

    def unanswered(self, since_ms: float) -> list[NodeId]:
        """Who has not said that it knows of no place, and was not lost long ago either."""
        never = float("inf")
        return [node for node in self.ways() if node not in self._placeless and self._lost.get(node, never) > since_ms]

    def way(self, *without: NodeId) -> NodeId | None:
        """Somebody who has a place, or may know who has."""
        best = next((node for node in self.gateways if node not in without), None)
        return next(self.sample(1, without), None) if best is None else best

    def sample(self, count: int, without: Iterable[NodeId] = ()) -> Iterator[NodeId]:
        """Some of those who are there."""
        found = [node for node, in_vain in self._there.items() if not in_vain and node not in without]
        yield from self._random.sample(found, min(count, len(found)))

    def named(self, sender: NodeId) -> tuple[NodeId, ...]:
        """What somebody who greets is told of them."""
        return tuple(self.sample(_NAMED_MAX, (sender,)))

    def next_gateway(self, now: float) -> NodeId | None:
        """Somebody for a guest to greet, to stay in touch with those who have places."""
        return self._random.choice(self.gateways) if self.gateways else self.next_name(now)

    def next_name(self, now: float) -> NodeId | None:
        """Whom to greet: one after another, of the seeds, of those who are there and of those who are lost."""
        self._turn += 1
        self._lost = {node: since for node, since in self._lost.items() if now - since < self._forget_ms}
        groups = [tuple(group) for group in (self.seeds, self._there, self._lost) if group]
        if not groups:
            return None
        group = groups[self._turn % len(groups)]
        node = self._random.choice(group) if group == self.seeds else group[0]
        if node in self._lost:
            self._lost[node] = self._lost.pop(node)
        elif node in self._there:
            self._there[node] = self._there.pop(node) + 1
            if self._there[node] > _IN_VAIN_MAX:
                self.lose(node, now)
        return node
