"""The values an attribute may hold, and the one rule by which two of them compare.

Four kinds are comparable, each only with itself:

    number      int and float together, compared as exact mathematical numbers
    string      by Unicode code points (the same order as UTF-8 bytes)
    boolean     FALSE < TRUE; never equal to 0 or 1
    timestamp   an instant, to the microsecond; one without a zone is taken as UTC

Other types stand for one of these where there is one obvious choice: a UUID for its canonical text, a member of
an enumeration for its value, a date for its midnight in UTC, a decimal for the nearest float. `plain_value` is the
only place that says so, which is why matching, the wire and the disk agree.

Everything else (NULL, NaN, lists, nested objects, bytes) compares with nothing: the answer is
"unknown", as SQL has it for NULL, so that neither a comparison nor its negation matches. That makes
NOT exact: `NOT (x < 5)` and `x >= 5` agree on every event, which the algebra of filters and every
matching index rely on. Rejected: IEEE's rule for NaN (false, so that its negation is true), which
breaks that law, and Spark's (NaN equals itself and exceeds all), which no other source of events shares.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from numbers import Integral, Real
from typing import TypeGuard
from uuid import UUID


class Kind(Enum):
    """The comparable kinds. `NUMBER` spans int and float."""

    NUMBER = "number"
    STRING = "string"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"

    __hash__ = object.__hash__


Value = bool | int | float | str | datetime

KIND_OF_TYPE: dict[type, Kind] = {
    int: Kind.NUMBER,
    float: Kind.NUMBER,
    str: Kind.STRING,
    bool: Kind.BOOLEAN,
    datetime: Kind.TIMESTAMP,
}


def normalise(value: object) -> object:
    """A value as the model compares it: a `Value`, or None when it compares with nothing.

    What other types stand for is said by `plain_value`. Containers are left to the caller, who may want to look inside.
    """
    kind = type(value)
    if kind is float:
        return value if value == value else None
    if kind is int or kind is str or kind is bool:
        return value
    if value is None:
        return None
    try:
        plain = plain_value(value)
    except ValueError:
        return None
    return plain if plain == plain else None


def plain_value(value: object) -> Value | None:
    """The plain value that another stands for, NaN included; None where it stands for none, as a container does.

    Raises ValueError where its type stands for a kind and this value lies outside: an instant beyond the years 1 to
    9999 in UTC (or pandas' NaT), a fraction beyond all floats, a signalling NaN.
    """
    try:
        return _plain_value(value)
    except (OverflowError, TypeError) as error:  # TypeError: a class says that it is a number, and is not
        raise ValueError(str(error)) from None


def _plain_value(value: object) -> Value | None:
    if type(value) is datetime:
        return in_utc(value)
    if isinstance(value, datetime):  # pandas.Timestamp and the like, cut to microseconds
        return in_utc(datetime.fromisoformat(value.isoformat()))
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, str):
        return str.__str__(value)  # the text itself: str() of a string enumeration is its name
    if isinstance(value, Decimal | Real) and not isinstance(value, Integral):
        return float(value)
    if isinstance(value, Integral):
        if type(value).__name__ == "timedelta64":  # NumPy calls a span of time an integer, of whatever unit
            return None
        return bool(value) if isinstance(value, bool) else int(value)
    if isinstance(value, UUID):
        return UUID.__str__(value)  # whatever a subclass prints
    if isinstance(value, Enum):  # after the above: one that is a string or a number itself stands for that
        return _plain_value(value.value)
    if type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    return None


def is_iterable(value: object) -> bool:
    """Whether a value can be gone through; the class does not tell: an array without dimensions has `__iter__`, too."""
    try:
        iter(value)  # type: ignore[call-overload]
    except TypeError:
        return False
    return True


def is_text(value: object) -> TypeGuard[str]:
    """Whether a value is text that can be written as UTF-8: without half a surrogate pair, which no wire takes."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def in_utc(moment: datetime) -> datetime:
    """The same instant in UTC; a moment without a zone is taken to be in UTC already."""
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    return moment if moment.tzinfo is UTC else moment.astimezone(UTC)


def kind_of(value: object) -> Kind | None:
    """The kind under which a normalised value compares, None when it compares with nothing."""
    return KIND_OF_TYPE.get(type(value))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970 in UTC: the integer by which timestamps are ordered and indexed."""
    delta = moment - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?)?", re.ASCII)


def parse_timestamp(text: str) -> datetime:
    """Reads `2024-05-01[ |T]10:30[:00[.123456]][Z|+02:00]`, or a date alone; raises ValueError."""
    text = text.strip()
    if _TIMESTAMP.fullmatch(text) is None:  # fromisoformat also reads basic and week dates; SQL does not.
        raise ValueError("a timestamp looks like 2024-05-01 10:30:00")
    moment = datetime.fromisoformat(text)
    try:
        return in_utc(moment)
    except OverflowError:
        raise ValueError("the timestamp is out of range") from None


def lookup(attributes: Mapping[str, object], name: str, path: tuple[str, ...]) -> object:
    """An attribute of an event: the flat key `name` if the event has it, else the nested path."""
    if name in attributes:
        return attributes[name]
    found: object = attributes.get(path[0])  # an Event answers get(), but is no Mapping
    for part in path[1:]:
        if not isinstance(found, Mapping):
            return None
        found = found.get(part)
    return found
