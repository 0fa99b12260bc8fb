"""Covering and overlap of filters.

`covers` may say no where it cannot tell, `overlaps` may say yes; neither errs the other way. Both are exact
for conjunctions of ranges, sets and prefixes, and for alternatives of them as long as each alternative of
the covered filter fits into a single alternative of the covering one.
"""

from __future__ import annotations

from siftcast.model.expression import Predicate
from siftcast.model.normal_form import Conjunction, Constraint, Presence, Scales, Within, normal_form


def covers(general: Predicate, special: Predicate, scales: Scales | None = None) -> bool:
    """Whether every event that matches `special` surely matches `general`."""
    if general == special:  # true even where the normal form is only a hull
        return True
    wide = [conjunction for conjunction in normal_form(general, scales=scales) if conjunction.exact]
    return all(
        any(_conjunction_covers(candidate, narrow) for candidate in wide)
        for narrow in normal_form(special, scales=scales)
    )


def overlaps(left: Predicate, right: Predicate, scales: Scales | None = None) -> bool:
    """Whether some event may match both."""
    others = normal_form(right, scales=scales)
    return any(one.meet(other) is not None for one in normal_form(left, scales=scales) for other in others)


def _conjunction_covers(wide: Conjunction, narrow: Conjunction) -> bool:
    if not wide.residue <= narrow.residue:
        return False
    return all(_allows(constraint, narrow.constraints.get(path)) for path, constraint in wide.constraints.items())


def _allows(wide: Constraint, narrow: Constraint | None) -> bool:
    if isinstance(wide, Within):
        return isinstance(narrow, Within) and wide.kind is narrow.kind and narrow.values <= wide.values
    if wide is Presence.NULL:
        return narrow is Presence.NULL
    return narrow is Presence.PRESENT or isinstance(narrow, Within)
