"""Sets of expressions as lists of cubes, which is how they are computed with.

A cube is (value, fixed): of 128 places, those that are fixed, and their bits (0 elsewhere). All cubes are as long as
one another, so nothing below needs a length.

Whether a union of cubes with stars fills a cube has no short answer in general (it is the tautology of a DNF). What
usually answers soon is tried first: one cube that covers it alone, too small a volume, places that all cubes fix alike.
Only then a place is divided, the one that most cubes fix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from siftcast.space.dz.expression import LENGTH_MAX

Cube = tuple[int, int]
_WHOLE = 1 << LENGTH_MAX
_PAIRS_FEWER = 24  # so few values of one form are compared in pairs rather than looked up bit by bit


def covers(wide: Cube, narrow: Cube) -> bool:
    """Whether one cube lies in the other."""
    return not wide[1] & (~narrow[1] | (wide[0] ^ narrow[0]))


def meet(one: Cube, other: Cube) -> Cube | None:
    """What two cubes share; None where they share nothing."""
    if (one[0] ^ other[0]) & one[1] & other[1]:
        return None
    return one[0] | other[0], one[1] | other[1]


def volume(fixed: int) -> int:
    """How many of the 2^128 cells a cube holds."""
    return _WHOLE >> fixed.bit_count()


def minus(cube: Cube, other: Cube) -> Iterator[Cube]:
    """Disjoint cubes for what one holds and the other does not: each leaves it at a later place than the one before."""
    value, fixed = cube
    if (value ^ other[0]) & fixed & other[1]:
        yield cube
        return
    beyond = other[1] & ~fixed
    while beyond:
        place = 1 << (beyond.bit_length() - 1)
        beyond ^= place
        fixed |= place
        yield value | (place & ~other[0]), fixed
        value |= place & other[0]


def minus_all(cubes: Iterable[Cube], others: Sequence[Cube]) -> list[Cube]:
    """What the cubes hold beside the others; disjoint if the cubes are."""
    left = list(cubes)
    for other in others:
        left = [piece for cube in left for piece in minus(cube, other)]
    return left


def disjoint(cubes: Sequence[Cube]) -> list[Cube]:
    """Cubes that hold the same cells, each once. Those that hold most stay whole."""
    found: list[Cube] = []
    for cube in sorted(cubes, key=lambda each: (each[1].bit_count(), each)):
        found += minus_all([cube], [each for each in found if meet(cube, each) is not None])
    return found


def is_held(cube: Cube, cubes: Iterable[Cube]) -> bool:
    """Whether the union of some cubes holds all of a cube."""
    value, fixed = cube
    left: list[Cube] = []
    for other_value, other_fixed in cubes:
        if (other_value ^ value) & other_fixed & fixed:
            continue
        beyond = other_fixed & ~fixed
        if not beyond:
            return True
        left.append((other_value & beyond, beyond))
    return _fills(left)


def _fills(cubes: list[Cube]) -> bool:
    """Whether the cubes, none of which is everything, together are."""
    while True:
        if sum(volume(fixed) for _, fixed in cubes) < _WHOLE:
            return False
        ones = zeros = 0
        for value, fixed in cubes:
            ones |= value
            zeros |= fixed & ~value
        # Where all cubes that fix a place fix it alike, its other side is left to those that do not.
        alike = ones ^ zeros
        if not alike:
            break
        cubes = [cube for cube in cubes if not cube[1] & alike]
    place = _most_fixed(cubes, ones)
    for side in (0, place):
        half: list[Cube] = []
        for value, fixed in cubes:
            if not fixed & place:
                half.append((value, fixed))
            elif value & place == side:
                if fixed == place:
                    break
                half.append((value & ~place, fixed & ~place))
        else:
            if not _fills(half):
                return False
    return True


def _most_fixed(cubes: Sequence[Cube], places: int) -> int:
    best, most = 0, 0
    while places:
        place = places & -places
        places ^= place
        count = sum(1 for _, fixed in cubes if fixed & place)
        if count > most:
            best, most = place, count
    return best


# -- the form in which sets are kept -----------------------------------------------------------------


def is_plain(fixed: int) -> bool:
    """Whether a cube has no star before its last fixed place."""
    return not fixed or fixed + (fixed & -fixed) == _WHOLE


def tidied(cubes: Iterable[Cube], *, stars: bool | None = None) -> list[Cube]:
    """The same cells in fewer cubes: none within another, siblings merged.

    Without `stars`, siblings differ in their last place; with them, in any one place. By default, stars are made where
    there are some already. The form is unique for cubes without stars. With stars there may be several.
    """
    found = list(set(cubes))
    if stars is None:
        stars = not all(is_plain(fixed) for _, fixed in found)
    count = -1
    while len(found) != count:
        count = len(found)
        found = merged(_widest(found) if stars else _prefixes(found), stars=stars)
    return found


def _prefixes(cubes: Sequence[Cube]) -> list[Cube]:
    """Of plain cubes, those that have no prefix among them; in their order, a prefix comes right before its family."""
    found: list[Cube] = []
    for cube in sorted(cubes):
        if not found or not covers(found[-1], cube):
            found.append(cube)
    return found


def _widest(cubes: Sequence[Cube]) -> list[Cube]:
    found: list[Cube] = []
    for cube in sorted(cubes, key=lambda each: (each[1].bit_count(), each)):
        if not any(covers(wide, cube) for wide in found):
            found.append(cube)
    return found


def merged(cubes: Sequence[Cube], *, stars: bool) -> list[Cube]:
    """Pairs that differ in one place become one cube, the last places first, again and again until there are none.

    The order is part of the contract: `batches` merges in the same one, so that both find the same cubes.
    """
    forms: dict[int, set[int]] = {}
    for value, fixed in cubes:
        forms.setdefault(fixed, set()).add(value)
    pairs = {fixed: _pair_places(values, fixed, stars) for fixed, values in forms.items() if len(values) > 1}
    done = False
    while not done:
        done, passed = True, 0
        while True:
            open_places = 0
            for places in pairs.values():
                open_places |= places
            open_places &= ~passed
            if not open_places:
                break
            place = open_places & -open_places
            passed, done = passed | place | (place - 1), False
            for fixed in [fixed for fixed, places in pairs.items() if places & place]:
                values = forms[fixed]
                lower = {value for value in values if not value & place and value | place in values}
                values -= lower
                values -= {value | place for value in lower}
                wider = forms.setdefault(fixed ^ place, set())
                wider |= lower
                pairs[fixed] = _pair_places(values, fixed, stars)
                pairs[fixed ^ place] = _pair_places(wider, fixed ^ place, stars)
    return [(value, fixed) for fixed, values in forms.items() for value in values]


def _pair_places(values: set[int], fixed: int, stars: bool) -> int:
    """The places in which some two values differ alone."""
    if len(values) < 2:
        return 0
    found = 0
    if not stars:
        place = fixed & -fixed
        return place if any(value | place in values for value in values if not value & place) else 0
    if len(values) < _PAIRS_FEWER:
        listed = list(values)
        for index, value in enumerate(listed):
            for other in listed[index + 1 :]:
                differing = value ^ other
                if not differing & (differing - 1):
                    found |= differing
        return found
    left = fixed
    while left:
        place = left & -left
        left ^= place
        if any(value | place in values for value in values if not value & place):
            found |= place
    return found
