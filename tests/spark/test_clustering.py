"""Clusters on Spark: the recent matches of brute force, the clusters of one process, and an outcome for odd input."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from siftcast import spark as ss
from siftcast.model import ClusteringError, DataError, Filter
from siftcast.planning.clustering import MatchedEvents, SubscriptionClusters, false_positives, matched_events
from siftcast.spark import SparkSession
from siftcast.spark.clustering import cluster_compiled, cluster_matched
from siftcast.spark.clustering_cost import Reference
from siftcast.spark.recent_matches import recent_matches
from siftcast.workloads import generate

WORKLOAD = generate("clustering-hotspots", events=500, subscriptions=240, seed=3)
NUMBERS = {id: number for number, id in enumerate(WORKLOAD.subscriptions["id"].to_pylist())}


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> tuple[Any, Any]:
    return spark.createDataFrame(WORKLOAD.events).repartition(3), spark.createDataFrame(WORKLOAD.subscriptions)


def full(parameters: dict[str, Any]) -> Any:
    """Parameters that only `make test-full` tries."""
    return pytest.param(parameters, marks=pytest.mark.full)


@pytest.fixture(scope="module")
def compiled(tables: tuple[Any, Any]) -> ss.CompiledSubscriptions:
    return ss.compile_subscriptions(tables[1])


@pytest.fixture(scope="module")
def pairs() -> list[tuple[int, int]]:
    """All matches by brute force: the number of a subscription, and event_id."""
    events = WORKLOAD.events.to_pylist()
    return [
        (NUMBERS[row["id"]], event["event_id"])
        for row in WORKLOAD.subscriptions.to_pylist()
        for parsed in [Filter.parse(row["filter"])]
        for event in events
        if parsed.matches(event)
    ]


def known_from(pairs: list[tuple[int, int]]) -> MatchedEvents:
    return matched_events([one for one, _ in pairs], [event for _, event in pairs], count=len(NUMBERS))


def in_process(pairs: list[tuple[int, int]], **parameters: Any) -> SubscriptionClusters:
    return SubscriptionClusters(**parameters).fit(known_from(pairs))


def labels_of(frame: Any) -> np.ndarray:
    labels = np.full(len(NUMBERS), -1)
    for row in frame.collect():
        labels[NUMBERS[row["subscription_id"]]] = -1 if row["cluster"] is None else row["cluster"]
    return labels


@pytest.mark.parametrize(("recent", "gathered"), [(20, 4_000_000), (3, 100)])
def test_recent_matches_are_those_of_brute_force(tables, pairs, monkeypatch, recent, gathered):
    monkeypatch.setattr("siftcast.spark.recent_matches._PAIRS_GATHERED", gathered)
    found = recent_matches(tables[0], ss.compile_subscriptions(tables[1]), recent)
    wanted = {number: sorted(e for n, e in pairs if n == number)[-recent:] for number in NUMBERS.values()}
    # Numbers of events are hashes; positions follow event_id, so ranks of both must agree.
    ids = sorted({event for events in wanted.values() for event in events})
    events = {number: [ids[p] for p in sorted(found.positions[found.subscriptions == number])] for number in wanted}
    assert events == wanted
    assert len(found) == len(set(zip(found.subscriptions.tolist(), found.events.tolist(), strict=True)))


@pytest.mark.parametrize(
    "parameters",
    [
        full({"k": 6, "levels": 2, "groups": 4, "landmarks": 0.4}),
        {"k": 6, "levels": 3, "groups": 6, "landmarks": 0.5, "seed": 5},
        full({"k": 6, "method": "ncut", "levels": 2, "groups": 3, "landmarks": 0.4}),
        full({"k": 5, "similarity": "russell", "groups": 3}),
        full({"k": 6, "levels": 3, "groups": 6, "landmarks": 0.5, "kmeans": "sampling"}),
        {"k": 6, "method": "ncut", "levels": 2, "groups": 4, "landmarks": 0.4, "kmeans": "central"},
        full({"k": 6, "levels": 3, "groups": 6, "landmarks": 0.5, "kmeans": "hp2pc"}),
    ],
    ids=str,
)
def test_groups_on_spark_give_the_clusters_of_one_process(spark, pairs, parameters):
    template = SubscriptionClusters(**parameters)
    alone = in_process(pairs, **parameters)
    found = cluster_matched(spark, WORKLOAD.subscriptions["id"], known_from(pairs), template)
    assert found.base_groups == len(alone.hierarchy_.base) > 1
    assert found.levels == len(alone.hierarchy_.levels)
    assert (found.labels == alone.labels_).all()
    assert np.allclose(found.centres, alone.centres_)
    assert found.clusters > 2


@pytest.mark.parametrize(
    "parameters",
    [{"k": 8, "method": "ncut"}, {"k": 6, "groups": 3}, full({"k": 6, "groups": 3, "kmeans": "sampling"})],
    ids=str,
)
def test_tables_give_the_clusters_of_one_process(tables, pairs, parameters):
    found = labels_of(ss.cluster(*tables, **parameters))
    assert (found == in_process(pairs, **parameters).labels_).all()


def test_clusters_cost_less_than_random_ones_and_the_cost_is_that_of_brute_force(spark, tables, pairs):
    clusters = ss.cluster(*tables, k=8)
    labels = labels_of(clusters)
    own = np.where(labels < 0, labels.max() + 1, labels)
    cost = ss.cluster_cost(*tables, clusters)
    assert cost == false_positives([one for one, _ in pairs], [event for _, event in pairs], own)
    shuffled = np.random.default_rng(1).permutation(own)
    at_random = false_positives([one for one, _ in pairs], [event for _, event in pairs], shuffled)
    assert cost.wanted == len(pairs)
    assert cost.count < 0.7 * at_random.count


def test_clusters_may_be_named_by_numbers_or_texts(tables):
    events, subscriptions = tables
    clusters = ss.cluster(events, subscriptions, k=8)
    cost = ss.cluster_cost(events, subscriptions, clusters)
    for name in ("'c' || cluster", "cluster * 1000000000000", "coalesce(cluster, -1)"):
        named = clusters.selectExpr("subscription_id", f"{name} AS cluster")
        assert ss.cluster_cost(events, subscriptions, named) == cost


def test_references_have_as_many_clusters_of_the_same_sizes_or_of_equal_ones():
    labels = np.array([0] * 7 + [1] * 2 + [3] + [-1] * 3)
    reference = Reference.of(labels, np.random.default_rng(0))
    assert sorted(reference.at_random) == sorted(labels)
    assert np.unique(reference.equal_at_random, return_counts=True)[1].tolist() == [3, 4, 3, 3]
    assert (Reference.of(np.full(3, -1), np.random.default_rng(0)).equal_at_random == -1).all()


def test_whoever_matched_nothing_has_no_cluster_and_counts_as_one_more(spark):
    events = spark.createDataFrame(pa.table({"event_id": [1, 2, 3, 4], "x": [1, 2, 11, 12]}))
    rows = {"low": "x < 5", "low too": "x < 6", "high": "x > 10", "high too": "x > 9", "never": "x > 99"}
    subscriptions = spark.createDataFrame(pa.table({"id": list(rows), "filter": list(rows.values())}))
    clusters = ss.cluster(events, subscriptions, k=2)
    found = {row["subscription_id"]: (row["cluster"], row["recent_matches"]) for row in clusters.collect()}
    assert found["low"] == found["low too"]
    assert found["high"] == found["high too"] != found["low"]
    assert found["never"] == (None, 0)
    assert ss.cluster_cost(events, subscriptions, clusters).count == 0
    late = spark.createDataFrame(pa.table({"event_id": [5], "x": [100]}))
    # "never" is alone in its cluster, and both that want large numbers are together.
    assert ss.cluster_cost(late, subscriptions, clusters).count == 0


def test_events_that_nobody_matches_give_no_clusters(spark):
    events = spark.createDataFrame(pa.table({"event_id": [1], "x": [1]}))
    subscriptions = spark.createDataFrame(pa.table({"id": ["a", "b"], "filter": ["x > 5", "x > 6"]}))
    for parameters in ({}, {"levels": 2}):
        found = ss.cluster(events, subscriptions, k=2, **parameters).collect()
        assert [row["cluster"] for row in found] == [None, None]


def test_duplicates_stay_together_and_fewer_distinct_ones_give_fewer_clusters(spark):
    events = spark.createDataFrame(pa.table({"event_id": list(range(20)), "x": list(range(20))}))
    texts = ["x < 10", "x >= 10"] * 6
    subscriptions = spark.createDataFrame(pa.table({"id": [f"s{n}" for n in range(12)], "filter": texts}))
    result = cluster_compiled(events, ss.compile_subscriptions(subscriptions), SubscriptionClusters(5))
    assert result.clusters == 2
    assert (result.labels[::2] == result.labels[0]).all()
    assert (result.labels[1::2] == result.labels[1]).all()


def test_duplicates_in_different_groups_stay_together(spark, pairs):
    count = len(NUMBERS)
    rows, events = (np.array([pair[place] for pair in pairs]) for place in range(2))
    twice = matched_events(np.concatenate([rows, rows + count]), np.concatenate([events, events]), count=2 * count)
    template = SubscriptionClusters(8, levels=2, groups=4, landmarks=0.4)
    found = cluster_matched(spark, pa.array([f"s{n}" for n in range(2 * count)]), twice, template)
    assert (found.labels[:count] == found.labels[count:]).all()
    assert sorted(set(found.labels.tolist()) - {-1}) == list(range(found.clusters))
    assert (found.labels == template.fit(twice).labels_).all()


def test_events_that_agree_in_all_columns_count_once(spark):
    events = spark.createDataFrame(pa.table({"event_id": [1, 1, 1, 2], "x": [1, 1, 1, 2]})).repartition(2)
    subscriptions = spark.createDataFrame(pa.table({"id": ["a"], "filter": ["x > 0"]}))
    assert len(recent_matches(events, ss.compile_subscriptions(subscriptions), 20)) == 2


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"k": 241}, "cannot form 241 clusters"),
        ({"k": 0}, "k must be"),
        ({"k": 2.5}, "k must be"),
        ({"k": 3, "method": "magic"}, "no method 'magic'"),
        ({"k": 3, "similarity": "magic"}, "no similarity 'magic'"),
        ({"k": 3, "levels": 0}, "levels must be"),
        ({"k": 3, "kmeans": "magic"}, "no k-means 'magic'"),
        ({"k": 3, "seed": -1}, "seed must be"),
        ({"k": 3, "levels": 1, "groups": 4}, "one level is one group"),
        ({"k": 3, "levels": 2, "groups": 3, "landmarks": 1.5}, "landmarks are"),
    ],
    ids=str,
)
def test_parameters_that_fit_nothing_are_refused(tables, compiled, parameters, reason):
    with pytest.raises(ClusteringError, match=reason):
        ss.cluster(tables[0], compiled, **parameters)


def test_tables_that_cannot_be_used_are_refused(spark, tables):
    events, subscriptions = tables
    broken = spark.createDataFrame(pa.table({"id": ["a"], "filter": ["x >"]}))
    with pytest.raises(DataError, match="cannot be used"):
        ss.cluster(events, broken, k=1)
    with pytest.raises(DataError, match="order_by"):
        ss.cluster(events.drop("event_id"), subscriptions, k=2)
    with pytest.raises(DataError, match="at least one recent match"):
        ss.cluster(events, subscriptions, k=2, recent=0)
    with pytest.raises(DataError, match="need a column 'cluster'"):
        ss.cluster_cost(events, subscriptions, spark.createDataFrame(pa.table({"subscription_id": ["a"]})))
    twice = spark.createDataFrame(pa.table({"subscription_id": ["a", "a"], "cluster": [1, 2]}))
    with pytest.raises(DataError, match="twice"):
        ss.cluster_cost(events, subscriptions, twice)
