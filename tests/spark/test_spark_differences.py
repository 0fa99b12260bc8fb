"""Where Spark casts, raises or orders NaN its own way, our rule holds: the table of docs/spark.md, line by line."""

from datetime import UTC, date, datetime
from decimal import Decimal
from math import inf, nan

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as f

from siftcast import spark as ss

RAISES = "raises"
NOON = datetime(2024, 5, 1, 12)

# type of the column {a}, its value, the filter, our answer, Spark's answer
DIFFERENCES = [
    ("double", nan, "{a} = {a}", False, True),
    ("double", nan, "{a} > 1e308", False, True),
    ("double", nan, "NOT {a} < 5", False, True),
    ("string", "1", "{a} = 1", False, True),
    ("string", "x", "{a} = 1", False, RAISES),
    ("boolean", True, "{a} = 1", False, RAISES),
    ("boolean", True, "{a} = 'true'", False, True),
    ("string", "2024-05-01", "{a} = TIMESTAMP '2024-05-01'", False, True),
    ("long", 2**53 + 1, "{a} = 9007199254740992e0", False, True),
    ("long", 1, "{A} = 1", False, True),
    ("long", 1, "missing IS NULL", True, RAISES),
    ("long", 1, "{a}.b IS NULL", True, RAISES),
    ("array<long>", [1], "{a} = 1", False, RAISES),
    ("decimal(38,18)", Decimal("0.100000000000000001"), "{a} = 0.1", True, False),
]

AGREEMENTS = [
    ("double", nan, "{a} IS NULL", False),
    ("double", inf, "{a} > 1e308", True),
    ("double", -0.0, "{a} = 0", True),
    ("float", 0.1, "{a} = 0.1", False),
    ("long", 2**53 + 1, "{a} = 9007199254740993", True),
    ("decimal(10,2)", Decimal("1.50"), "{a} = 1.5", True),
    ("date", date(2024, 5, 1), "{a} = TIMESTAMP '2024-05-01'", True),
    ("timestamp_ntz", NOON, "{a} = TIMESTAMP '2024-05-01 12:00:00'", True),
    ("timestamp", NOON.replace(tzinfo=UTC), "{a} = TIMESTAMP '2024-05-01 14:00:00+02:00'", True),
    ("byte", 5, "{a} BETWEEN 5 AND 5", True),
    ("array<long>", [1], "{a} IS NOT NULL", True),
    ("map<string,long>", {"x": 1}, "{a} IS NOT NULL", True),
    ("binary", b"a", "{a} IS NOT NULL", True),
    ("long", None, "{a} = 1 OR {a} IS NULL", True),
]


def answers(spark, cases):
    """Our answer and Spark's for each case; each has a column of its own in one row, so that one job tells ours."""
    names = [f"c{number}" for number in range(len(cases))]
    texts = [case[2].format(a=name, A=name.upper()) for name, case in zip(names, cases, strict=True)]
    types = ", ".join(f"{name} {case[0]}" for name, case in zip(names, cases, strict=True))
    events = spark.createDataFrame([tuple(case[1] for case in cases)], types).coalesce(1)
    subscriptions = spark.createDataFrame(list(zip(names, texts, strict=True)), "id string, filter string")
    matched = ss.match(events, subscriptions, "lists", strict=False).first()["matched"]
    theirs = {name: text for name, text, case in zip(names, texts, cases, strict=True) if case[-1] is not RAISES}
    answer = events.select(*(f.expr(text).alias(name) for name, text in theirs.items())).first().asDict()
    return [
        (name in matched, answer[name] is True if name in theirs else raises(events, text))
        for name, text in zip(names, texts, strict=True)
    ]


def raises(events, text):
    try:
        return events.select(f.expr(text).alias("answer")).first()["answer"]
    except PySparkException:
        return RAISES


@pytest.fixture(scope="module")
def differences(spark):
    return answers(spark, DIFFERENCES)


@pytest.fixture(scope="module")
def agreements(spark):
    return answers(spark, AGREEMENTS)


@pytest.mark.parametrize("number", range(len(DIFFERENCES)), ids=lambda number: f"{DIFFERENCES[number][0]} {number}")
def test_our_rule_differs_from_spark_as_documented(differences, number):
    assert differences[number] == DIFFERENCES[number][3:]


@pytest.mark.parametrize("number", range(len(AGREEMENTS)), ids=lambda number: f"{AGREEMENTS[number][0]} {number}")
def test_both_agree_on_other_types_of_columns(agreements, number):
    both = AGREEMENTS[number][3]
    assert agreements[number] == (both, both)


def test_timestamps_without_a_zone_are_utc_whatever_the_session_says(spark):
    events = spark.createDataFrame([(NOON.replace(tzinfo=UTC),)], "a timestamp")
    text = "a = TIMESTAMP '2024-05-01 12:00:00'"
    subscriptions = spark.createDataFrame([("only", text)], "id string, filter string")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        assert ss.match(events, subscriptions, "lists", strict=False).first()["matched"] == ["only"]
        assert events.select(f.expr(text).alias("answer")).first()["answer"] is False
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
