"""The scheme `broadcast`: every event goes everywhere along a tree."""

from siftcast.overlays.protocols.broadcast import Broadcast
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.contract import Factory, NoOptions
from siftcast.schemes.tree_plan import TreePlan, TreeScheme


class BroadcastScheme(TreeScheme[NoOptions]):
    """The yardstick that matches nothing on the way."""

    name = "broadcast"
    description = "every event goes everywhere along a tree"
    protocol = Broadcast
    options = NoOptions()

    def nodes(self, plan: TreePlan, options: NoOptions, tables: TableFactory) -> Factory:
        return lambda node: Broadcast(node, plan.links(node), tables)


SCHEME = BroadcastScheme()
