"""The scheme `match-early`: matched at the publisher, split along a tree."""

from siftcast.overlays.delivery import AlongTree
from siftcast.overlays.protocols.layered import Everywhere, FloodedLayers
from siftcast.overlays.tables import TableFactory
from siftcast.schemes.contract import Factory, NoOptions
from siftcast.schemes.tree_plan import TreePlan, TreeScheme


class MatchEarly(TreeScheme[NoOptions]):
    """One match per event; messages name their destinations."""

    name = "match-early"
    description = "matched at the publisher, split along a tree"
    protocol = FloodedLayers
    options = NoOptions()

    def nodes(self, plan: TreePlan, options: NoOptions, tables: TableFactory) -> Factory:
        return lambda node: FloodedLayers(
            node, Everywhere(node, plan.links(node), tables), AlongTree(node, plan.tree.next_hops(node)), tables
        )


SCHEME = MatchEarly()
