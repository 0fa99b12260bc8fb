"""Covering and overlap of filters.

`covers` may say no where it cannot tell, `overlaps` may say yes; neither errs the other way. Both are exact
for conjunctions of ranges, sets and prefixes, and for alternatives of them as long as each alternative of
the covered filter fits into a single alternative of the covering one.

Both work on normal forms, which a `Filter` keeps: making one takes ten times as long as comparing two. Cost: a few µs
per pair of conjunctions, at worst linear in their ranges, since most pairs are refused by the attributes they name or
by the first range that does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence

from siftcast.model.normal_form import Conjunction, Presence, Within


def covers(general: Sequence[Conjunction], special: Sequence[Conjunction]) -> bool:
    """Whether every event of the alternatives of `special` surely satisfies one of `general`."""
    for narrow in special:
        for wide in general:
            if wide.exact and _conjunction_covers(wide, narrow):
                break
        else:
            return False
    return True


def overlaps(left: Sequence[Conjunction], right: Sequence[Conjunction]) -> bool:
    """Whether some event may satisfy an alternative of both."""
    return any(one.meet(other) is not None for one in left for other in right)


def _conjunction_covers(wide: Conjunction, narrow: Conjunction) -> bool:
    constraints, narrower = wide.constraints, narrow.constraints
    if not (constraints.keys() <= narrower.keys() and wide.residue <= narrow.residue):
        return False
    for path, allowed in constraints.items():
        asked = narrower[path]
        if isinstance(allowed, Within):
            if not (isinstance(asked, Within) and allowed.kind is asked.kind and asked.values <= allowed.values):
                return False
        elif (asked is Presence.NULL) is not (allowed is Presence.NULL):
            return False
    return True
