"""Clusters of a stream follow the traffic: false positives rise when hot spots move, and recover."""

import os
from statistics import fmean

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from siftcast import spark as ss
from siftcast.model import ClusteringError, DataError
from siftcast.spark.cluster_state import NO_STATE, with_matches
from siftcast.spark.recent_matches import RecentMatches
from siftcast.workloads import generate

STEP = 400
MOVE_EVERY = 4 * STEP
WORKLOAD = generate(
    "clustering-hotspots",
    events=2 * MOVE_EVERY,
    subscriptions=300,
    seed=2,
    move_every=MOVE_EVERY,
    hot_spot_sets=2,
    hot_share=1.0,
)


def write_steps(folder, first, last):
    folder.mkdir(exist_ok=True)
    for step in range(first, last):
        file = folder / f"{step:03d}.parquet"
        pq.write_table(WORKLOAD.events.slice(step * STEP, STEP), file)
        os.utime(file, (step + 1, step + 1))  # Spark takes files by age, and these would be of the same moment


def start(spark, tmp_path, **options):
    source = spark.read.parquet(str(tmp_path / "events")).schema
    events = spark.readStream.schema(source).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "events"))
    subscriptions = options.pop("subscriptions", None) or spark.createDataFrame(WORKLOAD.subscriptions)
    folders = {"output": tmp_path / "clusters", "checkpoint": tmp_path / "checkpoint"}
    k = options.pop("k", 10)
    stream = ss.cluster_stream(events, subscriptions, k, trigger="available now", **folders, **options)
    assert stream.await_termination(300)
    return stream.receipts()


@pytest.mark.full
def test_false_positives_rise_when_hot_spots_move_and_recover(spark, tmp_path):
    write_steps(tmp_path / "events", 0, 5)
    start(spark, tmp_path)
    write_steps(tmp_path / "events", 5, 8)
    receipts = start(spark, tmp_path)  # another run goes on where the first stopped
    assert [receipt.batch for receipt in receipts] == list(range(8))
    shares = [receipt.false_positives for receipt in receipts]
    settled, moved, recovered = fmean(shares[1:4]), shares[4], fmean(shares[5:])
    assert moved > settled + 0.05
    assert recovered < moved - 0.05
    assert receipts[4].installed
    assert receipts[4].changes > 0
    versions = [receipt.version for receipt in receipts]
    assert versions == sorted(versions)
    assert all(receipt.changes == 0 for receipt in receipts if not receipt.installed)


def test_below_the_threshold_nobody_moves_and_versions_can_be_read(spark, tmp_path):
    write_steps(tmp_path / "events", 0, 3)
    receipts = start(spark, tmp_path, threshold=1e9)
    # A change in the number of clusters counts as an infinite movement, which no threshold holds back.
    finite = [receipt for receipt in receipts[1:] if receipt.deviation is not None]
    assert finite
    assert not any(receipt.installed for receipt in finite)
    newest = ss.read_clusters(tmp_path / "clusters").toArrow()
    assert newest.num_rows == 300
    assert newest.equals(ss.read_clusters(tmp_path / "clusters", receipts[-1].version).toArrow())
    with pytest.raises(DataError, match="no version 99"):
        ss.read_clusters(tmp_path / "clusters", 99)
    with pytest.raises(DataError, match="no clusters"):
        ss.read_clusters(tmp_path / "elsewhere")


def test_a_stream_goes_on_only_with_the_same_subscriptions(spark, tmp_path):
    write_steps(tmp_path / "events", 0, 1)
    start(spark, tmp_path)
    fewer = spark.createDataFrame(WORKLOAD.subscriptions.slice(0, 200))
    with pytest.raises(DataError, match="other subscriptions"):
        start(spark, tmp_path, subscriptions=fewer)
    filters = WORKLOAD.subscriptions["filter"].to_pylist()
    turned = pa.table({"id": WORKLOAD.subscriptions["id"], "filter": filters[1:] + filters[:1]})
    with pytest.raises(DataError, match="other subscriptions"):
        start(spark, tmp_path, subscriptions=spark.createDataFrame(turned))


def test_a_stream_started_again_with_another_k_installs_other_clusters(spark, tmp_path):
    write_steps(tmp_path / "events", 0, 1)
    start(spark, tmp_path, threshold=1e9)
    write_steps(tmp_path / "events", 1, 2)
    last = start(spark, tmp_path, k=6, threshold=1e9)[-1]
    assert (last.installed, last.version, last.deviation) == (True, 2, None)
    assert last.moved > 0
    found = ss.read_clusters(tmp_path / "clusters").toArrow()["cluster"].drop_null()
    assert len(found.unique()) == 6


def test_an_event_that_comes_again_takes_no_second_place():
    def matches(*events):
        return RecentMatches(np.zeros(len(events), np.int64), np.array(events), np.arange(len(events)))

    state = with_matches(NO_STATE, 0, matches(5, 6, 7), 3)
    state = with_matches(state, 1, matches(6, 6), 3)
    assert sorted(state.recent.events.tolist()) == [5, 6, 7]
    state = with_matches(state, 2, matches(8), 3)
    assert sorted(state.recent.events.tolist()) == [6, 7, 8]  # 6 is newer than it was the first time


def test_a_batch_without_any_match_installs_nothing(spark, tmp_path):
    (tmp_path / "events").mkdir()
    pq.write_table(pa.table({"event_id": [1, 2], "x": [1, 2]}), tmp_path / "events" / "0.parquet")
    nobody = spark.createDataFrame(pa.table({"id": [f"s{n}" for n in range(12)], "filter": ["x > 5"] * 12}))
    receipts = start(spark, tmp_path, subscriptions=nobody)
    assert [(receipt.installed, receipt.sent) for receipt in receipts] == [(False, 0)]


def test_what_is_no_stream_or_no_threshold_is_refused(spark, tmp_path):
    table = spark.createDataFrame(WORKLOAD.events)
    subscriptions = spark.createDataFrame(WORKLOAD.subscriptions)
    folders = {"output": tmp_path / "clusters", "checkpoint": tmp_path / "checkpoint"}
    with pytest.raises(DataError, match="not a stream"):
        ss.cluster_stream(table, subscriptions, 5, **folders)
    (tmp_path / "events").mkdir()
    stream = spark.readStream.schema(table.schema).parquet(str(tmp_path / "events"))
    with pytest.raises(DataError, match="cluster_stream"):
        ss.cluster(stream, subscriptions, 5)
    with pytest.raises(ClusteringError, match="threshold"):
        ss.cluster_stream(stream, subscriptions, 5, threshold=-1.0, **folders)
    with pytest.raises(ClusteringError, match="cannot form"):
        ss.cluster_stream(stream, subscriptions, 5_000, **folders)
    with pytest.raises(DataError, match="the trigger is 'sometimes'"):
        ss.cluster_stream(stream, subscriptions, 5, trigger="sometimes", **folders)


@pytest.mark.parametrize("committed", [True, False])
def test_a_micro_batch_that_spark_repeats_leaves_what_it_left_before(spark, tmp_path, committed):
    write_steps(tmp_path / "events", 0, 2)
    before = start(spark, tmp_path, threshold=0.0)
    assert [receipt.installed for receipt in before] == [True, True]
    clusters = ss.read_clusters(tmp_path / "clusters").toArrow()
    # Spark forgets that it was done; and, unless it was committed, so do we.
    for file in (tmp_path / "checkpoint" / "commits").glob("*1*"):
        file.unlink()
    if not committed:
        (tmp_path / "checkpoint" / "siftcast" / f"{1:012d}.npz").unlink()
    assert start(spark, tmp_path, threshold=0.0) == before
    assert ss.read_clusters(tmp_path / "clusters").toArrow() == clusters
