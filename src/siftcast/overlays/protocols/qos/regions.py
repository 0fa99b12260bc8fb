"""Regions of the content space, as peers declare them: never more than so many expressions."""

from __future__ import annotations

from siftcast.space.dz import DzSet

NOTHING = DzSet()


def coarse(region: DzSet, pieces: int) -> DzSet:
    """A region that encloses another in at most so many expressions: last places go first, in all that are so long."""
    while len(region) > pieces:
        longest = max(each.length for each in region)
        region = DzSet([each.prefix(longest - 1) for each in region], exact=False)
    return region
