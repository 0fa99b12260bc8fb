"""Statistics by Spark equal those of NumPy and of brute force on data that is small enough for both."""

import re
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from siftcast.model import Attribute, Columns, DataError, Filter, Schema, SiftcastError
from siftcast.space import Box
from siftcast.spark import Intake, SparkSession
from siftcast.spark.partition import partition
from siftcast.spark.schema_check import check_declared
from siftcast.spark.statistics import Statistics, statistics

START = datetime(2024, 1, 1, tzinfo=UTC)
SCHEMA = Schema(
    [
        Attribute("symbol", "string", ("A", "B", "C", "D")),
        Attribute("place.x", "int", (0, 9)),
        Attribute("price", "float", (0.0, 100.0)),
        Attribute("at", "timestamp", (START, START + timedelta(days=1))),
        Attribute("note", "string"),
    ]
)
FILTERS = [
    "symbol IN ('A', 'D')", "place.x > 3 AND price < 40.0", "place.x = 2 OR place.x = 7", "price BETWEEN 10.0 AND 60.0",
    "at < TIMESTAMP '2024-01-01 12:00:00' AND symbol = 'B'", "note = 'x'", "symbol = 'C' AND price >= 99.5", "TRUE",
]  # fmt: skip
BAD = ["price <", "price = 'x'", None]
ROWS = 400


def event_rows() -> list[dict[str, object]]:
    rng = np.random.default_rng(5)
    rows: list[dict[str, object]] = []
    for index in range(ROWS):
        rows.append(
            {
                "symbol": ["A", "B", "C", "Z", None][int(rng.integers(0, 5))],
                "place": {"x": int(rng.integers(0, 12))},
                "price": float("nan") if index % 50 == 0 else float(round(rng.uniform(0, 100), 3)),
                "at": START + timedelta(minutes=int(rng.integers(0, 1_440))),
                "note": "x" if index % 2 else None,
                "size": float(rng.integers(1, 5)),
            }
        )
    return rows


@pytest.fixture(scope="module")
def rows() -> list[dict[str, object]]:
    return event_rows()


@pytest.fixture(scope="module")
def measured(spark: SparkSession, rows: list[dict[str, object]]) -> Statistics:
    events = spark.createDataFrame(pa.Table.from_pylist(rows)).repartition(3)
    texts = [*FILTERS, *BAD]
    table = pa.table({"id": [f"s{index}" for index in range(len(texts))], "filter": texts})
    subscriptions = spark.createDataFrame(table).repartition(2)
    return statistics(events, subscriptions, SCHEMA, weight="size", joint_max=64)


def column(rows: list[dict[str, object]], name: str) -> list[object]:
    found = [row["place"]["x"] if name == "place.x" else row[name] for row in rows]  # type: ignore[index]
    return [None if value != value else value for value in found]


def test_bad_subscriptions_are_counted_apart(measured: Statistics) -> None:
    assert (measured.events, measured.subscriptions, measured.rejected) == (ROWS, len(FILTERS), len(BAD))


def test_the_first_of_the_bad_ones_is_named(spark: SparkSession) -> None:
    events = spark.createDataFrame([(1.0,)], "price double")
    texts = ["price > 1", "price = 'x'", "prise > 1", None]
    for count in range(1, len(texts)):
        rows = [(f"s{number}", text) for number, text in enumerate(texts[count:])]
        rules = spark.createDataFrame(rows, "id string, filter string").coalesce(1)
        reason = ["", "'price' is of type float", "did you mean 'price'?", "the filter is null"][count]
        found = statistics(events, rules, PRICES)
        assert (found.subscriptions, found.rejected) == (0, len(rows))
        assert str(found.first_rejected).startswith("'s0': ")
        assert reason in str(found.first_rejected)


def test_attributes_have_the_counts_of_a_plain_look(measured: Statistics, rows: list[dict[str, object]]) -> None:
    found = {row["attribute"]: row for row in measured.attributes.toArrow().to_pylist()}
    assert list(found) == list(SCHEMA.names)
    for name, row in found.items():
        known = [value for value in column(rows, name) if value is not None]
        assert row["events"] == len(known)
        assert row["nulls"] == ROWS - len(known)
        assert row["distinct"] == pytest.approx(len(set(known)), rel=0.1)
    assert found["symbol"]["outside"] == column(rows, "symbol").count("Z")
    assert found["place.x"]["outside"] == sum(value in (10, 11) for value in column(rows, "place.x"))
    assert (found["symbol"]["minimum"], found["symbol"]["maximum"]) == ("A", "Z")
    prices = [value for value in column(rows, "price") if value is not None]
    assert (float(found["price"]["minimum"]), float(found["price"]["maximum"])) == (min(prices), max(prices))  # type: ignore[type-var]
    assert found["note"]["deciles"] is found["note"]["selectivity"] is found["note"]["outside"] is None
    middle = found["price"]["deciles"][5]
    assert middle == pytest.approx(np.median(np.array(prices)), abs=2.0)
    constrained = {name: row["constrained"] for name, row in found.items()}
    assert constrained == {"symbol": 3, "place.x": 2, "price": 3, "at": 1, "note": 1}  # a note has no domain


def test_selectivity_of_an_attribute_is_the_mean_share_of_subscriptions_it_lets_pass(
    measured: Statistics, rows: list[dict[str, object]]
) -> None:
    found = {row["attribute"]: row["selectivity"] for row in measured.attributes.toArrow().to_pylist()}
    alone = ["place.x > 3", "place.x = 2 OR place.x = 7", *["TRUE"] * 6]
    inside = [row for row in rows if column([row], "place.x")[0] in range(10)]
    shares = [np.mean([Filter.parse(text).matches(row) for text in alone]) for row in inside]
    assert found["place.x"] == pytest.approx(np.mean(shares))


def test_cells_of_an_axis_with_few_values_are_exact(measured: Statistics, rows: list[dict[str, object]]) -> None:
    cells = [row for row in measured.cells.toArrow().to_pylist() if row["attribute"] == "place.x"]
    assert [row["lows"] for row in cells] == [[float(value)] for value in range(10)]
    for value, row in enumerate(cells):
        here = [each for each in rows if column([each], "place.x")[0] == value]
        assert row["events"] == len(here)
        assert row["weight"] == pytest.approx(np.mean([each["size"] for each in here]))  # type: ignore[misc]
        assert row["subscriptions"] == 6 + (value > 3) + (value in (2, 7))
        assert row["popularity"] == pytest.approx(row["subscriptions"] / len(FILTERS))
        assert row["selectivity"] == 1.0
    assert sum(row["volume"] for row in cells) == pytest.approx(1.0)


def test_cells_of_an_axis_with_many_values_follow_its_quantiles(
    measured: Statistics, rows: list[dict[str, object]]
) -> None:
    cells = [row for row in measured.cells.toArrow().to_pylist() if row["attribute"] == "price"]
    prices = np.array([value for value in column(rows, "price") if value is not None], dtype=np.float64)
    edges = [row["lows"][0] for row in cells] + [cells[-1]["highs"][0]]
    assert edges == sorted(edges)
    assert [row["events"] for row in cells] == np.histogram(prices, edges)[0].tolist()
    assert max(row["events"] for row in cells) <= 4


def test_joint_cells_hold_every_event_with_a_point_once(measured: Statistics, rows: list[dict[str, object]]) -> None:
    joint = [row for row in measured.cells.toArrow().to_pylist() if row["attribute"] is None]
    assert 1 < len(joint) <= 64
    space = measured.table.cells.space
    points = [point for row in rows if (point := space.point(row)) is not None]
    for row in joint:
        box = Box(tuple(row["lows"]), tuple(row["highs"]))
        assert row["events"] == sum(map(box.contains, points))
        touching = sum(any(each.intersects(box) for each in space.boxes(Filter.parse(text))) for text in FILTERS)
        assert row["subscriptions"] <= touching  # boxes are the coarser look: they span from A to D
    assert sum(row["events"] for row in joint) == len(points)


def test_text_shows_what_was_measured(measured: Statistics, rows: list[dict[str, object]]) -> None:
    text = str(measured)
    head = text.partition("\n")[0]
    assert re.match("400 events, 8 subscriptions, 3 rejected; the first is 's(8|9|10)': .", head)
    outside = sum(value in (10, 11) for value in column(rows, "place.x"))
    assert f"0 null, {outside} outside the domain, 0 … 11; 2 subscriptions ask for it" in text
    assert "fullest of 4 cells of symbol" in text
    assert "null, x … x; 1 subscriptions ask for it\nno cells of note:" in text


def test_no_cell_reads_as_empty(measured: Statistics) -> None:
    """Prices have a cell for each value that occurs often, from it to the next double."""
    for row in measured.cells.toArrow().to_pylist():
        for low, high in re.findall(r"(\S+) <= \S+ < (\S+?)(?:,|$)", row["content"]):
            assert low != high, row["content"]


def test_missing_columns_are_named(spark: SparkSession) -> None:
    table = spark.createDataFrame(pa.table({"id": ["a"]}))
    with pytest.raises(DataError, match="'filter'"):
        statistics(table, table, SCHEMA)
    priced = spark.createDataFrame([(1.0, 2.0)], "price double, sizes double")
    with pytest.raises(DataError, match=r"'size' to take weights from; did you mean 'sizes'\?"):
        statistics(priced, table.withColumnRenamed("id", "filter"), PRICES, weight="size")


@pytest.mark.parametrize(
    ("schema", "options", "reason"),
    [
        (5, {}, "a schema is a Schema"),
        (None, {}, "a schema is a Schema"),
        (
            Schema([Attribute("a", "int")]),
            {"values_max": -1},
            "values_max must be a whole number of at least 1, not -1",
        ),
        (Schema([Attribute("a", "int")]), {"values_max": 2.5}, "values_max must be a whole number"),
        (Schema([Attribute("a", "int")]), {"joint_max": 0}, "joint_max must be a whole number of at least 1, not 0"),
    ],
)
def test_what_cannot_be_measured_with_is_refused(
    spark: SparkSession, schema: Schema, options: dict[str, int], reason: str
) -> None:
    events = spark.createDataFrame([(1,)], "a long")
    rules = spark.createDataFrame([("one", "a = 1")], "id string, filter string")
    with pytest.raises(SiftcastError, match=reason):
        statistics(events, rules, schema, **options)


def test_ids_that_match_refuses_are_counted_apart(spark: SparkSession) -> None:
    events = spark.createDataFrame([(1.0,)], "price double")
    rows = [(None, "price > 1"), ("", "price > 1"), ("a", "price > 1"), ("a", "price > 2"), ("b", "price > 3")]
    unreadable = spark.sql("SELECT 'c' AS id, CAST(X'7072ff' AS string) AS filter")
    found = statistics(events, spark.createDataFrame(rows, "id string, filter string").union(unreadable), PRICES)
    assert (found.subscriptions, found.rejected) == (2, 4)
    assert found.first_rejected == "'c': not valid UTF-8"


@pytest.mark.parametrize(
    ("ids", "reason"), [((None, "a"), "a subscription needs an id"), (("a", "a"), "the id 'a' is taken")]
)
def test_an_id_that_is_refused_is_named(spark: SparkSession, ids: tuple[str | None, str], reason: str) -> None:
    events = spark.createDataFrame([(1.0,)], "price double")
    rules = spark.createDataFrame([(id, "price > 1") for id in ids], "id string, filter string")
    found = statistics(events, rules, PRICES)
    assert found.rejected == 1
    assert str(found.first_rejected).startswith(reason)


@pytest.mark.parametrize("weight", ["-1D", "double('nan')", "double('inf')", "CAST(null AS double)", "'heavy'"])
def test_events_need_weights_that_are_numbers(spark: SparkSession, weight: str) -> None:
    events = spark.sql(f"SELECT 1D AS price, {weight} AS w")
    everyone = spark.createDataFrame([("a", "price > 1")], "id string, filter string")
    with pytest.raises(DataError, match="weight"):
        statistics(events, everyone, PRICES, weight="w")
    with pytest.raises(DataError, match="not Intake"):
        statistics(Intake(events), everyone, PRICES)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        (Attribute("prise", "float", (0.0, 10.0)), "the events have no column 'prise'; did you mean 'price'?"),
        (Attribute("Price", "float", (0.0, 10.0)), "did you mean 'price'? Upper and lower case differ"),
        (Attribute("price", "string", ("a", "b")), "'price' is string in the schema, but double in the events"),
        (Attribute("place.y", "int", (0, 9)), "no column 'place.y'; did you mean 'place.x'?"),
        (Attribute("tags", "string", ("a", "b")), "'tags' is string in the schema, but array in the events"),
    ],
)
def test_what_only_the_schema_has_is_an_error_unless_somebody_means_it(
    spark: SparkSession, declared: Attribute, reason: str
) -> None:
    row = [(1.0, (2,), ["a"])]
    events = spark.createDataFrame(row, "price double, place struct<x: int>, tags array<string>")
    everyone = spark.createDataFrame([("a", "TRUE")], "id string, filter string")
    schema = Schema([declared])
    for measure in (statistics, partial(partition, zones=2)):
        with pytest.raises(DataError) as caught:
            measure(events, everyone, schema)
        assert reason in str(caught.value)
    found = statistics(events, everyone, schema, strict=False)
    assert sum(found.table.axes[0].events) == 0


def test_columns_of_the_right_kind_fit_whatever_their_type(spark: SparkSession) -> None:
    events = spark.sql("SELECT 1 AS a, 2.5BD AS b, DATE '2024-01-01' AS at, null AS nothing, 3 AS `p.q`")
    types = {"a": "float", "b": "int", "at": "timestamp", "nothing": "string", "p.q": "int"}
    check_declared(Columns.of(events), Schema([Attribute(name, type) for name, type in types.items()]))
    with pytest.raises(DataError, match="'b' is bool in the schema"):
        check_declared(Columns.of(events), Schema([Attribute("b", "bool")]))


def test_attributes_and_cells_without_events_are_not_shown_as_full(spark: SparkSession) -> None:
    events = spark.createDataFrame([(3.0, None), (3.0, None)], "price double, size double")
    everyone = spark.createDataFrame([("a", "price > 1")], "id string, filter string")
    schema = Schema([Attribute("price", "float", (0.0, 10.0), 1.0), Attribute("size", "float", (0.0, 10.0), 1.0)])
    text = str(statistics(events, everyone, schema))
    assert text.count("of the load") == 1
    assert "100.00% of the load  100.00% of the events" in text
    assert "size (float): no values, 2 null, 0 outside the domain; 0 subscriptions ask for it" in text
    assert "no events in the 11 cells of size" in text
    assert "None" not in text


PRICES = Schema([Attribute("price", "float", (0.0, 10.0))])
