"""A store without a disk, for tests of those who use Siftcast: what is written is kept for the next life of the node.

A node with it makes all promises but that of surviving its process; it survives its own defects like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from siftcast.runtimes.live.storage.store import Changes, Reported


class Keeper(Protocol):
    """What a node needs of a store, see `Store`."""

    damaged: list[str]

    def open(self) -> dict[str, bytes]:
        """What was kept."""

    def write(self, key: str, changes: Changes) -> None:
        """Has changes written, all or none; `key` is reported once they are safe or have failed."""

    def close(self) -> None:
        """Writes what waits."""


class MemoryStore:
    """Reports every write as done, in a later turn of the loop; `kept` holds what was written, over all lives."""

    def __init__(self, report: Callable[[Reported], None], kept: dict[str, bytes]) -> None:
        self.damaged: list[str] = []
        self._report = report
        self._kept = kept

    def open(self) -> dict[str, bytes]:
        """What an earlier life wrote."""
        return dict(self._kept)

    def write(self, key: str, changes: Changes) -> None:
        """Keeps and forgets, and answers."""
        for name, data in changes:
            if data is None:
                self._kept.pop(name, None)
            else:
                self._kept[name] = data
        self._report([(key, None)])

    def close(self) -> None:
        """Has nothing to do."""
