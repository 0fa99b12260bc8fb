"""Digests of many filters at once: those of one template have their literals in columns.

Of `symbol = ? AND price < ?` the template is looked at once; what remains is a binary search in each column, and bits
set by shifts. This covers conjunctions of comparisons of numbers, and of equalities of numbers, strings and booleans,
over segments. All other filters are mapped one by one, and so is a batch with whole numbers of more than 53 bits, with
which floats could not be exact. Both ways give the same digests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from siftcast.model import ArgumentError, Filter
from siftcast.model.bounded_cache import remember
from siftcast.model.expression import And, Between, Comparison, Predicate, Reference
from siftcast.model.normal_form import Path
from siftcast.model.template import Hole, Template
from siftcast.model.values import Kind, Value
from siftcast.space.digests.parts import DigestPart, Segment

WORD_BITS = 64
_PLANS_MAX = 1_024
_EXACT = 2**53
_FEW = 8
_AT_ONCE = 16_384
"""Filters that are looked at several times before others are: what they consist of stays in a processor's cache."""
_BELOW, _ABOVE = frozenset({"<", "<=", "="}), frozenset({">", ">=", "="})

Digests = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]
Indexes = npt.NDArray[np.int64]
Column = Any
"""Numbers as an array, texts as a list."""
Columns = list[Column]
Side = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class _Bound:
    """One comparison: an attribute, an operator, and the column of its literals."""

    path: Path
    operator: str
    hole: int
    kind: Kind


class BatchReader:
    """Reads digests of filters, template by template."""

    __slots__ = ("_bits", "_parts", "_plans")

    def __init__(self, parts: Sequence[DigestPart], bits: int) -> None:
        self._parts = parts
        self._bits = bits
        self._plans: dict[Template, tuple[_Bound, ...] | None] = {}

    def read(self, filters: Sequence[Filter], one_by_one: Callable[[Filter], int]) -> Digests:
        """A row of words for each filter."""
        digests = np.zeros((len(filters), -(-self._bits // WORD_BITS)), dtype=np.uint64)
        for begin in range(0, len(filters), _AT_ONCE):
            some = filters[begin : begin + _AT_ONCE]
            for template, places in _alike([filter_.template for filter_ in some]):
                chosen = some if len(places) == len(some) else [some[place] for place in places.tolist()]
                digests[begin + places] = self._read_alike(template, chosen, one_by_one)
        return digests

    def _read_alike(
        self, template: Template, filters: Sequence[Filter], one_by_one: Callable[[Filter], int]
    ) -> Digests:
        bounds = self._bounds(template) if len(filters) >= _FEW else None
        columns = None if bounds is None else _columns(bounds, [filter_.values for filter_ in filters])
        if bounds is None or columns is None:
            return np.array([self.words(one_by_one(filter_)) for filter_ in filters], dtype=np.uint64)
        return self._read_columns(bounds, columns)

    def read_columns(self, form: Filter, literals: Sequence[npt.ArrayLike]) -> Digests:
        """A row of words for each row of literals, put in place of those of a form."""
        bounds = self._bounds(form.template)
        if bounds is None:
            raise ArgumentError(f"digests of columns need comparisons joined by AND, and segments: {form}")
        if len(literals) != len(form.values):
            raise ArgumentError(f"the form has {len(form.values)} literals, not {len(literals)}: {form}")
        columns = [np.asarray(literals[bound.hole]) for bound in bounds]
        return self._read_columns(
            bounds,
            [
                column.tolist() if bound.kind is Kind.STRING else column.astype(np.float64)
                for bound, column in zip(bounds, columns, strict=True)
            ],
        )

    def words(self, digest: int) -> list[int]:
        """A digest as a row."""
        return [digest >> low & (1 << WORD_BITS) - 1 for low in range(0, self._bits, WORD_BITS)]

    def _bounds(self, template: Template) -> tuple[_Bound, ...] | None:
        try:
            return self._plans[template]
        except KeyError:
            bounds = self._plan(template)
            remember(self._plans, template, bounds, _PLANS_MAX)
            return bounds

    def _read_columns(self, bounds: Sequence[_Bound], columns: Columns) -> Digests:
        count = len(columns[0])
        possible = np.ones(count, dtype=np.bool_)
        by_path: dict[Path, list[tuple[_Bound, Column]]] = {}
        for bound, column in zip(bounds, columns, strict=True):
            by_path.setdefault(bound.path, []).append((bound, column))
        for compared in by_path.values():
            if len(compared) > 1:
                possible &= _can_be_true(compared)
        digests = np.zeros((count, -(-self._bits // WORD_BITS)), dtype=np.uint64)
        for part in self._parts:
            assert isinstance(part, Segment)
            found = by_path.get(part.path)
            if found is None:
                digests |= np.array(self.words(part.whole), dtype=np.uint64)
                continue
            first, last = _cells(part, found)
            _set_runs(digests, part.offset + first, part.offset + last + 1)
        if not possible.all():
            digests[~possible] = 0
        return digests

    def _plan(self, template: Template) -> tuple[_Bound, ...] | None:
        """The comparisons of a conjunction; None if a template says more than that, or parts are no segments."""
        kinds: dict[Path, Kind] = {part.path: part.attribute.kind for part in self._parts}
        if not all(isinstance(part, Segment) for part in self._parts):
            return None
        bounds: list[_Bound] = []
        tree = template.tree
        for term in tree.terms if isinstance(tree, And) else (tree,):
            found = _bounds_of(term)
            if found is None:
                return None
            bounds += found
        for bound in bounds:
            if kinds.setdefault(bound.path, bound.kind) is not bound.kind:
                return None
            alone = sum(other.path == bound.path for other in bounds) == 1
            if bound.kind is not Kind.NUMBER and not (alone and bound.operator == "="):
                return None
        return tuple(bounds)


def _alike(templates: Sequence[Template]) -> Iterator[tuple[Template, Indexes]]:
    """The filters of each form, by their places; templates are the same if they are equal, whoever made them."""
    different = Counter(templates)
    if len(different) == 1:
        yield templates[0], np.arange(len(templates))
        return
    # Literals that are long to write have a template of their own each, and so have filters that were put together.
    firsts: dict[Predicate, Template] = {}
    same = {template: firsts.setdefault(template.tree, template) for template in different}
    numbers = {template: number for number, template in enumerate(firsts.values())}
    number_of = {template: numbers[first] for template, first in same.items()}
    found = np.fromiter(map(number_of.__getitem__, templates), dtype=np.uint16, count=len(templates))
    order = np.argsort(found, kind="stable")
    ends = np.cumsum(np.bincount(found, minlength=len(numbers))).tolist()
    for template, begin, end in zip(firsts.values(), [0, *ends], ends, strict=False):
        yield template, order[begin:end]


def _bounds_of(term: Predicate) -> list[_Bound] | None:
    match term:
        case Comparison(operator, Reference(path), Hole(hole, kind)) if operator != "!=" and kind is not Kind.TIMESTAMP:
            return [_Bound(path, operator, hole, kind)]
        case Between(Reference(path), Hole(low, Kind.NUMBER), Hole(high, Kind.NUMBER), False):
            return [_Bound(path, ">=", low, Kind.NUMBER), _Bound(path, "<=", high, Kind.NUMBER)]
    return None


def _columns(bounds: Sequence[_Bound], rows: Sequence[Sequence[Value]]) -> Columns | None:
    """The literals of each comparison; None where an array would change them."""
    columns: Columns = []
    for bound in bounds:
        listed = [row[bound.hole] for row in rows]
        if bound.kind is Kind.STRING:
            columns.append(listed)
            continue
        try:
            column = np.array(listed, dtype=np.float64)
        except OverflowError:
            return None
        finite = column[np.isfinite(column)]
        if finite.size and np.abs(finite).max() >= _EXACT:
            return None
        columns.append(column)
    return columns


def _can_be_true(compared: Sequence[tuple[_Bound, Column]]) -> Flags:
    """Whether some number lies within all bounds of one attribute."""
    count = len(compared[0][1])
    low, high = np.full(count, -np.inf), np.full(count, np.inf)
    low_open, high_open = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
    for bound, column in compared:
        if bound.operator in _ABOVE or bound.operator == ">":
            is_open = bound.operator == ">"
            low_open = np.where(column > low, is_open, low_open | (is_open & (column == low)))
            low = np.maximum(low, column)
        if bound.operator in _BELOW:
            is_open = bound.operator == "<"
            high_open = np.where(column < high, is_open, high_open | (is_open & (column == high)))
            high = np.minimum(high, column)
    possible: Flags = (low < high) | ((low == high) & ~low_open & ~high_open)
    return possible


def _cells(part: Segment, compared: Sequence[tuple[_Bound, Column]]) -> tuple[Indexes, Indexes]:
    """The first and the last cell of each filter."""
    line = part.line
    count = len(compared[0][1])
    first = np.zeros(count, dtype=np.int64)
    last = np.full(count, len(line) - 1, dtype=np.int64)
    if line.kind is Kind.STRING:  # equal to one text each: few texts are many filters' interest
        texts: Any = compared[0][1]
        cell_of = {text: line.cell(text) for text in set(texts)}
        first = np.array([cell_of[text] for text in texts], dtype=np.int64)
        return first, first
    firsts, lasts = np.array(line.firsts, dtype=np.float64), np.array(line.lasts, dtype=np.float64)
    for bound, column in compared:
        if bound.operator in _ABOVE:
            side: Side = "left" if line.is_closed and bound.operator != ">" else "right"
            first = np.maximum(first, np.searchsorted(lasts, column, side=side))
        if bound.operator in _BELOW:
            side = "left" if bound.operator == "<" else "right"
            last = np.minimum(last, np.searchsorted(firsts, column, side=side))
    return first, last


def _set_runs(digests: Digests, begin: Indexes, end: Indexes) -> None:
    """Sets the bits from `begin` up to `end` (excluded) in each row; none where the end comes first."""
    one = np.uint64(1)
    for word in range(digests.shape[1]):
        low = np.clip(begin - word * WORD_BITS, 0, WORD_BITS)
        high = np.clip(end - word * WORD_BITS, 0, WORD_BITS)
        count = np.maximum(high - low, 0).astype(np.uint64)
        # A shift by 64 is undefined, so a full run is shifted in two steps.
        half = count // np.uint64(2)
        run = ((one << half) << (count - half)) - one
        shift = np.minimum(low, WORD_BITS - 1).astype(np.uint64)
        digests[:, word] |= np.where(count > 0, run << shift, np.uint64(0))
