"""Regions of the content space as peers use them: of few expressions, and cut into pieces that are counted by bits.

A peer looks for a parent piece by piece, as the thesis does expression by expression. Its pieces are disjoint, and none
is crossed by the border of an advert, so that each has the same publishers everywhere, or by that of what a parent has
granted, so that nothing is lost when what is wanted is cut anew. Which of them a parent has, is
asked of, or lacks are then the bits of a number, and comparing them costs nothing; regions are computed with only when
what is wanted changes.
"""

from __future__ import annotations

from collections.abc import Iterable

from siftcast.space.dz import LENGTH_MAX, Dz, DzSet
from siftcast.space.dz.cubes import Cube

NOTHING = DzSet()
EVERYTHING = DzSet([Dz()])
_CACHED_MAX = 4_096
_TIDIED_SHARE = 4
_PIECES_MAX = 256


def coarse(region: DzSet, pieces: int) -> DzSet:
    """A region that encloses another in at most so many expressions: last places go first, in all that are so long."""
    return region if len(region) <= pieces else coarse_union((region,), pieces)


def coarse_union(regions: Iterable[DzSet], pieces: int) -> DzSet:
    """What encloses some regions together in at most so many expressions."""
    cubes = {each.cube for region in regions for each in region}
    found = DzSet.of_cubes(_shortened(cubes, _TIDIED_SHARE * pieces))  # to tidy very many takes long
    while len(found) > pieces:
        found = DzSet.of_cubes(_shortened({each.cube for each in found}, pieces), exact=False)
    return found


def _shortened(cubes: set[Cube], count: int) -> set[Cube]:
    """At most so many that hold all that these do, by leaving out last places in all that are so long."""
    length = LENGTH_MAX
    while len(cubes) > count:
        last = 0
        for _, fixed in cubes:
            last |= fixed
        length = LENGTH_MAX - (last & -last).bit_length()
        kept = ((1 << length) - 1) << (LENGTH_MAX - length)
        cubes = {(value & kept, fixed & kept) for value, fixed in cubes}
    return cubes


class Pieces:
    """What a peer wants, in pieces. A mask has the bit of each of its pieces."""

    __slots__ = ("_masks", "_pieces", "_regions", "all", "wanted")

    def __init__(self, wanted: DzSet, borders: Iterable[DzSet] = ()) -> None:
        self.wanted = wanted
        pieces = list(wanted.disjoint())
        for region in borders:
            cut: list[Dz] = []
            for piece in pieces:
                if region.covers(piece) or not region.overlaps(piece):
                    cut.append(piece)
                else:
                    alone = DzSet([piece])
                    cut += (*(alone & region).disjoint(), *(alone - region).disjoint())
            if len(cut) <= _PIECES_MAX:  # otherwise a piece has publishers, or a parent, of a part of it
                pieces = cut
        self._pieces = pieces
        self._masks: dict[DzSet, int] = {}
        self._regions: dict[int, DzSet] = {0: NOTHING}
        self.all = (1 << len(pieces)) - 1
        self._regions[self.all] = wanted if pieces else NOTHING

    def mask(self, region: DzSet) -> int:
        """The pieces that lie in a region altogether."""
        if region is self.wanted:
            return self.all
        found = self._masks.get(region)
        if found is None:
            found = sum(1 << bit for bit, piece in enumerate(self._pieces) if region.covers(piece))
            if len(self._masks) >= _CACHED_MAX:
                self._masks.clear()
            self._masks[region] = found
        return found

    def touched(self, region: DzSet) -> int:
        """The pieces that share something with a region."""
        return sum(1 << bit for bit, piece in enumerate(self._pieces) if region.overlaps(piece))

    def region(self, mask: int) -> DzSet:
        """The pieces of a mask."""
        found = self._regions.get(mask)
        if found is None:
            found = DzSet([piece for bit, piece in enumerate(self._pieces) if mask >> bit & 1])
            if len(self._regions) >= _CACHED_MAX:
                self._regions.clear()
            self._regions[mask] = found
        return found
