"""Clustered dissemination: against the suite of all schemes, and while clusters change under events."""

from collections import Counter
from types import MappingProxyType
from zlib import crc32

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from siftcast.model import Event, Filter, Subscription
from siftcast.overlays.conformance import FILTERS, SchemeConformance
from siftcast.overlays.contract import PublishRequested, SubscribeRequested, UnsubscribeRequested
from siftcast.overlays.loopback import Loopback
from siftcast.overlays.protocols.clustered import Cast, Clustered, ClustersPlanned
from siftcast.overlays.protocols.clustered.messages import Submit
from siftcast.overlays.tables import matcher_tables
from siftcast.space import ClusterAssignment, ClusterLayout


def by_text(clusters):
    """A placement that has nothing to do with interests, so that nothing can rely on them."""
    return lambda filter_: crc32(str(filter_).encode()) % clusters


class ClusteredConformance(SchemeConformance):
    """In each cluster a node has an event at most once, and nobody is offered it twice."""

    clusters = 3
    rendezvous = 1
    degree_max = 2
    options = MappingProxyType({})

    def factory(self, case):
        layout = ClusterLayout(
            ClusterAssignment(place=by_text(self.clusters)),
            case.nodes[: self.rendezvous],
            case.distances,
            self.degree_max,
        )
        return lambda node: Clustered(node, layout, case.tables, **self.options)

    def check_messages(self, net, publisher):
        casts = Counter((to, message.cluster) for _, to, message in net.sent if isinstance(message, Cast))
        assert all(count == 1 for count in casts.values())
        assert sum(isinstance(message, Submit) for _, _, message in net.sent) <= 1
        assert all(isinstance(message, Cast | Submit) for _, _, message in net.sent)


class TestMulticastInClusters(ClusteredConformance):
    pass


class TestMulticastInOneCluster(ClusteredConformance):
    clusters = 1


class TestMulticastInClustersWithManyRendezvous(ClusteredConformance):
    rendezvous = 8


class TestMulticastDownChains(ClusteredConformance):
    degree_max = 1
    clusters = 2


class TestFilteringInClusters(ClusteredConformance):
    options = MappingProxyType({"variant": "filtering"})


class TestFilteringDownChainsWithTwoRendezvous(ClusteredConformance):
    degree_max = 1
    rendezvous = 2
    clusters = 2
    options = MappingProxyType({"variant": "filtering"})


# -- while clusters change -----------------------------------------------------------------------------

NODES = 6
DISTANCES = [[abs(a - b) for b in range(NODES)] for a in range(NODES)]
IDS = [f"s{number}" for number in range(9)]


def network(variant, rendezvous=2, *, seed=0, clusters=3, degree_max=2):
    assignment = ClusterAssignment(place=by_text(clusters))
    layout = ClusterLayout(assignment, tuple(range(rendezvous)), DISTANCES, degree_max)
    tables = matcher_tables("brute_force")
    return Loopback(range(NODES), lambda node: Clustered(node, layout, tables, variant=variant), seed)


def wants(id, text):
    return SubscribeRequested((Subscription(id, Filter.parse(text)),))


moves = st.tuples(st.just("install"), st.dictionaries(st.sampled_from(IDS), st.integers(0, 3)))
publications = st.tuples(st.just("publish"), st.integers(0, NODES - 1), st.integers(0, 9))
progress = st.tuples(st.just("step"), st.integers(1, 12))
comings = st.tuples(st.just("come"), st.integers(0, 3), st.sampled_from(FILTERS))
goings = st.tuples(st.just("go"), st.integers(0, 3))


@pytest.mark.parametrize("variant", ["multicast", "filtering"])
@example(  # A leaf gets another parent, and then moves: flushes of the two must not overtake each other.
    holdings=[
        (0, "value = 3"),
        (2, "value != 5"),
        *([(0, "value = 3")] * 4),
        (0, "value != 5"),
        (2, "value < 4"),
        (3, "value = 3"),
    ],
    actions=[
        ("come", 1, "value != 5"),
        ("step", 3),
        ("publish", 0, 0),
        ("publish", 1, 0),
        ("install", {"s0": 0, "s1": 0}),
        ("install", {"s1": 1}),
    ],
    rendezvous=1,
    degree_max=2,
    seed=0,
)
@given(
    holdings=st.lists(
        st.tuples(st.integers(0, NODES - 1), st.sampled_from(FILTERS)), min_size=len(IDS), max_size=len(IDS)
    ),
    actions=st.lists(st.one_of(moves, publications, publications, progress, comings, goings), max_size=40),
    rendezvous=st.integers(1, 3),
    degree_max=st.integers(1, 3),
    seed=st.integers(0, 2**32),
)
def test_no_event_is_lost_or_doubled_while_subscriptions_move(variant, holdings, actions, rendezvous, degree_max, seed):
    net = network(variant, rendezvous, seed=seed, degree_max=degree_max)
    standing = {id: (node, Filter.parse(text)) for id, (node, text) in zip(IDS, holdings, strict=True)}
    for id, (node, filter_) in standing.items():
        net.tell(node, SubscribeRequested((Subscription(id, filter_),)))
    net.settle()
    events = []
    for number, action in enumerate(actions):
        match action:
            case ("install", cluster_of):
                net.tell(0, ClustersPlanned(ClusterAssignment(cluster_of, by_text(3))))
            case ("publish", node, value):
                events.append(Event({"value": value}, id=f"e{number}"))
                net.tell(node, PublishRequested(events[-1]))
            case ("step", count):
                for _ in range(count):
                    net.step()
            case ("come", which, text):
                net.tell(which, wants(f"fleeting-{which}", text))
            case ("go", which):
                net.tell(which, UnsubscribeRequested((f"fleeting-{which}",)))
    net.settle()
    delivered = Counter(net.delivered)
    assert all(count == 1 for count in delivered.values())
    expected = {
        (node, event.id, id) for event in events for id, (node, filter_) in standing.items() if filter_.matches(event)
    }
    assert {row for row in delivered if not row[2].startswith("fleeting")} == expected
    check_that_nothing_is_kept(net)


def check_that_nothing_is_kept(net):
    """When everything has left its cluster, nobody keeps anything of it."""
    for node in range(4):
        net.do(node, UnsubscribeRequested((f"fleeting-{node}",)))
    net.do(0, ClustersPlanned(ClusterAssignment(dict.fromkeys(IDS, 4))))
    for node, protocol in net.protocols.items():
        assert set(protocol._memberships) <= {4}, f"node {node}"
