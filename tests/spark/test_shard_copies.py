"""`ss.match_sharded` with copies of shards and chosen parts: the same answer as `ss.match`."""

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import functions as f

from siftcast import spark as ss
from siftcast.model import DataError
from siftcast.model.values import Kind
from siftcast.space.hash_axis import HashAxis
from siftcast.space.shard_axes import ShardAxis
from siftcast.space.shard_plan import ShardPlan
from siftcast.spark.places import placed
from siftcast.spark.shard_events import event_shards
from siftcast.spark.shard_layout import ShardLayout, dealing_number

TABLE = "id string, filter string"
CUT = ShardAxis("symbol", Kind.STRING, ("B", "M"))
SYMBOLS = ["AAA", "B", "IBM", "ÅÄÖ", "日本", "😀", "", "ZZ"]


@pytest.fixture(scope="module")
def events(spark):
    """Most of them about one symbol, some without any, in the order of their rows."""
    rng = random.Random(7)
    rows = [(row, rng.choice([None, *SYMBOLS] + 16 * ["IBM"]), rng.randrange(100)) for row in range(300)]
    made = spark.createDataFrame(rows, "row long, symbol string, price long")
    return made.withColumn("tags", f.create_map(f.lit("k"), "price")).repartition(3).cache()


@pytest.fixture(scope="module")
def subscriptions(spark):
    rng = random.Random(8)
    texts = [f"symbol = '{rng.choice(SYMBOLS)}' AND price < {rng.randrange(100)}" for _ in range(60)]
    texts += [f"symbol IN ('IBM', '日本') AND price > {rng.randrange(100)}" for _ in range(15)]
    texts += [f"price = {price}" for price in range(15)] + ["symbol >= 'M'", "symbol IS NULL", "TRUE"]
    return spark.createDataFrame([(f"s{number}", text) for number, text in enumerate(texts)], TABLE).cache()


@pytest.fixture(scope="module")
def expected(events, subscriptions):
    return lists_of(ss.match(events, subscriptions, "lists"))


def lists_of(frame):
    return sorted((row["row"], sorted(row["matched"])) for row in frame.collect())


def plan_of(axis, dealt=(), replicas=()):
    zones = len(axis) + 1
    return ShardPlan((axis,), 3, (1,) * zones, (1.0,) * zones, total=zones, dealt=dealt, replicas=replicas)


@pytest.mark.cluster
@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(plan_of(CUT, replicas=(1, 3, 1, 2)), marks=pytest.mark.full),
        pytest.param(plan_of(CUT, dealt=(2, 3, 1, 2), replicas=(2, 3, 1, 2)), marks=pytest.mark.full),
        plan_of(HashAxis("symbol", Kind.STRING, 3), dealt=(1, 2, 2, 1), replicas=(1, 2, 3, 2)),
    ],
    ids=["copies", "parts and copies", "hashed"],
)
def test_copies_and_parts_give_what_match_gives(events, subscriptions, expected, plan):
    lists = ss.match_sharded(events, subscriptions, "lists", plan=plan)
    assert lists_of(lists) == expected
    pairs = ss.match_sharded(events, subscriptions, plan=plan)
    assert sorted((row["row"], row["subscription_id"]) for row in pairs.collect()) == sorted(
        (row, id) for row, ids in expected for id in ids
    )


def test_the_copy_of_an_event_follows_from_its_content_and_not_from_the_order_of_rows(spark, events):
    """As when a task runs again and its rows come in another order: pairs would be lost and doubled otherwise."""
    plan = plan_of(CUT, dealt=(1, 2, 1, 1), replicas=(1, 4, 1, 2))
    layout = ShardLayout.of(plan)

    def partitions(rows):
        sent = placed(rows).withColumn("deal", dealing_number(rows.schema))
        sent = sent.select(f.col("c0").alias("row"), event_shards(rows.schema, plan, layout, f.col("deal")).alias("to"))
        return {row["row"]: tuple(row["to"]) for row in sent.collect()}

    forth = partitions(events.sortWithinPartitions("row"))
    assert partitions(events.sortWithinPartitions(f.desc("row"))) == forth
    hot = layout.zones[1]
    loads = [sum(to[:2] == parts for to in forth.values()) for parts in hot]
    assert sum(loads) > 200
    assert max(loads) < 1.5 * sum(loads) / len(hot)


@pytest.mark.full
@pytest.mark.embedded
def test_tasks_that_run_again_neither_lose_nor_double_a_pair(tmp_path):
    command = [sys.executable, "-m", "tests.spark.retried_shards", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr[-2_000:]
    assert done.stdout == "1714 pairs, 2 failures\n"


def test_hashed_zones_are_where_the_axis_says(spark):
    axis = HashAxis("symbol", Kind.STRING, 5)
    plan = plan_of(axis, dealt=(1,) * 6)
    rng = random.Random(2)
    texts = SYMBOLS + [
        "".join(chr(rng.choice([rng.randrange(1, 128), 0x1F600, 0xE9])) for _ in range(9)) for _ in "xxx"
    ]
    rows = spark.createDataFrame([(text,) for text in [*texts, None]], "symbol string")
    layout = ShardLayout.of(plan)
    found = placed(rows).select("c0", event_shards(rows.schema, plan, layout, f.lit(0)).alias("to")).collect()
    zone_of = {layout.zones[zone][0]: zone for zone in range(6)}
    for row in found:
        *zones, span = [zone_of[number,] for number in row["to"]]
        assert span == 5
        assert zones == ([] if row["c0"] is None else [axis.zone_of(row["c0"])])
    numbers = spark.createDataFrame([(1.5,)], "symbol double").schema
    other = plan_of(replace(axis, kind=Kind.NUMBER))
    with pytest.raises(DataError, match="hashed from strings only"):
        event_shards(numbers, other, layout, f.lit(0))


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (plan_of(CUT, dealt=(1, 1, 1)), "an entry in 'dealt' for each of its zones"),
        (plan_of(CUT, dealt=(1, 0, 1, 1)), "'dealt' of a plan must be at least 1, not 0"),
        (plan_of(CUT, replicas=(1, 1)), "an entry in 'replicas'"),
        (plan_of(CUT, replicas=(1, 1, 1, 0)), "'replicas' of a plan must be at least 1, not 0"),
    ],
)
def test_a_plan_whose_figures_do_not_fit_is_refused(plan, reason):
    with pytest.raises(DataError, match=reason):
        ShardLayout.of(plan)


def test_partitions_are_numbered_from_the_one_with_most_to_do():
    plan = ShardPlan((CUT,), 4, (10, 50, 10, 20), (0.2, 0.5, 0.3, 1.0), total=90, dealt=(1, 2, 1, 1))
    assert ShardLayout.of(plan).zones == (((4,),), ((1, 2),), ((3,),), ((0,),))
    copied = ShardLayout.of(replace(plan, replicas=(1, 2, 1, 4)))
    assert copied.zones == (((9,),), ((1, 2), (3, 4)), ((0,),), ((5,), (6,), (7,), (8,)))
    assert copied.homes() == [(9,), (1, 3), (2, 4), (0,), (5, 6, 7, 8)]
