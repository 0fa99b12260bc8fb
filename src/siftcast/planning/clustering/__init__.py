"""Subscription clustering: subscriptions that receive the same events belong together (thesis, chapter 3).

    matched_events.py       which recent events each subscription matched, as a sparse matrix
    similarity.py           Jaccard and others, for pairs that share events
    embedding.py            Ratio Association and Normalized Cut: subscriptions as points
    hierarchy.py            connected base groups, landmarks, levels
    distributed.py          local embeddings and their projections, group by group
    kmeans.py               k-means, and Lloyd's rounds from given centres
    distributed_kmeans.py   sampling; selection and merge
    hp2pc.py                the published method without selection: a baseline
    duplicates.py           one label for subscriptions that matched the same events
    baselines.py            clusters by shape: centroids, overlaps, R-tree
    measures.py             entropy, accuracy, stress, neighbourhoods, false positives
    maintenance.py          placing, refreshing, re-clustering
    parameters.py           what is refused, by name
    estimator.py            SubscriptionClusters: all of it behind fit and predict

The functions on one group (`embed_group`, `project_group`, `select_centres`, `merge_centres`) take plain values, so
that Spark can run groups as partitions and levels as stages with the very same code.
"""

from siftcast.planning.clustering.baselines import centroid_clusters, overlap_clusters, rtree_clusters
from siftcast.planning.clustering.distributed import (
    EmbeddingPlan,
    Frame,
    GlobalEmbedding,
    LocalEmbedding,
    Projection,
    embed_group,
    embed_levels,
    frame_below,
    project_group,
    root_frame,
)
from siftcast.planning.clustering.distributed_kmeans import (
    hierarchical_kmeans,
    merge_centres,
    sampling_kmeans,
    select_centres,
)
from siftcast.planning.clustering.duplicates import settle_labels
from siftcast.planning.clustering.embedding import EMBEDDINGS
from siftcast.planning.clustering.estimator import SubscriptionClusters
from siftcast.planning.clustering.hierarchy import Group, Hierarchy, build_hierarchy, connected_groups
from siftcast.planning.clustering.hp2pc import hp2pc_kmeans
from siftcast.planning.clustering.kmeans import Centres, kmeans, nearest_centres, refine_centres, unit_rows
from siftcast.planning.clustering.maintenance import (
    UNMATCHED,
    GroupPlacement,
    align,
    centre_shift,
    place,
    refresh_group,
    rename_clusters,
    subscriber_clusters,
)
from siftcast.planning.clustering.matched_events import MatchedEvents, matched_events
from siftcast.planning.clustering.measures import (
    FalsePositives,
    accuracy,
    entropy,
    false_positives,
    neighbourhoods,
    stress,
)
from siftcast.planning.clustering.parameters import NotClusteredError
from siftcast.planning.clustering.similarity import SIMILARITIES, block_similarities, similarities

__all__ = [
    "EMBEDDINGS",
    "SIMILARITIES",
    "UNMATCHED",
    "Centres",
    "EmbeddingPlan",
    "FalsePositives",
    "Frame",
    "GlobalEmbedding",
    "Group",
    "GroupPlacement",
    "Hierarchy",
    "LocalEmbedding",
    "MatchedEvents",
    "NotClusteredError",
    "Projection",
    "SubscriptionClusters",
    "accuracy",
    "align",
    "block_similarities",
    "build_hierarchy",
    "centre_shift",
    "centroid_clusters",
    "connected_groups",
    "embed_group",
    "embed_levels",
    "entropy",
    "false_positives",
    "frame_below",
    "hierarchical_kmeans",
    "hp2pc_kmeans",
    "kmeans",
    "matched_events",
    "merge_centres",
    "nearest_centres",
    "neighbourhoods",
    "overlap_clusters",
    "place",
    "project_group",
    "refine_centres",
    "refresh_group",
    "rename_clusters",
    "root_frame",
    "rtree_clusters",
    "sampling_kmeans",
    "select_centres",
    "settle_labels",
    "similarities",
    "stress",
    "subscriber_clusters",
    "unit_rows",
]
