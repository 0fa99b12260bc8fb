"""The scheme `unicast`: matched at the publisher, a copy to each server."""

from siftcast.overlays.contract import NodeId
from siftcast.overlays.delivery import Direct
from siftcast.overlays.protocols.layered import Everywhere, FloodedLayers
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.contract import Factory, NoOptions
from siftcast.schemes.tree_plan import TreePlan, TreeScheme


class Unicast(TreeScheme[NoOptions]):
    """The yardstick of shortest delays and most copies. Subscriptions travel on a tree."""

    name = "unicast"
    description = "matched at the publisher, a copy to each server"
    protocol = FloodedLayers
    options = NoOptions()
    events_follow_tree = False

    def nodes(self, plan: TreePlan, options: NoOptions, tables: TableFactory) -> Factory:
        return lambda node: FloodedLayers(node, Everywhere(node, plan.links(node), tables), Direct(), tables)

    def contacts(self, plan: TreePlan, node: NodeId) -> tuple[NodeId, ...]:
        return tuple(other for other in plan.tree.nodes if other != node)


SCHEME = Unicast()
