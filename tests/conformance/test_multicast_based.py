"""Multicast-based routing with several groupings and options, against the suite of all schemes."""

from collections import Counter
from types import MappingProxyType

import numpy as np

from siftcast.overlays.conformance import SchemeConformance
from siftcast.overlays.links import SourceTreeLinks, TreeLinks
from siftcast.overlays.messages import Publication
from siftcast.overlays.protocols.kyra import SubscriptionMovement
from siftcast.overlays.protocols.multicast_based import MulticastBased
from siftcast.planning import group_trees, plan_groups, plan_kyra
from siftcast.space import ContentGroups, Partition


def forgy(case, groups):
    """Groups of the interests known beforehand."""
    interest = np.zeros((10, len(case.nodes)), dtype=bool)
    for node, filter_ in case.interests:
        interest[:, node] |= [filter_.matches({"value": value}) for value in range(10)]
    return plan_groups(case.space, np.arange(11), interest, groups, np.random.default_rng(len(case.interests)))


class MulticastConformance(SchemeConformance):
    """No server receives an event twice, whatever its group."""

    def nodes(self, case, groups, **options):
        tree_of = group_trees(case.distances)
        return lambda node: MulticastBased(
            node, TreeLinks.of(case.tree, node), case.tables, groups, tree_of, case.distances[node], **options
        )

    def check_messages(self, net, publisher):
        received = Counter(to for _, to, message in net.sent if isinstance(message, Publication))
        assert publisher not in received
        assert all(count == 1 for count in received.values())


class TestMulticastBased(MulticastConformance):
    def factory(self, case):
        return self.nodes(case, forgy(case, 3))


class TestMulticastBasedWithOneGroup(MulticastConformance):
    def factory(self, case):
        return self.nodes(case, ContentGroups(Partition.along(case.space, 0, ()), [0]))


class TestMulticastBasedWithAGroupForEachValue(MulticastConformance):
    def factory(self, case):
        return self.nodes(case, ContentGroups(Partition.along(case.space, 0, range(1, 10)), range(10)))


class TestMulticastBasedThatSwitchesToUnicast(MulticastConformance):
    def factory(self, case):
        return self.nodes(case, forgy(case, 2), unicast_below=0.6)


class TestMulticastBasedWhoseSubscriptionsFloodAGraph(MulticastConformance):
    def factory(self, case):
        groups, tree_of = forgy(case, 3), group_trees(case.distances)
        return lambda node: MulticastBased(
            node, SourceTreeLinks.of(case.graph, node), case.tables, groups, tree_of, case.distances[node]
        )


class TestMulticastBasedOverSubscriptionMovement(MulticastConformance):
    options = MappingProxyType({})

    def factory(self, case):
        layout = plan_kyra(case.distances, case.space, np.arange(11), np.ones(10), clique_ms_max=2.0)
        backbone = self.nodes(case, forgy(case, 3), **self.options)
        return lambda node: SubscriptionMovement(node, layout, case.tables, backbone(node))

    def check_messages(self, net, publisher):
        received = Counter(to for _, to, message in net.sent if isinstance(message, Publication))
        assert all(count == 1 for count in received.values())


class TestMulticastBasedWithUnicastOverSubscriptionMovement(TestMulticastBasedOverSubscriptionMovement):
    options = MappingProxyType({"unicast_below": 0.7})
