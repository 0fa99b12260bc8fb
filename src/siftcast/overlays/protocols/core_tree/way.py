"""The way to one target, over the neighbour from which it is shortest, so that no circle forms at any time.

A target raises its *round* with every beat, and everybody passes on the round and the weight of the way it takes. A
peer may turn to another neighbour only if what that one says is *feasible*: of a newer round than the best that the
peer ever had itself, or of the same round and of strictly less weight. What it had itself last never counts, because
others may go by that.

    round 7   target ──1── a ──1── b ──1── c          a loses its link: b says 2 in round 7, and a had 1: not feasible,
                           ╳                          for b may go by a. In round 8 whoever has it, has it without a.

Invariant: let F(p) be the least that p ever had, newer rounds before older ones. If p goes by q then F(q) < F(p), so
nobody goes by itself. A peer may keep its parent however long that way becomes: F(p) stays as it is.

Between neighbours that are feasible the shortest way wins, and the parent among equals. A newer round alone turns
nobody, because it often arrives first on a longer way. A neighbour whose round has not grown for some beats counts no
more: its target is gone, or was cut off.

This is the rule of Babel and, before it, of DUAL and DSDV. Rejected: path lists in each message, of O(depth) bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.core_tree.messages import Reach


@dataclass(slots=True)
class _Word:
    """What a neighbour said last, and since when its round is what it is."""

    round: int
    weight: float
    over: NodeId
    since_ms: float


class Way:
    """One peer's way to one target."""

    __slots__ = ("_best_round", "_best_weight", "_node", "_words", "parent", "round", "target", "weight")

    def __init__(self, node: NodeId, target: NodeId) -> None:
        self.target = target
        self.parent: NodeId | None = None
        self.round = -1
        self.weight = inf
        self._node = node
        self._best_round = -1
        self._best_weight = inf
        self._words: dict[NodeId, _Word] = {}

    @property
    def is_known(self) -> bool:
        """Whether there is a way."""
        return self.parent is not None

    @property
    def best_round(self) -> int:
        """The newest round that it has had; others must have a newer one where they are not nearer."""
        return self._best_round

    def hear(self, peer: NodeId, reach: Reach, now: float) -> None:
        """A neighbour says how far it is."""
        before = self._words.get(peer)
        since = before.since_ms if before is not None and before.round >= reach.round else now
        self._words[peer] = _Word(reach.round, reach.weight, reach.over, since)

    def forget(self, peer: NodeId) -> None:
        """A neighbour has no way, or is none."""
        self._words.pop(peer, None)

    def choose(self, links: Mapping[NodeId, float], alive_ms: float) -> None:
        """Decides by whom to go; rounds that began before `alive_ms` count no more."""
        found: tuple[float, bool, NodeId] | None = None
        for peer, word in self._words.items():
            link = links.get(peer)
            if link is None or word.since_ms < alive_ms or word.over == self._node:
                continue
            is_parent = peer == self.parent
            if is_parent or self._is_feasible(word):
                offer = (word.weight + link, not is_parent, peer)
                found = offer if found is None else min(found, offer)
        if found is None:
            self.parent, self.weight = None, inf
            return
        self.weight, _, self.parent = found
        self.round = self._words[self.parent].round
        if self.round > self._best_round:
            self._best_round, self._best_weight = self.round, self.weight
        elif self.round == self._best_round:
            self._best_weight = min(self._best_weight, self.weight)

    def _is_feasible(self, word: _Word) -> bool:
        return word.round > self._best_round or (word.round == self._best_round and word.weight < self._best_weight)

    @property
    def reach(self) -> Reach:
        """What the neighbours are told of it."""
        assert self.parent is not None
        return Reach(self.target, self.round, self.weight, self.parent)


class Ways:
    """Ways to some targets. Those of former targets are kept for a while, for others may still go by them."""

    __slots__ = ("_node", "_ways")

    def __init__(self, node: NodeId) -> None:
        self._node = node
        self._ways: dict[NodeId, Way] = {}

    def to(self, target: NodeId) -> Way:
        """The way to a target."""
        way = self._ways.get(target)
        if way is None:
            way = self._ways[target] = Way(self._node, target)
            if len(self._ways) > _REMEMBERED:
                del self._ways[next(iter(self._ways))]
        return way

    def forget(self, peer: NodeId) -> None:
        """A neighbour is none any more."""
        for way in self._ways.values():
            way.forget(peer)

    def hear(self, peer: NodeId, reaches: Mapping[NodeId, Reach], now: float) -> None:
        """A neighbour says which targets it reaches; others it does not."""
        for target, way in self._ways.items():
            if target not in reaches:
                way.forget(peer)
        for target, reach in reaches.items():
            if target != self._node:
                self.to(target).hear(peer, reach, now)


_REMEMBERED = 1_024
