"""`ss.match_sharded`: the same answer as `ss.match`, whatever the cut."""

import random
from dataclasses import replace

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as f

from siftcast import spark as ss
from siftcast.model import ArgumentError, DataError
from siftcast.model.values import Kind
from siftcast.space.shard_axes import ShardAxis
from siftcast.space.shard_plan import ShardPlan
from siftcast.spark import shard_matching
from siftcast.spark.shard_events import float_at_least
from tests.spark.oracle_filters import make_events, make_filters

TABLE = "id string, filter string"
EVENTS, FILTERS = 200, 160


def full(*axes):
    """A cut that only `make test-full` tries."""
    return pytest.param(axes, marks=pytest.mark.full)


@pytest.fixture(scope="module")
def events(spark):
    made = make_events(random.Random(11), EVENTS)
    return spark.createDataFrame(made).withColumn("day", f.to_date("t")).repartition(3).cache()


@pytest.fixture(scope="module")
def subscriptions(spark):
    texts = make_filters(random.Random(12), FILTERS)
    days = ["day < TIMESTAMP '2024-05-01'", "day = TIMESTAMP '2024-05-01'"]
    return spark.createDataFrame([(f"s{number}", text) for number, text in enumerate([*texts, *days])], TABLE).cache()


@pytest.fixture(scope="module")
def expected(events, subscriptions):
    return lists_of(ss.match(events, subscriptions, "lists"))


def lists_of(frame):
    return sorted((row["row"], sorted(row["matched"])) for row in frame.collect())


def pairs_of(frame):
    return sorted((row["row"], row["subscription_id"]) for row in frame.collect())


def plan_of(*axes, asked=3):
    zones = sum(map(len, axes)) + 1
    return ShardPlan(axes, asked, (1,) * zones, (1.0,) * zones, total=zones)


def test_the_chosen_plan_gives_what_match_gives(events, subscriptions, expected):
    plan = ss.shard_plan(events, subscriptions, shards=5)
    assert plan.total == FILTERS + 2
    assert plan.explain().startswith(f"{plan.shards} shards for {FILTERS + 2} subscriptions")
    lists = ss.match_sharded(events, subscriptions, "lists", plan=plan)
    assert lists.schema == ss.match(events, subscriptions, "lists").schema
    assert lists_of(lists) == expected
    assert pairs_of(ss.match_sharded(events, subscriptions, shards=5)) == [
        (row, id) for row, ids in expected for id in ids
    ]


@pytest.mark.parametrize(
    "axes",
    [
        (ShardAxis("s", Kind.STRING, ("", "ab", "b", "日本")),),
        full(ShardAxis("x", Kind.NUMBER, (-2.5, 0.0, 0.5, 2))),
        (ShardAxis("i", Kind.NUMBER, (-(2**70), -(2**53) - 1, 0.5, 2**53 + 1, 1e300)),),
        (ShardAxis("y", Kind.NUMBER, (0, 1.5)), ShardAxis("b", Kind.BOOLEAN, (1,))),
        (ShardAxis("n.x", Kind.NUMBER, (0, 1, 2)), ShardAxis("n.s", Kind.STRING, ("a",))),
        full(ShardAxis("t", Kind.TIMESTAMP, (0, 1_714_521_600_000_001))),
        (ShardAxis("day", Kind.TIMESTAMP, (1_714_521_600_000_000,)),),
        full(ShardAxis("nowhere", Kind.NUMBER, (1,)), ShardAxis("s", Kind.NUMBER, (1,))),
    ],
    ids=lambda axes: "+".join(axis.attribute for axis in axes),
)
def test_any_cut_gives_what_match_gives(events, subscriptions, expected, axes):
    lists = ss.match_sharded(events, subscriptions, "lists", plan=plan_of(*axes))
    assert lists_of(lists) == expected


@pytest.mark.cluster
def test_replicated_subscriptions_are_reported_once(spark):
    """A filter kept in three zones, two events in one of them, and the same event twice in the table."""
    axis = ShardAxis("price", Kind.NUMBER, (10, 20, 30))
    rows = [(5.0,), (15.0,), (15.0,), (25.0,), (99.0,), (None,), (float("nan"),), (-0.0,)]
    prices = spark.createDataFrame(rows, "price double")
    wide = spark.createDataFrame([("w", "price < 30"), ("zero", "price = 0"), ("any", "price IS NULL")], TABLE)
    for plan in (plan_of(axis), plan_of(ShardAxis("price", Kind.NUMBER, (0.0, 10)))):
        pairs = ss.match_sharded(prices, wide, plan=plan)
        found = sorted((str(row["price"]), row["subscription_id"]) for row in pairs.collect())
        assert found == [
            ("-0.0", "w"), ("-0.0", "zero"), ("15.0", "w"), ("15.0", "w"), ("25.0", "w"), ("5.0", "w"), ("None", "any"),
        ]  # fmt: skip


def test_an_event_that_goes_to_no_shard_still_has_its_empty_list(spark):
    prices = spark.createDataFrame([(1, 5.0), (2, None), (3, 50.0)], "row long, price double")
    narrow = spark.createDataFrame([("a", "price = 5"), ("b", "price = 6")], TABLE)
    plan = plan_of(ShardAxis("price", Kind.NUMBER, (10,)))
    assert lists_of(ss.match_sharded(prices, narrow, "lists", plan=plan)) == [(1, ["a"]), (2, []), (3, [])]
    assert pairs_of(ss.match_sharded(prices, narrow, plan=plan)) == [(1, "a")]


def test_no_events_and_no_subscriptions_give_empty_tables(spark, events, subscriptions):
    nobody = spark.createDataFrame([], TABLE)
    assert ss.match_sharded(events, nobody).count() == 0
    assert [row["matched"] for row in ss.match_sharded(events, nobody, "lists").collect()] == [[]] * EVENTS
    assert ss.match_sharded(events.where("false"), subscriptions, "lists", shards=2).count() == 0


def test_columns_whose_names_are_ours_or_need_quoting_come_through(spark):
    text = "1L AS `a.b`, 'q' AS event, 2L AS row, 3L AS run, 4 AS shard, map('k', 2L) AS main, X'00' AS side, 5 AS c0"
    odd = spark.sql(f"SELECT {text}")
    filters = [
        ("flat", "a.b = 1"),
        ("own", "event = 'q' AND row = 2"),
        ("no", "side IS NULL"),
        ("c", "c0 = 5"),
    ]
    lists = ss.match_sharded(odd, spark.createDataFrame(filters, TABLE), "lists", shards=3)
    assert lists.drop("matched").collect() == odd.collect()
    assert sorted(lists.first()["matched"]) == ["c", "flat", "own"]


def test_bad_subscriptions_are_refused_with_their_reasons(spark, events):
    rows = [("a", "i = 1"), ("b", "i ="), (None, "i = 2"), ("c", None), ("a", "i = 3"), ("d", "TRUE")]
    with pytest.raises(DataError) as caught:
        ss.match_sharded(events, spark.createDataFrame(rows, TABLE), shards=2)
    message = str(caught.value)
    assert "4 of 6 subscriptions cannot be used" in message
    assert '"id":"b"' in message
    assert "and 1 more" in message
    twice = spark.createDataFrame([("a", "i = 1"), ("a", "i = 2")], TABLE)
    with pytest.raises(DataError, match="the id 'a' is taken"):
        ss.match_sharded(events, twice)
    with pytest.raises(DataError, match="2 of 2 subscriptions"):
        ss.match_sharded(events, spark.createDataFrame([("a", "i ="), ("a", "i =")], TABLE))
    unreadable = spark.sql("SELECT 'a' AS id, CAST(X'69203d203127ff27' AS string) AS filter")
    with pytest.raises(DataError, match=r"1 of 1 (.|\n)*not valid UTF-8"):
        ss.match_sharded(events, unreadable)
    with pytest.raises(DataError, match="need one column 'filter'"):
        ss.shard_plan(events, twice.drop("filter"))
    with pytest.raises(DataError, match="at least one shard"):
        ss.shard_plan(events, twice, shards=0)


@pytest.mark.parametrize("shards", [1.5, "x", True, float("nan")])
def test_a_number_of_shards_is_whole(events, subscriptions, shards):
    with pytest.raises(ArgumentError, match=r"shards must be a whole number, not"):
        ss.match_sharded(events, subscriptions, shards=shards)


def test_a_plan_is_a_plan_and_says_how_many_shards_there_are(events, subscriptions):
    with pytest.raises(ArgumentError, match=r"plan must be a plan, as shard_plan\(\) makes it, not str"):
        ss.match_sharded(events, subscriptions, plan="x")
    with pytest.raises(ArgumentError, match="leave one out"):
        ss.match_sharded(events, subscriptions, plan=plan_of(), shards=3)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"dealt": (2, 2)}, "'dealt' for each of its zones"),
        ({"dealt": (1.5,)}, "'dealt' of a plan must be a whole number, not 1.5"),
        ({"replicas": (1.5,)}, "'replicas' of a plan must be a whole number"),
        ({"replicas": ("x",)}, "must be a whole number, not 'x'"),
        ({"replicas": (True,)}, "must be a whole number, not True"),
        ({"replicas": (10**6,)}, "make 1,000,000 partitions"),
        ({"asked": 1.5}, "'asked' of a plan"),
        ({"event_shares": ()}, "'event_shares' for each"),
    ],
)
def test_a_plan_that_does_not_fit_is_refused_before_anything_runs(events, subscriptions, monkeypatch, changes, reason):
    monkeypatch.setattr(shard_matching, "measured", lambda *_: pytest.fail("a job was started"))
    with pytest.raises(DataError, match=reason):
        ss.match_sharded(events, subscriptions, plan=replace(plan_of(), **changes))


def test_a_column_of_another_name_and_ids_of_another_type(spark, events):
    numbered = spark.createDataFrame(
        [(7, "row < 2", "sql"), (8, "row = 1", None)], "n int, rule string, dialect string"
    )
    found = ss.match_sharded(events, numbered, id_column="n", filter_column="rule")
    assert pairs_of(found) == [(0, "7"), (1, "7"), (1, "8")]


def test_matches_of_two_runs_of_a_task_are_never_joined(spark):
    """The copy that carries the event is missing, as when a task ran again between the copies: the query fails."""
    from siftcast.spark.shard_matching import _merge

    parts = "row long, run long, event struct<c0: long>, ids array<string>"
    whole = spark.createDataFrame([(1, 5, (7,), ["a"]), (1, 5, None, ["b"])], parts)
    assert [(row["c0"], sorted(row["ids"])) for row in _merge(whole).collect()] == [(7, ["a", "b"])]
    torn = spark.createDataFrame([(1, 5, (7,), ["a"]), (1, 6, None, ["b"])], parts)
    with pytest.raises(PySparkException, match="run the query again"):
        _merge(torn).select("ids").collect()


def test_cuts_between_doubles_keep_their_side():
    assert float_at_least(5) == 5.0
    assert float_at_least(2**53 + 1) == 2.0**53 + 2
    assert float_at_least(10**400) == float("inf")
