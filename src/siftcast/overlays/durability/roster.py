"""Who the nodes are, for what is kept: on disk a node is its name, never its place in a list.

A list of nodes may be written down in another order, grow or shrink between two lives of a node. Numbers are places in
that list and mean nothing later; so records, and the messages inside them, name nodes. `network` says which layout the
numbers of routes and trees belong to.
"""

from __future__ import annotations

from collections.abc import Sequence

from siftcast.model import DataError
from siftcast.overlays.contract import NodeId


class Roster:
    """Names by number and numbers by name; without a list, names are the numbers themselves."""

    __slots__ = ("_names", "_numbers", "network")

    def __init__(self, names: Sequence[str] | None = None, network: str = "") -> None:
        self.network = network
        self._names = None if names is None else tuple(names)
        self._numbers = {} if names is None else {name: number for number, name in enumerate(names)}

    def name(self, number: NodeId) -> str:
        """The name of a node."""
        return str(number) if self._names is None else self._names[number]

    def number(self, name: str) -> NodeId:
        """The number of a node; raises DataError if there is none of this name now."""
        if self._names is None:
            return int(name)
        try:
            return self._numbers[name]
        except KeyError:
            raise DataError(f"there is no node '{name}' in the network now") from None

    def __contains__(self, name: str) -> bool:
        return self._names is None or name in self._numbers
