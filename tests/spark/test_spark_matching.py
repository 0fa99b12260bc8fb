"""`ss.match`: a table in, a table out."""

import pyarrow as pa
import pytest
from pyspark.sql import functions as f

from siftcast import Attribute, Matcher, Schema
from siftcast import spark as ss
from siftcast.model import DataError
from siftcast.spark import matching
from siftcast.spark.compiled import KEPT_MATCHERS, Shipment, _loaded, build_matcher

EVENTS = [("IBM", 88.0, (1,)), ("ACME", None, None), (None, 5.0, (2,))]
FILTERS = [("cheap", "price < 95"), ("a", "symbol LIKE 'A%'"), ("nested", "n.x = 2"), ("none", "price > 1000")]
TABLE = "id string, filter string"


@pytest.fixture(scope="module")
def events(spark):
    return spark.createDataFrame(EVENTS, "symbol string, price double, n struct<x: long>").cache()


@pytest.fixture(scope="module")
def subscriptions(spark):
    return spark.createDataFrame(FILTERS, TABLE)


def pairs_of(frame):
    return sorted((str(row["symbol"]), row["subscription_id"]) for row in frame.collect())


@pytest.mark.cluster
def test_pairs_are_the_event_columns_and_an_id(events, subscriptions):
    pairs = ss.match(events, subscriptions)
    assert pairs.columns == ["symbol", "price", "n", "subscription_id"]
    assert pairs.schema.fields[:3] == events.schema.fields
    assert pairs.schema["subscription_id"].dataType.simpleString() == "string"
    assert pairs_of(pairs) == [("ACME", "a"), ("IBM", "cheap"), ("None", "cheap"), ("None", "nested")]


@pytest.mark.cluster
def test_lists_have_a_row_for_each_event_also_for_one_that_matches_nothing(spark, events, subscriptions):
    only = spark.createDataFrame(FILTERS[1:2], TABLE)
    lists = ss.match(events, only, output="lists")
    assert lists.schema["matched"].dataType.simpleString() == "array<string>"
    assert sorted((str(row["symbol"]), row["matched"]) for row in lists.collect()) == [
        ("ACME", ["a"]),
        ("IBM", []),
        ("None", []),
    ]


def test_event_columns_come_through_unchanged(spark):
    columns = (
        "a.b long, `select` string, d decimal(10,2), day date, naive timestamp_ntz, raw binary, tags array<string>, "
        "m map<string, long>, deep struct<inner: struct<x: int, y: array<struct<z: double>>>>"
    ).replace("a.b", "`a.b`")
    text = (
        "1L AS `a.b`, 'q' AS `select`, 1.50BD AS d, DATE '2024-05-01' AS day, TIMESTAMP_NTZ '2024-05-01 10:00:00'"
        " AS naive, X'00ff' AS raw, array('x', null) AS tags, map('k', 2L) AS m,"
        " named_struct('inner', named_struct('x', 1, 'y', array(named_struct('z', 2.5D)))) AS deep"
    )
    events = spark.sql(f"SELECT {text}").to(spark.createDataFrame([], columns).schema)
    filters = [
        ("flat", "a.b = 1"),
        ("deep", "deep.inner.x = 1"),
        ("name", "`select` = 'q'"),
        ("day", "day IS NOT NULL"),
    ]
    lists = ss.match(events, spark.createDataFrame(filters, TABLE), "lists")
    assert lists.drop("matched").collect() == events.collect()
    assert sorted(lists.first()["matched"]) == ["day", "deep", "flat", "name"]
    assert ss.match(events, spark.createDataFrame(filters, TABLE)).count() == 4


def test_no_events_and_no_subscriptions_give_empty_tables(spark, events, subscriptions):
    nobody = spark.createDataFrame([], TABLE)
    assert ss.match(events, nobody).count() == 0
    assert [row["matched"] for row in ss.match(events, nobody, "lists").collect()] == [[], [], []]
    assert ss.match(events.where("false"), subscriptions).count() == 0


def test_subscriptions_may_be_compiled_once_and_used_often(events, subscriptions):
    compiled = ss.compile_subscriptions(subscriptions)
    assert compiled.used == len(FILTERS)
    assert pairs_of(ss.match(events, compiled)) == pairs_of(ss.match(events, subscriptions))
    assert pairs_of(ss.match(events.where("symbol = 'IBM'"), compiled)) == [("IBM", "cheap")]


def test_columns_of_subscriptions_may_have_other_names_and_ids_other_types(spark, events):
    numbered = spark.createDataFrame(
        [(7, "price < 95", "sql"), (8, "price > 95", None)], "n int, rule string, dialect string"
    )
    assert pairs_of(ss.match(events, numbered, id_column="n", filter_column="rule")) == [("IBM", "7"), ("None", "7")]


def test_a_schema_refuses_filters_that_do_not_fit_it(spark, events):
    schema = Schema([Attribute("price", "float")])
    misspelt = spark.createDataFrame([("x", "prise < 5")], TABLE)
    with pytest.raises(DataError, match="did you mean 'price'"):
        ss.match(events, misspelt, schema=schema)
    assert ss.match(events, misspelt).count() == 0


@pytest.mark.parametrize(
    ("rename", "output", "message"),
    [
        ({"symbol": "subscription_id"}, "pairs", "rename it first"),
        ({"symbol": "Matched"}, "lists", "rename it first"),
        ({"symbol": "price"}, "pairs", "two columns of the events are named 'price'"),
        ({}, "rows", "'pairs' or 'lists'"),
    ],
)
def test_names_that_would_collide_are_refused(events, subscriptions, rename, output, message):
    with pytest.raises(DataError, match=message):
        ss.match(events.withColumnsRenamed(rename), subscriptions, output)


def test_a_name_that_collides_with_the_other_form_only_is_fine(events, subscriptions):
    renamed = events.withColumnRenamed("symbol", "matched")
    pairs = ss.match(renamed, subscriptions.where("id = 'cheap'"))
    assert pairs.columns == ["matched", "price", "n", "subscription_id"]
    assert pairs.count() == 2


def test_tables_without_the_columns_are_refused(spark, events):
    with pytest.raises(DataError, match="need one column 'filter'; they have id, rule"):
        ss.match(events, spark.createDataFrame([("x", "TRUE")], "id string, rule string"))


def test_results_larger_than_a_batch_may_be_are_cut(monkeypatch):
    """Rows per call follow from the ids that came before: no piece is much larger than asked, and nothing is lost."""
    monkeypatch.setattr(matching, "RESULT_BYTES", 20_000)
    matcher = Matcher()
    matcher.add_many((f"subscription-{number:04}", f"a >= {number}") for number in range(100))
    batches = [pa.record_batch({"a": list(range(start, start + 700))}) for start in (0, 700)]
    pieces = list(matching.match_batches(matcher, batches, ["a"]))
    assert pa.Table.from_batches(pieces)["a"].to_pylist() == list(range(1400))
    found = pa.Table.from_batches(pieces)["ids"].to_pylist()
    assert [len(ids) for ids in found] == [min(row + 1, 100) for row in range(1400)]
    later = pieces[1:]
    assert len(later) > 50
    assert all(piece["ids"].flatten().nbytes < 2 * matching.RESULT_BYTES for piece in later)


def test_a_process_loads_a_matcher_once_and_forgets_the_oldest():
    fetched = []

    def shipment(name):
        def fetch():
            fetched.append(name)
            return Matcher().to_bytes()

        return Shipment(name, fetch)

    names = [f"test-{number}" for number in range(KEPT_MATCHERS + 1)]
    for name in [names[0], names[0], *names[1:], names[-1], names[0]]:
        shipment(name).load()
    assert fetched == [*names, names[0]]
    assert len(_loaded) == KEPT_MATCHERS


def test_bad_rows_among_good_ones_are_set_aside_with_reasons():
    table = pa.table(
        {
            "id": ["a", None, "", "b", "a", "c", "d"],
            "filter": ["x = 1", "x = 1", "x = 1", "x =", "x = 2", None, "x = 3"],
            "note": list("abcdefg"),
        }
    )
    matcher, rejected = build_matcher(table, "id", "filter", None, "auto")
    assert list(matcher) == ["a", "d"]
    assert matcher.match({"x": 1}) == ["a"]
    assert [letter.code for letter in rejected] == [
        "subscription", "subscription", "filter-syntax", "subscription", "subscription",
    ]  # fmt: skip
    assert rejected[3].source == '{"id":"a","filter":"x = 2","note":"e"}'
    assert "taken" in rejected[3].reason


def test_a_stream_of_events_can_be_matched_too(spark, events, subscriptions, tmp_path):
    events.write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(events.schema).parquet(str(tmp_path / "in"))
    query = (
        ss.match(stream, subscriptions)
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    assert query.awaitTermination(120)
    assert pairs_of(spark.read.parquet(str(tmp_path / "out"))) == pairs_of(ss.match(events, subscriptions))


def test_counts_are_the_lengths_of_the_lists(spark, events, subscriptions):
    lists = ss.match(events, subscriptions, output="lists")
    counts = ss.match_counts(events, subscriptions)
    assert counts.columns == [*events.columns, "matched_count"]
    expected = lists.select(*events.columns, f.size("matched").cast("long").alias("matched_count"))
    assert sorted(map(repr, counts.collect())) == sorted(map(repr, expected.collect()))


def test_counts_do_not_hide_a_column_of_the_events(spark, events, subscriptions):
    with pytest.raises(DataError, match="matched_count"):
        ss.match_counts(events.withColumn("matched_count", f.lit(1)), subscriptions)
