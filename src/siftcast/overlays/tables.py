"""Routing tables are matchers: what a protocol asks of one, and where it gets it from.

A protocol is given a `TableFactory` when it is made and calls it once for each neighbour. Any matching engine will do
(`matcher_tables("counting")`). Where one process plays many nodes, `MatcherPool.table` makes tables that share the
work: an event is matched once, and each table only looks up which of the matches are its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from siftcast.matching import Matcher
from siftcast.model import Event, Filter


class Table(Protocol):
    """The filters behind one neighbour, by id."""

    def add(self, id: str, filter: Filter) -> None: ...
    def remove(self, id: str) -> None: ...
    def match(self, event: Event, limit: int | None = None) -> list[str]: ...
    def match_any(self, event: Event) -> bool: ...
    def __contains__(self, id: object) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...


TableFactory = Callable[[], Table]


def matcher_tables(engine: str = "auto") -> TableFactory:
    """Tables that each have an engine of their own, as nodes on machines of their own have."""
    return lambda: Matcher(engine)
