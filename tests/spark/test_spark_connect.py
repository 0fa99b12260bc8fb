"""The same answers through Spark Connect: a client that has no SparkContext, and a real server beside it."""

import json
import os
import subprocess
import sys
from collections import Counter

import pytest

from siftcast.model import Attribute, Schema
from siftcast.space.dz import DzSpace

pytest.importorskip("grpc", reason="needs the packages of Spark Connect: pip install 'siftcast[spark-connect]'")
from tests.spark.test_spark_java import without_java

pytestmark = [pytest.mark.connect, pytest.mark.embedded, pytest.mark.full]

# One process for all answers: starting the server is most of what this takes.
CLIENT = """
import json, sys
from pathlib import Path
from siftcast import Attribute, Schema
from siftcast import spark as ss
from siftcast.spark.errors import SparkError

folder = Path(sys.argv[1])
(folder / "events.jsonl").write_text('{"a": 1, "b": 2.0}\\n{"a":\\n{"a": 2, "b": 9}\\n')
spark = ss.session()
events = spark.createDataFrame([(1, 2.0), (2, 3.5), (3, None)], "a long, b double")
rows = [("one", "a = 1"), ("high", "b > 3"), ("all", "a > 0")]
subscriptions = spark.createDataFrame(rows, "id string, filter string")
doubtful = spark.createDataFrame([*rows, ("bad", "b >> 3")], "id string, filter string")
schema = Schema([Attribute("a", "int", (0, 10)), Attribute("b", "float", (0.0, 10.0))])

def pairs(frame):
    return sorted([row["a"], row["subscription_id"]] for row in frame.collect())

def lists(frame):
    return sorted([row["a"], sorted(row["matched"])] for row in frame.collect())

result = ss.match_with_rejects(ss.read_events(folder / "events.jsonl", schema="a long, b double"), doubtful)
counts = result.save(folder / "matched", rejected=folder / "rejected")
clusters = ss.cluster(events, subscriptions, k=2, order_by="a")
try:
    ss.match_stream(events, "x", output=folder / "o", checkpoint=folder / "c")
    stream = "started"
except SparkError as error:
    stream = str(error)
print(json.dumps({
    "connect": ss.is_connect(spark),
    "same session": ss.session() is spark,
    "pairs": pairs(ss.match(events, subscriptions)),
    "lists": lists(ss.match(events, subscriptions, "lists")),
    "sharded pairs": pairs(ss.match_sharded(events, subscriptions, shards=2)),
    "sharded lists": lists(ss.match_sharded(events, subscriptions, "lists", shards=2)),
    "history": sorted([row["subscription_id"], row["events"][0]["a"]]
                      for row in ss.match_history(events, subscriptions, last=1, order_by="a").collect()),
    "counts": [counts.events_in, counts.events_rejected, counts.pairs, counts.subscriptions_rejected],
    "rejected": sorted(row["input"] for row in spark.read.json(str(folder / "rejected")).collect()),
    "zones": len(ss.partition(events, subscriptions, schema, zones=2).zones),
    "clusters": sorted(row["subscription_id"] for row in clusters.collect()),
    "wanted": ss.cluster_cost(events, subscriptions, clusters).wanted,
    "dz": sorted([row["a"], row["dz"]] for row in ss.dz(events, schema, length=8).collect()),
    "dz rates": sorted([row["dz"], row["count"]]
                       for row in ss.dz(events, schema, length=1).groupBy("dz").count().collect()),
    "stream": stream,
}))
spark.stop()
"""
SPACE = DzSpace.of(Schema([Attribute("a", "int", (0, 10)), Attribute("b", "float", (0.0, 10.0))]))
DZ = {row["a"]: SPACE.of_event(row) for row in ({"a": 1, "b": 2.0}, {"a": 2, "b": 3.5}, {"a": 3, "b": None})}
PAIRS = [[1, "all"], [1, "one"], [2, "all"], [2, "high"], [3, "all"]]
LISTS = [[1, ["all", "one"]], [2, ["all", "high"]], [3, ["all"]]]


def test_a_client_of_spark_connect_gets_the_answers_of_a_session_here(tmp_path):
    environment = without_java(tmp_path) | {"PYTHONPATH": os.pathsep.join(sys.path), "SPARK_REMOTE": "local[2]"}
    run = subprocess.run(
        [sys.executable, "-c", CLIENT, str(tmp_path)], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    said = json.loads(run.stdout.splitlines()[-1])
    assert said.pop("stream").endswith("it does not work through Spark Connect")
    assert said == {
        "connect": True,
        "same session": True,
        "pairs": PAIRS,
        "lists": LISTS,
        "sharded pairs": PAIRS,
        "sharded lists": LISTS,
        "history": [["all", 3], ["high", 2], ["one", 1]],
        "counts": [3, 1, 4, 1],
        "rejected": ["events", "subscriptions"],
        "zones": 2,
        "clusters": ["all", "high", "one"],
        "wanted": 5,
        "dz": [[a, str(dz.prefix(8))] for a, dz in DZ.items()],
        "dz rates": sorted([text, count] for text, count in Counter(str(dz.prefix(1)) for dz in DZ.values()).items()),
    }
