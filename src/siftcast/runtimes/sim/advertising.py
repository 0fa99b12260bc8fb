"""What publishers say they will publish, in a scenario with a scheme that asks for it.

    advertise = "everything"     each server with publishers says TRUE: the scheme works, and gains nothing
    advertise = "ranges"         each says the smallest ranges of numbers and sets of texts that hold what it publishes
    [[advertisements]]           what one server says, in words

An event that does not match what its server advertised would be lost without a trace of why, so that is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from siftcast.model import Event, Filter

_TEXTS_MAX = 20


def everything() -> Filter:
    """Says nothing about what will be published."""
    return Filter.parse("TRUE")


def ranges_of(events: Sequence[Event]) -> Filter:
    """The conjunction of ranges and sets that all events match; attributes that one of them lacks are left out."""
    names = [name for name in events[0].attributes if all(name in event.attributes for event in events)]
    terms = [term for name in names if (term := _term(name, [event.attributes[name] for event in events]))]
    return Filter.parse(" AND ".join(terms)) if terms else everything()


def _term(name: str, values: Sequence[object]) -> str:
    quoted = f"`{name}`"
    if all(type(value) in (int, float) for value in values):
        numbers = [value for value in values if isinstance(value, int | float)]
        return f"{quoted} BETWEEN {min(numbers)!r} AND {max(numbers)!r}"
    texts = sorted({value for value in values if isinstance(value, str)})
    if len(texts) > _TEXTS_MAX or not all(isinstance(value, str) for value in values):
        return ""
    return f"{quoted} IN ({', '.join(chr(39) + text.replace(chr(39), chr(39) * 2) + chr(39) for text in texts)})"


def first_stray(
    wanted: Mapping[int, Sequence[Filter]], events: Mapping[int, Sequence[Event]]
) -> tuple[int, str] | None:
    """The server and the first of its events that matches nothing it advertises, if there is one."""
    for server, published in events.items():
        for event in published:
            if not any(filter_.matches(event) for filter_ in wanted[server]):
                return server, str(event.id)
    return None
