"""OV-RTree: peers as the leaves of one distributed R-tree, the approach that row C8 compares with (thesis, 3.6.3).

A node of the tree has at most four children and is run by the peer of its largest child, so every inner node is also
somebody's leaf. An event climbs from its publisher's leaf to the root, and goes down from everyone it passes to each
child whose box contains it. Boxes contain their children's, so the nodes that an event reaches are those whose box
contains it, and those it climbed through: a row of flags, no search. A message counts if it leaves a peer.

Newcomers descend from the root to the lowest inner node by least enlargement, or join where a peer they know is, which
costs less and makes worse boxes; a node of five is cut in two
(quadratic split). Who leaves tells its parent, boxes shrink upwards, nodes it ran are taken over, and a node of one
child gives way to it. Each of these is counted in messages (`control`). What repairs do not do, in the original
either, is to move others: boxes drift, and with them false positives.

Cost: an insertion O(height), a flattening O(nodes), an event O(nodes).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from siftcast.experiments.clustering.world import Flags, Floats, Integers

CHILDREN_MAX = 4
_LEAST = 2


@dataclass(slots=True, eq=False)
class _Node:
    """A leaf has a peer of its own; an inner node has children, and the peer that runs it."""

    low: Floats
    high: Floats
    peer: int
    parent: _Node | None = None
    children: list[_Node] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Passage:
    """The peers that one event was sent to, each as often as it was."""

    receivers: Integers

    @property
    def messages(self) -> int:
        return len(self.receivers)

    def false_positives(self, wanted: Flags) -> int:
        """Messages to peers that do not want it."""
        return int((~wanted[self.receivers]).sum())


class RTreeOverlay:
    """Peers by number, each with one box."""

    def __init__(self) -> None:
        self.control = 0
        self._leaves: dict[int, _Node] = {}
        self._root: _Node | None = None
        self._flat: _Flat | None = None

    def join(self, peer: int, low: Integers, high: Integers, contact: int | None = None) -> None:
        """A peer comes with its box (ends inclusive), to the root or to a peer that is there."""
        leaf = _Node(low.astype(np.float64), high + 1.0, peer)
        self._leaves[peer] = leaf
        self._flat = None
        if self._root is None:
            self._root = _Node(leaf.low, leaf.high, peer, children=[leaf])
            leaf.parent = self._root
            return
        self.control += 1  # to the root, or to the contact
        node = self._descend(leaf) if contact is None else self._climb(self._leaves[contact], leaf)
        leaf.parent = node
        node.children.append(leaf)
        self.control += 1  # the newcomer's answer
        self._split_upwards(node)

    def _climb(self, known: _Node, leaf: _Node) -> _Node:
        """The node above a leaf, once all above have room for another."""
        above = node = known.parent
        assert above is not None
        while node is not None:
            low, high = np.minimum(node.low, leaf.low), np.maximum(node.high, leaf.high)
            if (low == node.low).all() and (high == node.high).all():
                break
            node.low, node.high = low, high
            if node.parent is not None:
                self._say(node, node.parent)
            node = node.parent
        return above

    def _descend(self, leaf: _Node) -> _Node:
        """The lowest inner node on the way of least enlargement."""
        node = self._root
        assert node is not None
        while True:
            node.low, node.high = np.minimum(node.low, leaf.low), np.maximum(node.high, leaf.high)
            inner = [child for child in node.children if child.children]
            if not inner:
                return node
            best = min(inner, key=lambda child: (_enlargement(child, leaf), _volume(child.low, child.high)))
            self._say(node, best)
            node = best

    def leave(self, peer: int) -> None:
        """A peer goes; its neighbours in the tree close the gap."""
        leaf = self._leaves.pop(peer)
        self._flat = None
        node = leaf.parent
        assert node is not None
        node.children.remove(leaf)
        self.control += 1
        while node is not None:
            above = node.parent
            if above is None and not node.children:
                self._root = None
            elif len(node.children) == 1 and (above is not None or node.children[0].children):
                self._give_way(node)
            else:
                self._refit(node, peer)
            node = above

    def publish(self, peer: int, point: Integers) -> Passage:
        """Sends an event from a peer."""
        if self._flat is None:
            self._flat = _Flat(self)
        return self._flat.publish(peer, point)

    def _say(self, one: _Node, other: _Node) -> None:
        self.control += one.peer != other.peer

    def _refit(self, node: _Node, gone: int) -> None:
        """The box as small as it may be, and another peer if the one that ran it is gone."""
        low = np.min([child.low for child in node.children], axis=0)
        high = np.max([child.high for child in node.children], axis=0)
        shrunk = bool((low != node.low).any() or (high != node.high).any())
        node.low, node.high = low, high
        if node.peer == gone:
            node.peer = _largest(node.children).peer
            self.control += len(node.children) + (node.parent is not None)
        elif shrunk and node.parent is not None:
            self._say(node, node.parent)

    def _give_way(self, node: _Node) -> None:
        """A node with one child is replaced by it."""
        child, above = node.children[0], node.parent
        child.parent = above
        if above is None:
            self._root = child
        else:
            above.children[above.children.index(node)] = child
        self.control += 2

    def _split_upwards(self, node: _Node) -> None:
        while len(node.children) > CHILDREN_MAX:
            first, second = _quadratic_split(node.children)
            above = node.parent
            if above is None:
                above = self._root = _Node(node.low, node.high, node.peer, children=[node])
                node.parent = above
            sibling = _inner(second, above)
            node.children = first
            fitted = _inner(first, above)
            node.low, node.high, node.peer = fitted.low, fitted.high, fitted.peer
            for child in first:
                child.parent = node
            above.children.append(sibling)
            self.control += len(second) + 1  # those that move get a message, and so does the parent
            node = above


class _Flat:
    """The tree as arrays, for as long as it does not change."""

    def __init__(self, overlay: RTreeOverlay) -> None:
        assert overlay._root is not None, "an event needs a peer to publish it"
        nodes = [overlay._root]
        above = [-1]
        for index, node in enumerate(nodes):  # grows while it is walked
            nodes += node.children
            above += [index] * len(node.children)
        self._low, self._high = np.array([node.low for node in nodes]), np.array([node.high for node in nodes])
        self._above = np.array(above)
        self._peer = np.array([node.peer for node in nodes])
        self._leaf = {node.peer: index for index, node in enumerate(nodes) if not node.children}

    def publish(self, peer: int, point: Integers) -> Passage:
        reached = np.all((self._low <= point) & (point < self._high), axis=1)
        climbed = [self._leaf[peer]]
        while self._above[climbed[-1]] >= 0:
            climbed.append(int(self._above[climbed[-1]]))
        reached[climbed] = False  # what came up is not sent down again
        down = np.flatnonzero(reached & (self._peer != self._peer[self._above]))
        hops = [upper for lower, upper in pairwise(climbed) if self._peer[lower] != self._peer[upper]]
        return Passage(self._peer[np.concatenate([down, np.array(hops, dtype=np.int64)])])


def _volume(low: Floats, high: Floats) -> float:
    return float(np.prod(high - low))


def _enlargement(node: _Node, leaf: _Node) -> float:
    together = _volume(np.minimum(node.low, leaf.low), np.maximum(node.high, leaf.high))
    return together - _volume(node.low, node.high)


def _largest(children: list[_Node]) -> _Node:
    return max(children, key=lambda child: _volume(child.low, child.high))


def _inner(children: list[_Node], parent: _Node | None) -> _Node:
    low = np.min([child.low for child in children], axis=0)
    high = np.max([child.high for child in children], axis=0)
    node = _Node(low, high, _largest(children).peer, parent, children)
    for child in children:
        child.parent = node
    return node


def _quadratic_split(children: list[_Node]) -> tuple[list[_Node], list[_Node]]:
    """Guttman's: the two that fit worst begin a side each; the others go where they enlarge least."""
    pairs = [(one, other) for index, one in enumerate(children) for other in children[index + 1 :]]
    seeds = max(pairs, key=lambda pair: _enlargement(*pair) - _volume(pair[1].low, pair[1].high))
    sides = [[seeds[0]], [seeds[1]]]
    waiting = [child for child in children if child is not seeds[0] and child is not seeds[1]]
    for index, child in enumerate(waiting):
        left = len(waiting) - index
        needy = [side for side in sides if len(side) + left <= _LEAST]
        side = needy[0] if needy else min(sides, key=lambda each: _enlargement(_cover(each), child))
        side.append(child)
    return sides[0], sides[1]


def _cover(side: list[_Node]) -> _Node:
    low, high = np.min([each.low for each in side], axis=0), np.max([each.high for each in side], axis=0)
    return _Node(low, high, side[0].peer)
