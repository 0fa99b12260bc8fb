"""What a node tells a neighbour it wants, given all it has to ask for: everything, only what nothing else covers, or
merged.

    wanted here            plain          covering          merging
    price < 5              price < 5      price < 9         price < 9 …
    price < 9              price < 9      volume > 3
    volume > 3             volume > 3

A summary takes changes in and answers with what to announce and what to retract, so that at any time the announced
filters together match exactly what the wanted ones match. Both lists may hold the same id: announcing replaces.

Covering and merging find by an index which announced filters matter to a new one; they tell what they would if they
asked each in turn. A removal brings back what was kept back for the removed one, or takes its group apart: a change for
each filter of the group. `covers` answers "no" where it cannot decide, which costs an announcement too many and never
one too few.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import count
from typing import ClassVar, NamedTuple

from siftcast.matching.covering import CoveringIndex
from siftcast.model import Filter
from siftcast.overlays.merging import Agreement, agreements, merge
from siftcast.overlays.routing_rows import Entry

Difference = tuple[list[Entry], list[str]]


class Summary(ABC):
    """The filters wanted from one neighbour, and those of them that it is told."""

    exact: ClassVar[bool]
    """Whether every wanted id is announced, so that a list of announced ids says all."""

    @abstractmethod
    def add(self, entry: Entry) -> Difference:
        """Takes in a wanted filter under a new id."""

    @abstractmethod
    def remove(self, id: str) -> Difference:
        """Drops a wanted filter."""

    @abstractmethod
    def announced(self) -> list[Entry]:
        """All that the neighbour is told."""


class Plain(Summary):
    """Everything is announced."""

    exact = True

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    def add(self, entry: Entry) -> Difference:
        self._entries[entry[0]] = entry
        return [entry], []

    def remove(self, id: str) -> Difference:
        del self._entries[id]
        return [], [id]

    def announced(self) -> list[Entry]:
        return list(self._entries.values())


class Covering(Summary):
    """What an announced filter covers is kept back, until that one goes.

    Who is kept back stands in a group with an announced one. When a wider filter takes an announced one's place, the
    smaller group moves into the larger, so that a group is not counted through for each that takes its place.
    """

    exact = False

    def __init__(self) -> None:
        self._announced: dict[str, Entry] = {}
        self._index = CoveringIndex()  # of the announced
        self._groups: dict[str, _Group] = {}  # by who is announced for them
        self._covered: dict[str, _Covered] = {}
        self._numbers = count()

    def add(self, entry: Entry) -> Difference:
        id, filter_, _ = entry
        by = next(self._index.covering(filter_), None)
        if by is not None:
            self._keep_back(entry, self._groups[by])
            return [], []
        taken = self._index.covered_by(filter_)
        moved = [(self._announced.pop(other), self._groups.pop(other)) for other in taken]
        group = max((group for _, group in moved), key=lambda group: len(group.members), default=_Group())
        for _, other in moved:
            group.take_in(other)
        for covered, _ in moved:
            self._index.remove(covered[0])
            self._keep_back(covered, group)
        self._announced[id] = entry
        self._groups[id] = group
        self._index.add(id, filter_)
        return [entry], taken

    def remove(self, id: str) -> Difference:
        covered = self._covered.pop(id, None)
        if covered is not None:
            del covered.group.last().members[id]
            return [], []
        del self._announced[id]
        self._index.remove(id)
        members = self._groups.pop(id).members
        orphans = sorted((self._covered.pop(member) for member in members), key=lambda orphan: orphan.number)
        announce: dict[str, Entry] = {}
        for orphan in orphans:
            new, old = self.add(orphan.entry)
            for gone in old:
                announce.pop(gone, None)
            announce.update((shown[0], shown) for shown in new)
        return list(announce.values()), [id]

    def announced(self) -> list[Entry]:
        return list(self._announced.values())

    def _keep_back(self, entry: Entry, group: _Group) -> None:
        group.members[entry[0]] = None
        self._covered[entry[0]] = _Covered(entry, group, next(self._numbers))


class _Group:
    """The ids that one announced filter covers; a group that has moved says where."""

    __slots__ = ("_moved_to", "members")

    def __init__(self) -> None:
        self.members: dict[str, None] = {}
        self._moved_to: _Group | None = None

    def take_in(self, other: _Group) -> None:
        """Has the members of another move here."""
        if other is not self:
            self.members.update(other.members)
            other.members = {}
            other._moved_to = self

    def last(self) -> _Group:
        """Where its members are now."""
        group = self
        while group._moved_to is not None:
            group = group._moved_to
        self._moved_to = group if group is not self else None
        return group


class _Covered(NamedTuple):
    """A filter that is kept back, where, and since when: orphans are announced in the order they were kept back."""

    entry: Entry
    group: _Group
    number: int


class Merging(Summary):
    """Filters whose union is again one simple filter are announced as that filter, under the id of the oldest.

    An announcement stands for a group of wanted filters; a removal takes its group apart and puts it together anew.
    Only what agrees in all attributes but one can be merged, so groups are found by that in which they might agree.
    """

    exact = False

    def __init__(self) -> None:
        self._groups: dict[str, _Merged] = {}  # by the id of the oldest member, which is announced
        self._group_of: dict[str, str] = {}
        self._agreeing: dict[Agreement, dict[str, None]] = {}
        self._numbers = count()

    def add(self, entry: Entry) -> Difference:
        announce, retract = [entry], list[str]()
        merged, members, shared = entry, {entry[0]: entry}, agreements(entry[1])
        self._group_of[entry[0]] = entry[0]
        while (found := self._partner(merged[1], shared)) is not None:
            group, filter_ = found
            self._take_out(group)
            newcomers, members = members, group.members
            members.update(newcomers)
            retract.append(group.entry[0])
            for id in newcomers:
                self._group_of[id] = group.entry[0]
            merged, shared = (group.entry[0], filter_, group.entry[2]), agreements(filter_)
            announce = [merged]
        self._groups[merged[0]] = _Merged(merged, members, shared, next(self._numbers))
        for agreement in shared:
            self._agreeing.setdefault(agreement, {})[merged[0]] = None
        return announce, [id for id in retract if id != merged[0]]

    def remove(self, id: str) -> Difference:
        group = self._groups[self._group_of.pop(id)]
        self._take_out(group)
        del group.members[id]
        announced: dict[str, Entry] = {}
        retracted = {group.entry[0]: None}
        for entry in group.members.values():
            new, old = self.add(entry)
            for gone in old:
                if announced.pop(gone, None) is None:
                    retracted[gone] = None
            for shown in new:
                announced[shown[0]] = shown
                retracted.pop(shown[0], None)
        return list(announced.values()), list(retracted)

    def announced(self) -> list[Entry]:
        return [group.entry for group in self._groups.values()]

    def _take_out(self, group: _Merged) -> None:
        id = group.entry[0]
        del self._groups[id]
        for agreement in group.shared:
            others = self._agreeing[agreement]
            del others[id]
            if not others:
                del self._agreeing[agreement]

    def _partner(self, filter_: Filter, shared: Iterable[Agreement]) -> tuple[_Merged, Filter] | None:
        """Of the groups that can be merged with a filter the one that has been as it is for longest, and the union."""
        found = {id for agreement in shared for id in self._agreeing.get(agreement, ())}
        for group in sorted((self._groups[id] for id in found), key=lambda group: group.number):
            union = merge(group.entry[1], filter_)
            if union is not None:
                return group, union
        return None


class _Merged(NamedTuple):
    """What is announced, the wanted filters it stands for from the oldest on, and when it was last changed."""

    entry: Entry
    members: dict[str, Entry]
    shared: list[Agreement]
    number: int


SUMMARIES: dict[str, type[Summary]] = {"none": Plain, "covering": Covering, "merging": Merging}
