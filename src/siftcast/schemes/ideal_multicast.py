"""The scheme `ideal-multicast`: matched at the publisher, carried by the network's own multicast."""

from siftcast.overlays.contract import NodeId
from siftcast.overlays.delivery import NetworkMulticast
from siftcast.overlays.protocols.layered import Everywhere, FloodedLayers
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.contract import Factory, NoOptions
from siftcast.schemes.tree_plan import TreePlan, TreeScheme


class IdealMulticast(TreeScheme[NoOptions]):
    """The yardstick that no overlay reaches: routers multiply each event for exactly those who want it."""

    name = "ideal-multicast"
    description = "matched at the publisher, network multicast"
    protocol = FloodedLayers
    options = NoOptions()
    events_follow_tree = False
    simulated_only = "it needs a network that multiplies messages"

    def nodes(self, plan: TreePlan, options: NoOptions, tables: TableFactory) -> Factory:
        return lambda node: FloodedLayers(node, Everywhere(node, plan.links(node), tables), NetworkMulticast(), tables)

    def contacts(self, plan: TreePlan, node: NodeId) -> tuple[NodeId, ...]:
        return tuple(other for other in plan.tree.nodes if other != node)


SCHEME = IdealMulticast()
