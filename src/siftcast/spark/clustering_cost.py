"""What clusters cost: the messages that are sent, and those that somebody wanted, over a table of events.

An event that one member of a cluster matches goes to all its members; those that did not match get a false positive.
Each task matches its events and adds up; it sends two numbers per clustering, so any number of events will do. They
may be other events than those the clusters were made from, which is the honest way to judge them.

Subscriptions without a cluster, because they had matched nothing, count as one more cluster: it is sent an event as
soon as one of them wants it after all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn
from pyspark.sql import types as t

from siftcast.model import DataError, Schema
from siftcast.planning.clustering import FalsePositives, false_positives
from siftcast.spark.attributes import attribute_columns
from siftcast.spark.compiled import CompiledSubscriptions, compiled_for
from siftcast.spark.matched_numbers import Integers, match_numbers, subscription_ids
from siftcast.spark.places import placed, under_places
from siftcast.spark.workers import map_batches


@dataclass(frozen=True, slots=True)
class Reference:
    """Clusterings to compare with: everybody together, and as many clusters drawn at random.

    Those have the same sizes, or equal sizes: one cluster that is much larger than others costs so much that random
    equal ones may do better, and then k was too small.
    """

    together: Integers
    at_random: Integers
    equal_at_random: Integers

    @staticmethod
    def of(labels: Integers, rng: np.random.Generator) -> Reference:
        placed = labels >= 0
        equal = labels.copy()
        equal[placed] = np.arange(placed.sum()) % max(len(np.unique(labels[placed])), 1)
        return Reference(np.zeros_like(labels), rng.permutation(labels), rng.permutation(equal))


def cluster_cost(
    events: DataFrame,
    subscriptions: DataFrame | CompiledSubscriptions,
    clusters: DataFrame,
    *,
    schema: Schema | None = None,
    strict: bool = True,
    engine: str = "auto",
) -> FalsePositives:
    """Messages sent and wanted when every event goes to whole clusters (`subscription_id`, `cluster`).

    Names of clusters may be numbers or texts; null and negative numbers mean no cluster.
    """
    compiled = compiled_for(events, subscriptions, strict=strict, schema=schema, engine=engine)
    for name in ("subscription_id", "cluster"):
        if name not in clusters.columns:
            raise DataError(f"clusters need a column '{name}'; they have {', '.join(clusters.columns) or 'none'}")
    cluster = fn.col("cluster")
    if isinstance(clusters.schema["cluster"].dataType, t.NumericType):
        cluster = fn.when(cluster >= 0, cluster)
    table = clusters.select(
        fn.col("subscription_id").cast("string").alias("id"), cluster.cast("string").alias("cluster")
    ).toArrow()
    if len(pc.unique(table["id"])) != table.num_rows:
        raise DataError("a subscription is in these clusters twice; each must have one row")
    ids = subscription_ids(compiled.shipment.load())
    place = pc.index_in(ids, value_set=table["id"].combine_chunks())
    names = table["cluster"].combine_chunks().take(place).dictionary_encode()
    labels = pc.fill_null(names.indices, -1).to_numpy(zero_copy_only=False)
    return labels_cost(events, compiled, {"clusters": labels.astype(np.int64)})["clusters"]


def labels_cost(
    events: DataFrame, subscriptions: CompiledSubscriptions, labelings: Mapping[str, Integers]
) -> dict[str, FalsePositives]:
    """The same for several clusterings at once, given as a label for each subscription by its number."""
    shipment = subscriptions.shipment
    chosen = attribute_columns(events.schema, shipment.attributes)
    names = list(chosen)
    known = {name: np.where(labels < 0, labels.max(initial=-1) + 1, labels) for name, labels in labelings.items()}

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sent, wanted = dict.fromkeys(known, 0), dict.fromkeys(known, 0)
        for found in match_numbers(shipment.load(), batches, names):
            for name, labels in known.items():
                part = false_positives(found.subscriptions, found.rows, labels)
                sent[name] += part.sent
                wanted[name] += part.wanted
        yield pa.RecordBatch.from_pydict(
            {"name": list(known), "sent": list(sent.values()), "wanted": list(wanted.values())}
        )

    asked = placed(events).select(*under_places(chosen.values()))
    parts = map_batches(asked, count, "name string, sent bigint, wanted bigint")
    sums = parts.groupBy("name").agg(fn.sum("sent").alias("sent"), fn.sum("wanted").alias("wanted")).collect()
    found = {row["name"]: FalsePositives(row["sent"], row["wanted"]) for row in sums}
    return {name: found.get(name, FalsePositives(0, 0)) for name in known}
