"""Clusters of subscriptions that receive the same events, from tables of events and subscriptions (thesis, chapter 3).

    clusters = ss.cluster(events, subscriptions, k=50)            # subscription_id, cluster, recent_matches
    ss.cluster_cost(later_events, subscriptions, clusters)        # messages sent, and messages wanted

Spark matches the events and keeps the recent matches of each subscription (`recent_matches`); similarities come from
events that two have in common, so no table of all pairs is ever made. Then there are two ways:

    neither levels nor groups   the driver clusters with `SubscriptionClusters`: as a whole, or from landmarks where
                                there are many subscriptions
    levels or groups given      groups are partitions and levels stages (`group_stages`)

Both give what `SubscriptionClusters` gives for the same parameters and seed. A subscription that matched none of the
events has no cluster (null): nothing is known of it. Cost: one match of every event, then that of the clustering;
the driver holds `recent` matches of each subscription.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from siftcast.model import DataError, Schema
from siftcast.planning.clustering import (
    UNMATCHED,
    MatchedEvents,
    SubscriptionClusters,
    build_hierarchy,
    connected_groups,
    matched_events,
    settle_labels,
)
from siftcast.planning.clustering.matched_events import RECENT, Floats, Integers
from siftcast.spark.compiled import CompiledSubscriptions, compiled_for
from siftcast.spark.group_stages import cluster_groups
from siftcast.spark.matched_numbers import subscription_ids
from siftcast.spark.recent_matches import recent_matches

CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class ClusteredSubscriptions:
    """Subscriptions (by number) with their clusters; UNMATCHED (-1) are in none."""

    spark: SparkSession = field(repr=False)
    ids: pa.Array = field(repr=False)
    labels: Integers = field(repr=False)
    centres: Floats = field(repr=False)
    matched: MatchedEvents = field(repr=False)
    base_groups: int
    levels: int

    @property
    def clusters(self) -> int:
        """How many clusters there are; fewer than asked for where fewer subscriptions differ."""
        return len(self.centres)

    @property
    def unmatched(self) -> int:
        """How many subscriptions matched nothing."""
        return int((self.labels == UNMATCHED).sum())

    @property
    def table(self) -> DataFrame:
        """`subscription_id`, `cluster` (null for those that matched nothing) and `recent_matches`."""
        return self.spark.createDataFrame(cluster_table(self.ids, self.labels, self.matched.own))


def cluster(
    events: DataFrame,
    subscriptions: DataFrame | CompiledSubscriptions,
    k: int,
    method: str = "rassoc",
    *,
    levels: int | None = None,
    groups: int | None = None,
    landmarks: float | int | None = None,
    kmeans: str | None = None,
    recent: int = RECENT,
    similarity: str = "jaccard",
    dimensions: int | None = None,
    seed: int = 0,
    order_by: str | None = None,
    schema: Schema | None = None,
    strict: bool = True,
    engine: str = "auto",
) -> DataFrame:
    """At most `k` clusters of subscriptions that match the same events: `subscription_id`, `cluster`, `recent_matches`.

    `method` is "rassoc" (principal components) or "ncut" (normalised cut). With `levels` or `groups` subscriptions are
    divided into groups that Spark embeds in parallel; `landmarks` is the share (a float) or the number (an int) of
    each group that joins it to the others, and `kmeans` finds the clusters of all: "hierarchical" by default, or
    "sampling", "hp2pc" or "central". The `recent` newest matches of a subscription count, newest by `order_by`, which
    is `event_id`, `time` or `timestamp` by default. Raises ClusteringError for parameters that fit no clustering, and
    DataError if a subscription cannot be used, as `match` does.
    """
    compiled = compiled_for(events, subscriptions, strict=strict, schema=schema, engine=engine)
    template = SubscriptionClusters(
        k,
        method=method,
        dimensions=dimensions,
        levels=levels,
        groups=groups,
        landmarks=landmarks,
        kmeans=kmeans,
        similarity=similarity,
        seed=seed,
    )
    return cluster_compiled(events, compiled, template, recent=recent, order_by=order_by).table


def cluster_compiled(
    events: DataFrame,
    subscriptions: CompiledSubscriptions,
    template: SubscriptionClusters,
    *,
    recent: int = RECENT,
    order_by: str | None = None,
) -> ClusteredSubscriptions:
    """The same as `cluster` with all there is to know of the result; subscriptions that were refused are left out."""
    if events.isStreaming:
        raise DataError("a stream of events is for cluster_stream(); here they must be a table")
    template.check(subscriptions.used)
    pairs = recent_matches(events, subscriptions, recent, order_by=order_by)
    ids = subscription_ids(subscriptions.shipment.load())
    known = matched_events(pairs.subscriptions, pairs.events, count=len(ids), recent=recent)
    return cluster_matched(subscriptions.spark, ids, known, template)


def cluster_matched(
    spark: SparkSession, ids: pa.Array, known: MatchedEvents, template: SubscriptionClusters
) -> ClusteredSubscriptions:
    """Clusters from matches that are there already, on the driver or in groups on Spark."""
    members = np.flatnonzero(known.matched)
    rng = np.random.default_rng(template.seed)
    levels, groups, landmarks = template.shape(known, len(members)) if len(members) else (1, 1, 1.0)
    base = connected_groups(known, members, groups, rng) if groups > 1 else ()
    if len(base) < 2:
        fitted = SubscriptionClusters(**template.get_params()).fit(known)
        used = len(fitted.hierarchy_.levels) if len(members) else 0
        return ClusteredSubscriptions(spark, ids, fitted.labels_, fitted.centres_, known, min(used, 1), used)
    plan = template.plan(levels)
    hierarchy = build_hierarchy(base, rng, levels=levels, landmarks=landmarks, dimensions=plan.dimensions)
    kmeans = template.kmeans_name(len(base))
    found = cluster_groups(spark, known, hierarchy, plan, template.k, rng, kmeans)
    labels = np.full(len(known), UNMATCHED, dtype=np.int64)
    labels[found.members], kept = settle_labels(known.take(found.members), found.labels)
    return ClusteredSubscriptions(spark, ids, labels, found.centres.points[kept], known, len(base), levels)


def cluster_table(ids: pa.Array, labels: Integers, matches: Integers) -> pa.Table:
    """The columns of the answer."""
    return pa.table(
        {
            "subscription_id": ids,
            CLUSTER: pa.array(labels, pa.int32(), mask=labels < 0),
            "recent_matches": pa.array(matches, pa.int32()),
        }
    )
