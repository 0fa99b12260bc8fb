"""A set of dz-expressions: a part of the space that takes more than one of them.

Kept without expressions that others of it cover, siblings merged, in their order. For plain expressions that form is
unique. With stars the same cells can be written in several ways, so sets are compared by what they hold. A set of plain
expressions stays plain, whatever is done to it: stars are made where there are some, or where `with_stars` asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

import msgspec

from siftcast.model import ArgumentError
from siftcast.model.showing import shown
from siftcast.model.values import is_iterable
from siftcast.space.dz import cubes
from siftcast.space.dz.cubes import Cube
from siftcast.space.dz.expression import LENGTH_MAX, Dz

_WORD = (1 << 64) - 1
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[bool, list[tuple[int, int, int, int, int]]]).decode


class DzSet:
    """Immutable; `exact` says whether it holds no more than what it was made from, as a mapping may enclose."""

    __slots__ = ("_cubes", "_items", "_volume", "exact")

    def __init__(self, items: Iterable[Dz | str] = (), *, exact: bool = True) -> None:
        if isinstance(items, str | bytes) or not is_iterable(items):
            raise ArgumentError(f"a set is made of a list of dz-expressions, not {shown(items)}; DzSet.parse reads one")
        found = [_checked(Dz.parse(item) if isinstance(item, str) else item) for item in items]
        self._fill(cubes.tidied(item.cube for item in found), exact)

    def _fill(self, found: Iterable[Cube], exact: bool) -> None:
        self._items = tuple(sorted(Dz.of_cube(*cube) for cube in found))
        self._cubes = [item.cube for item in self._items]
        self._volume: Fraction | None = None
        self.exact = exact

    @classmethod
    def of_cubes(cls, found: Iterable[Cube], *, exact: bool = True, stars: bool | None = None) -> DzSet:
        """From what `cubes` computes with."""
        made = cls.__new__(cls)
        made._fill(cubes.tidied(found, stars=stars), exact)
        return made

    @classmethod
    def of_tidy_cubes(cls, found: Iterable[Cube], *, exact: bool) -> DzSet:
        """From cubes that are tidy."""
        made = cls.__new__(cls)
        made._fill(found, exact)
        return made

    @classmethod
    def parse(cls, text: str) -> DzSet:
        """Reads what `str` writes: `{001, 011}`."""
        if not isinstance(text, str) or not (text.startswith("{") and text.endswith("}")):
            raise ArgumentError(f"a set of dz-expressions is written as {{001, 0*1}}, not {shown(text)}")
        inner = text[1:-1].strip()
        return cls([part.strip() for part in inner.split(",")] if inner else ())

    @property
    def items(self) -> tuple[Dz, ...]:
        """The expressions, in their order."""
        return self._items

    @property
    def volume(self) -> Fraction:
        """The share of all cells that it holds; for attributes of 2^k values, of all points."""
        if self._volume is None:
            self._volume = _share(cubes.disjoint(self._cubes))
        return self._volume

    def volume_with(self, other: Dz | DzSet) -> Fraction:
        """The volume of the union, which is not made."""
        return self.volume + _share(cubes.minus_all(cubes.disjoint(_cubes_of(other)), self._cubes))

    def covers(self, other: Dz | DzSet) -> bool:
        """Whether all that the other holds is held, be it by several expressions together; exact."""
        return all(cubes.is_held(cube, self._cubes) for cube in _cubes_of(other))

    def is_covered_by(self, other: Dz | DzSet) -> bool:
        """Whether the other holds all that this does."""
        return _set_of(other).covers(self)

    def overlaps(self, other: Dz | DzSet) -> bool:
        """Whether some cell is held by both."""
        others = _cubes_of(other)
        return any(cubes.meet(cube, each) is not None for cube in self._cubes for each in others)

    # Most sets that meet are equal, empty or apart, and then there is nothing to compute.

    def __or__(self, other: Dz | DzSet) -> DzSet:
        if isinstance(other, DzSet) and other.exact == self.exact:
            if not other._cubes or other is self:
                return self
            if not self._cubes:
                return other
        return DzSet.of_cubes([*self._cubes, *_cubes_of(other)], exact=self._with(other))

    def __and__(self, other: Dz | DzSet) -> DzSet:
        others = _cubes_of(other)
        if self._with(other) == self.exact and (not self._cubes or self._cubes == others):
            return self
        met = (cubes.meet(cube, each) for cube in self._cubes for each in others)
        return DzSet.of_cubes([cube for cube in met if cube is not None], exact=self._with(other))

    def __sub__(self, other: Dz | DzSet) -> DzSet:
        """What is held here and not there; plain if both are. What encloses more than is wanted takes away more."""
        others = _cubes_of(other)
        if self._with(other) == self.exact and not self.overlaps(other):
            return self
        plain = all(cubes.is_plain(fixed) for _, fixed in (*self._cubes, *others))
        left = cubes.minus_all(self._cubes, others)
        return DzSet.of_cubes(left, exact=self._with(other), stars=False if plain else None)

    def _with(self, other: Dz | DzSet) -> bool:
        return self.exact and (isinstance(other, Dz) or other.exact)

    def disjoint(self) -> tuple[Dz, ...]:
        """Expressions that hold the same cells, each cell once; as many as there are where none has a star."""
        return tuple(sorted(Dz.of_cube(*cube) for cube in cubes.disjoint(self._cubes)))

    def with_stars(self) -> DzSet:
        """The same cells in fewer expressions: any two that differ in one place become one with a star."""
        return DzSet.of_cubes(self._cubes, exact=self.exact, stars=True)

    def to_wire(self) -> bytes:
        """Its bytes in a message: of each expression the length, the bits and the stars, as short as they can be."""
        return _encode((self.exact, [(each.length, *_halves(each.bits), *_halves(each.stars)) for each in self._items]))

    @classmethod
    def from_wire(cls, data: bytes) -> DzSet:
        """Reads what `to_wire` wrote; raises ArgumentError or msgspec's DecodeError."""
        exact, items = _decode(data)
        return cls(
            [Dz(high << 64 | low, length, up << 64 | down) for length, high, low, up, down in items], exact=exact
        )

    def __iter__(self) -> Iterator[Dz]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DzSet):
            return NotImplemented
        return self._items == other._items or (self.covers(other) and other.covers(self))

    def __hash__(self) -> int:
        return hash(self.volume)  # sets written differently may be equal

    def __str__(self) -> str:
        return "{" + ", ".join(map(str, self._items)) + "}"

    def __repr__(self) -> str:
        return f"DzSet.parse({str(self)!r})"


def _share(disjoint: Iterable[Cube]) -> Fraction:
    return Fraction(sum(cubes.volume(fixed) for _, fixed in disjoint), 1 << LENGTH_MAX)


def _halves(places: int) -> tuple[int, int]:
    return places >> 64, places & _WORD


def _checked(given: object) -> Dz:
    if not isinstance(given, Dz):
        raise ArgumentError(f"a set of dz-expressions holds Dz, not {shown(given)}")
    return given


def _set_of(given: Dz | DzSet) -> DzSet:
    return given if isinstance(given, DzSet) else DzSet([given])


def _cubes_of(given: Dz | DzSet) -> list[Cube]:
    return given._cubes if isinstance(given, DzSet) else [_checked(given).cube]
