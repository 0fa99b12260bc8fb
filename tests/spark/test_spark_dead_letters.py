"""Bad input loses nothing: every row is matched, unmatched or in the dead letters with its reason."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

from siftcast import Attribute, Schema
from siftcast import spark as ss
from siftcast.files import RejectedFile, open_events
from siftcast.model import DataError

SCHEMA = Schema([Attribute("symbol", "string"), Attribute("price", "float"), Attribute("n.x", "int")])
GOOD = [
    '{"symbol":"IBM","price":88,"n":{"x":1}}',
    '{"symbol":"ACME","price":400.5}',
    '{"n":{"x":2}}',
    "{}",
    '{"symbol":"}{","price":1}',
    '{"symbol":"}},","n":{"x":1}} ',
]
BAD = {
    '{"symbol":"I': "not valid JSON",
    "null": "an event must be a JSON object, not null",
    "5": "an event must be a JSON object, not a number",
    '[{"price":1}]': "an event must be a JSON object, not an array",
    "hello": "not valid JSON",
    '{"price":"abc"}': "attribute 'price' is of type double, but the value is 'abc'",
    '{"price":true}': "attribute 'price' is of type double, but the value is True",
    '{"n":{"x":1.5}}': "attribute 'n.x' is of type bigint, but the value is 1.5",
    '{"n":5}': "attribute 'n' is of type struct<x:bigint>, but the value is 5",
    '{"price":1}{"price":2}': "trailing characters",
    '{"price":1},{"price":2}': "trailing characters",
    '{"price":1} and more': "trailing characters",
    '{"price":1}x{"price":2}': "trailing characters",
    '{"price":1};{"price":2}': "trailing characters",
    '{"price":1} junk}': "trailing characters",
    '{"price":1}}': "trailing characters",
    '{"price":1}]}': "trailing characters",
    '{"price":1},"n":{}': "trailing characters",
}
FILTERS = [("cheap", "price < 95"), ("two", "n.x = 2"), ("bad", "price <"), ("unread", None), ("cheap", "TRUE")]


@pytest.fixture(scope="module")
def subscriptions(spark):
    return spark.createDataFrame(FILTERS, "id string, filter string")


@pytest.fixture
def lines(spark, tmp_path):
    mixed = [line for pair in zip(GOOD, [*BAD][: len(GOOD)], strict=True) for line in pair] + [*BAD][len(GOOD) :]
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(["", *mixed, "  "]) + "\n", encoding="utf-8")
    return str(path)


def letters(frame):
    return {row["source"]: row["reason"] for row in frame.collect()}


def check_sums(counts):
    assert counts.events_in == counts.events_matched + counts.events_unmatched + counts.events_rejected
    assert counts.subscriptions_in == counts.subscriptions_used + counts.subscriptions_rejected


def test_lines_that_are_no_events_become_dead_letters_with_reasons(lines):
    intake = ss.read_events(lines, schema=SCHEMA)
    found = letters(intake.rejected)
    assert set(found) == set(BAD)
    wrong = {line: found[line] for line, reason in BAD.items() if reason not in found[line]}
    assert not wrong
    assert intake.rejected.schema == ss.DEAD_LETTERS
    assert intake.good.count() == len(GOOD)
    assert intake.rejected.count() == len(BAD)


def test_the_command_line_refuses_a_line_in_the_same_words(lines, tmp_path):
    path = Path(lines)
    with RejectedFile(path) as file, open_events(path, None, file) as reader:
        list(reader.blocks())
    ours = [json.loads(line) for line in file.path.read_text(encoding="utf-8").splitlines()]
    theirs = {row["source"]: row.asDict() for row in ss.read_events(lines, schema=SCHEMA).rejected.collect()}
    assert len(ours) == sum(row["code"] == "event" for row in theirs.values())
    assert all({"line": row["line"], **theirs[row["source"]]} == row for row in ours)


@pytest.mark.parametrize("output", ["pairs", "lists"])
def test_counts_add_up_and_agree_with_the_tables(lines, subscriptions, output):
    result = ss.match_with_rejects(ss.read_events(lines, schema=SCHEMA), subscriptions, output)
    counts = result.counts()
    check_sums(counts)
    assert counts.events_in == len(GOOD) + len(BAD)
    assert asdict(counts) | {"events_in": 0} == {
        "events_in": 0, "events_matched": 3, "events_unmatched": 3, "events_rejected": len(BAD), "pairs": 3,
        "subscriptions_in": 5, "subscriptions_used": 2, "subscriptions_rejected": 3,
    }  # fmt: skip
    assert result.matched.count() == (counts.pairs if output == "pairs" else len(GOOD))
    assert result.rejected.count() == counts.events_rejected + counts.subscriptions_rejected
    assert {row["input"] for row in result.rejected.collect()} == {"events", "subscriptions"}


@pytest.mark.cluster
def test_saving_writes_both_tables_and_counts_on_the_way(spark, lines, subscriptions, tmp_path):
    result = ss.match_with_rejects(ss.read_events(lines, schema=SCHEMA), subscriptions)
    counts = result.save(str(tmp_path / "out"), rejected=str(tmp_path / "rejected"))
    check_sums(counts)
    assert counts == result.counts()
    assert spark.read.parquet(str(tmp_path / "out")).count() == counts.pairs
    assert spark.read.json(str(tmp_path / "rejected")).count() == counts.events_rejected + counts.subscriptions_rejected


def test_nothing_is_written_for_rejects_where_there_are_none(spark, tmp_path):
    events = spark.createDataFrame([(1,), (2,)], "a long")
    result = ss.match_with_rejects(events, spark.createDataFrame([("x", "a = 1")], "id string, filter string"))
    counts = result.save(str(tmp_path / "out"), rejected=str(tmp_path / "rejected"))
    assert (counts.events_matched, counts.events_unmatched) == (1, 1)
    assert not (tmp_path / "rejected").exists()


@pytest.mark.parametrize("empty", ["filtered", "local"])
def test_counts_of_nothing_are_zero(spark, subscriptions, empty):
    some = spark.createDataFrame([(1.0,)], "price double")
    events = some.where("price > 5") if empty == "filtered" else spark.createDataFrame([], some.schema)
    counts = ss.match_with_rejects(events, subscriptions).counts()
    check_sums(counts)
    assert (counts.events_in, counts.pairs, counts.subscriptions_in) == (0, 0, 5)


def test_a_bad_subscription_stops_match_which_cannot_give_it_back(spark, subscriptions):
    events = spark.createDataFrame([(1.0, None)], "price double, n struct<x: long>")
    with pytest.raises(DataError, match=r"3 of 5 subscriptions cannot be used(.|\n)*match_with_rejects"):
        ss.match(events, subscriptions)


def test_subscriptions_that_cannot_be_read_are_counted_with_those_that_cannot_be_used(spark, tmp_path):
    path = tmp_path / "subscriptions.jsonl"
    path.write_text('{"id":"a","filter":"x = 1"}\n{"id":"b"\n{"id":"c","filter":"x ="}\n{"filter":"x = 1"}\n')
    events = spark.createDataFrame([(1,)], "x long")
    result = ss.match_with_rejects(events, ss.read_subscriptions(str(path)))
    counts = result.counts()
    check_sums(counts)
    assert (counts.subscriptions_in, counts.subscriptions_used, counts.pairs) == (4, 1, 1)
    assert sorted(row["code"] for row in result.rejected_subscriptions.collect()) == [
        "filter-syntax", "subscription", "subscription",
    ]  # fmt: skip


def test_csv_is_read_by_the_names_of_its_header(spark, tmp_path):
    path = tmp_path / "events.csv"
    path.write_text('price,extra,symbol\n1,e,IBM\nx,e,ACME\n2,e\n3,e,"a,b"\n5,b,c,d\n,,\n')
    intake = ss.read_events(str(path), schema=Schema(SCHEMA.attributes[:2]))
    assert sorted((row["symbol"], row["price"]) for row in intake.good.where("price > 0").collect()) == [
        ("IBM", 1.0),
        ("a,b", 3.0),
    ]
    assert intake.good.count() == 3
    assert letters(intake.rejected) == {
        "x,e,ACME": "column 'price' holds 'x', which is not a double",
        "2,e": "has 2 cells, but the header names 3 columns",
        "5,b,c,d": "has 4 cells, but the header names 3 columns",
    }


def test_csv_has_its_quotes_doubled(spark, tmp_path):
    path = tmp_path / "events.csv"
    path.write_text('symbol,price\n"say ""hi"", now",1\n"back\\slash",2\n"""",3\n')
    for schema in (Schema(SCHEMA.attributes[:2]), None):
        intake = ss.read_events(str(path), schema=schema)
        assert {row["symbol"] for row in intake.good.collect()} == {'say "hi", now', "back\\slash", '"'}
        assert intake.rejected.count() == 0


def test_csv_files_of_one_folder_have_one_header(spark, tmp_path):
    folder = tmp_path / "events.csv"
    folder.mkdir()
    (folder / "1.csv").write_text("a,b\n1,2\n")
    (folder / "2.csv").write_text('\ufeff"a",b\n3,4\n', encoding="utf-8")
    assert sorted(map(tuple, ss.read_events(folder).good.collect())) == [(1, 2), (3, 4)]
    (folder / "3.csv").write_text("b,a\n5,6\n")
    with pytest.raises(DataError, match=r"3\.csv has the columns b, a, but .*1\.csv has a, b"):
        ss.read_events(folder)


@pytest.mark.parametrize("schema", ["a string", None])
@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_bytes_that_are_no_text_make_a_dead_letter_and_can_be_seen_in_it(spark, tmp_path, suffix, schema):
    path = tmp_path / f"events.{suffix}"
    lines = {"jsonl": [b'{"a":"ok"}', b'{"a":"x\xff"}', b'{"a":\xff}'], "csv": [b"a,n", b"ok,1", b"x\xff,2", b"\xff"]}
    path.write_bytes(b"\n".join(lines[suffix]))
    result = ss.match_with_rejects(
        ss.read_events(path, schema=schema), spark.createDataFrame([("all", "TRUE")], "id string, filter string")
    )
    assert [row["a"] for row in result.matched.collect()] == ["ok"]
    found = [(row["reason"], row["source"]) for row in result.rejected.collect()]
    assert found == [
        (f"not valid UTF-8 (byte 0xff at {line.index(0xFF) + 1})", line.decode("utf-8", "backslashreplace"))
        for line in lines[suffix][-2:]
    ]
    assert result.counts().events_rejected == 2


def test_subscriptions_whose_texts_cannot_be_read_are_set_aside(spark):
    rows = "(X'78', X'61203d203127ff27'), (X'ff', X'61203d31'), (X'79', X'61203d31')"
    offered = spark.sql(f"SELECT string(id) AS id, string(filter) AS filter FROM VALUES {rows} AS t(id, filter)")
    result = ss.match_with_rejects(spark.createDataFrame([(1,)], "a int"), offered)
    assert [row["subscription_id"] for row in result.matched.collect()] == ["y"]
    found = {row["source"]: row["reason"] for row in result.rejected.collect()}
    assert found.keys() == {r"""{"id":"x","filter":"a = 1'\\xff'"}""", r'{"id":"\\xff","filter":"a =1"}'}
    assert set(found.values()) == {"not valid UTF-8"}


def test_a_table_of_events_whose_texts_cannot_be_read_says_so(spark):
    events = spark.sql("SELECT CAST(X'ff41' AS string) AS s, 1 AS n")
    everyone = spark.createDataFrame([("a", "s = 'ok'")], "id string, filter string")
    history = ss.match_history(events, everyone, order_by="n")
    for found in (ss.match(events, everyone), ss.match_counts(events, everyone), history):
        with pytest.raises(PySparkException, match=r"not valid UTF-8 .*make_valid_utf8"):
            found.collect()


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_columns_that_the_schema_does_not_have_come_along(spark, tmp_path, format):
    path = tmp_path / f"events.{format}"
    if format == "parquet":
        spark.sql("SELECT 7 AS event_id, 'IBM' AS symbol, named_struct('x', 1L, 'y', 2L) AS n").write.parquet(str(path))
    else:
        path.write_text(
            {"jsonl": '{"event_id":7,"symbol":"IBM","n":{"x":1,"y":2}}', "csv": "event_id,symbol\n7,IBM"}[format]
        )
    (row,) = ss.read_events(path, schema=SCHEMA).good.collect()
    assert (str(row["event_id"]), row["symbol"]) == ("7", "IBM")
    assert format == "csv" or row["n"].asDict() == {"x": 1, "y": 2}


def test_events_without_any_columns_are_refused(spark, tmp_path):
    (tmp_path / "events.jsonl").write_text("{}\n{}\n")
    everyone = spark.createDataFrame([("a", "s = 'ok'")], "id string, filter string")
    with pytest.raises(DataError, match="no columns"):
        ss.match_with_rejects(ss.read_events(tmp_path / "events.jsonl"), everyone)


def test_types_are_guessed_where_there_is_no_schema(spark, tmp_path):
    (tmp_path / "events.jsonl").write_text('{"a":1,"b":{"c":"x"}}\n{"a":2\n{"a":3}\n')
    intake = ss.read_events(str(tmp_path / "events.jsonl"))
    assert intake.good.schema.simpleString() == "struct<a:bigint,b:struct<c:string>>"
    assert letters(intake.rejected).keys() == {'{"a":2'}
    (tmp_path / "events.csv").write_text("a,b\n1,x\n2,y\n")
    assert ss.read_events(str(tmp_path / "events.csv")).good.schema.simpleString() == "struct<a:int,b:string>"


def test_json_in_a_column_is_parsed_with_nulls_and_blanks_refused(spark):
    texts = spark.createDataFrame([('{"a":1}',), (None,), ("",), ("{",)], "body string")
    intake = ss.parse_events(texts, "a long", column="body")
    assert [row["a"] for row in intake.good.collect()] == [1]
    assert intake.rejected.count() == 3
    counts = ss.match_with_rejects(
        intake, spark.createDataFrame([("x", "a IS NULL")], "id string, filter string")
    ).counts()
    check_sums(counts)
    assert (counts.events_in, counts.events_matched, counts.events_rejected) == (4, 0, 3)


def test_rows_spark_has_marked_as_corrupt_are_split_off(spark, tmp_path):
    (tmp_path / "events.jsonl").write_text('{"a":1}\n{"a"\n')
    rows = spark.read.schema("a long, _corrupt_record string").json(str(tmp_path / "events.jsonl"))
    intake = ss.split_corrupt(rows)
    assert (intake.good.count(), intake.rejected.count()) == (1, 1)
    assert letters(intake.rejected).keys() == {'{"a"'}


def test_a_name_that_says_no_format_is_refused(spark, tmp_path):
    with pytest.raises(DataError, match="does not say the format"):
        ss.read_events(str(tmp_path / "events.xyz"))
    with pytest.raises(DataError, match="no column 'body'"):
        ss.parse_events(spark.createDataFrame([("x",)], "value string"), "a long", column="body")
