"""Clusters that follow the traffic of a running stream (thesis, 3.5).

    stream = ss.cluster_stream(events, subscriptions, k=50, output="clusters", checkpoint="checkpoint")
    stream.await_termination()
    stream.receipts()                 # for each micro-batch: messages sent and wanted, how far centres moved, who moved
    ss.read_clusters("clusters")      # the clusters that are installed now: subscription_id, cluster, recent_matches

What happens to a micro-batch: its events are delivered under the installed clusters, for which its false positives
are counted; its matches join the recent ones; subscriptions are clustered again from these; and if centres have moved
beyond the threshold, the new clusters are installed as another version, under the names with which fewest
subscriptions move. Below the threshold nobody moves, because a move costs control messages.

    output/versions/…7.parquet      the clusters of version 7
    output/batches/…42.json         the receipt of micro-batch 42
    checkpoint/siftcast/…42.npz     the state behind it (`cluster_state`), written last: the commit

After a crash the micro-batch that was not committed is done again and leaves the same files. Subscriptions are a table
that stays; the driver clusters, so the cost of a micro-batch is two matches of its events and one clustering.
"""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from pathlib import Path

import msgspec
import numpy as np
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from siftcast.model import ClusteringError, DataError, Schema
from siftcast.planning.clustering import SubscriptionClusters
from siftcast.planning.clustering.estimator import THRESHOLD
from siftcast.planning.clustering.matched_events import RECENT
from siftcast.spark.cluster_state import ClusterState, StateFolder, labels_of, with_matches
from siftcast.spark.clustering import cluster_table
from siftcast.spark.clustering_cost import labels_cost
from siftcast.spark.compiled import CompiledSubscriptions, compiled_for
from siftcast.spark.errors import SparkError
from siftcast.spark.history import order_column
from siftcast.spark.intake import Intake, as_intake, good_rows
from siftcast.spark.matched_numbers import subscription_ids
from siftcast.spark.recent_matches import recent_matches
from siftcast.spark.session import active_session, is_connect, session
from siftcast.spark.stream_control import await_end, triggered
from siftcast.spark.stream_folders import local_folder, numbered, numbered_path, write_again


class ClusterReceipt(msgspec.Struct, frozen=True):
    """The result of one micro-batch.

    `sent` and `wanted` are messages under the version that was installed when it came; `version` is the one installed
    after it. `deviation` says how far centres had moved, as a share of their spread (null where there was nothing to
    compare). Changes count subscriptions that moved between clusters, joined their first, or left their last.
    """

    batch: int
    version: int
    installed: bool
    deviation: float | None
    moved: int
    joined: int
    left: int
    sent: int
    wanted: int

    @property
    def false_positives(self) -> float:
        """The share of messages that nobody wanted."""
        return 1.0 - self.wanted / self.sent if self.sent else 0.0

    @property
    def changes(self) -> int:
        """Subscriptions whose membership changed."""
        return self.moved + self.joined + self.left


class ClusterStream:
    """A stream that keeps clusters up to date; `query` is Spark's own handle."""

    def __init__(self, query: StreamingQuery, runner: _Runner, output: Path) -> None:
        self.query = query
        self._runner = runner
        self._output = output

    def receipts(self) -> list[ClusterReceipt]:
        """One for each micro-batch so far, also of earlier runs."""
        folder = self._output / "batches"
        files = (numbered_path(folder, number, ".json") for number in numbered(folder, ".json"))
        return [msgspec.json.decode(file.read_bytes(), type=ClusterReceipt) for file in files]

    def await_termination(self, timeout_s: float | None = None) -> bool:
        """Waits until it ends and says whether it has; raises what ended it, if that was an error."""
        return await_end(self.query, self._runner, timeout_s)

    def stop(self) -> None:
        """Ends it; a micro-batch that is cut off is done again by the next start."""
        self.query.stop()


def cluster_stream(
    events: DataFrame | Intake,
    subscriptions: DataFrame,
    k: int,
    method: str = "rassoc",
    *,
    output: str | Path,
    checkpoint: str | Path,
    threshold: float = THRESHOLD,
    trigger: str | None = None,
    recent: int = RECENT,
    similarity: str = "jaccard",
    dimensions: int | None = None,
    landmarks: float | int | None = None,
    seed: int = 0,
    order_by: str | None = None,
    schema: Schema | None = None,
    strict: bool = True,
    engine: str = "auto",
) -> ClusterStream:
    """Starts to keep clusters of `subscriptions` up to date with a stream of events.

    Parameters are those of `cluster`; `threshold` is the movement of centres, as a share of their spread, from which
    on new clusters are installed. `trigger` is as for `match_stream`: None, "10 seconds" or "available now". Start it
    again with the same output and checkpoint to continue where it stopped.
    """
    taken = as_intake(events, "events")
    spark = taken.rows.sparkSession
    if is_connect(spark):
        raise SparkError("cluster_stream() keeps its state in the driver, so it does not work through Spark Connect")
    if not taken.rows.isStreaming:
        raise DataError("these events are a table, not a stream; make them with spark.readStream, or use cluster()")
    if not threshold >= 0:
        raise ClusteringError(f"the threshold for installing clusters must be at least 0, not {threshold}")
    template = SubscriptionClusters(
        k, method=method, similarity=similarity, dimensions=dimensions, landmarks=landmarks, seed=seed
    )
    compiled = compiled_for(taken.good, subscriptions, strict=strict, schema=schema, engine=engine)
    template.check(compiled.used)
    order_column(taken.good, order_by)
    into, state = local_folder(output, "output"), local_folder(checkpoint, "checkpoint")
    runner = _Runner(compiled, template, into, state / "siftcast", threshold, recent, order_by)
    writer = triggered(taken.rows.writeStream, trigger).option("checkpointLocation", str(state))
    return ClusterStream(writer.foreachBatch(runner).start(), runner, into)


def read_clusters(output: str | Path, version: int | None = None, *, spark: SparkSession | None = None) -> DataFrame:
    """The clusters that a stream has installed, the newest unless a version is named."""
    folder = local_folder(output, "output") / "versions"
    known = numbered(folder, ".parquet")
    if not known or (version is not None and version not in known):
        wanted = "clusters" if version is None else f"version {version}"
        raise DataError(f"{output}: cluster_stream() has installed no {wanted} here")
    path = numbered_path(folder, known[-1] if version is None else version, ".parquet")
    return (spark or active_session() or session()).createDataFrame(pq.read_table(path))


class _Runner:
    """What happens to one micro-batch; the state between two of them."""

    def __init__(
        self,
        subscriptions: CompiledSubscriptions,
        template: SubscriptionClusters,
        output: Path,
        folder: Path,
        threshold: float,
        recent: int,
        order_by: str | None,
    ) -> None:
        self._subscriptions = subscriptions
        self._ids = subscription_ids(subscriptions.shipment.load())
        self._template = template
        self._output = output
        self._folder = StateFolder(folder, subscriptions.fingerprint)
        self._threshold = threshold
        self._recent = recent
        self._order_by = order_by
        self._state = self._folder.read(template)
        self.error: BaseException | None = None

    def __call__(self, frame: DataFrame, batch: int) -> None:
        try:
            if batch > self._state.batch:
                self._run(good_rows(frame), batch)
        except BaseException as error:
            self.error = error  # Spark shows the user a Java stack; the stream raises this instead
            raise

    def _run(self, events: DataFrame, batch: int) -> None:
        count = len(self._ids)
        events = events.persist()
        try:
            labels = labels_of(self._state, count)
            cost = labels_cost(events, self._subscriptions, {"installed": labels})["installed"]
            fresh = recent_matches(events, self._subscriptions, self._recent, order_by=self._order_by)
        finally:
            events.unpersist()
        state, receipt = self._follow(with_matches(self._state, batch, fresh, self._recent))
        receipt = msgspec.structs.replace(receipt, sent=cost.sent, wanted=cost.wanted)
        if receipt.installed:
            content = BytesIO()
            own = state.matched(count, self._recent).own
            pq.write_table(cluster_table(self._ids, labels_of(state, count), own), content)
            write_again(numbered_path(self._output / "versions", state.version, ".parquet"), content.getvalue())
        write_again(numbered_path(self._output / "batches", batch, ".json"), msgspec.json.encode(receipt))
        self._folder.write(state)
        self._state = state

    def _follow(self, state: ClusterState) -> tuple[ClusterState, ClusterReceipt]:
        """Clusters again, and installs the result if it is worth it."""
        matched = state.matched(len(self._ids), self._recent)
        quiet = ClusterReceipt(state.batch, state.version, False, None, 0, 0, 0, 0, 0)
        if not matched.matched.any():
            return state, quiet
        if state.clusters is None:
            clusters = SubscriptionClusters(**self._template.get_params()).fit(matched)
            joined = int((clusters.labels_ >= 0).sum())
            first = msgspec.structs.replace(quiet, version=state.version + 1, installed=True, joined=joined)
            return replace(state, version=state.version + 1, clusters=clusters), first
        shift, renamed = state.clusters.update(matched, threshold=self._threshold)
        deviation = shift.deviation if np.isfinite(shift.deviation) else None
        if renamed is None:
            return state, msgspec.structs.replace(quiet, deviation=deviation)
        receipt = ClusterReceipt(
            state.batch, state.version + 1, True, deviation, renamed.moved, renamed.joined, renamed.left, 0, 0
        )
        return replace(state, version=state.version + 1), receipt
