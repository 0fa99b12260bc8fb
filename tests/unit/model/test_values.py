"""What compares with what, and how an attribute is found in an event."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum
from fractions import Fraction
from uuid import UUID

import numpy as np
import pytest

from siftcast.model import Event, Filter
from siftcast.model.values import microseconds, normalise, parse_timestamp, plain_value


class Colour(str, Enum):  # noqa: UP042  # the old way to write one: str() of it is "Colour.RED"
    RED = "red"


class Shade(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Side(Enum):
    BUY = "buy"
    LEVEL = 3
    OPEN = True
    DAY = date(2024, 5, 1)
    SHADE = Shade.RED
    ORDER = UUID(int=5)
    NOTHING = None
    PAIR = (1, 2)
    NAN = float("nan")


class Own(str, Enum):  # noqa: UP042
    """Strings with a value apart: what one is itself counts."""

    RED = ("red", 1)

    def __new__(cls, text, number):
        member = str.__new__(cls, text)
        member._value_ = number
        return member


class Rights(Flag):
    READ = 1
    WRITE = 2


class LoudUUID(UUID):
    def __str__(self):
        return "loud"


NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (True, True),
        (Decimal("0.1"), 0.1),
        (Decimal("Infinity"), float("inf")),
        (Fraction(1, 2), 0.5),
        (np.float32(0.5), 0.5),
        (np.float64(0.5), 0.5),
        (np.int64(2**63 - 1), 2**63 - 1),
        (np.bool_(False), False),
        (np.str_("a"), "a"),
        (Colour.RED, "red"),
        (Shade.RED, "red"),
        (Level.HIGH, 3),
        (Side.BUY, "buy"),
        (Side.LEVEL, 3),
        (Side.OPEN, True),
        (Side.DAY, datetime(2024, 5, 1, tzinfo=UTC)),
        (Side.SHADE, "red"),
        (Side.ORDER, "00000000-0000-0000-0000-000000000005"),
        pytest.param(Own.RED, "red", id="Own.RED"),
        (Rights.READ | Rights.WRITE, 3),
        (UUID("{12345678-1234-5678-1234-56781234ABCD}"), "12345678-1234-5678-1234-56781234abcd"),
        (LoudUUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (date(2024, 5, 1), datetime(2024, 5, 1, tzinfo=UTC)),
        (datetime(2024, 5, 1, 12), NOON),
        (datetime(2024, 5, 1, 14, tzinfo=timezone(timedelta(hours=2))), NOON),
    ],
    ids=repr,
)
def test_foreign_values_become_the_plain_value_they_stand_for(given, expected):
    found = normalise(given)
    assert type(found) is type(expected)
    assert found == expected


@pytest.mark.parametrize(
    "value",
    [
        None,
        float("nan"),
        np.float32("nan"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Fraction(10**400),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
        b"a",
        [1],
        {"a": 1},
        1j,
        {1},
        Side.NOTHING,
        Side.PAIR,
        Side.NAN,
        timedelta(1),
        np.timedelta64(5, "s"),
        np.timedelta64(5, "ns"),
        np.datetime64("2024-05-01"),
    ],
    ids=repr,
)
def test_values_without_a_kind_match_no_comparison_and_no_negated_one(value):
    assert normalise(value) is None
    for literal in ("1", "'a'", "TRUE", "TIMESTAMP '2024-05-01'"):
        for operator in ("=", "!=", "<", "<=", ">", ">="):
            assert not Filter.parse(f"a {operator} {literal}").matches({"a": value})
            assert not Filter.parse(f"NOT a {operator} {literal}").matches({"a": value})
        assert not Filter.parse(f"a NOT IN ({literal})").matches({"a": value})
        assert not Filter.parse(f"a NOT BETWEEN {literal} AND {literal}").matches({"a": value})
    assert not Filter.parse("a NOT LIKE 'a'").matches({"a": value})
    assert Filter.parse("a IS NULL").matches({"a": value}) is (value is None)


@pytest.mark.parametrize(
    ("text", "value", "matches"),
    [
        ("a = 1", 1.0, True),
        ("a = 1", True, False),
        ("a != 1", True, False),
        ("a = TRUE", 1, False),
        ("a", 1, False),
        ("a = 0.0", -0.0, True),
        ("a IN (-0.0)", 0, True),
        ("a = 9007199254740993", 9007199254740992.0, False),
        ("a > 9007199254740992.0", 9007199254740993, True),
        ("a > 9223372036854775807", 10**30, True),
        ("a < 1e300", 10**400, False),
        ("a > 1e308", float("inf"), True),
        ("a < -1e308", float("-inf"), True),
        ("a = '1'", 1, False),
        ("a = ''", "", True),
        ("a IS NULL", "", False),
        ("a = 'é'", "e\u0301", False),
        ("a > '\uffff'", "\U0001f600", True),
        ("a LIKE '_'", "\U0001f600", True),
        ("a LIKE '_'", "e\u0301", False),
        ("a LIKE '__'", "e\u0301", True),
        (r"a = '\ud83d\ude00'", "\U0001f600", True),
        (r"a = '\ud800'", "\ud800", True),
        ("a < 'a'", "B", True),
        ("a = TIMESTAMP '2024-05-01'", date(2024, 5, 1), True),
        ("a = TIMESTAMP '2024-05-01 12:00:00+02:00'", datetime(2024, 5, 1, 10), True),
        ("a = TIMESTAMP '2024-05-01'", "2024-05-01", False),
        ("a < TIMESTAMP '2024-05-01 00:00:00.000001'", datetime(2024, 5, 1), True),
        ("a > FALSE", True, True),
        ("a BETWEEN FALSE AND TRUE", np.bool_(True), True),
        ("a BETWEEN 2 AND 1", 1.5, False),
        ("a NOT BETWEEN 2 AND 1", 1.5, True),
    ],
)
def test_comparison_rules(text, value, matches):
    assert Filter.parse(text).matches({"a": value}) is matches
    assert Filter.parse(text).matches(Event({"a": value})) is matches


@pytest.mark.parametrize("wrap", [dict, Event], ids=["dict", "Event"])
@pytest.mark.parametrize(
    ("text", "attributes", "matches"),
    [
        ("a.b = 1", {"a": {"b": 1}}, True),
        ("a.b = 1", {"a.b": 1}, True),
        ("a.b = 1", {"a.b": 1, "a": {"b": 2}}, True),
        ("a.b = 2", {"a.b": 1, "a": {"b": 2}}, False),
        ("a.b IS NULL", {"a.b": None, "a": {"b": 2}}, True),
        ("`a.b` = 1", {"a.b": 1}, True),
        ("`a.b` = 1", {"a": {"b": 1}}, False),
        ("a.b.c = 1", {"a": {"b": {"c": 1}}}, True),
        ("a.b.c = 1", {"a": {"b.c": 1}}, False),
        ("a.b IS NULL", {"a": 5}, True),
        ("a.b IS NULL", {"a": [{"b": 1}]}, True),
        ("a IS NOT NULL", {"a": {}}, True),
        ("A = 1", {"a": 1}, False),
        ("a.b < a.c", {"a": {"b": 1, "c": 2}}, True),
    ],
)
def test_attributes_are_found_by_flat_key_first_and_by_path_next(wrap, text, attributes, matches):
    assert Filter.parse(text).matches(wrap(attributes)) is matches


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-05-01", datetime(2024, 5, 1, tzinfo=UTC)),
        (" 2024-05-01 10:30 ", datetime(2024, 5, 1, 10, 30, tzinfo=UTC)),
        ("2024-05-01T10:30:15.5Z", datetime(2024, 5, 1, 10, 30, 15, 500_000, tzinfo=UTC)),
        ("2024-05-01 10:30:00.123456789", datetime(2024, 5, 1, 10, 30, 0, 123_456, tzinfo=UTC)),
        ("2024-05-01 10:30:00-05:30", datetime(2024, 5, 1, 16, tzinfo=UTC)),
        ("0001-01-01", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_timestamp_text_is_read_in_utc(text, moment):
    assert parse_timestamp(text) == moment
    assert parse_timestamp(text).tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "", "2024", "20240501", "2024-W18-3", "2024-121", "2024-5-1", "2024-05-01Z", "٢٠٢٤-05-01",
        "2024-05-01x10:30", "2024-05-01T1030", "2024-05-01 10:30+0200", "2024-05-01 25:00", "2024-05-01 10:30:00,5",
        "0001-01-01 00:00+01:00",
    ],
)  # fmt: skip
def test_other_timestamp_texts_are_refused(text):
    with pytest.raises(ValueError, match=r"."):
        parse_timestamp(text)


def test_microseconds_count_from_1970_in_both_directions():
    assert microseconds(datetime(1970, 1, 2, tzinfo=UTC)) == 86_400_000_000
    assert microseconds(datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)) == -1


@pytest.mark.parametrize("value", [float("nan"), np.float32("nan"), Decimal("NaN"), Side.NAN], ids=repr)
def test_nan_stands_for_itself_though_it_compares_with_nothing(value):
    found = plain_value(value)
    assert type(found) is float
    assert found != found


@pytest.mark.parametrize(
    "value",
    [Decimal("sNaN"), Fraction(10**400), datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))],
    ids=["signalling NaN", "fraction", "instant"],
)
def test_value_outside_its_kind_is_told_from_one_without_a_kind(value):
    with pytest.raises(ValueError, match=r"."):
        plain_value(value)
    assert plain_value({1}) is None
