"""The values of attributes on a wire and on a disk: the form each has there, and the error that names one without.

Matching an event and matching what comes back from its bytes must give the same answers, so a value either keeps its
meaning or is refused; nothing becomes null on the way. Kept are

    NULL, numbers with NaN and infinities, strings, booleans, timestamps (in UTC, to the microsecond), bytes
    lists and tuples, which come back as lists, and mappings, which come back as dicts, of such values
    whatever stands for one of these in the model (`model.values`): UUID, Enum, date, Decimal, Fraction, NumPy's scalars

A member of an enumeration is refused if its value is NULL or a container: by itself it is neither null nor looked
into, as its value would be. Rejected: sets as lists and dataclasses as mappings, as msgspec has them. The order of a
set is an accident, and `a.b` would reach into a dataclass after the wire and not before.

Cost: a look at the type of each value. Where a refused value stands is found by a second walk, once it is refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from numbers import Complex
from typing import Any

import msgspec

from siftcast.model import Event
from siftcast.model.printing import quote_name
from siftcast.model.values import plain_value

PLAIN = frozenset({str, int, float, bool, type(None), bytes})
_BYTES = (bytes, bytearray, memoryview)
_WHOLE = 1  # the extension that stands for whole numbers beyond 64 bits
_WORD_MIN, _WORD_MAX = -(2**63), 2**64 - 1


def plain_members(attributes: Mapping[str, object]) -> dict[str, Any]:
    """Attributes as msgpack has them; raises TypeError or ValueError, about which `objection` says more."""
    for name in attributes:
        if type(name) is not str:
            raise TypeError(f"names of attributes are strings, not {name!r}")
    return {name: value if type(value) in PLAIN else _plain(value) for name, value in attributes.items()}


def _plain(value: object) -> object:
    if type(value) in PLAIN:
        return value
    if isinstance(value, Mapping):
        return plain_members(value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return _plain_leaf(value)


def _plain_leaf(value: object) -> object:
    if isinstance(value, _BYTES):
        return bytes(value)
    plain = plain_value(value)
    if plain is not None:
        return plain
    if isinstance(value, Enum) and isinstance(value.value, _BYTES):
        return bytes(value.value)
    raise TypeError(f"a value of type {type(value).__name__} has no form")


def in_words(value: Any) -> Any:
    """The same plain value with whole numbers of more than 64 bits as extensions."""
    if type(value) is dict:
        return {name: in_words(each) for name, each in value.items()}
    if type(value) is list:
        return [in_words(each) for each in value]
    if type(value) is int and not _WORD_MIN <= value <= _WORD_MAX:
        return msgspec.msgpack.Ext(_WHOLE, str(value).encode())
    return value


def read_extension(code: int, data: memoryview) -> object:
    """The whole number behind an extension; raises ValueError for any other extension."""
    if code != _WHOLE:
        raise ValueError(f"there is no extension {code}")
    return int(bytes(data))


def printable(text: str) -> str:
    """A text that can be written anywhere: halves of surrogate pairs appear as their escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


# -- what is wrong with a refused event ------------------------------------------------------------------


def objection(attributes: Mapping[str, object]) -> str | None:
    """Which attribute has no form, of what type it is and what to do about it; None if all have one."""
    found = _objection_to_members(attributes, "")
    return None if found is None else printable(found)


def _objection_to_members(members: Mapping[str, object], path: str) -> str | None:
    for name, value in members.items():
        if type(name) is not str:
            inside = f"in attribute '{path}' " if path else ""
            return f"{inside}the name {name!r} is of type {_type_name(name)}; convert it to a plain str"
        here = f"{path}.{quote_name(name)}" if path else quote_name(name)
        if not _is_text(name):
            return f"the name of attribute '{here}' holds half of a surrogate pair, which UTF-8 cannot write"
        found = _objection_to(value, here)
        if found is not None:
            return found
    return None


def _objection_to(value: object, path: str) -> str | None:
    if isinstance(value, Mapping):
        return _objection_to_members(value, path)
    if isinstance(value, list | tuple):
        found = (_objection_to(each, f"{path}[{place}]") for place, each in enumerate(value))
        return next((each for each in found if each is not None), None)
    problem = _problem(value)
    return None if problem is None else f"attribute '{path}' {problem}"


def _problem(value: object) -> str | None:
    """What is wrong with one value that holds no others; None if nothing is."""
    try:
        plain = value if value is None else _plain_leaf(value)
    except (TypeError, ValueError):
        return f"is of type {_type_name(value)}; {_remedy(value)}"
    if isinstance(plain, str) and not _is_text(plain):
        return "holds half of a surrogate pair, which UTF-8 cannot write"
    if isinstance(plain, int):
        try:
            str(plain)
        except ValueError:
            return f"is a whole number of {plain.bit_length():,} bits, which is too long to be written out"
    return None


_REMEDIES: tuple[tuple[type, str], ...] = (
    (Event, "convert it: value.attributes"),
    (timedelta, "convert it: value.total_seconds()"),
    (time, "convert it: value.isoformat()"),
    (date, "it must lie in the years 1 to 9999 in UTC"),  # a datetime; other dates have a form
    (Decimal, "a signalling NaN must be a quiet one, or None"),  # other decimals have a form
    (Fraction, "it is beyond all floats; convert it: str(value)"),
    (Complex, "convert it: [value.real, value.imag]"),
    (msgspec.Struct, "convert it: msgspec.to_builtins(value)"),
)
_REMEDIES_BY_NAME = {  # of libraries that need not be there
    "NaTType": "put None in its place",
    "NAType": "put None in its place",
    "MaskedConstant": "put None in its place",
    "timedelta64": "convert it: value / numpy.timedelta64(1, 's')",
    "datetime64": "convert it: value.astype('datetime64[us]').item()",
}


def _remedy(value: object) -> str:
    """What to do about a value without a form."""
    if isinstance(value, Enum):
        return f"its member {value.name} has a value of type {_type_name(value.value)}; convert it: value.value"
    by_name = _REMEDIES_BY_NAME.get(type(value).__name__)
    if by_name is not None:
        return by_name
    for kind, remedy in _REMEDIES:
        if isinstance(value, kind):
            return remedy
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return "convert it: dataclasses.asdict(value)"
    if hasattr(value, "tolist"):  # arrays and series of NumPy, pandas and others
        return "convert it: value.tolist()"
    if isinstance(value, Iterable):
        return "convert it: list(value)"
    return "convert it to a number, a string, a boolean, a datetime, bytes, or a list or dict of these"


def _type_name(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
