"""How large a filter may be. The defaults are generous for people and tight for attackers."""

from __future__ import annotations

from dataclasses import dataclass

DEPTH_CEILING = 150  # the parser recurses a few Python frames a level; CPython allows about 1,000 in all


@dataclass(frozen=True, slots=True)
class FilterLimits:
    """Checked while parsing, before anything is built: length in characters, nesting, and terms.

    A term is one comparison; each value of an IN list counts as one.
    """

    length_max: int = 65_536
    depth_max: int = 64
    terms_max: int = 4_096

    def __post_init__(self) -> None:
        if min(self.length_max, self.depth_max, self.terms_max) < 1:
            raise ValueError("filter limits must be positive")
        if self.depth_max > DEPTH_CEILING:
            raise ValueError(f"depth_max can be at most {DEPTH_CEILING}")


DEFAULT_LIMITS = FilterLimits()
