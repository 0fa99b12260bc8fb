"""The oracle: every filter is tried on every event.

Correct by being obvious. Each filter's compiled predicate is called in turn, so a match costs time linear in
the number of filters (about 0.2 µs each) and an addition costs nothing. Other engines are tested against it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from siftcast.matching.contract import Attributes
from siftcast.matching.simple_engine import SimpleEngine
from siftcast.model import Filter


class BruteForce(SimpleEngine):
    """A dict of filters, and a loop."""

    name = "brute_force"

    def __init__(self) -> None:
        self._filters: dict[int, Filter] = {}

    @property
    def filters(self) -> Mapping[int, Filter]:
        return self._filters

    def add(self, slot: int, filter_: Filter) -> None:
        self._filters[slot] = filter_

    def remove(self, slot: int) -> None:
        del self._filters[slot]

    def find(self, event: Attributes, limit: int | None = None) -> Sequence[int]:
        found: list[int] = []
        for slot, filter_ in self._filters.items():
            if limit is not None and len(found) >= limit:
                break
            if filter_.matches(event):
                found.append(slot)
        return found
