"""What a node tells a neighbour it wants, given all it has to ask for: everything, only what nothing else covers, or
merged.

    wanted here            plain          covering          merging
    price < 5              price < 5      price < 9         price < 9 …
    price < 9              price < 9      volume > 3
    volume > 3             volume > 3

A summary takes changes in and answers with what to announce and what to retract, so that at any time the announced
filters together match exactly what the wanted ones match. Both lists may hold the same id: announcing replaces.

Covering and merging compare a new filter with all announced ones: O(n) a change, and a removal may bring back what it
covered. `covers` answers "no" where it cannot decide, which costs an announcement too many and never one too few.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from siftcast.model import Filter
from siftcast.overlays.merging import merge
from siftcast.overlays.messages import Entry

Change = tuple[list[Entry], list[str]]


class Summary(ABC):
    """The filters wanted from one neighbour, and those of them that it is told."""

    exact: ClassVar[bool]
    """Whether every wanted id is announced, so that a list of announced ids says all."""

    @abstractmethod
    def add(self, entry: Entry) -> Change:
        """Takes in a wanted filter under a new id."""

    @abstractmethod
    def remove(self, id: str) -> Change:
        """Drops a wanted filter."""

    @abstractmethod
    def announced(self) -> list[Entry]:
        """All that the neighbour is told."""


class Plain(Summary):
    """Everything is announced."""

    exact = True

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    def add(self, entry: Entry) -> Change:
        self._entries[entry[0]] = entry
        return [entry], []

    def remove(self, id: str) -> Change:
        del self._entries[id]
        return [], [id]

    def announced(self) -> list[Entry]:
        return list(self._entries.values())


class Covering(Summary):
    """What an announced filter covers is kept back, until that one goes."""

    exact = False

    def __init__(self) -> None:
        self._announced: dict[str, Entry] = {}
        self._covered: dict[str, tuple[str, Entry]] = {}  # by which announced one

    def add(self, entry: Entry) -> Change:
        by = self._coverer(entry[1])
        if by is not None:
            self._covered[entry[0]] = by, entry
            return [], []
        taken = [id for id, (_, filter_, _) in self._announced.items() if entry[1].covers(filter_)]
        self._announced[entry[0]] = entry
        for id in taken:
            self._covered[id] = entry[0], self._announced.pop(id)
        for id, (by, covered) in self._covered.items():
            if by in taken:
                self._covered[id] = entry[0], covered
        return [entry], taken

    def remove(self, id: str) -> Change:
        if id in self._covered:
            del self._covered[id]
            return [], []
        del self._announced[id]
        orphans = [entry for by, entry in self._covered.values() if by == id]
        announce: list[Entry] = []
        for entry in orphans:
            del self._covered[entry[0]]
        for entry in orphans:
            new, old = self.add(entry)
            announce = [kept for kept in announce if kept[0] not in old] + new
        return announce, [id]

    def announced(self) -> list[Entry]:
        return list(self._announced.values())

    def _coverer(self, filter_: Filter) -> str | None:
        return next((id for id, (_, other, _) in self._announced.items() if other.covers(filter_)), None)


class Merging(Summary):
    """Filters whose union is again one simple filter are announced as that filter, under the id of the oldest.

    An announcement stands for a group of wanted filters; a removal takes its group apart and puts it together anew.
    """

    exact = False

    def __init__(self) -> None:
        self._groups: dict[str, tuple[Entry, dict[str, Entry]]] = {}  # what is announced, and what it stands for
        self._group_of: dict[str, str] = {}

    def add(self, entry: Entry) -> Change:
        announce, retract = [entry], list[str]()
        merged, members = entry, {entry[0]: entry}
        while (found := self._partner(merged)) is not None:
            other, filter_ = found
            _, others = self._groups.pop(other)
            members = {**others, **members}
            retract.append(other)
            first = next(iter(members.values()))
            merged = first[0], filter_, first[2]
            announce = [merged]
        self._groups[merged[0]] = merged, members
        for id in members:
            self._group_of[id] = merged[0]
        return announce, [id for id in retract if id != merged[0]]

    def remove(self, id: str) -> Change:
        group = self._group_of.pop(id)
        _, members = self._groups.pop(group)
        del members[id]
        announced: dict[str, Entry] = {}
        retracted = {group: None}
        for entry in members.values():
            new, old = self.add(entry)
            for gone in old:
                if announced.pop(gone, None) is None:
                    retracted[gone] = None
            for shown in new:
                announced[shown[0]] = shown
                retracted.pop(shown[0], None)
        return list(announced.values()), list(retracted)

    def announced(self) -> list[Entry]:
        return [entry for entry, _ in self._groups.values()]

    def _partner(self, entry: Entry) -> tuple[str, Filter] | None:
        for id, (other, _) in self._groups.items():
            filter_ = merge(other[1], entry[1])
            if filter_ is not None:
                return id, filter_
        return None


SUMMARIES: dict[str, type[Summary]] = {"none": Plain, "covering": Covering, "merging": Merging}
