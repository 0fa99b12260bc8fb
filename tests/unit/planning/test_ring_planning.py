"""Proposals for a ring: they keep to their bounds, follow the load, and say why where there is none."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siftcast import Filter
from siftcast.model import DataError
from siftcast.model.values import Kind
from siftcast.planning.ring_costs import MatchTimes, NodeCosts
from siftcast.planning.ring_loads import RingLoads, stores_of
from siftcast.planning.ring_planning import plan_ring
from siftcast.planning.ring_proposal import RingBounds
from siftcast.space.ring_plan import Circle, RingPlacement, RingPlan
from siftcast.space.shard_axes import ShardAxis
from siftcast.space.shard_plan import ShardPlan

COSTS = NodeCosts(MatchTimes((100, 1_000, 10_000, 100_000), (0.05, 0.06, 0.15, 1.2)))
GIB = 2.0**30


def symbol(rng):
    return f"S{min(int(rng.expovariate(0.1)), 99):02}"


@pytest.fixture(scope="module")
def filters():
    rng = Random(3)
    narrow = [f"symbol = '{symbol(rng)}' AND price < {rng.randint(50, 100)}" for _ in range(285)]
    return [Filter.parse(text) for text in [*narrow, *(f"price > {rng.randint(50, 100)}" for _ in range(15))]]


def sample(hot):
    rng = Random(5)
    symbols = ["S03" if rng.random() < hot else symbol(rng) for _ in range(400)]
    return {("symbol", Kind.STRING): symbols, ("price", Kind.NUMBER): [rng.uniform(0, 100) for _ in symbols]}


def test_hot_content_gets_more_replicas_and_large_content_more_clusters(filters):
    found = plan_ring(filters, sample(0.5), RingBounds(1_000_000, GIB, 5.0, 5_000), COSTS)
    circle, loads = found.circle, found.loads
    (axis,) = circle.shards.axes
    hot = circle.clusters_of(axis.zone_of("S03"))
    sizes = [len(cluster) for cluster in circle.clusters]
    assert min(sizes[cluster] for cluster in hot) >= 2 * min(sizes)
    assert min(sizes) >= 2
    assert loads.busiest <= 0.7
    assert loads.worst_ms(walk=False) <= 5.0
    assert max(load.memory_bytes for load in loads.clusters) <= GIB
    assert found.nodes == sum(sizes) < 40
    assert found.ring_plan().matchers == tuple(range(found.nodes))


def test_what_fits_on_one_cluster_is_not_divided(filters):
    found = plan_ring(filters, sample(0.0), RingBounds(50_000, GIB, rate_s=100), COSTS)
    assert found.options() == {
        "clusters": 1, "replicas": 2, "parts": 1, "span_parts": 1, "rendezvous": "none", "visit": "scatter",
    }  # fmt: skip
    assert "every event visits all 1 parts" in found.explain()


def test_all_nodes_that_there_are_get_their_part(filters):
    for nodes in (7, 12):
        found = plan_ring(filters, sample(0.5), RingBounds(300_000, GIB, rate_s=500, nodes=nodes), COSTS)
        assert found.nodes == nodes
        assert sorted(found.ring_plan().matchers) == list(range(nodes))
    open_end = plan_ring(filters, sample(0.5), RingBounds(300_000, GIB, rate_s=500), COSTS)
    assert open_end.nodes < nodes
    assert open_end.loads.throughput_s < found.loads.throughput_s


def test_clusters_with_heavy_nodes_have_fewer(filters):
    weights = (4.0, 1.0, 1.0, 1.0, 1.0)
    bounds = RingBounds(10_000, GIB, nodes=5, node_weights=weights, replicas=1)
    found = plan_ring(filters, sample(0.0), bounds, COSTS)
    assert len(found.circle.clusters) > 1
    assert found.circle.clusters[0] == (0,)
    assert "[4.0, 1.0" in str(found.options()["node_weights"])
    with pytest.raises(DataError, match="5 weights for 6 nodes"):
        plan_ring(filters, sample(0.0), RingBounds(10_000, GIB, nodes=6, node_weights=weights), COSTS)


def test_a_key_may_be_asked_for_and_hashed(filters):
    bounds = RingBounds(400_000, GIB, rate_s=2_000)
    hashed = plan_ring(filters, sample(0.0), bounds, COSTS, rendezvous="hash")
    options = hashed.options()
    assert (options["key"], options["rendezvous"]) == ("symbol", "hash")
    assert "cuts" not in options
    assert "symbol hashed to 0 of" in hashed.explain()
    priced = plan_ring(filters, sample(0.0), bounds, COSTS, rendezvous="range", key="price")
    assert priced.options().get("key", "price") == "price"
    nothing = plan_ring(filters, sample(0.0), bounds, COSTS, rendezvous="none")
    assert nothing.circle.shards.axes == ()
    for asked, reason in (("volume", "'volume' cannot be the key.*price, symbol"), ("", "a rendezvous is auto")):
        with pytest.raises(DataError, match=reason):
            plan_ring(filters, sample(0.0), bounds, COSTS, rendezvous="range" if asked else "x", key=asked)
    with pytest.raises(DataError, match="nothing can be the key"):
        plan_ring(filters, {}, bounds, COSTS, rendezvous="hash")


def test_refusals_say_which_bound_and_what_would_help(filters):
    def refused(bounds):
        with pytest.raises(DataError) as caught:
            plan_ring(filters, sample(0.5), bounds, COSTS)
        return str(caught.value)

    assert "before it holds any subscription" in refused(RingBounds(1_000, 1e6))
    assert "a node has room for 62,914, and 8 nodes" in refused(RingBounds(10**6, 300 * 2.0**20, nodes=8))
    assert "latency: at best" in refused(RingBounds(10**6, GIB, latency_ms=0.3, nodes=20))
    assert "rate: at best" in refused(RingBounds(10**6, GIB, rate_s=1e6, nodes=20))
    assert "too few for 3 replicas" in refused(RingBounds(1_000, GIB, nodes=2, replicas=3))


def test_the_reasons_show_what_else_was_tried(filters):
    text = plan_ring(filters, sample(0.5), RingBounds(10**6, GIB, 5.5, 2_000, nodes=12), COSTS).explain()
    assert "→" in text
    assert "too slow" in text
    assert "of the subscriptions span" in text
    assert "the paper's best H for all of them would be 3" in text
    assert "I of subscriptions" in text


@settings(max_examples=15)
@given(
    subscriptions=st.integers(0, 3_000_000),
    memory=st.floats(0.2, 4.0),
    nodes=st.none() | st.integers(2, 30),
    rate=st.floats(0, 20_000),
    hot=st.sampled_from([0.0, 0.6]),
)
def test_whatever_is_proposed_keeps_to_the_bounds_and_places_everything(
    filters, subscriptions, memory, nodes, rate, hot
):
    bounds = RingBounds(subscriptions, memory * GIB, 20.0, rate, nodes)
    try:
        found = plan_ring(filters[::3], {name: values[::4] for name, values in sample(hot).items()}, bounds, COSTS)
    except DataError:
        return
    circle = found.circle
    assert found.loads.busiest <= 0.7 * (1 + 1e-6)
    assert max(load.memory_bytes for load in found.loads.clusters) <= bounds.memory_bytes
    assert min(map(len, circle.clusters)) >= 2
    assert nodes in (None, found.nodes)
    placement = RingPlacement(found.ring_plan())
    for number, filter_ in enumerate(filters[:20]):
        places = placement.places(f"s{number}", filter_)
        assert places
        assert all(0 <= cluster < len(circle.clusters) for _, cluster in places)


# -- predictions -------------------------------------------------------------------------------------


def circle_of(dealt, counts, shares, clusters=4, nodes=2):
    axis = ShardAxis("p", Kind.NUMBER, tuple(range(1, len(counts) - 1)))
    shards = ShardPlan((axis,), 4, counts, shares, total=sum(counts), dealt=dealt)
    cut = tuple(tuple(range(nodes * number, nodes * (number + 1))) for number in range(clusters))
    return Circle(shards, cut, (*range(len(counts) - 1), 0))


def test_an_event_is_matched_with_its_zone_and_the_span_and_once_where_both_are():
    circle = circle_of((1, 2, 1), (100, 400, 50), (0.25, 0.5, 1.0))
    loads = RingLoads(circle, COSTS, rate_s=100)
    assert loads.visits == ({0: 150.0}, {1: 200.0, 2: 200.0, 0: 50.0}, {0: 50.0})
    assert loads.shares == (0.25, 0.5, 0.25)
    assert loads.copies == 0.25 + 0.5 * 3 + 0.25
    assert stores_of(circle) == [150, 200, 200, 0]
    ring = RingPlacement(RingPlan((circle,)))
    for zone, value in ((0, 0), (1, 1)):
        assert set(ring.visits({"p": value})) == set(loads.visits[zone])
    service = COSTS.service_ms
    assert loads.latencies_ms(walk=True, idle=True)[0] == pytest.approx(COSTS.hop_ms + service(150))
    assert loads.clusters[1].work_ms == pytest.approx(0.5 * service(200))
    assert loads.clusters[0].busy == pytest.approx(0.1 * loads.clusters[0].work_ms / 2)
    assert loads.clusters[3].busy == loads.clusters[3].wait_ms == 0
    assert loads.throughput_s == pytest.approx(2_000 / loads.clusters[0].work_ms)
    assert loads.worst_ms(walk=True) == max(loads.latencies_ms(walk=True))


@given(st.integers(1, 6), st.integers(1, 6), st.floats(0, 3_000))
def test_more_replicas_and_a_lower_rate_never_make_it_slower(parts, nodes, rate):
    def loads(nodes, rate):
        return RingLoads(circle_of((parts, 1, 1), (900, 90, 9), (0.6, 0.3, 1.0), 6, nodes), COSTS, rate)

    assert loads(nodes + 1, rate).worst_ms(walk=False) <= loads(nodes, rate).worst_ms(walk=False)
    assert loads(nodes, rate).worst_ms(walk=True) >= loads(nodes, 0.5 * rate).worst_ms(walk=True)
    assert loads(nodes + 1, rate).throughput_s > loads(nodes, rate).throughput_s


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0])
def test_costs_are_numbers_that_can_be_added(bad):
    with pytest.raises(ValueError, match="times are from 0"):
        MatchTimes((1, 2), (bad, 1.0))
    with pytest.raises(ValueError, match="times are from 0"):
        NodeCosts(MatchTimes((1,), (1.0,)), hop_ms=bad)


def test_what_costs_nothing_can_be_planned(filters):
    free = NodeCosts(MatchTimes((0,), (0.0,)), hop_ms=0.0, handling_ms=0.0)
    assert plan_ring(filters, sample(0.0), RingBounds(50_000, GIB, nodes=6), free).nodes == 6


def test_more_events_than_any_ring_takes_are_said_to_be_too_many(filters):
    with pytest.raises(DataError, match=r"events/s want at least .* nodes"):
        plan_ring(filters, {}, RingBounds(1, GIB, rate_s=1e11), COSTS)


def test_one_rendezvous_value_has_the_imbalance_of_the_paper():
    axis = ShardAxis("p", Kind.NUMBER, ())
    shards = ShardPlan((axis,), 3, (999, 0), (1.0, 1.0), total=999, dealt=(3, 1))
    clusters = tuple((2 * number, 2 * number + 1) for number in range(6))
    loads = RingLoads(Circle(shards, clusters, (0, 0)), COSTS)
    assert loads.imbalance(of_events=False) == pytest.approx(12 / (3 * 2))
