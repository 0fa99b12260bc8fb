"""To whom a node passes things on: the one question in which trees and graphs with cycles differ."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Protocol

from siftcast.overlays.contract import NodeId
from siftcast.space import SourceTrees, Tree


class Links(Protocol):
    """A node's view of the topology."""

    neighbours: tuple[NodeId, ...]

    def onward(self, origin: NodeId, sender: NodeId | None) -> tuple[NodeId, ...]:
        """The neighbours to which something goes that began at `origin` and came from `sender`."""

    def scope(self, origin: NodeId) -> Hashable:
        """Equal for origins whose announcements take the same ways from here on, so that one can stand for another."""


class TreeLinks:
    """On a tree: everyone except where it came from. With `by_origin`, no origin can stand for another."""

    __slots__ = ("_by_origin", "_onward", "neighbours")

    def __init__(self, neighbours: tuple[NodeId, ...] = (), *, by_origin: bool = False) -> None:
        self._by_origin = by_origin
        self._onward: dict[NodeId | None, tuple[NodeId, ...]]
        self._connect(neighbours)

    @classmethod
    def of(cls, tree: Tree, node: NodeId) -> TreeLinks:
        return cls(tree.neighbours[node])

    def attach(self, neighbour: NodeId) -> None:
        """A link is new."""
        self._connect((*self.neighbours, neighbour))

    def detach(self, neighbour: NodeId) -> None:
        """A link is gone."""
        self._connect(tuple(other for other in self.neighbours if other != neighbour))

    def _connect(self, neighbours: tuple[NodeId, ...]) -> None:
        self.neighbours = neighbours
        self._onward = {
            sender: tuple(other for other in neighbours if other != sender) for sender in (None, *neighbours)
        }

    def onward(self, origin: NodeId, sender: NodeId | None) -> tuple[NodeId, ...]:
        return self._onward[sender]

    def scope(self, origin: NodeId) -> Hashable:
        return origin if self._by_origin else None


class SourceTreeLinks:
    """On a graph: the node's children in the tree of the origin."""

    __slots__ = ("_children", "neighbours")

    def __init__(self, neighbours: tuple[NodeId, ...], children: Mapping[NodeId, tuple[NodeId, ...]]) -> None:
        self.neighbours = neighbours
        self._children = children

    @classmethod
    def of(cls, trees: SourceTrees, node: NodeId) -> SourceTreeLinks:
        return cls(trees.neighbours[node], trees.children(node))

    def onward(self, origin: NodeId, sender: NodeId | None) -> tuple[NodeId, ...]:
        return self._children[origin]

    def scope(self, origin: NodeId) -> Hashable:
        return origin
