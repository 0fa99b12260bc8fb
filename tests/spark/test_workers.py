"""Whoever sends Python to the workers asks first whether they can run it: found in the source, and by calling."""

import ast
from pathlib import Path
from types import FunctionType

import pyarrow as pa
import pytest

import siftcast
from siftcast import Attribute, Schema
from siftcast import spark as ss
from siftcast.space.shard_plan import ShardPlan
from siftcast.spark import workers
from siftcast.spark.sweeps import sweep

SENDING = {
    *("applyInArrow", "applyInPandas", "applyInPandasWithState", "arrow_udf", "arrow_udtf", "foreachPartition"),
    *("mapInArrow", "mapInPandas", "mapPartitions", "pandas_udf", "transformWithState", "udf", "udtf"),
}
# What may call them: the module that asks; two functions that nobody reaches without a shipment; and the reading of
# rejected lines, which in our own commands comes behind what asks.
ALLOWED = {
    "workers": SENDING,
    "matching": {"arrow_udf"},
    "sql_functions": {"udf"},
}

PRICES = Schema([Attribute("price", "float", (0.0, 10.0))])
PLAN = ShardPlan(axes=(), asked=1, counts=(1,), event_shares=(1.0,))
WITHOUT_WORKERS = {
    *("active_session", "find_java", "is_connect", "parse_events", "progress_now", "read_batches", "read_clusters"),
    *("read_dead_letters", "read_event_stream", "read_events", "read_matches", "read_subscriptions", "session"),
    *("short_errors", "spark_type", "split_corrupt", "watch"),
}
CALLS = {
    "cluster": lambda events, rules, _: ss.cluster(events, rules, 1, order_by="price"),
    "cluster_cost": lambda events, rules, _: ss.cluster_cost(events, rules, rules),
    "cluster_stream": lambda events, rules, folder: ss.cluster_stream(
        streamed(events, folder), rules, 1, order_by="price", output=folder / "out", checkpoint=folder / "state"
    ),
    "compile_subscriptions": lambda _, rules, __: ss.compile_subscriptions(rules),
    "dz": lambda events, _, __: ss.dz(events, PRICES),
    "match": lambda events, rules, _: ss.match(events, rules),
    "match_counts": lambda events, rules, _: ss.match_counts(events, rules),
    "match_history": lambda events, rules, _: ss.match_history(events, rules, order_by="price"),
    "match_sharded": lambda events, rules, _: ss.match_sharded(events, rules),
    "match_sharded with a plan": lambda events, rules, _: ss.match_sharded(events, rules, plan=PLAN),
    "match_stream": lambda events, _, folder: ss.match_stream(
        streamed(events, folder), folder, output=folder / "out", checkpoint=folder / "state"
    ),
    "match_with_rejects": lambda events, rules, _: ss.match_with_rejects(events, rules),
    "partition": lambda events, rules, _: ss.partition(events, rules, PRICES, zones=2),
    "register": lambda _, rules, __: ss.register(rules.sparkSession, "my_rules", rules),
    "shard_plan": lambda events, rules, _: ss.shard_plan(events, rules),
    "statistics": lambda events, rules, _: ss.statistics(events, rules, PRICES),
    "sweep, which is not public": lambda events, _, folder: sweep(
        events.sparkSession, "math:sqrt", [{"x": 1}], folder / "sweep"
    ),
}


def streamed(events, folder: Path):
    (folder / "events").mkdir()
    return events.sparkSession.readStream.schema(events.schema).parquet(str(folder / "events"))


def sending(source: str) -> set[str]:
    """The ways to send Python to workers that a source mentions."""
    return {node.attr for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)} & SENDING


def test_nothing_is_sent_to_workers_but_by_way_of_what_asks_them():
    assert sending("frame.select('a').mapInArrow(f, 'a int')") == {"mapInArrow"}
    modules = list(Path(siftcast.__file__).parent.rglob("*.py"))
    found = {path.stem: sent for path in modules if (sent := sending(path.read_text(encoding="utf-8")))}
    assert {(name, way) for name, sent in found.items() for way in sent - ALLOWED.get(name, set())} == set()
    assert found["workers"] >= {"mapInArrow", "udf"}


def test_every_public_function_is_looked_at():
    functions = {name for name in ss.__all__ if isinstance(getattr(ss, name), FunctionType)}
    called = {name.split()[0].strip(",") for name in CALLS} - {"sweep"}
    assert functions == called | WITHOUT_WORKERS
    assert not called & WITHOUT_WORKERS


@pytest.mark.parametrize("name", CALLS)
def test_workers_are_asked_before_the_first_job(spark, monkeypatch, tmp_path, name):
    def refuse(_: object) -> None:
        raise ss.SparkError("the workers lack it")

    events = spark.createDataFrame(pa.table({"price": [1.0, 5.0]})).repartition(2)
    rules = spark.createDataFrame(pa.table({"id": ["a"], "filter": ["price > 2"]})).repartition(2)
    monkeypatch.setattr(workers, "_asked", set())
    monkeypatch.setattr(workers, "runs_here", lambda _: False)
    monkeypatch.setattr(workers, "ask_worker", refuse)
    spark.sparkContext.setJobGroup(f"asked by {name}", name)
    try:
        with pytest.raises(ss.SparkError, match="the workers lack it"):
            CALLS[name](events, rules, tmp_path)
        assert list(spark.sparkContext.statusTracker().getJobIdsForGroup(f"asked by {name}")) == []
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
