"""The geometry of interests: events as points, filters as boxes, in the content space of a schema.

Matching does not need it. Code that partitions the content among servers, peers or Spark tasks does: it cuts the
space, assigns each part, and must know which parts an event or an interest touches. The plain types that planning
hands to overlays are here, too: zones, their owners, trees, groups, clusters of subscriptions, shards, and the layouts
of Kyra networks and of rings. Two packages are imported by name: `digests` and `dz` give interests as a few bits.
"""

from siftcast.space.box import Box
from siftcast.space.content_groups import ContentGroups
from siftcast.space.content_space import Axis, ContentSpace
from siftcast.space.hash_axis import HashAxis
from siftcast.space.kyra_layout import OUTSIDE, Clique, KyraLayout
from siftcast.space.owned_zones import OwnedZones
from siftcast.space.ring_plan import Circle, RingPlacement, RingPlan, cut_by_rank
from siftcast.space.rooted_tree import RootedTree, grow
from siftcast.space.shard_axes import ShardAxis
from siftcast.space.shard_plan import ShardPlan
from siftcast.space.source_trees import SourceTrees
from siftcast.space.subscription_clusters import ClusterAssignment, ClusterLayout, InterestProfiles
from siftcast.space.tree import Tree
from siftcast.space.zone_filters import box_filter, part_within, parts_by_owner
from siftcast.space.zones import Cuts, Partition, Region, Zone, overlapped, regions

__all__ = [
    "OUTSIDE",
    "Axis",
    "Box",
    "Circle",
    "Clique",
    "ClusterAssignment",
    "ClusterLayout",
    "ContentGroups",
    "ContentSpace",
    "Cuts",
    "HashAxis",
    "InterestProfiles",
    "KyraLayout",
    "OwnedZones",
    "Partition",
    "Region",
    "RingPlacement",
    "RingPlan",
    "RootedTree",
    "ShardAxis",
    "ShardPlan",
    "SourceTrees",
    "Tree",
    "Zone",
    "box_filter",
    "cut_by_rank",
    "grow",
    "overlapped",
    "part_within",
    "parts_by_owner",
    "regions",
]
