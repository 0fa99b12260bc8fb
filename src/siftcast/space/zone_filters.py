"""Zones as filters: how a subscription is reduced to the part of it that lies in a zone.

On events that have a point, the filter of a box matches exactly the events in it. The sides that a box shares with
the whole space are left out, so what it says about events without a point is of no use. Beyond 2^53, where places are
rounded and filters are not, a filter allows a little more than its box; code that must not answer twice asks for the
zone.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import ceil, inf, nextafter

from siftcast.model import Filter
from siftcast.model.expression import Comparison, In, Literal, Predicate, Reference, conjunction
from siftcast.model.limits import CEILING
from siftcast.model.values import Kind, Value
from siftcast.space.box import Box
from siftcast.space.content_space import Axis, ContentSpace
from siftcast.space.owned_zones import OwnedZones

_EXACT = 2.0**53
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def box_filter(space: ContentSpace, box: Box) -> Filter | None:
    """The filter of the events that lie in a box; None if the box is the whole space."""
    terms: list[Predicate] = []
    for axis, low, high in zip(space.axes, box.lows, box.highs, strict=True):
        terms += _sides(axis, low, high)
    return Filter.of(conjunction(terms) if len(terms) > 1 else terms[0]) if terms else None


def parts_by_owner(filter_: Filter, zones: OwnedZones, space: ContentSpace) -> dict[int, Filter]:
    """Whoever's zone a filter overlaps, and the part of it in that zone.

    A list of values on the only axis is dealt out value by value, which leaves each owner a short list.
    """
    listed = filter_.expression
    if isinstance(listed, In) and not listed.negated and len(space.axes) == 1:
        name = space.axes[0].attribute.name
        if listed.operand == Reference(tuple(name.split("."))):
            return _dealt_out(listed, name, zones)
    zone_of = dict(zip(zones.owners, zones.partition.zones, strict=True))
    return {
        owner: part_within(filter_, box_filter(space, zone_of[owner].box), space) for owner in zones.owners_of(filter_)
    }


def _dealt_out(listed: In, name: str, zones: OwnedZones) -> dict[int, Filter]:
    hands: dict[int, list[Literal]] = {}
    for option in listed.options:
        owner = zones.owner_of_event({name: option.constant})
        if owner is not None:
            hands.setdefault(owner, []).append(option)
    return {owner: Filter.of(In(listed.operand, tuple(options))) for owner, options in hands.items()}


def part_within(filter_: Filter, bounds: Filter | None, space: ContentSpace) -> Filter:
    """The part of a filter within the filter of a box; the filter itself where it does not reach beyond."""
    return filter_ if bounds is None or bounds.covers(filter_, space.schema) else _both(filter_, bounds)


def _both(filter_: Filter, bounds: Filter) -> Filter:
    # A client's filter may be as deep as clients' may be, and must not be refused for being cut.
    return Filter.of(conjunction([filter_.expression, bounds.expression]), limits=CEILING)


def _sides(axis: Axis, low: float, high: float) -> list[Predicate]:
    below, above = low > axis.low, high < axis.high
    if not (below or above):
        return []
    reference = Reference(tuple(axis.attribute.name.split(".")))
    if axis.attribute.kind is Kind.BOOLEAN:
        return [In(reference, tuple(Literal(bool(place)) for place in (0, 1) if low <= place < high))]
    if axis.strings:
        first, last = axis.strings[ceil(low)], axis.strings[ceil(high) - 1]
        if first == last:
            return [Comparison("=", reference, Literal(first))]
        sides: list[tuple[bool, str, Value]] = [(below, ">=", first), (above, "<=", last)]
    else:
        sides = [(below, ">=", _value(axis, low, -inf)), (above, "<", _value(axis, high, inf))]
    return [Comparison(operator, reference, Literal(value)) for told, operator, value in sides if told]


def _value(axis: Axis, place: float, beyond: float) -> Value:
    if abs(place) == inf:
        return place
    if axis.attribute.kind is Kind.TIMESTAMP:
        return _EPOCH + timedelta(microseconds=ceil(place))
    if abs(place) >= _EXACT:
        return nextafter(place, beyond)
    return int(place) if place.is_integer() else place
