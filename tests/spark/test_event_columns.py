"""Filters are checked against the columns of the events, everywhere, and Python is shown only what they name."""

import json

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from siftcast import Attribute, Filter, Matcher, Schema
from siftcast import spark as ss
from siftcast.interfaces.cli.outcome import OK, REJECTED
from siftcast.interfaces.cli.spark_match import match as match_command
from siftcast.model import Columns, DataError, FilterTypeError
from siftcast.spark.changelog import Change
from siftcast.spark.filter_check import FilterCheck
from siftcast.spark.stream_standing import StandingSubscriptions

TABLE = "id string, filter string"
MISTYPED = ("typo", "prise < 95")
IMPOSSIBLE = ("quoted", "price < '95'")
GOOD = ("cheap", "price < 95 AND n.x IS NOT NULL")


@pytest.fixture(scope="module")
def events(spark):
    rows = [("IBM", 88.0, (1, "a"), b"1"), ("ACME", 412.5, None, None)]
    return spark.createDataFrame(rows, "symbol string, price double, n struct<x: long, y: string>, raw binary")


@pytest.fixture(scope="module")
def some_bad(spark):
    return spark.createDataFrame([GOOD, MISTYPED, IMPOSSIBLE], TABLE)


@pytest.fixture(scope="module")
def stored(events, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("events") / "table")
    events.write.parquet(path)
    return events.sparkSession.read.parquet(path)


def test_a_schema_of_a_table_of_spark_has_its_columns(events):
    expected = Schema(
        [
            Attribute("symbol", "string"),
            Attribute("price", "float"),
            Attribute("n.x", "int"),
            Attribute("n.y", "string"),
        ]
    )
    assert Schema.of(events) == Schema.of(events.schema) == expected
    wide = StructType.fromDDL("d decimal(9,2), at timestamp_ntz, day date, v varchar(3), m map<string,int>, i int")
    types = {attribute.name: attribute.type for attribute in Schema.of(wide)}
    assert types == {"d": "float", "at": "timestamp", "day": "timestamp", "v": "string", "i": "int"}


@pytest.mark.parametrize(
    "use",
    [
        ss.match,
        ss.match_counts,
        pytest.param(lambda events, rules: ss.match_sharded(events, rules, shards=2), marks=pytest.mark.full),
        lambda events, rules: ss.match_history(events, rules, order_by="price"),
        lambda events, rules: ss.cluster(events, rules, 2, order_by="price"),
    ],
    ids=["match", "counts", "sharded", "history", "cluster"],
)
def test_a_mistyped_column_and_a_comparison_that_never_holds_are_named(events, some_bad, use):
    with pytest.raises(DataError) as caught:
        use(events, some_bad)
    message = str(caught.value)
    assert "2 of 3 subscriptions cannot be used" in message
    assert "the events have no column 'prise'; did you mean 'price'?" in message
    assert "'price' is of type double, which does not compare with a string" in message


def test_such_subscriptions_are_rejected_like_other_bad_ones(events, some_bad):
    result = ss.match_with_rejects(events, some_bad)
    assert [(row["code"], json.loads(row["source"])["id"]) for row in result.rejected.collect()] == [
        ("filter-type", "typo"),
        ("filter-type", "quoted"),
    ]
    assert [row["subscription_id"] for row in result.matched.collect()] == ["cheap"]


def test_who_means_it_says_so(events, some_bad):
    lists = ss.match(events, some_bad, "lists", strict=False)
    assert sorted(row["matched"] for row in lists.collect()) == [[], ["cheap"]]


def test_subscriptions_compiled_before_are_checked_when_they_meet_events(events, some_bad):
    compiled = ss.compile_subscriptions(some_bad)
    assert compiled.used == 3
    with pytest.raises(DataError, match=r"do not fit these events:(.|\n)*did you mean 'price'(.|\n)*strict=False"):
        ss.match(events, compiled)
    assert ss.match(events, compiled, strict=False).count() == 1
    assert ss.compile_subscriptions(some_bad, events=events).used == 1


@pytest.mark.parametrize(
    ("lenient", "outcome", "pairs"), [(False, REJECTED, 1), pytest.param(True, OK, 2, marks=pytest.mark.full)]
)
def test_the_command_rejects_them_unless_told_to_be_lenient(tmp_path, capsys, lenient, outcome, pairs):
    (tmp_path / "events.jsonl").write_text('{"a":1}\n')
    (tmp_path / "subscriptions.csv").write_text("id,filter\none,a = 1\ntypo,b IS NULL\n")
    options = {"events": str(tmp_path / "events.jsonl"), "subscriptions": str(tmp_path / "subscriptions.csv")}
    assert match_command(**options, output=str(tmp_path / "pairs"), json=True, lenient=lenient) == outcome
    assert json.loads(capsys.readouterr().out)["pairs"] == pairs


# -- plans -------------------------------------------------------------------------------------------


def plan_of(frame):
    return frame._jdf.queryExecution().executedPlan().toString()


@pytest.mark.embedded
@pytest.mark.parametrize("form", ["pairs", "lists", "counts"])
def test_only_what_is_asked_for_is_read_and_filters_go_below_matching(spark, stored, form):
    rules = spark.createDataFrame([("one", "price < 95"), ("inside", "n.x = 1")], TABLE)
    found = ss.match_counts(stored, rules) if form == "counts" else ss.match(stored, rules, form)
    result = found.columns[-1]
    plan = plan_of(found.select("price", result).where("symbol = 'IBM'"))
    assert "ReadSchema: struct<symbol:string,price:double,n:struct<x:bigint>>" in plan
    assert "EqualTo(symbol,IBM)" in plan.split("PushedFilters: ")[1]
    assert plan.index("ArrowEvalPython") < plan.index("Filter (isnotnull(symbol")  # a plan is written from its end


@pytest.mark.embedded
def test_a_filter_on_the_result_has_nothing_computed_twice(spark, stored):
    rules = spark.createDataFrame([GOOD], TABLE)
    for frame in (
        ss.match(stored, rules, "lists").where(f.size("matched") > 0).where("price > 1"),
        ss.match(stored, rules).where("subscription_id = 'cheap'"),
        ss.match_counts(stored, rules).where("matched_count > 0"),
    ):
        assert plan_of(frame).count("ArrowEvalPython") == 1
        assert frame.count() == 1


def test_columns_that_python_cannot_take_come_through(spark):
    """An interval of months has no form in Arrow; nobody asks for it, or only whether it is there."""
    odd = spark.sql("SELECT 1L AS a, INTERVAL '2' MONTH AS m, named_struct('x', 1L, 'X', 2L) AS n, NULL AS nothing")
    rules = [("a", "a = 1"), ("there", "m IS NOT NULL"), ("both", "n.x = 1 AND n.X = 2"), ("null", "nothing IS NULL")]
    lists = ss.match(odd, spark.createDataFrame(rules, TABLE), "lists")
    row = lists.select("matched", f.col("m").cast("string")).first()
    assert (sorted(row[0]), row[1]) == (["a", "both", "null", "there"], "INTERVAL '2' MONTH")


# -- dots in backquotes ------------------------------------------------------------------------------

BERN = "named_struct('city', IF(id < 2, 'Bern', NULL), 'p', named_struct('x', id), 'q.r', 1L, 'zip', 3L)"
STRUCT = f"IF(id = 0, NULL, {BERN}) AS o"
DOTTED = [
    "o.city = 'Bern'",
    "o.city IS NULL",
    "o IS NULL",
    "o.zip = 3",
    "o.p.x = 1",
    "o.p IS NULL",
    "o.`q.r` = 1",
]
QUOTED = ["`o.city` = 'Bern'", "`o.city` IS NULL", "`o.p.x` IS NULL", "`o.p`.x IS NULL", "o.q.r IS NULL"]


@pytest.mark.parametrize(
    ("columns", "refused"),
    [
        ([STRUCT], QUOTED),
        (["IF(id < 2, 'Bern', NULL) AS `o.city`"], [*DOTTED[2:], *QUOTED[2:]]),
        ([STRUCT, "IF(id > 0, 'Bern', NULL) AS `o.city`"], QUOTED[2:]),
        ([STRUCT, "NULL AS `o.city`"], QUOTED[2:]),
    ],
    ids=["nested", "flat", "both", "hidden"],
)
def test_a_dot_in_backquotes_reaches_into_no_struct(spark, columns, refused):
    events = spark.range(3).selectExpr(*columns).coalesce(1)
    rules = spark.createDataFrame([(text, text) for text in DOTTED + QUOTED], TABLE)
    oracle = Matcher()
    for text in DOTTED + QUOTED:
        oracle.add(text, text)
    expected = [sorted(oracle.match(row.asDict(recursive=True))) for row in events.collect()]
    lenient = ss.match(events, rules, "lists", strict=False)
    assert [sorted(row["matched"]) for row in lenient.collect()] == expected

    strict = ss.match_with_rejects(events, rules, "lists")
    assert [json.loads(row["source"])["id"] for row in strict.rejected.collect()] == refused
    kept = [[text for text in ids if text not in refused] for ids in expected]
    assert [sorted(row["matched"]) for row in strict.matched.collect()] == kept


def test_a_dot_in_backquotes_is_refused_with_what_to_write(events):
    for text in ("`n.x` = 1", "`n.x` IS NULL"):
        for check in (FilterCheck(None, Columns.of(events)), FilterCheck(Schema.of(events))):
            with pytest.raises(FilterTypeError, match=r"no \w+ 'n\.x'; write n\.x for the field inside the struct"):
                check(Filter.parse(text))


@pytest.mark.embedded
def test_a_struct_that_travels_has_only_the_fields_that_filters_name(spark, stored):
    rules = spark.createDataFrame([("inside", "n.x = 1"), ("flat", "`n.x` IS NULL")], TABLE)
    found = ss.match(stored, rules, strict=False)
    assert "ReadSchema: struct<n:struct<x:bigint>>" in plan_of(found.select("subscription_id"))
    pairs = sorted(map(tuple, found.select("symbol", "subscription_id").collect()))
    assert pairs == [("ACME", "flat"), ("IBM", "flat"), ("IBM", "inside")]


# -- in SQL ------------------------------------------------------------------------------------------


def test_matching_has_a_name_in_sql(spark, events):
    rules = spark.createDataFrame([GOOD, ("acme", "symbol LIKE 'AC%'")], TABLE)
    function = ss.register(spark, "my_rules", rules)
    ss.register(spark, "my_rule_count", rules, "counts")
    events.createOrReplaceTempView("quotes")
    query = "SELECT symbol, explode(my_rules(struct(*))), my_rule_count(struct(symbol, price, n)) FROM quotes"
    assert sorted(map(tuple, spark.sql(query).collect())) == [("ACME", "acme", 1), ("IBM", "cheap", 1)]
    assert events.select(function(f.struct("*"))).schema[0].dataType.simpleString() == "array<string>"


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        ("struct(price, n)", r"my_rules\(\): the events have no column 'symbol'"),
        ("price", r"my_rules\(\) takes one struct of columns"),
    ],
)
def test_a_function_in_sql_says_what_it_lacks(spark, events, argument, reason):
    ss.register(spark, "my_rules", spark.createDataFrame([("acme", "symbol LIKE 'AC%'")], TABLE))
    with pytest.raises(Exception, match=reason):
        events.selectExpr(f"my_rules({argument})").collect()


def test_only_forms_that_there_are_can_be_registered(spark, some_bad):
    with pytest.raises(DataError, match="'lists' or 'counts'"):
        ss.register(spark, "my_rules", some_bad, "pairs")


@pytest.mark.parametrize("name", ["a b", "", "a.b", "1a", "größe", None, 5])
def test_a_function_has_a_name_that_sql_can_read(spark, some_bad, name):
    with pytest.raises(DataError, match="letters, digits and underscores, not "):
        ss.register(spark, name, some_bad)


@pytest.mark.parametrize("name", ["count", "Array", "current_user"])
def test_a_function_takes_no_name_under_which_spark_would_answer_itself(spark, some_bad, name):
    with pytest.raises(DataError, match=rf"Spark has a function {name}\(\) of its own"):
        ss.register(spark, name, some_bad)


@pytest.mark.parametrize("session", [None, "local", SparkSession])
def test_a_function_is_registered_with_a_session(some_bad, session):
    with pytest.raises(ss.SparkError, match="needs a Spark session"):
        ss.register(session, "my_rules", some_bad)


# -- streams -----------------------------------------------------------------------------------------


def test_a_change_that_asks_for_no_column_is_refused(spark, events):
    check = FilterCheck(None, Columns.of(events))
    standing = StandingSubscriptions(spark, None, "auto", check)
    lot = standing.take([Change("add", id, text, None, 1, id) for id, text in (GOOD, MISTYPED)], {}, -1)
    assert [change.id for change in lot.made] == ["cheap"]
    assert [(letter.code, letter.source) for letter in lot.refused] == [("filter-type", "typo")]


@pytest.mark.full
def test_a_change_that_does_not_fit_the_stream_is_a_dead_letter(events, folders):
    events.drop("raw").write.mode("append").json(str(folders.events))
    folders.change("1.jsonl", *(("add", id, text, 1) for id, text in (GOOD, MISTYPED)))
    columns = "symbol string, price double, n struct<x: long, y: string>"
    folders.run(ss.read_event_stream(folders.events, columns))
    assert [row["subscription_id"] for row in ss.read_matches(folders.output).collect()] == ["cheap"]
    (letter,) = ss.read_dead_letters(folders.output).collect()
    assert letter["reason"] == "the events have no column 'prise'; did you mean 'price'?"
