"""The scheme `match-on-ring`: matched at the publisher, passed on along a ring of all servers."""

from siftcast.overlays.contract import NodeId
from siftcast.overlays.delivery import OnRing
from siftcast.overlays.protocols.layered import Everywhere, FloodedLayers
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.contract import Factory, NoOptions
from siftcast.schemes.tree_plan import TreePlan, TreeScheme


class MatchOnRing(TreeScheme[NoOptions]):
    """Events skip from one destination to the next. Subscriptions travel on a tree."""

    name = "match-on-ring"
    description = "matched at the publisher, split along a ring"
    protocol = FloodedLayers
    options = NoOptions()
    events_follow_tree = False

    def nodes(self, plan: TreePlan, options: NoOptions, tables: TableFactory) -> Factory:
        return lambda node: FloodedLayers(
            node, Everywhere(node, plan.links(node), tables), OnRing(node, plan.tree.nodes), tables
        )

    def contacts(self, plan: TreePlan, node: NodeId) -> tuple[NodeId, ...]:
        return tuple(other for other in plan.tree.nodes if other != node)


SCHEME = MatchOnRing()
