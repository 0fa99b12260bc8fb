"""One dz-expression: bits, how many of them there are, and which are stars.

    Dz.parse("0*1")      bits 0b001, length 3, stars 0b010       the first place is the most significant bit

Integers, because covering is then three operations on words, and because millions of expressions must be kept. Stars
have the bit 0. A star at the end says nothing, so it is dropped: `0*` is `0`, and equal parts of the space have equal
expressions. At most 128 places: ten attributes of 128 values take 70, or 80 with a place each for values elsewhere.

Expressions are ordered by the first cell they hold, wider ones first: what covers comes before what it covers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import total_ordering

from siftcast.model import ArgumentError
from siftcast.model.showing import shown

LENGTH_MAX = 128
EMPTY = "ε"


@total_ordering
@dataclass(frozen=True, slots=True)
class Dz:
    """A part of the space; the whole of it by default."""

    bits: int = 0
    length: int = 0
    stars: int = 0

    def __post_init__(self) -> None:
        for name in ("bits", "length", "stars"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise ArgumentError(f"{name} of a dz-expression must be a whole number from 0, not {shown(value)}")
        if self.length > LENGTH_MAX:
            raise ArgumentError(f"a dz-expression has at most {LENGTH_MAX} places, not {self.length}")
        if self.bits >> self.length or self.stars >> self.length:
            raise ArgumentError(f"bits and stars must fit into the {self.length} places of the dz-expression")
        if self.bits & self.stars:
            raise ArgumentError("where a dz-expression has a star, its bit must be 0")
        # As many ones at the end of the stars as places to drop.
        idle = (~self.stars & (self.stars + 1)).bit_length() - 1
        if idle:
            object.__setattr__(self, "bits", self.bits >> idle)
            object.__setattr__(self, "stars", self.stars >> idle)
            object.__setattr__(self, "length", self.length - idle)

    @classmethod
    def parse(cls, text: str) -> Dz:
        """Reads `0*1`; the whole space is `ε` or nothing at all. Raises ArgumentError."""
        if not isinstance(text, str):
            raise ArgumentError(f"a dz-expression is parsed from text such as '0*1', not {shown(text)}")
        places = "" if text == EMPTY else text
        strange = next((place for place in places if place not in "01*"), None)
        if strange is not None:
            raise ArgumentError(f"a dz-expression consists of 0, 1 and *, not {shown(strange)}")
        if len(places) > LENGTH_MAX:
            raise ArgumentError(f"a dz-expression has at most {LENGTH_MAX} places, not {len(places)}")
        ones, stars = (places.replace("*", "0"), places.replace("1", "0").replace("*", "1"))
        return cls(int(ones or "0", 2), len(places), int(stars or "0", 2))

    @classmethod
    def of_cube(cls, value: int, fixed: int) -> Dz:
        """From 128 places, those that are fixed and their bits; the rest is stars."""
        length = LENGTH_MAX - ((fixed & -fixed).bit_length() - 1) if fixed else 0
        idle = LENGTH_MAX - length
        made = object.__new__(cls)  # made by the million, from what is in order
        object.__setattr__(made, "bits", value >> idle)
        object.__setattr__(made, "length", length)
        object.__setattr__(made, "stars", (fixed >> idle) ^ ((1 << length) - 1))
        return made

    @property
    def cube(self) -> tuple[int, int]:
        """The bits, and which places are fixed, of 128 places."""
        idle = LENGTH_MAX - self.length
        return self.bits << idle, self.fixed << idle

    @property
    def fixed(self) -> int:
        """The places that are no stars, as a mask of `length` places."""
        return self.stars ^ ((1 << self.length) - 1)

    @property
    def selectivity(self) -> int:
        """How many places are fixed. Stars do not count: each fixed place halves what is held, a star does not."""
        return self.length - self.stars.bit_count()

    def covers(self, other: Dz) -> bool:
        """Whether all that the other holds is held."""
        beyond = other.length - self.length
        if beyond < 0:
            return False
        fixed = self.stars ^ ((1 << self.length) - 1)
        return not (fixed & ((other.stars >> beyond) | (self.bits ^ (other.bits >> beyond))))

    def is_covered_by(self, other: Dz) -> bool:
        """Whether the other holds all that this does."""
        return other.covers(self)

    def overlaps(self, other: Dz) -> bool:
        """Whether some cell is held by both."""
        (value, fixed), (other_value, other_fixed) = self.cube, other.cube
        return not (value ^ other_value) & fixed & other_fixed

    def __and__(self, other: Dz) -> Dz | None:
        """What both hold; None where that is nothing."""
        if not self.overlaps(other):
            return None
        (value, fixed), (other_value, other_fixed) = self.cube, other.cube
        return Dz.of_cube(value | other_value, fixed | other_fixed)

    def merge(self, other: Dz) -> Dz | None:
        """The expression for exactly what the two hold together; None where there is none.

        There is one if either covers the other, or if they differ in one place only: `01` and `00` are `0`, and `00`
        and `10` are `*0`.
        """
        if self.covers(other):
            return self
        if other.covers(self):
            return other
        (value, fixed), (other_value, other_fixed) = self.cube, other.cube
        differing = value ^ other_value
        if fixed != other_fixed or differing.bit_count() != 1:
            return None
        return Dz.of_cube(value & ~differing, fixed ^ differing)

    def child(self, bit: int) -> Dz:
        """The half of it that one more place gives."""
        if bit not in (0, 1):
            raise ArgumentError(f"a place of a dz-expression is 0 or 1, not {shown(bit)}")
        return Dz(self.bits << 1 | bit, self.length + 1, self.stars << 1)

    def prefix(self, length: int) -> Dz:
        """Its first places, which hold at least what it holds."""
        if not isinstance(length, int) or isinstance(length, bool) or length < 0:
            raise ArgumentError(f"a prefix has a length from 0, not {shown(length)}")
        beyond = max(self.length - length, 0)
        return Dz(self.bits >> beyond, self.length - beyond, self.stars >> beyond)

    def __lt__(self, other: Dz) -> bool:
        if not isinstance(other, Dz):
            return NotImplemented
        return self._place() < other._place()

    def _place(self) -> tuple[int, int, int]:
        return self.bits << (LENGTH_MAX - self.length), self.length, -self.stars

    def __str__(self) -> str:
        if not self.length:
            return EMPTY
        ones = f"{self.bits:0{self.length}b}"
        if not self.stars:
            return ones
        stars = f"{self.stars:0{self.length}b}"
        return "".join("*" if star == "1" else one for one, star in zip(ones, stars, strict=True))

    def __repr__(self) -> str:
        return f"Dz.parse({str(self)!r})"
