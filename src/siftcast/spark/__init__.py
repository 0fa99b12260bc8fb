"""Any number of events against any number of standing subscriptions, as Spark tables.

    from siftcast import spark as ss

    spark = ss.session()                                      # embedded, unless there is a session or a cluster
    pairs = ss.match(events, subscriptions)                   # event columns + subscription_id
    lists = ss.match(events, subscriptions, output="lists")   # event columns + matched: array<string>
    counts = ss.match_counts(events, subscriptions)           # event columns + matched_count

    result = ss.match_with_rejects(ss.read_events("events.jsonl"), ss.read_subscriptions("subscriptions.csv"))
    result.matched, result.rejected, result.counts()          # nothing is lost

    query = ss.match_stream(events, "changes/", output="matches", checkpoint="checkpoint")   # subscriptions may change
    ss.read_matches("matches")                                # each event exactly once, with the version it met

    ss.register(spark, "my_rules", subscriptions)             # SELECT *, my_rules(struct(*)) FROM events

    ss.dz(events, schema, length=12).groupBy("dz").count()    # how many events each cell of the content space has

    clusters = ss.cluster(events, subscriptions, k=50)        # subscription_id + cluster: who receives the same events
    ss.cluster_cost(other_events, subscriptions, clusters)    # messages sent and wanted

Read `session` for where it runs, `compiled` for how subscriptions get to the workers, `matching` for the path of an
event, `intake`, `dead_letters` and `accounts` for what becomes of bad input, `statistics`, `partition`, `history` and
`dz_columns` for what the network needs to know, `clustering` for who receives the same events, and `streaming` for
streams, which keep their state in folders. All other transforms are functions from DataFrame to DataFrame and keep
none.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from siftcast.space.shard_plan import ShardPlan
from siftcast.spark.accounts import MatchCounts, MatchResult, match_with_rejects
from siftcast.spark.compiled import CompiledSubscriptions, compile_subscriptions
from siftcast.spark.dz_columns import dz
from siftcast.spark.errors import SparkError, short_errors
from siftcast.spark.event_stream import read_event_stream
from siftcast.spark.history import match_history
from siftcast.spark.intake import Intake, parse_events, read_events, read_subscriptions, split_corrupt
from siftcast.spark.java import Java, find_java
from siftcast.spark.match_counting import match_counts
from siftcast.spark.matching import match
from siftcast.spark.partition import partition
from siftcast.spark.progress import Progress, progress_now, watch
from siftcast.spark.schemas import DEAD_LETTERS, SUBSCRIPTIONS, Output, spark_type
from siftcast.spark.session import active_session, is_connect, session
from siftcast.spark.shard_matching import match_sharded
from siftcast.spark.shard_planning import shard_plan
from siftcast.spark.sql_functions import register
from siftcast.spark.statistics import Statistics, statistics
from siftcast.spark.stream_output import read_batches, read_dead_letters, read_matches
from siftcast.spark.stream_progress import BatchReceipt, StreamProgress, StreamTotals
from siftcast.spark.streaming import StreamQuery, match_stream

if TYPE_CHECKING:
    from siftcast.spark.clustering import cluster
    from siftcast.spark.clustering_cost import cluster_cost
    from siftcast.spark.clustering_stream import ClusterStream, cluster_stream, read_clusters

# Each worker imports this package before its first task, and scikit-learn, which clustering needs, takes longer than
# all the rest together. So clustering is imported on first use; none of its modules may be named like these.
_CLUSTERING = {
    "ClusterStream": "clustering_stream",
    "cluster": "clustering",
    "cluster_cost": "clustering_cost",
    "cluster_stream": "clustering_stream",
    "read_clusters": "clustering_stream",
}


def __getattr__(name: str) -> Any:
    if name not in _CLUSTERING:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_CLUSTERING[name]}"), name)


__all__ = [
    "DEAD_LETTERS",
    "SUBSCRIPTIONS",
    "BatchReceipt",
    "ClusterStream",
    "CompiledSubscriptions",
    "Intake",
    "Java",
    "MatchCounts",
    "MatchResult",
    "Output",
    "Progress",
    "ShardPlan",
    "SparkError",
    "SparkSession",
    "Statistics",
    "StreamProgress",
    "StreamQuery",
    "StreamTotals",
    "active_session",
    "cluster",
    "cluster_cost",
    "cluster_stream",
    "compile_subscriptions",
    "dz",
    "find_java",
    "is_connect",
    "match",
    "match_counts",
    "match_history",
    "match_sharded",
    "match_stream",
    "match_with_rejects",
    "parse_events",
    "partition",
    "progress_now",
    "read_batches",
    "read_clusters",
    "read_dead_letters",
    "read_event_stream",
    "read_events",
    "read_matches",
    "read_subscriptions",
    "register",
    "session",
    "shard_plan",
    "short_errors",
    "spark_type",
    "split_corrupt",
    "statistics",
    "watch",
]
