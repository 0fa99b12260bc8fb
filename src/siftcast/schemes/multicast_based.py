"""The scheme `multicast-based`: few groups of content that the same servers want, a tree for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from siftcast.overlays.contract import NodeId
from siftcast.overlays.protocols.multicast_based import MulticastBased, TreeOf
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.contract import Factory, Scheme
from siftcast.schemes.ground import Ground
from siftcast.schemes.tree_plan import TreePlan, plan_tree
from siftcast.space import ContentGroups, Partition


@dataclass(frozen=True, slots=True)
class MulticastOptions:
    """`attribute` is the one whose values are grouped, or the first; `unicast_below` a share of a group's members."""

    groups: int = 10
    attribute: str = ""
    unicast_below: float = 0.0

    def __post_init__(self) -> None:
        if self.groups < 1 or not 0 <= self.unicast_below <= 1:
            raise ValueError("there is at least one group, and unicast_below is a share between 0 and 1")


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """Groups of the content, the tree over any members, latencies in ms; subscriptions flood one more tree."""

    flood: TreePlan
    groups: ContentGroups
    tree_of: TreeOf
    distances: Sequence[Sequence[float]]


class MulticastBasedScheme(Scheme[MulticastOptions, GroupPlan]):
    """Multicast-based routing with groups found by Forgy's method."""

    name = "multicast-based"
    description = "groups of like interest, a tree each"
    protocol = MulticastBased
    options = MulticastOptions()
    simulated_only = "its groups are planned from measured interests"
    needs_schema = True
    examples: ClassVar = ({"groups": 4}, {"groups": 3, "unicast_below": 0.5})

    def plan(self, ground: Ground, options: MulticastOptions) -> GroupPlan:
        from siftcast.planning import group_trees, plan_groups
        from siftcast.schemes.content_cells import cut_content

        cut = cut_content(ground, options.attribute)
        cells = Partition.along(cut.space, cut.axis, cut.edges[1:-1])
        interest = np.zeros((len(cut.edges) - 1, len(ground.places)), dtype=np.bool_)
        for place, item in () if ground.forecast is None else ground.forecast.wanted:
            interest[list(cells.zones_of(item.filter)), place] = True
        groups = plan_groups(cut.space, cut.edges, interest, options.groups, ground.rng, axis=cut.axis)
        return GroupPlan(plan_tree(ground), groups, group_trees(ground.latencies_ms), ground.latencies_ms.tolist())

    def nodes(self, plan: GroupPlan, options: MulticastOptions, tables: TableFactory) -> Factory:
        return lambda node: MulticastBased(
            node,
            plan.flood.links(node),
            tables,
            plan.groups,
            plan.tree_of,
            plan.distances[node],
            unicast_below=options.unicast_below,
        )

    def contacts(self, plan: GroupPlan, node: NodeId) -> tuple[NodeId, ...]:
        """Any server may be next to any other in the tree of some group."""
        return tuple(other for other in range(len(plan.distances)) if other != node)


SCHEME = MulticastBasedScheme()
