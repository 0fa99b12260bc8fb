"""Schemes wrapped in what repairs lost messages, against the suite of all schemes."""

from siftcast.overlays.conformance import SchemeConformance
from siftcast.overlays.delivery import AlongTree
from siftcast.overlays.links import SourceTreeLinks, TreeLinks
from siftcast.overlays.protocols.clustered import Clustered
from siftcast.overlays.protocols.filter_based import FilterBased
from siftcast.overlays.protocols.layered import Everywhere, FloodedLayers
from siftcast.overlays.refreshing import Refreshing
from siftcast.planning import plan_clusters
from siftcast.space import ClusterAssignment
from tests.conformance.test_kyra import KyraConformance, chosen
from tests.conformance.test_multicast_based import MulticastConformance, forgy


class Wrapped:
    """Mixed in before a scheme's own test: the scheme as before, with numbers and answers around it."""

    def factory(self, case):
        inner = super().factory(case)
        return lambda node: Refreshing(inner(node))


class FilterBasedScheme(SchemeConformance):
    def factory(self, case):
        return lambda node: FilterBased(node, TreeLinks.of(case.tree, node), case.tables, summary="merging")


class OnGraphs(SchemeConformance):
    def factory(self, case):
        return lambda node: FilterBased(node, SourceTreeLinks.of(case.graph, node), case.tables)


class MatchEarly(SchemeConformance):
    def factory(self, case):
        def make(node):
            delivery = AlongTree(node, case.tree.next_hops(node))
            finder = Everywhere(node, TreeLinks.of(case.tree, node), case.tables)
            return FloodedLayers(node, finder, delivery, case.tables)

        return make


class Multicast(MulticastConformance):
    def factory(self, case):
        return self.nodes(case, forgy(case, 3))


class Clusters(SchemeConformance):
    def factory(self, case):
        assignment = ClusterAssignment({"a": 0, "b": 1, "c": 1}, lambda wanted: 2)
        layout = plan_clusters(case.distances, assignment, rendezvous=1, degree_max=2)
        return lambda node: Clustered(node, layout, case.tables, variant="filtering")


class TestRefreshedFilterBased(Wrapped, FilterBasedScheme):
    pass


class TestRefreshedOnGraphs(Wrapped, OnGraphs):
    pass


class TestRefreshedMatchEarly(Wrapped, MatchEarly):
    pass


class TestRefreshedMulticastBased(Wrapped, Multicast):
    pass


class TestRefreshedKyraOnRings(Wrapped, KyraConformance):
    planning = chosen(clique_ms_max=4.0)
    options = chosen(clique_delivery="ring")

    def check_messages(self, net, publisher):
        pass  # whole messages of rings are parcels, which Kyra's own tests look into


class TestRefreshedClusters(Wrapped, Clusters):
    pass
