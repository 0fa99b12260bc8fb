"""Planning: pure functions from measurements to zones, cliques, trees and groups.

    cells.py            the cells of a content space, and how events and interests are counted into them
    cell_table.py       what was counted, as loads and shares
    zone_partition.py   the load of a cell; one axis in contiguous zones, exactly
    space_partition.py  several axes, by k-d cuts
    zone_choice.py      which axes to cut
    statistics_tables.py    counts as tables and text that people read
    shard_choice.py     where to cut subscriptions into shards; shard_copies.py: how many copies share events
    ring_planning.py    a rendezvous ring under bounds; ring_loads.py, ring_costs.py: what it costs; ring_proposal.py
    ring_density.py     how many nodes there are, from the identities near one of them
    owned_zones.py      Kyra's zones: among the servers of a clique, and among routing trees
    cliques.py          near servers in cliques, under two limits
    spanning_trees.py   minimum spanning trees, and trees with balanced degrees
    core_trees.py       shortest ways from the node that is nearest to all others
    path_delays.py      how long messages take on the ways of a plan, by which plans are compared
    forgy.py            values of similar interest in multicast groups
    kyra_planning.py    all of these together: the layout of a Kyra network
    group_planning.py   content groups and their trees, for multicast-based routing
    cluster_planning.py clusters of subscriptions on a network, for clustered dissemination
    popularity.py       the exponent that says how many servers an event passes
    clustering/         subscriptions that receive the same events in clusters (imported by its own name)

Networks come in as matrices of latencies between servers: planning does not know the underlay.
Results are plain types of `space`. It does not matter who measures: an experiment counts in memory; Spark counts a
table of any size with the same functions on Arrow batches.
"""

from siftcast.planning.cell_table import CellTable
from siftcast.planning.cells import Cells, axis_edges, grid_size, joint_cells, places_of
from siftcast.planning.cliques import clique_sizes, cluster_cliques
from siftcast.planning.cluster_planning import assign_clusters, interest_clusters, matched_matrix, plan_clusters
from siftcast.planning.group_planning import group_trees, plan_groups
from siftcast.planning.kyra_planning import plan_kyra, plan_kyra_in_boxes
from siftcast.planning.popularity import fit_power_law, traversed_shares
from siftcast.planning.space_partition import partition_space
from siftcast.planning.spanning_trees import minimum_spanning_tree
from siftcast.planning.zone_choice import choose_zones
from siftcast.planning.zone_partition import (
    ALPHA,
    Quality,
    bottleneck,
    cell_loads,
    partition_line,
    quality,
    split_line,
)

__all__ = [
    "ALPHA",
    "CellTable",
    "Cells",
    "Quality",
    "assign_clusters",
    "axis_edges",
    "bottleneck",
    "cell_loads",
    "choose_zones",
    "clique_sizes",
    "cluster_cliques",
    "fit_power_law",
    "grid_size",
    "group_trees",
    "interest_clusters",
    "joint_cells",
    "matched_matrix",
    "minimum_spanning_tree",
    "partition_line",
    "partition_space",
    "places_of",
    "plan_clusters",
    "plan_groups",
    "plan_kyra",
    "plan_kyra_in_boxes",
    "quality",
    "split_line",
    "traversed_shares",
]
