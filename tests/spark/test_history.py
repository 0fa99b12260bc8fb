"""Histories equal those of brute force, however the events are cut into tasks."""

from typing import Any

import pyarrow as pa
import pytest

from siftcast.model import DataError, Filter
from siftcast.spark import SparkSession, cluster, history
from siftcast.spark.history import match_history
from siftcast.workloads import generate

FULL = pytest.mark.full
WORKLOAD = generate("games", events=600, subscriptions=60, seed=4)


def by_id(frame: Any) -> dict[str, list[Any]]:
    rows = frame.toArrow().to_pylist()
    found = {row["subscription_id"]: row["events"] for row in rows}
    assert len(found) == len(rows)
    return found


def expected(last: int, key: str) -> dict[str, list[Any]]:
    events = sorted(WORKLOAD.events.to_pylist(), key=lambda event: event[key], reverse=True)
    pairs = zip(WORKLOAD.subscriptions["id"].to_pylist(), WORKLOAD.subscriptions["filter"].to_pylist(), strict=True)
    return {id: [event for event in events if Filter.parse(text).matches(event)][:last] for id, text in pairs}


@pytest.mark.parametrize(
    ("last", "gathered"), [(5, 50), pytest.param(1, 1_000_000, marks=FULL), pytest.param(1_000, 1, marks=FULL)]
)
def test_histories_are_those_of_brute_force(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, last: int, gathered: int
) -> None:
    monkeypatch.setattr(history, "_PAIRS_GATHERED", gathered)
    events = spark.createDataFrame(WORKLOAD.events).repartition(5)
    found = by_id(match_history(events, spark.createDataFrame(WORKLOAD.subscriptions), last))
    assert found == expected(last, "event_id")
    assert any(len(each) == last for each in found.values()) or last > 100
    assert any(not each for each in expected(last, "event_id").values()) == any(not each for each in found.values())


def test_ties_and_nulls_do_not_depend_on_the_tasks(spark: SparkSession) -> None:
    rows = [{"event_id": index, "time": [1.0, 2.0, None, float("nan")][index % 4], "x": index} for index in range(40)]
    events = spark.createDataFrame(pa.Table.from_pylist(rows))
    everyone = spark.createDataFrame(pa.table({"id": ["all", "none"], "filter": ["x >= 0", "x < 0"]}))
    cut = [by_id(match_history(events.repartition(n, "x"), everyone, 25, order_by="time")) for n in (1, 4)]
    whole, parts = ([event["event_id"] for event in each["all"]] for each in cut)
    assert whole == parts
    assert [index % 4 for index in whole[:20]] == [1] * 10 + [0] * 10
    assert all(index % 4 in (2, 3) for index in whole[20:])
    assert cut[0]["none"] == []


def test_an_order_that_is_mistyped_is_told_the_nearest_column(spark: SparkSession) -> None:
    events = spark.createDataFrame([(1, 2)], "timed long, x long")
    everyone = spark.createDataFrame([("a", "TRUE")], "id string, filter string")
    with pytest.raises(DataError, match=r"no column 'tined' to be ordered by; did you mean 'timed'\?"):
        match_history(events, everyone, order_by="tined")
    with pytest.raises(DataError, match=r"no column 'Timed' to be ordered by; did you mean 'timed'\? Upper"):
        cluster(events, everyone, 1, order_by="Timed")


def test_events_need_an_order(spark: SparkSession) -> None:
    events = spark.createDataFrame(pa.table({"x": [1], "m": [{"a": 1}]}))
    everyone = spark.createDataFrame(pa.table({"id": ["a"], "filter": ["x > 0"]}))
    for order_by in (None, "y", "m"):
        with pytest.raises(DataError, match="order"):
            match_history(events, everyone, order_by=order_by)
    with pytest.raises(DataError, match="at least one event"):
        match_history(events, everyone, 0, order_by="x")
    broken = spark.createDataFrame(pa.table({"id": ["a"], "filter": ["x >"]}))
    with pytest.raises(DataError, match="cannot be used"):
        match_history(events, broken, order_by="x")


def test_columns_keep_their_names_whatever_they_are(spark: SparkSession) -> None:
    everyone = spark.createDataFrame(pa.table({"id": ["a", "none"], "filter": ["`a.b` = 'x' AND A > 0", "A > 9"]}))
    rows = pa.table(
        {"a.b": ["x", "x", "y"], "a": [3, 1, 2], "A": [1, 2, 3], "siftcast_order": [7, 8, 9], "tie": [1, 1, 1]}
    )
    found = by_id(match_history(spark.createDataFrame(rows), everyone, order_by="a"))
    assert found == {"a": [rows.to_pylist()[0], rows.to_pylist()[1]], "none": []}
    dotted = rows.rename_columns(["a", "p.q", "b", "c", "d"])
    named = spark.createDataFrame(pa.table({"id": ["a"], "filter": ["a = 'x'"]}))
    found = by_id(match_history(spark.createDataFrame(dotted), named, order_by="p.q"))
    assert [event["p.q"] for event in found["a"]] == [3, 1]
    with pytest.raises(DataError, match="two columns of the events are named 'p'"):
        match_history(spark.createDataFrame(rows).toDF("p", "p", "b", "c", "d"), everyone, order_by="b")
