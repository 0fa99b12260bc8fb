"""A store that keeps nothing beyond its node, for tests of those who use Siftcast: writes are answered, never kept.

A node with it makes all promises but that of surviving its process, without touching a disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from siftcast.runtimes.live.store import Changes, Reported


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
    """Reports every write as done, in a later turn of the loop."""

    def __init__(self, report: Callable[[Reported], None]) -> None:
        self.damaged: list[str] = []
        self._report = report

    def open(self) -> dict[str, bytes]:
        """Nothing."""
        return {}

    def write(self, key: str, changes: Changes) -> None:
        """Answers only; the protocol holds what it needs in memory."""
        self._report([(key, None)])

    def close(self) -> None:
        """Has nothing to do."""
