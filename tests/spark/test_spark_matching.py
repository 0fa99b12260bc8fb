"""`ss.match`: a table in, a table out."""

import pyarrow as pa
import pytest
from pyspark.sql import functions as f

from siftcast import Attribute, Matcher, Schema
from siftcast import spark as ss
from siftcast.model import DataError, SiftcastError
from siftcast.spark import matching
from siftcast.spark.compiled import KEPT_MATCHERS, Shipment, _loaded, build_matcher
from siftcast.spark.filter_check import FilterCheck

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
    assert ss.match(events, misspelt, strict=False).count() == 0


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
    typed = spark.createDataFrame([("x", "TRUE")], "id string, Filter string")
    with pytest.raises(DataError, match=r"'filter'; did you mean 'Filter'\? Upper and lower case differ"):
        ss.match(events, typed)
    with pytest.raises(DataError, match=r"need one column 'idd'; did you mean 'id'\?"):
        ss.match_counts(events, typed, id_column="idd", filter_column="Filter")


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


def test_a_batch_whose_ids_fit_no_string_array_is_answered_in_pieces(monkeypatch):
    """Events that match nothing make the next call large; what it brings is then cut by the bytes of its ids."""
    monkeypatch.setattr(matching, "PIECE_BYTES", 2_000)
    matcher = Matcher()
    matcher.add_many((f"subscription-{number:0{number % 30}}", f"a >= {number}") for number in range(50))
    rows = [-1] * 2_000 + list(range(60)) * 5
    pieces = list(matching.match_batches(matcher, [pa.record_batch({"a": rows})], ["a"]))
    assert pa.Table.from_batches(pieces)["a"].to_pylist() == rows
    found = pa.Table.from_batches(pieces)["ids"].to_pylist()
    assert [len(ids) for ids in found] == [max(0, min(row + 1, 50)) for row in rows]
    assert all(sorted(ids) == sorted(matcher.match({"a": row})) for ids, row in zip(found, rows, strict=True))
    assert all(sum(map(len, piece["ids"].flatten().to_pylist())) <= matching.PIECE_BYTES for piece in pieces)


def test_how_large_ids_may_be_is_not_counted_in_32_bits(monkeypatch):
    monkeypatch.setattr(matching, "PIECE_BYTES", 10_000)
    matcher = Matcher()
    matcher.add_many([("x" * 1_000_000, "a = 1"), ("y", "a >= 0"), ("z", "a >= 0")])
    monkeypatch.setattr(matching, "ROWS_FIRST", 10_000)
    rows = [2] * 6_000  # 12,000 matches of at most a megabyte each
    pieces = list(matching.match_batches(matcher, [pa.record_batch({"a": rows})], ["a"]))
    assert [piece.num_rows for piece in pieces] == [5_000, 1_000]


def test_one_event_that_brings_more_than_a_piece_may_have_is_a_piece(monkeypatch):
    monkeypatch.setattr(matching, "PIECE_BYTES", 10)
    matcher = Matcher()
    matcher.add_many((f"subscription-{number}", f"a >= {number}") for number in range(5))
    pieces = list(matching.match_batches(matcher, [pa.record_batch({"a": [9, -1, 9]})], ["a"]))
    assert [len(ids) for piece in pieces for ids in piece["ids"].to_pylist()] == [5, 0, 5]


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
    matcher, rejected = build_matcher(table, "id", "filter", None, "auto", FilterCheck())
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


@pytest.mark.parametrize("names", [["Matched_Count", "price", "n"], ["price", "price", "n"]])
def test_counts_are_as_strict_about_names_as_matches(events, subscriptions, names):
    with pytest.raises(DataError, match=names[0]):
        ss.match_counts(events.toDF(*names), subscriptions)


def test_ids_of_any_type_are_written_alike_everywhere(spark, events):
    """Spark and Arrow write doubles, decimals and times in two ways; one of them, Spark's, counts."""
    rows = "double(1e10) AS id UNION ALL SELECT double(0.1)"
    for select in (rows, "CAST(0 AS decimal(30,10)) AS id", "TIMESTAMP '2024-01-01 00:00:00' AS id"):
        everyone = spark.sql(f"SELECT {select}").selectExpr("id", "'price < 95' AS filter")
        expected = {row["id"] for row in everyone.selectExpr("string(id) AS id").collect()}
        assert {row["subscription_id"] for row in ss.match(events, everyone).collect()} == expected
        assert {row["subscription_id"] for row in ss.match_sharded(events, everyone).collect()} == expected
        histories = ss.match_history(events, everyone, order_by="price").collect()
        assert {row["subscription_id"]: len(row["events"]) for row in histories} == dict.fromkeys(expected, 2)


def test_what_is_no_table_of_events_or_subscriptions_is_refused(spark, events, subscriptions):
    with pytest.raises(DataError, match=r"not Intake; its events are `\.good`"):
        ss.match(ss.Intake(events), subscriptions)
    with pytest.raises(DataError, match=r"not Intake; its subscriptions are `\.good`"):
        ss.match(events, ss.Intake(subscriptions))
    with pytest.raises(DataError, match="no columns"):
        ss.match(events.select(), subscriptions, "lists")
    for kind in ("struct<a: int>", "array<int>", "binary"):
        with pytest.raises(DataError, match="must hold texts or numbers as ids"):
            ss.match(events, spark.createDataFrame([], f"id {kind}, filter string"))
    with pytest.raises(DataError, match="two columns of the subscriptions are named 'dialect'"):
        ss.match(events, spark.createDataFrame([], "id string, filter string, dialect string, dialect string"))
    with pytest.raises(DataError, match="not compiled ones"):
        ss.match_history(events, ss.compile_subscriptions(subscriptions), order_by="price")
    with pytest.raises(SiftcastError, match="engine"):
        ss.match_sharded(events, subscriptions, engine="foo")
