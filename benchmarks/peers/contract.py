"""What a peer does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from benchmarks.boxes import BoxWorkload
from benchmarks.exactness import Rows


class LeftOut(Exception):
    """Why a peer takes no part in a workload."""


class Peer(ABC):
    """Somebody else's way to find the matching subscriptions."""

    name: ClassVar[str]

    @abstractmethod
    def __init__(self, workload: BoxWorkload) -> None:
        """Loads the subscriptions; raises LeftOut."""

    @abstractmethod
    def ask(self, count: int) -> Callable[[], Any]:
        """Prepares the first events and returns the call to be timed."""

    def rows(self, answer: Any) -> list[Rows]:
        """The rows for each event that such a call found; to be overridden where that is not the answer itself."""
        found: list[Rows] = answer
        return found


PeerClass = type[Peer]
