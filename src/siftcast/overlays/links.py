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
    """On a tree: everyone except where it came from."""

    __slots__ = ("_onward", "neighbours")

    def __init__(self, neighbours: tuple[NodeId, ...]) -> None:
        self.neighbours = neighbours
        self._onward: dict[NodeId | None, tuple[NodeId, ...]] = {
            sender: tuple(other for other in neighbours if other != sender) for sender in (None, *neighbours)
        }

    @classmethod
    def of(cls, tree: Tree, node: NodeId) -> TreeLinks:
        return cls(tree.neighbours[node])

    def onward(self, origin: NodeId, sender: NodeId | None) -> tuple[NodeId, ...]:
        return self._onward[sender]

    def scope(self, origin: NodeId) -> Hashable:
        return None


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
