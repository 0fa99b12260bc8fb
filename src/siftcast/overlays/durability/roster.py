"""Who the nodes of a network are, as far as durability must know: which there are, and what people call them.

Records on disk name nodes by their identities, which never change. The list may: it grows and shrinks between two lives
of a node. `network` is the name of the network, `layout` a digest of how it is laid out, to which routes and messages
that wait belong.
"""

from __future__ import annotations

from collections.abc import Mapping

from siftcast.overlays.contract import NodeId


class Roster:
    """The nodes of a network by identity; without a list, any node may be one, and is called by its number."""

    __slots__ = ("_names", "layout", "network")

    def __init__(self, names: Mapping[NodeId, str] | None = None, *, network: str = "", layout: str = "") -> None:
        self.network = network
        self.layout = layout
        self._names = names

    def name(self, node: NodeId) -> str:
        """What people call a node; its number, if it is no longer listed."""
        return str(node) if self._names is None else self._names.get(node, str(node))

    def __contains__(self, node: NodeId) -> bool:
        return self._names is None or node in self._names
