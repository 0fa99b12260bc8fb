"""Spark as a second, independent oracle: the same text, handed to Spark's own `expr`, matches the same rows."""

import random

import pytest
from pyspark.sql import functions as f

from siftcast import spark as ss
from tests.spark.oracle_filters import make_events, make_filters

SEED, EVENTS, FILTERS = 7, 300, 180


@pytest.fixture(scope="module")
def filters():
    return {f"f{number}": text for number, text in enumerate(make_filters(random.Random(SEED), FILTERS))}


@pytest.fixture(scope="module")
def events(spark):
    return spark.createDataFrame(make_events(random.Random(SEED), EVENTS)).repartition(3).cache()


@pytest.fixture(scope="module")
def spark_answer(events, filters):
    """What Spark itself finds: for each filter the rows where its text is TRUE."""
    answers = [f.coalesce(f.expr(text), f.lit(False)).alias(id) for id, text in filters.items()]
    rows = events.select("row", *answers).collect()
    return {id: {row["row"] for row in rows if row[id]} for id in filters}


@pytest.fixture(scope="module")
def subscriptions(spark, filters):
    return spark.createDataFrame(list(filters.items()), "id string, filter string")


def test_every_filter_matches_the_rows_that_spark_finds(events, filters, subscriptions, spark_answer):
    found = {id: set() for id in filters}
    for row in ss.match(events, subscriptions).select("row", "subscription_id").collect():
        assert row["row"] not in found[row["subscription_id"]], "a pair came twice"
        found[row["subscription_id"]].add(row["row"])
    wrong = [
        f"{filters[id]}: {sorted(found[id] ^ spark_answer[id])}" for id in filters if found[id] != spark_answer[id]
    ]
    assert not wrong, "\n".join(wrong)


def test_lists_say_the_same_as_pairs(events, subscriptions, spark_answer):
    lists = {row["row"]: row["matched"] for row in ss.match(events, subscriptions, "lists").collect()}
    assert len(lists) == EVENTS
    for row, ids in lists.items():
        assert len(set(ids)) == len(ids)
        assert set(ids) == {id for id, rows in spark_answer.items() if row in rows}


def test_oracle_has_something_to_say(spark_answer):
    """Filters that match all rows or none test little; most must do neither."""
    telling = [id for id, rows in spark_answer.items() if 0 < len(rows) < EVENTS]
    assert len(telling) > 0.7 * FILTERS
