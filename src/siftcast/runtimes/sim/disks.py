"""What nodes have on disk, what is on its way there, and what a power cut leaves of it.

A write takes `disk_ms` and is atomic: all of its changes or none. One that is under way when the power goes is lost,
or, with the chance `write_survives`, was just done; its writer does not hear of it either way. A full disk takes
nothing, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from siftcast.overlays.contract import NodeId


class Write(NamedTuple):
    """Changes on their way to the disk of one incarnation of a node."""

    life: int
    key: str
    changes: Sequence[tuple[str, bytes | None]]


class Disks:
    """The disks of all nodes."""

    __slots__ = ("_full", "_kept", "_random", "_saved", "_under_way", "survives")

    def __init__(self, survives: float, random: np.random.Generator) -> None:
        self.survives = survives
        self._random = random
        self._kept: dict[NodeId, dict[str, bytes]] = {}
        self._under_way: dict[NodeId, list[Write]] = {}
        self._full: set[NodeId] = set()
        self._saved: dict[NodeId, dict[str, bytes]] = {}

    def content(self, node: NodeId) -> dict[str, bytes]:
        """What a node finds when it starts."""
        return dict(self._kept.get(node, {}))

    def begin(self, node: NodeId, write: Write) -> None:
        """A write is under way."""
        self._under_way.setdefault(node, []).append(write)

    def end(self, node: NodeId, write: Write) -> bool:
        """A write is done; False if the disk was full."""
        self._under_way[node].remove(write)
        if node in self._full:
            return False
        self._apply(node, write)
        return True

    def cut_power(self, node: NodeId) -> None:
        """Decides about each write that is under way."""
        for write in self._under_way.pop(node, ()):
            if self.survives and self._random.random() < self.survives and node not in self._full:
                self._apply(node, write)

    def damage(self, node: NodeId, share: float) -> None:
        """Loses a share of the records."""
        disk = self._kept.get(node, {})
        for key in [key for key in disk if self._random.random() < share]:
            del disk[key]

    def save(self, node: NodeId) -> None:
        """Makes a copy of a disk as it is now."""
        self._saved[node] = self.content(node)

    def put_back(self, node: NodeId) -> None:
        """Replaces a disk by the copy that was made of it."""
        self._kept[node] = dict(self._saved[node])

    def destroy(self, node: NodeId) -> None:
        """Takes a disk away with all that is on it."""
        self._kept.pop(node, None)

    def fill(self, node: NodeId, *, full: bool) -> None:
        """Lets a disk be full, or have room again."""
        if full:
            self._full.add(node)
        else:
            self._full.discard(node)

    def _apply(self, node: NodeId, write: Write) -> None:
        disk = self._kept.setdefault(node, {})
        for key, data in write.changes:
            if data is None:
                disk.pop(key, None)
            else:
                disk[key] = data
