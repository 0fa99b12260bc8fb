"""How large a filter may be. The defaults are generous for people and tight for attackers."""

from __future__ import annotations

from dataclasses import dataclass

from siftcast.model.errors import ArgumentError
from siftcast.model.showing import shown

DEPTH_CEILING = 150  # the parser takes a few Python frames per level; CPython allows about 1,000 in all


@dataclass(frozen=True, slots=True)
class FilterLimits:
    """Checked while parsing, before anything is built: length in characters, nesting, and terms.

    A term is one comparison; each value of an IN list counts as one.
    """

    length_max: int = 65_536
    depth_max: int = 64
    terms_max: int = 4_096

    def __post_init__(self) -> None:
        for name in ("length_max", "depth_max", "terms_max"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ArgumentError(f"filter limits must be positive whole numbers; {name} is {shown(value)}")
        if self.depth_max > DEPTH_CEILING:
            raise ArgumentError(f"depth_max can be at most {DEPTH_CEILING}")


DEFAULT_LIMITS = FilterLimits()
CEILING = FilterLimits(length_max=2**31, depth_max=DEPTH_CEILING, terms_max=2**31)
"""For what was accepted before, under whatever limits, and for what nodes make of it."""
