"""Every scheme of the catalogue, with every example of its options, against the suite; and what it does not draw."""

import pytest

from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.contract import PublishRequested, SubscribeRequested
from siftcast.overlays.links import SourceTreeLinks, TreeLinks
from siftcast.overlays.loopback import Loopback
from siftcast.overlays.protocols.filter_based import FilterBased
from siftcast.overlays.reuse import Reuse, ReuseUnsafeError
from siftcast.overlays.tables import matcher_tables
from siftcast.schemes.conformance import suites
from siftcast.space import SourceTrees, Tree

globals().update(suites())


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
