"""A filter as boxes of float64, for indexes that compare plain numbers.

`normal_form` gives the alternatives of a filter; here each becomes one `Box`: a closed range on some *axes*.
An axis is an attribute's path together with what is asked of it, a kind of value or, under None, its presence:

    price < 95 AND symbol = 'IBM'   ─▶   (price, NUMBER) [-HUGE, 94.99…9]   (symbol, STRING) [code, code + 0.99…9]
    price IS NULL OR price > 100    ─▶   (price, None) [0, 0]    and    (price, NUMBER) [100.00…1, HUGE]

Every value has one *place* on its axis, and places never reverse the order of values:

    number      the nearest float64, infinities and huge integers at ±HUGE
    string      its first 6 bytes of UTF-8 as digits to the base 257, with 0 for "ended before"
    boolean     0, 1
    timestamp   microseconds since 1970
    presence    0 for missing or null, 1 for anything else

Invariants. An event that matches the filter lies in one of its boxes, so no index over boxes misses a match. An
event that lies in a *decided* box matches. A bound is exact where no two values share its place: numbers and
timestamps below 2^53 in magnitude, strings of up to 6 bytes. Open ends move to the next float there; any other
bound is closed, and its box left undecided, to be verified on the event by `Filter.matches`. So are boxes with
residue, inexact hulls, bounds that are NaN, and several ranges for one attribute, of which the hull is kept.

Rejected: one box per range of an IN list, which makes as many boxes as the product of all lists; and one per range of
`x != 5`, which doubles the rows of an index to save few verifications.

Cost: that of the normal form, about 20 µs per attribute of a filter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, nextafter
from sys import float_info

from siftcast.model import Filter
from siftcast.model.bounded_cache import remember
from siftcast.model.intervals import Cut
from siftcast.model.normal_form import Conjunction, Path, Presence, Within, normal_form
from siftcast.model.values import Kind, kind_of, microseconds, normalise

Axis = tuple[Path, Kind | None]
Bounds = tuple[float, float]

HUGE = float_info.max  # the outermost place of a value; the infinities are free to mean "no value"
_EXACT_BELOW = 2**53
_CODE_BYTES = 6  # 257^6 < 2^53: the codes of strings are integers that a float64 holds exactly
_PRESENCES: dict[Presence, Bounds] = {Presence.NULL: (0.0, 0.0), Presence.PRESENT: (1.0, 1.0)}
_REMEMBERED_MAX = 16_384
_REMEMBERED_SIZE_MAX = 512  # literals and bounds; thousands of filters of thousands of terms would fill the memory
_remembered: dict[int, tuple[Filter, list[Box]]] = {}


@dataclass(frozen=True, slots=True)
class Box:
    """One alternative: the event's place on each axis lies within the bounds, both ends included."""

    bounds: Mapping[Axis, Bounds]
    decided: bool


def boxes_of(filter_: Filter) -> list[Box]:
    """The alternatives of a filter as boxes; none where nothing can match.

    Where one process plays many brokers, the same filter comes to a hundred tables; it is worked out once.
    """
    known = _remembered.get(id(filter_))
    if known is not None and known[0] is filter_:
        return known[1]
    boxes = [box_of(conjunction) for conjunction in normal_form(filter_.expression)]
    if len(filter_.values) + sum(len(box.bounds) for box in boxes) <= _REMEMBERED_SIZE_MAX:
        remember(_remembered, id(filter_), (filter_, boxes), _REMEMBERED_MAX)
    return boxes


def place_of(value: object) -> tuple[Kind, float] | None:
    """The kind and place of an event's value, None where it compares with nothing."""
    if type(value) is float and -HUGE <= value <= HUGE:
        return Kind.NUMBER, value
    normal = normalise(value)
    kind = kind_of(normal)
    return None if kind is None else (kind, _place(normal))


def box_of(conjunction: Conjunction) -> Box:
    """One alternative as a box. If one alternative allows all that another does, its box holds the other's."""
    bounds: dict[Axis, Bounds] = {}
    decided = conjunction.decides
    for path, constraint in conjunction.constraints.items():
        if isinstance(constraint, Within):
            ranges = constraint.values.ranges
            low, low_exact = _low(ranges[0][0])
            high, high_exact = _high(ranges[-1][1])
            bounds[path, constraint.kind] = low, high
            decided = decided and len(ranges) == 1 and low_exact and high_exact
        else:
            bounds[path, None] = _PRESENCES[constraint]
    return Box(bounds, decided)


def _low(cut: Cut) -> tuple[float, bool]:
    """The least place above a cut, and whether it is exact."""
    if len(cut) == 1:
        return -HUGE, True
    place = _place(cut[1])
    if not _is_exact(cut[1]):
        return (place if place == place else -HUGE), False
    return (nextafter(place, inf) if cut[2] else place), True


def _high(cut: Cut) -> tuple[float, bool]:
    """The greatest place below a cut, and whether it is exact."""
    if len(cut) == 1:
        return HUGE, True
    place = _place(cut[1])
    if not _is_exact(cut[1]):
        return (place if place == place else HUGE), False
    return (place if cut[2] else nextafter(place, -inf)), True


def _is_exact(value: object) -> bool:
    """Whether a bound at this value's place splits all values as one at the value itself does."""
    if isinstance(value, str):
        # A longer text with the same 6 bytes lies above the bound, on the side its place is counted to.
        return len(_encode(value)) <= _CODE_BYTES
    return abs(value) < _EXACT_BELOW  # type: ignore[arg-type]  # cuts hold strings and numbers only


def _place(value: object) -> float:
    if isinstance(value, str):
        start = _encode(value[:_CODE_BYTES])[:_CODE_BYTES]
        code = 0
        for byte in start:
            code = code * 257 + byte + 1
        return float(code * 257 ** (_CODE_BYTES - len(start)))
    if not isinstance(value, int | float):  # a timestamp: the one other thing that `kind_of` knows
        return float(microseconds(value))  # type: ignore[arg-type]
    try:
        return min(max(float(value), -HUGE), HUGE)
    except OverflowError:
        return HUGE if value > 0 else -HUGE


def _encode(text: str) -> bytes:
    # Lone surrogates have no UTF-8, yet occur in JSON and as ends of prefixes; passed on, they keep the order.
    return text.encode("utf-8", "surrogatepass")
