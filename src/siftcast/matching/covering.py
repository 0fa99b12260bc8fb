"""Which of many filters cover a given one, and which it covers, without asking each of them.

`Filter.covers` compares two filters in some µs; a broker that asks it of every filter it knows, for every filter that
comes, is quadratic. The index answers both questions as if each filter had been asked (a test compares them), from
few candidates.

`covers` says yes only if each alternative of the one fits into an exact alternative of the other. So an alternative
that is to be wider than another *asks* something of it, and every alternative *offers* some things:

    W   venue IN ('X', 'Y') AND price < 9           asks for one of    (venue, 'X'), (venue, 'Y')
    N   venue = 'X' AND price < 5 AND t LIKE '%a'   offers             (venue, 'X')  and  t LIKE '%a'

Where an attribute of W may have single values only, each value that N may have there is one of them, one of N's
values is enough to offer, and W asks for any of its own. Where W has residue, N must have it too. W needs only one
attribute or piece of residue to ask by; it takes what fewest others ask for. What has none is unasking: only ranges,
or nothing.

    covering(N)      askers of what N offers, and the unasking      whose boxes hold N's box          verified
    covered_by(W)    offerers of what W asks for, or all            whose boxes lie in W's box        verified

Boxes are those of `alternatives`, compared by `nested_boxes`. Three cases are special: a filter that matches
nothing is covered by all; one whose normal form is only a hull is covered by its equal; and what is covered must be so
in every alternative, hence one of them, the first, is enough to be found by.

Invariants. Rows are numbered in the order in which filters came, and answers keep it. Removed rows stay in the piles
until they are more than half of all; then everything is built again. Cost: a few dozen µs to add or to ask, and one
µs for each filter found; a list of values has one entry per value. A few kB per filter, including its normal form.
Rejected: a `Matcher` of the filters, asked with an event that the other filter matches. Such an event is not known
where there is residue; and a matcher compiles first, and stages additions, which here come between questions.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from siftcast.matching.alternatives import Axis, Bounds, box_of
from siftcast.matching.nested_boxes import FEW, BoxTable, Pile, Rows, Sought
from siftcast.model import Filter
from siftcast.model.bounded_cache import remember
from siftcast.model.intervals import single_place
from siftcast.model.normal_form import Conjunction, Presence, Within

Key = Hashable
_REMEMBERED_MAX = 16_384
_SMALL = 64  # rows of a pile below which they are looked at together with those of others
_DEAD_MIN = 64  # removed rows that are not worth building again


class CoveringIndex:
    """Filters under ids, which say what they cover and what covers them."""

    __slots__ = ("_askers", "_dead", "_filters", "_ids", "_inexact", "_nothing", "_offerers", "_offering", "_rows",
                 "_table", "_unasking")  # fmt: skip

    def __init__(self) -> None:
        self._filters: dict[str, Filter] = {}
        self._clear()

    def __len__(self) -> int:
        return len(self._filters)

    def add(self, id: str, filter: Filter) -> None:
        """Adds a filter; one that had this id before goes."""
        if id in self._filters:
            self.remove(id)
        self._filters[id] = filter
        self._enter(id, filter)

    def remove(self, id: str) -> None:
        """Removes the filter of an id; raises KeyError if there is none."""
        filter_ = self._filters.pop(id)
        rows = self._rows.pop(id)
        for row in rows:
            self._ids[row] = None
        self._dead += len(rows)
        self._nothing.pop(id, None)
        alike = self._inexact.get(filter_)
        if alike is not None:
            del alike[id]
            if not alike:
                del self._inexact[filter_]
        if self._dead > max(_DEAD_MIN, len(self._ids) // 2):
            self._clear()
            for other, kept in self._filters.items():
                self._enter(other, kept)

    def covering(self, filter: Filter) -> Iterator[str]:
        """The ids of those that cover a filter, in the order they were added, each sought when it is asked for."""
        for id in self._wider(filter):
            if self._filters[id].covers(filter):
                yield id

    def covered_by(self, filter: Filter) -> list[str]:
        """The ids of those that a filter covers, in the order they were added."""
        return [id for id in self._narrower(filter) if filter.covers(self._filters[id])]

    # -- rows ----------------------------------------------------------------------------------------

    def _clear(self) -> None:
        self._table = BoxTable()
        self._ids: list[str | None] = []  # by row, None where it was removed
        self._rows: dict[str, range] = {}
        self._dead = 0
        self._askers: dict[Key, Pile] = {}
        self._unasking = Pile()
        self._offerers: dict[Key, Pile] = {}
        self._offering = Pile()  # whoever can be found to be covered
        self._nothing: dict[str, None] = {}
        self._inexact: dict[Filter, dict[str, None]] = {}

    def _enter(self, id: str, filter: Filter) -> None:
        alternatives = _alternatives(filter)
        first = len(self._ids)
        for alternative in alternatives:
            row = self._table.append(alternative.bounds)
            self._ids.append(id)
            if alternative.exact:
                keys = self._asked(alternative, self._askers)
                for pile in [self._unasking] if keys is None else (self._askers.setdefault(k, Pile()) for k in keys):
                    pile.rows.append(row)
        if alternatives:
            self._offer(first, alternatives[0])
        else:  # a row all the same, so that it has a place in the order
            self._table.append({})
            self._ids.append(id)
            self._nothing[id] = None
        self._rows[id] = range(first, len(self._ids))
        if _is_hull(alternatives):
            self._inexact.setdefault(filter, {})[id] = None

    def _offer(self, row: int, narrow: _Alternative) -> None:
        self._offering.rows.append(row)
        fewest = [min(keys, key=lambda key: _size(self._offerers, key)) for keys in narrow.points]
        for key in chain(fewest, narrow.residue):
            self._offerers.setdefault(key, Pile()).rows.append(row)

    def _asked(self, wide: _Alternative, piles: Mapping[Key, Pile]) -> Sequence[Key] | None:
        """What an alternative asks for one of: that of its attributes or residue with the least in its piles."""
        choices = [*wide.points, *((key,) for key in wide.residue)]
        if len(choices) < 2:
            return choices[0] if choices else None
        return min(choices, key=lambda keys: sum(1 + _size(piles, key) for key in keys))

    # -- candidates ----------------------------------------------------------------------------------

    def _wider(self, filter: Filter) -> Iterable[str]:
        alternatives = _alternatives(filter)
        if not alternatives:
            return list(self._filters)
        narrow = alternatives[0]
        askers = self._askers
        fewest = [min(keys, key=lambda key: _size(askers, key)) for keys in narrow.points]
        piles = [self._unasking, *(askers[key] for key in chain(fewest, narrow.residue) if key in askers)]
        rows = self._sought("holding", piles, narrow.bounds)
        return self._in_order(rows, self._equal(filter, alternatives))

    def _narrower(self, filter: Filter) -> Iterable[str]:
        alternatives = _alternatives(filter)
        rows: list[int] = []
        for wide in alternatives:
            if wide.exact and not self._table.none_is_bounded_as(wide.bounds):
                keys = self._asked(wide, self._offerers)
                known = self._offerers
                piles = [self._offering] if keys is None else [known[key] for key in keys if key in known]
                rows += self._sought("held", piles, wide.bounds)
        return self._in_order(rows, chain(self._nothing, self._equal(filter, alternatives)))

    def _sought(self, sought: Sought, piles: Iterable[Pile], bounds: Mapping[Axis, Bounds]) -> list[int]:
        rows: list[int] = []
        large: list[Pile] = []
        for pile in piles:
            if len(pile.rows) <= _SMALL:
                rows += pile.rows
            else:
                large.append(pile)
        if not large and len(rows) <= FEW:
            return rows
        table, point = self._table, self._table.point(bounds)
        parts: list[Rows] = [np.array(rows, np.int64), *(pile.opened(sought, table, point) for pile in large)]
        found: list[int] = table.sift(sought, np.concatenate(parts), point).tolist()
        return found

    def _equal(self, filter: Filter, alternatives: Sequence[_Alternative]) -> Iterable[str]:
        return self._inexact.get(filter, ()) if _is_hull(alternatives) else ()

    def _in_order(self, rows: Iterable[int], further: Iterable[str]) -> list[str]:
        """The ids behind rows that are still there, and further ones, each once."""
        ids, own = self._ids, self._rows
        found = {id for row in rows if (id := ids[row]) is not None}
        return sorted(found.union(further), key=lambda id: own[id].start)


@dataclass(frozen=True, slots=True)
class _Alternative:
    """What an alternative of a filter is found by."""

    exact: bool
    bounds: Mapping[Axis, Bounds]
    points: tuple[tuple[Key, ...], ...]  # for each attribute that may have single values only, a key for each value
    residue: tuple[Key, ...]


_remembered: dict[int, tuple[Filter, tuple[_Alternative, ...]]] = {}


def _alternatives(filter: Filter) -> tuple[_Alternative, ...]:
    """Those of a filter; where one process plays many brokers, each filter comes to all of them."""
    known = _remembered.get(id(filter))
    if known is not None and known[0] is filter:
        return known[1]
    found = tuple(_alternative(conjunction) for conjunction in filter.alternatives)
    remember(_remembered, id(filter), (filter, found), _REMEMBERED_MAX)
    return found


def _alternative(conjunction: Conjunction) -> _Alternative:
    points: list[tuple[Key, ...]] = []
    bounds = dict(box_of(conjunction).bounds)
    for path, constraint in conjunction.constraints.items():
        if isinstance(constraint, Within):
            kind, ranges = constraint.kind, constraint.values.ranges
            places = [single_place(kind, low, high) for low, high in ranges]
            if None not in places:
                points.append(tuple((path, kind, place) for place in places))
        elif constraint is Presence.PRESENT:
            # A value of any kind is present, too, on an axis of its own; so this one tells nothing about holding.
            del bounds[path, None]
    return _Alternative(conjunction.exact, bounds, tuple(points), tuple(conjunction.residue))


def _is_hull(alternatives: Sequence[_Alternative]) -> bool:
    return not all(alternative.exact for alternative in alternatives)


def _size(piles: Mapping[Key, Pile], key: Key) -> int:
    pile = piles.get(key)
    return 0 if pile is None else len(pile.rows)
