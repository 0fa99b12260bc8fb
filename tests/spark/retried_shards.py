"""Run by a test in a process of its own: tasks of the events fail once, and their rows come in another order then."""

import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext

from siftcast import spark as ss
from siftcast.model.values import Kind
from siftcast.space.shard_axes import ShardAxis
from siftcast.space.shard_plan import ShardPlan


def failing_once(folder):
    """The rows, after a first attempt that ends in the middle of them; in the opposite order from then on."""

    def run(batches):
        task = TaskContext.get()
        for batch in batches:
            if task.attemptNumber() == 0:
                yield batch.slice(0, batch.num_rows // 2)
                Path(folder, f"{task.stageId()}-{task.partitionId()}").touch()
                raise RuntimeError("a task that fails once")
            yield batch.take(pa.array(range(batch.num_rows - 1, -1, -1)))

    return run


def main() -> int:
    """Prints how many pairs and failures there are; raises unless copies and failures make no difference."""
    folder = sys.argv[1]
    spark = ss.session("retried shards", master="local[2,3]")
    rows = [(row, "IBM" if row % 4 else "SAP") for row in range(400)]
    events = spark.createDataFrame(rows, "row long, symbol string").repartition(2).cache()
    texts = [(f"s{number}", f"symbol = 'IBM' AND row >= {50 * number}") for number in range(7)]
    subscriptions = spark.createDataFrame([*texts, ("any", "TRUE")], "id string, filter string")
    axis = ShardAxis("symbol", Kind.STRING, ("J",))
    plan = ShardPlan((axis,), 3, (7, 1, 1), (0.75, 0.25, 1.0), total=9, dealt=(2, 1, 1), replicas=(3, 1, 2))
    torn = events.mapInArrow(failing_once(folder), events.schema)
    found = []
    for each, how in ((torn, plan), (events, replace(plan, replicas=()))):
        pairs = ss.match_sharded(each, subscriptions, plan=how).select("row", "subscription_id")
        found.append(sorted(map(tuple, pairs.collect())))
        assert len(found[-1]) == len(set(found[-1]))
    whole = ss.match(events, subscriptions).select("row", "subscription_id")
    assert found[0] == found[1] == sorted(map(tuple, whole.collect()))
    sys.stdout.write(f"{len(found[0])} pairs, {len(list(Path(folder).iterdir()))} failures\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
