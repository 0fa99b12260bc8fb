"""The geometry of interests: events as points, filters as boxes, in the content space of a schema.

Matching does not need it. What partitions the content among servers, peers or Spark tasks does: it cuts the space,
gives each part to somebody, and must know which parts an event or an interest touches. The plain types that planning
hands to overlays are here too: zones, their owners, and trees.
"""

from siftcast.space.box import Box
from siftcast.space.content_space import Axis, ContentSpace
from siftcast.space.owned_zones import OwnedZones
from siftcast.space.source_trees import SourceTrees
from siftcast.space.tree import Tree
from siftcast.space.zones import Cuts, Partition, Region, Zone, overlapped, regions

__all__ = [
    "Axis",
    "Box",
    "ContentSpace",
    "Cuts",
    "OwnedZones",
    "Partition",
    "Region",
    "SourceTrees",
    "Tree",
    "Zone",
    "overlapped",
    "regions",
]
