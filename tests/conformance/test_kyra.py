"""Kyra on layouts of every form, against the suite of all schemes."""

from collections import Counter
from itertools import product
from types import MappingProxyType

import numpy as np

from siftcast.model import Attribute, Schema
from siftcast.overlays.conformance import SchemeConformance
from siftcast.overlays.messages import Publication
from siftcast.overlays.protocols.kyra import Handover, Kyra, Notification
from siftcast.overlays.reuse import Reuse
from siftcast.planning import cell_loads, plan_kyra, plan_kyra_in_boxes
from siftcast.space import ContentSpace

VALUES = range(10)
TWO_AXES = ContentSpace(Schema([Attribute("value", "int", (0, 9), 1), Attribute("kind", "string", ("x", "xy", "y"))]))


def chosen(**values):
    return MappingProxyType(values)


def forecast(case):
    """The load of each value if the interests known beforehand stay; even if there are none."""
    wanted = [sum(interest.matches({"value": value}) for _, interest in case.interests) for value in VALUES]
    popularity = np.array(wanted) / max(1, len(case.interests))
    return cell_loads(popularity, np.ones(10), np.linspace(0.5, 1.5, 10))


class KyraConformance(SchemeConformance):
    """Layouts from planning; options are those of the protocol."""

    planning = chosen(clique_ms_max=2.0)
    options = chosen()

    def layout(self, case):
        return plan_kyra(case.distances, case.space, np.arange(11), forecast(case), **self.planning)

    def factory(self, case):
        layout = self.layout(case)
        return lambda node: Kyra(node, layout, case.tables, **self.options)

    def check_messages(self, net, publisher):
        """A server has the event from the trees at most once, and as a final notification at most once."""
        routed = Counter(to for _, to, message in net.sent if isinstance(message, Publication))
        final = Counter(to for _, to, message in net.sent if isinstance(message, Notification))
        assert all(count == 1 for count in (*routed.values(), *final.values()))
        assert publisher not in final
        assert sum(isinstance(message, Handover) for _, _, message in net.sent) <= 1


class TestKyra(KyraConformance):
    pass


class TestKyraWithCliquesOfTwo(KyraConformance):
    planning = chosen(clique_ms_max=3.0, clique_servers_max=2)


class TestKyraWithSharesThatLeaveServersWithoutAZone(KyraConformance):
    planning = chosen(clique_ms_max=4.0, method="shares", trees=3)


class TestKyraWithOneClique(KyraConformance):
    planning = chosen(clique_ms_max=100.0)


class TestKyraWithCliquesOfOneAndOneTree(KyraConformance):
    planning = chosen(clique_ms_max=0.0, trees=1)


class TestKyraWithMoreTreesThanServers(KyraConformance):
    planning = chosen(clique_ms_max=2.0, trees=25)


class TestKyraWithBalancedTrees(KyraConformance):
    planning = chosen(clique_ms_max=1.0, trees=4, balance_factor=10)


class TestKyraOverARing(KyraConformance):
    planning = chosen(clique_ms_max=4.0)
    options = chosen(clique_delivery="ring")


class TestKyraWithCovering(KyraConformance):
    planning = chosen(clique_ms_max=1.0, trees=2)
    options = chosen(summary="covering")


class TestKyraWithMerging(KyraConformance):
    planning = chosen(clique_ms_max=1.0, trees=2)
    options = chosen(summary="merging")


class TestKyraWithAlwaysReuse(KyraConformance):
    planning = chosen(clique_ms_max=1.0, trees=2)
    options = chosen(reuse=Reuse("always"))


class TestKyraWithPartialReuseAndCovering(KyraConformance):
    planning = chosen(clique_ms_max=1.0, trees=2)
    options = chosen(reuse=Reuse("partial", 1), summary="covering")


class TestKyraOnTwoAxes(KyraConformance):
    planning = chosen(clique_ms_max=2.0, trees=5)

    def layout(self, case):
        cells = np.array(list(product(VALUES, range(3))), dtype=float)
        loads = np.tile(forecast(case) + 0.1, (3, 1)).T.ravel()
        return plan_kyra_in_boxes(case.distances, TWO_AXES, cells, cells + 1, loads, **self.planning)
