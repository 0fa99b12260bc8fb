"""`ss.dz`: every row has the expression that its event has alone, whatever it holds; and rates of cells by GROUP BY."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import inf, nan

import pytest
from pyspark.sql import functions as fn

from siftcast import spark as ss
from siftcast.model import Attribute, DataError, EventError, Schema, SchemaError
from siftcast.space.dz import DzSpace

START = datetime(2024, 1, 1, tzinfo=UTC)
SCHEMA = Schema(
    [
        Attribute("price", "int", (-5, 94)),
        Attribute("symbol", "string", ("A", "B", "CC")),
        Attribute("share", "float", (0.0, 1.0)),
        Attribute("tick", "float", (0, 10), 0.05),
        Attribute("open", "bool"),
        Attribute("at", "timestamp", (START, START + timedelta(days=1))),
        Attribute("order.city", "string"),
        Attribute("size", "float"),
        Attribute("ratio", "float"),
        Attribute("huge", "float", (-1e308, 1e308)),
    ]
)
NAMES = SCHEMA.names
FORM = (
    "price bigint, symbol string, share double, tick double, open boolean, at timestamp, "
    "order struct<city: string, lines: array<int>>, size decimal(12, 2), ratio double, huge double"
)
ROWS = [
    (3, "A", 0.5, 0.05, True, START, ("Ulm", [1]), Decimal("2.50"), 0.5, 1e308),
    (-5, "CC", 0.0, 10.0, False, START + timedelta(days=1), ("", None), Decimal("-7"), -0.0, -1e308),
    (94, "B", 1.0, 7.35, None, START + timedelta(hours=5, microseconds=1), ("Zürich", []), Decimal("0"), 0.0, 0.0),
    (95, "D", 1.1, 10.05, True, START + timedelta(days=2), (None, [1]), None, inf, nan),
    (-6, "", -0.1, -0.05, True, START - timedelta(microseconds=1), None, Decimal("99999.99"), -inf, 1.1e308),
    (None, None, None, None, None, None, None, None, None, None),
    (0, "A\0", nan, nan, False, datetime(9999, 12, 31, tzinfo=UTC), ("\U0001f600", [1]), Decimal("0.01"), nan, -0.0),
    (2**62, "B", inf, inf, False, START, ("a", [1]), Decimal("1"), 1e300, 5e-324),
    (7, "B", -0.0, 0.07, False, START, ("off the grid", [1]), Decimal("1"), -5e-324, 12.5),
]


def expected(space, row, length):
    try:
        return str(space.of_event(row).prefix(length))
    except EventError:
        return None


def check_rows(frame, space, length):
    rows = [row.asDict(recursive=True) for row in frame.collect()]
    assert rows
    for row in rows:
        found = row.pop("dz")
        for name, value in row.items():
            if isinstance(value, datetime):
                row[name] = value.astimezone(UTC)
        assert found == expected(space, row, length), row
    return rows


@pytest.fixture
def events(spark):
    return spark.createDataFrame(ROWS, FORM)


@pytest.mark.cluster
@pytest.mark.parametrize("elsewhere", [True, False])
def test_each_row_has_the_expression_of_its_event(events, elsewhere):
    space = DzSpace.of(SCHEMA, NAMES, elsewhere=elsewhere)
    frame = ss.dz(events, SCHEMA, attributes=NAMES, elsewhere=elsewhere)
    assert frame.columns == [*events.columns, "dz"]
    assert len(check_rows(frame, space, space.length)) == len(ROWS)
    found = [row["dz"] for row in frame.collect()]
    assert found[-1] is None  # off the grid
    assert (None in found[:-1]) is (not elsewhere)


@pytest.mark.parametrize("length", [0, 1, 9])
def test_a_shorter_expression_is_a_prefix(events, length):
    space = DzSpace.of(SCHEMA)
    check_rows(ss.dz(events, SCHEMA, length=length), space, length)


def test_rates_of_cells_are_counts_by_expression(spark):
    events = spark.range(1_000).select((fn.col("id") % 100 - 5).alias("price"))
    schema = Schema([Attribute("price", "int", (-5, 94))])
    cells = ss.dz(events, schema, length=3).groupBy("dz").agg(fn.count("*").alias("events"))
    assert {row["dz"]: row["events"] for row in cells.collect()} == {"000": 250, "001": 250, "010": 250, "011": 250}


def test_events_that_lack_an_attribute_are_refused_unless_told_otherwise(spark):
    events = spark.createDataFrame([(1, "x"), (2, None)], "prise int, symbol string")
    with pytest.raises(DataError, match="price"):
        ss.dz(events, SCHEMA, attributes=["price", "symbol"])
    with pytest.raises(DataError, match="'symbol' is string"):
        ss.dz(events.select(fn.col("prise").alias("price"), fn.lit(1).alias("symbol")), SCHEMA, attributes=["symbol"])
    space = DzSpace.of(SCHEMA, ["price", "symbol"])
    frame = ss.dz(events, SCHEMA, attributes=["price", "symbol"], strict=False)
    check_rows(frame, space, space.length)


def test_values_of_another_kind_lie_elsewhere(spark):
    events = spark.createDataFrame([("1", 2, [3]), (None, None, None)], "price string, symbol int, share array<int>")
    space = DzSpace.of(SCHEMA, ["price", "symbol", "share"])
    frame = ss.dz(events, SCHEMA, attributes=["price", "symbol", "share"], strict=False)
    rows = check_rows(frame, space, space.length)
    assert len(rows) == 2
    assert {row["dz"][:3] for row in frame.collect()} == {"111"}


def test_bad_arguments_are_refused(events):
    for length in (-1, 1_000, True, "3"):
        with pytest.raises(DataError, match="length"):
            ss.dz(events, SCHEMA, length=length)
    with pytest.raises(SchemaError, match="prise"):
        ss.dz(events, SCHEMA, attributes=["prise"])
    with pytest.raises(SchemaError):
        ss.dz(events, "schema")
    with pytest.raises(DataError, match="DataFrame"):
        ss.dz([1], SCHEMA)
    with pytest.raises(DataError, match="'dz'"):
        ss.dz(events.withColumnRenamed("price", "dz"), SCHEMA)
