"""Every scheme of the overlays, with every option, against the suite."""

from collections import Counter

import pytest

from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.conformance import SchemeConformance
from siftcast.overlays.contract import PublishRequested, SubscribeRequested
from siftcast.overlays.delivery import AlongTree, Direct, NetworkMulticast, OnRing
from siftcast.overlays.links import SourceTreeLinks, TreeLinks
from siftcast.overlays.loopback import Loopback
from siftcast.overlays.messages import Publication
from siftcast.overlays.protocols.broadcast import Broadcast
from siftcast.overlays.protocols.filter_based import FilterBased
from siftcast.overlays.protocols.match_first import MatchFirst
from siftcast.overlays.reuse import Reuse, ReuseUnsafeError
from siftcast.overlays.tables import matcher_tables
from siftcast.space import SourceTrees, Tree


class OnceEach(SchemeConformance):
    """No node receives an event twice."""

    def check_messages(self, net, publisher):
        received = Counter(to for _, to, message in net.sent if isinstance(message, Publication))
        assert publisher not in received
        assert all(count == 1 for count in received.values())


class TestFilterBased(OnceEach):
    def factory(self, case):
        return lambda node: FilterBased(node, TreeLinks.of(case.tree, node), case.tables)


class TestFilterBasedOnGraphs(OnceEach):
    def factory(self, case):
        return lambda node: FilterBased(node, SourceTreeLinks.of(case.graph, node), case.tables)


class TestFilterBasedWithCovering(OnceEach):
    def factory(self, case):
        return lambda node: FilterBased(node, TreeLinks.of(case.tree, node), case.tables, summary="covering")


class TestFilterBasedWithCoveringOnGraphs(OnceEach):
    def factory(self, case):
        return lambda node: FilterBased(node, SourceTreeLinks.of(case.graph, node), case.tables, summary="covering")


class TestFilterBasedWithMerging(OnceEach):
    def factory(self, case):
        return lambda node: FilterBased(node, TreeLinks.of(case.tree, node), case.tables, summary="merging")


class TestFilterBasedWithMergingOnGraphs(OnceEach):
    def factory(self, case):
        return lambda node: FilterBased(node, SourceTreeLinks.of(case.graph, node), case.tables, summary="merging")


class TestFilterBasedWithAdvertisements(OnceEach):
    advertises = True

    def factory(self, case):
        return lambda node: FilterBased(node, TreeLinks.of(case.tree, node), case.tables, advertisements=True)


class TestFilterBasedWithAdvertisementsAndCoveringOnGraphs(OnceEach):
    advertises = True

    def factory(self, case):
        return lambda node: FilterBased(
            node, SourceTreeLinks.of(case.graph, node), case.tables, advertisements=True, summary="covering"
        )


class TestAlwaysReuse(OnceEach):
    def factory(self, case):
        return lambda node: FilterBased(node, TreeLinks.of(case.tree, node), case.tables, reuse=Reuse("always"))


class TestAlwaysReuseOnGraphs(OnceEach):
    def factory(self, case):
        return lambda node: FilterBased(node, SourceTreeLinks.of(case.graph, node), case.tables, reuse=Reuse("always"))


class TestPartialReuse(OnceEach):
    def factory(self, case):
        return lambda node: FilterBased(node, TreeLinks.of(case.tree, node), case.tables, reuse=Reuse("partial", 2))


class TestPartialReuseOnGraphs(OnceEach):
    def factory(self, case):
        return lambda node: FilterBased(
            node, SourceTreeLinks.of(case.graph, node), case.tables, reuse=Reuse("partial", 1)
        )


class TestPartialReuseWithCovering(OnceEach):
    def factory(self, case):
        return lambda node: FilterBased(
            node, TreeLinks.of(case.tree, node), case.tables, summary="covering", reuse=Reuse("partial", 2)
        )


class TestPartialReuseWithMergingOnGraphs(OnceEach):
    def factory(self, case):
        return lambda node: FilterBased(
            node, SourceTreeLinks.of(case.graph, node), case.tables, summary="merging", reuse=Reuse("partial", 1)
        )


class TestBroadcast(OnceEach):
    def factory(self, case):
        return lambda node: Broadcast(node, TreeLinks.of(case.tree, node), case.tables)


class TestUnicast(SchemeConformance):
    def factory(self, case):
        return lambda node: MatchFirst(node, TreeLinks.of(case.tree, node), case.tables, Direct())


class TestIdealMulticast(SchemeConformance):
    def factory(self, case):
        return lambda node: MatchFirst(node, TreeLinks.of(case.tree, node), case.tables, NetworkMulticast())


class TestMatchEarly(SchemeConformance):
    def factory(self, case):
        return lambda node: MatchFirst(
            node, TreeLinks.of(case.tree, node), case.tables, AlongTree(node, case.tree.next_hops(node))
        )


class TestMatchFirstOverARing(SchemeConformance):
    def factory(self, case):
        return lambda node: MatchFirst(
            node, SourceTreeLinks.of(case.graph, node), case.tables, OnRing(node, case.nodes)
        )


# -- the one combination that cannot pass -------------------------------------------------------------


def chain_with_covering(reuse, **options):
    """Three servers in a row; the wide subscription of the middle one covers that of the last."""
    tree = Tree(range(3), [(0, 1), (1, 2)])
    net = Loopback(
        tree.nodes,
        lambda node: FilterBased(
            node, TreeLinks.of(tree, node), matcher_tables("brute_force"), summary="covering", reuse=reuse, **options
        ),
    )
    net.do(1, SubscribeRequested((Subscription("wide", Filter.parse("a < 9")),)))
    net.do(2, SubscribeRequested((Subscription("narrow", Filter.parse("a < 5")),)))
    net.do(0, PublishRequested(Event({"a": 3}, id="e")))
    return sorted(id for _, _, id in net.delivered)


def test_always_reuse_with_covering_must_be_asked_for():
    with pytest.raises(ReuseUnsafeError, match="unsafe=True"):
        chain_with_covering(Reuse("always"))


def test_always_reuse_with_covering_misses_a_covered_subscriber_and_partial_reuse_does_not():
    assert chain_with_covering(Reuse("always"), unsafe=True) == ["wide"]
    for limit in (1, 2, 60):
        assert chain_with_covering(Reuse("partial", limit)) == ["narrow", "wide"]


@pytest.mark.parametrize("summary", ["covering", "merging"])
def test_on_graphs_a_subscription_is_not_covered_by_one_that_travels_another_way(summary):
    """The way from 4 to 0 avoids 3, the way from 4 to 1 does not; so 3 must tell 4 of 1 although 0 wants the same."""
    lengths = {(0, 2): 1.0, (1, 2): 1.0, (2, 3): 1.0, (3, 4): 1.0, (0, 4): 2.0}
    graph = SourceTrees.shortest(lengths)
    net = Loopback(
        range(5),
        lambda node: FilterBased(node, SourceTreeLinks.of(graph, node), matcher_tables("brute_force"), summary=summary),
    )
    net.do(0, SubscribeRequested((Subscription("wide", Filter.parse("a < 9")),)))
    net.do(1, SubscribeRequested((Subscription("narrow", Filter.parse("a < 5")),)))
    net.do(4, PublishRequested(Event({"a": 3}, id="e")))
    assert sorted(net.delivered) == [(0, "e", "wide"), (1, "e", "narrow")]
