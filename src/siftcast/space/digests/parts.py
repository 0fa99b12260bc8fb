"""What one attribute puts into a digest: bits for a value of an event, and for what a filter allows.

Beside the cells of values, every attribute has an element *elsewhere*: it is missing, NULL, NaN or of another kind. A
value off the schema's grid sets no bit at all, so that it is within whatever a filter says about the attribute.

    Segment        bits of its own, one a cell: a range is a run of ones
    HashedSegment  bits of its own, one for all values with the same hash: for equality, over values without a domain
    BloomPart      `hashes` bits for each element, among bits that all attributes share

Where a filter says nothing about an attribute, it allows all its elements. In Bloom digests these are many bits that
other attributes use as well, which is why such digests saturate soon when filters leave attributes open.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import reduce
from hashlib import blake2b
from operator import or_

from siftcast.model import Attribute
from siftcast.model.intervals import Range, single_place
from siftcast.model.normal_form import Constraint, Path, Presence, Within
from siftcast.model.values import Kind, Value, kind_of, microseconds, normalise
from siftcast.space.digests.cell_line import CellLine, is_off_grid


class DigestPart(ABC):
    """The share of one attribute: `whole` are all its bits, `elsewhere` those for want of a value of its kind."""

    def __init__(self, attribute: Attribute, whole: int, elsewhere: int) -> None:
        self.attribute = attribute
        self.path: Path = tuple(attribute.name.split("."))
        self.whole = whole
        self.elsewhere = elsewhere

    def of_value(self, value: object) -> int:
        """The bits of a value in an event."""
        known = normalise(value)
        if kind_of(known) is not self.attribute.kind:
            return self.elsewhere
        return self._of_known(known)  # type: ignore[arg-type]

    def of_constraint(self, constraint: Constraint | None) -> int:
        """The bits of all values that a constraint allows; None allows any."""
        if constraint is None or constraint is Presence.PRESENT:
            return self.whole  # what is present may be of another kind
        if not isinstance(constraint, Within) or constraint.kind is not self.attribute.kind:
            return self.elsewhere
        return reduce(or_, map(self.of_range, constraint.values.ranges), 0)

    @abstractmethod
    def _of_known(self, value: Value) -> int:
        """The bits of a value of the attribute's kind."""

    @abstractmethod
    def of_range(self, bounds: Range) -> int:
        """The bits of all values between two cuts."""


class Segment(DigestPart):
    """A bit a cell from bit `offset` on, and one for elsewhere."""

    def __init__(self, attribute: Attribute, offset: int, width: int) -> None:
        self.line = CellLine.of(attribute, width - 1)
        self.offset = offset
        self.width = len(self.line) + 1
        super().__init__(attribute, ((1 << self.width) - 1) << offset, 1 << (offset + len(self.line)))

    def _of_known(self, value: Value) -> int:
        cell = self.line.cell(value)
        return 0 if cell is None else 1 << (self.offset + cell)

    def of_range(self, bounds: Range) -> int:
        first, last = self.line.cells(bounds)
        return ((2 << last) - (1 << first)) << self.offset if first <= last else 0


class HashedSegment(DigestPart):
    """A bit for each hash of a value, and one for elsewhere; ranges of more than a few values are everything."""

    def __init__(self, attribute: Attribute, offset: int, width: int) -> None:
        self._cells = width - 1
        self._offset = offset
        self.width = width
        self._values = ((1 << self._cells) - 1) << offset
        super().__init__(attribute, self._values | 1 << (offset + self._cells), 1 << (offset + self._cells))

    def _of_known(self, value: Value) -> int:
        if is_off_grid(self.attribute.scale, value):
            return 0
        return 1 << (self._offset + hash_of_value(value) % self._cells)

    def of_range(self, bounds: Range) -> int:
        listed = listed_values(self.attribute, bounds, self._cells)
        return self._values if listed is None else reduce(or_, map(self._of_known, listed), 0)


class BloomPart(DigestPart):
    """So many bits for each element, drawn from all bits of the digest by the attribute's name and the element."""

    def __init__(self, attribute: Attribute, bits: int, hashes: int, cells: int) -> None:
        self._bits = bits
        self._hashes = hashes
        self._line = CellLine.of(attribute, cells) if _is_bounded(attribute) else None
        elsewhere = self._element(attribute.name, "elsewhere")
        self._masks: list[int] = []
        if self._line is None:
            self._values = (1 << bits) - 1
        else:
            self._masks = [self._element(attribute.name, f"cell {cell}") for cell in range(len(self._line))]
            self._values = reduce(or_, self._masks)
        super().__init__(attribute, self._values | elsewhere, elsewhere)

    def _element(self, name: str, element: str) -> int:
        found = hash_of_text(f"{name}\0{element}")
        mask = 0
        for _ in range(self._hashes):
            found, place = divmod(found, self._bits)
            mask |= 1 << place
        return mask

    def _of_known(self, value: Value) -> int:
        if self._line is not None:
            cell = self._line.cell(value)
            return 0 if cell is None else self._masks[cell]
        if is_off_grid(self.attribute.scale, value):
            return 0
        return self._element(self.attribute.name, f"value {hash_of_value(value)}")

    def of_range(self, bounds: Range) -> int:
        if self._line is not None:
            first, last = self._line.cells(bounds)
            return reduce(or_, self._masks[first : last + 1], 0)
        listed = listed_values(self.attribute, bounds, self._bits)
        return self._values if listed is None else reduce(or_, map(self._of_known, listed), 0)


def listed_values(attribute: Attribute, bounds: Range, count_max: int) -> Iterable[Value] | None:
    """All values between two cuts, if these are known to be few; those off the grid are left out."""
    kind, (low, high) = attribute.kind, bounds
    if kind is Kind.BOOLEAN:
        return [bool(place) for place in range(low[1], high[1])]
    single = single_place(kind, low, high)
    if single is not None:
        return [single]  # an instant by its microseconds, as it is hashed
    scale = attribute.scale
    if scale.step is None or scale.step.denominator != 1 or scale.origin.denominator != 1:
        return None
    ends = [cut[1] for cut in bounds if len(cut) == 3]
    if len(ends) < 2 or not all(abs(end) < 2**53 for end in ends):
        return None
    first, end = (scale.after(cut[1])[1] if cut[2] else scale.before(cut[1])[1] for cut in bounds)
    if end - first > count_max:
        return None
    origin, step = scale.origin.numerator, scale.step.numerator
    return range(origin + first * step, origin + end * step, step)


def _is_bounded(attribute: Attribute) -> bool:
    return attribute.domain is not None or attribute.kind is Kind.BOOLEAN


def hash_of_value(value: Value) -> int:
    """The same for equal values of one kind, in every process."""
    if isinstance(value, str):
        return hash_of_text(value)
    if isinstance(value, bool | int):
        return hash_of_text(str(int(value)))
    if isinstance(value, float):
        return hash_of_text(str(int(value)) if value.is_integer() else repr(value))
    return hash_of_text(str(microseconds(value)))


def hash_of_text(text: str) -> int:
    """64 bits that no seed of this process changes."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
