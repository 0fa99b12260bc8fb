"""An event means the same in every engine, and before and after its bytes, whatever its attributes hold."""

import math
import re
from collections import UserDict
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from types import MappingProxyType
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.matching import ENGINES, Matcher
from siftcast.model import Event, EventError, Filter
from siftcast.overlays.wire_events import decode_event, encode_event
from tests.unit.model.test_values import Colour, Level, Rights, Shade

ID = UUID("12345678-1234-5678-1234-567812345678")


class Side(Enum):
    BUY = "buy"
    LEVEL = 3
    HALF = 0.5
    OPEN = True
    DAY = date(2024, 5, 1)
    ORDER = ID
    RAW = b"raw"
    UNKNOWN = math.nan
    AGAIN = np.int32(7)


class Outer(Enum):
    INNER = Side.BUY


class Text(str):
    __slots__ = ()


class Whole(int):
    __slots__ = ()


FOREIGN = [
    *Side, *Outer, Colour.RED, Shade.RED, Level.HIGH, Rights.READ | Rights.WRITE, ID, Text("red"), Whole(3),
    Decimal("0.5"), Decimal("NaN"), Decimal("Infinity"), Fraction(1, 2), date(2024, 5, 1), datetime(2024, 5, 1),
    datetime(2024, 5, 1, 2, tzinfo=timezone(timedelta(hours=2))), np.float32(0.5),
    np.float64("nan"), np.int64(3), np.bool_(True), np.str_("red"), bytearray(b"raw"), memoryview(b"raw"),
]  # fmt: skip
foreign = st.sampled_from(FOREIGN)
plain = (
    st.none()
    | st.sampled_from([0, 1, 3, 7, 0.5, -0.0, 1.0, True, False, math.nan, math.inf, 2**53 + 1, 2**70, -(2**64)])
    | st.sampled_from(["", "buy", "red", "raw", str(ID), str(ID).upper(), "1", "é"])
    | st.sampled_from([b"", b"raw", datetime(2024, 5, 1, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC)])
    | st.integers(-(2**80), 2**80)
    | st.floats()
    | st.uuids()
    | st.decimals(allow_nan=True).filter(lambda value: not value.is_snan())
)
leaves = foreign | plain
names = st.sampled_from("abc")


def containers(inner):
    members = st.dictionaries(names, inner, max_size=3)
    lists = st.lists(inner, max_size=3)
    return lists | lists.map(tuple) | members | members.map(UserDict) | members.map(MappingProxyType)


values = st.recursive(leaves, containers, max_leaves=5)
attributes = st.dictionaries(names | st.sampled_from(["a.b", "a.c"]), values, max_size=4)

LITERALS = [
    "0", "1", "3", "7", "0.5", "9007199254740992.0", "9007199254740993", "TRUE", "FALSE", "''", "'buy'", "'red'",
    "'raw'", f"'{ID}'", "'1'", "TIMESTAMP '2024-05-01'", "TIMESTAMP '2024-05-01 00:00:00.000001'",
]  # fmt: skip
TESTS = [
    *(f"{{0}} {operator} {literal}" for operator in ("=", "!=", "<", ">=") for literal in LITERALS),
    "{0}", "NOT {0}", "{0} IS NULL", "{0} IS NOT NULL", "{0} LIKE 'r%'", "{0} NOT LIKE '_uy'", "NOT {0} < b",
    "{0} IN (1, 3, 7)", "{0} NOT IN ('buy', 'red')", "{0} = c", "{0} >= 1 AND b IS NOT NULL", "{0} = 'red' OR c < 1",
]  # fmt: skip
TEXTS = [test.format(path) for path in ("a", "b", "a.b", "a.b.c") for test in TESTS]
FILTERS = list(map(Filter.parse, TEXTS))


@pytest.fixture(scope="module")
def matchers() -> dict[str, Matcher]:
    made = {engine: Matcher(engine=engine) for engine in ENGINES}
    for matcher in made.values():
        matcher.add_many([(text, filter_) for text, filter_ in zip(TEXTS, FILTERS, strict=True)])
    return made


@given(held=attributes)
def test_an_event_matches_the_same_in_every_engine_before_and_after_its_bytes(matchers, held):
    event = Event(held, "e")
    back = decode_event(encode_event(event))
    expected = {text for text, filter_ in zip(TEXTS, FILTERS, strict=True) if filter_.matches(event)}
    assert {
        text for text, filter_ in zip(TEXTS, FILTERS, strict=True) if filter_.expression.evaluate(event)
    } == expected
    for engine, matcher in matchers.items():
        for each in (event, held, back, back.attributes):
            assert set(matcher.match(each)) == expected, (engine, type(each))


@given(attributes)
def test_bytes_of_an_event_that_came_from_bytes_are_the_same(held):
    encoded = encode_event(Event(held, "e"))
    back = decode_event(encoded)
    assert encode_event(Event(back.attributes, "e")) == encoded


class Empty(Enum):
    NOTHING = None
    MAPPING = {"b": 1}  # noqa: RUF012  # this is what a member may not hold
    LIST = (1, 2)


UNFIT = [
    {1}, frozenset(), 1j, object(), range(3), np.array([1]), timedelta(1), Decimal("sNaN"), Event({}),
    Fraction(10**400), datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), np.timedelta64(5, "ns"),
    np.datetime64("2024-05-01"), "\ud800", 10**5_000, {1: 2}, *Empty,
]  # fmt: skip


@given(attributes, names, st.sampled_from(UNFIT), st.lists(names | st.integers(0, 2), max_size=3))
def test_one_unfit_value_anywhere_refuses_the_event_and_is_named(held, name, unfit, steps):
    value, path = unfit, name
    for step in reversed(steps):
        value = {step: value} if isinstance(step, str) else [*[None] * step, value]
    for step in steps:
        path += f".{step}" if isinstance(step, str) else f"[{step}]"
    event = Event({name: value, **{other: each for other, each in held.items() if other != name}}, "e7")
    with pytest.raises(
        EventError, match=rf"^the event 'e7' cannot be kept or sent: (in )?attribute '{re.escape(path)}' "
    ):
        encode_event(event)
