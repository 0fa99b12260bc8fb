"""Routes of random networks against an independent search, and laws that tie routes, latencies and arcs together."""

import pickle
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from siftcast.underlay import Network, TransitStub


@st.composite
def underlays(draw):
    """Connected networks with ties, parallel links and links of latency 0 or two, and servers on some routers."""
    routers = draw(st.integers(1, 8))
    latencies = st.integers(0, 4).map(float)
    links = [(draw(st.integers(0, i - 1)), i, draw(latencies)) for i in range(1, routers)]
    if routers > 1:
        ends = st.tuples(st.integers(0, routers - 1), st.integers(0, routers - 1)).filter(
            lambda pair: pair[0] != pair[1]
        )
        links += [(*pair, draw(latencies)) for pair in draw(st.lists(ends, max_size=8))]
    network = Network.of(routers, links)
    if draw(st.booleans()):
        return leaning(draw, network.routers_as_servers())
    places = draw(st.lists(st.integers(0, routers - 1), min_size=1, max_size=9))
    # Access links that are all alike, or nearly all different: latencies of the two are kept in different ways.
    each = st.lists(latencies, min_size=len(places), max_size=len(places))
    return leaning(draw, network.attach_at(places, draw(latencies | each)))


def leaning(draw, underlay):
    """The same or, in half of all cases, with links that take any time back, in whole milliseconds to add exactly."""
    links = np.flatnonzero(~underlay.arcs.is_access[::2])
    if draw(st.booleans()):
        latency_ms = underlay.arcs.latency_ms.copy()
        latency_ms[2 * links + 1] = [draw(st.integers(0, 4)) for _ in links]
        underlay.arcs = replace(underlay.arcs, latency_ms=latency_ms)
    return underlay


def all_latencies(underlay) -> np.ndarray:
    """Floyd and Warshall's search, over all nodes."""
    arcs = underlay.arcs
    nodes = int(max(arcs.tail.max(initial=0), arcs.head.max(initial=0), underlay._server_nodes.max())) + 1
    distances = np.full((nodes, nodes), np.inf)
    np.fill_diagonal(distances, 0.0)
    for tail, head, latency in zip(arcs.tail, arcs.head, arcs.latency_ms, strict=True):
        distances[tail, head] = min(distances[tail, head], latency)
    for middle in range(nodes):
        distances = np.minimum(distances, distances[:, [middle]] + distances[[middle], :])
    return distances[np.ix_(underlay._server_nodes, underlay._server_nodes)]


@given(underlays())
def test_latencies_are_those_of_an_independent_search(underlay):
    assert np.array_equal(underlay.latencies_ms, all_latencies(underlay))


@given(underlays())
def test_single_latencies_are_those_of_the_matrix_also_after_pickling(underlay):
    expected = underlay.latencies_ms.tolist()
    servers = range(underlay.servers)
    for each in (underlay, pickle.loads(pickle.dumps(underlay))):
        assert [[each.latency_ms(a, b) for b in servers] for a in servers] == expected
        assert [list(map(each.latency_from(a), servers)) for a in servers] == expected


@given(underlays(), st.data())
def test_route_is_a_path_of_the_least_latency(underlay, data):
    servers = st.integers(0, underlay.servers - 1)
    a, b = data.draw(servers), data.draw(servers)
    route = list(underlay.route(a, b))
    nodes = [underlay._server_nodes[a], *underlay.arcs.head[route]]
    assert (underlay.arcs.tail[route] == nodes[:-1]).all()
    assert nodes[-1] == underlay._server_nodes[b]
    assert len(set(nodes)) == len(nodes)
    assert underlay.arcs.latency_ms[route].sum() == underlay.latency_ms(a, b)


@given(underlays(), st.data())
def test_hops_are_the_routers_of_the_route_and_how_far_they_are(underlay, data):
    servers = st.integers(0, underlay.servers - 1)
    a, b = data.draw(servers), data.draw(servers)
    route = list(underlay.route(a, b))
    hops = underlay.hops(a, b)
    passed = underlay.arcs.head[route][:-1].tolist()
    assert hops.status == "ok"
    assert hops.routers == underlay.routers_between(a, b) == tuple(underlay.router_names[node] for node in passed)
    assert hops.delays_ms == tuple(np.cumsum(underlay.arcs.latency_ms[route])[:-1].tolist())


@given(underlays(), st.data())
def test_multicast_crosses_the_union_of_the_routes_and_enters_no_node_twice(underlay, data):
    servers = st.integers(0, underlay.servers - 1)
    source, destinations = data.draw(servers), data.draw(st.lists(servers, max_size=6))
    arcs = underlay.multicast_arcs(source, destinations)
    assert set(arcs.tolist()) == {arc for each in destinations for arc in underlay.route(source, each)}
    heads = underlay.arcs.head[arcs]
    assert len(set(heads.tolist())) == len(heads)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 5),
    st.floats(0, 1),
)
def test_transit_stub_networks_of_any_shape_are_connected_and_have_the_size_asked_for(
    seed, domains, transit_routers, stubs, stub_routers, share
):
    parameters = TransitStub(
        transit_domains=domains,
        transit_routers=transit_routers,
        stubs_per_router=stubs,
        stub_routers=stub_routers,
        links=None,
        domain_link_share=share,
        transit_link_share=share,
        stub_link_share=share,
    )
    network = parameters.build(np.random.default_rng(seed))
    assert network.is_connected
    assert network.routers == parameters.routers == len(network.domains)
    pairs = {(min(pair), max(pair)) for pair in zip(network.tails, network.heads, strict=True)}
    assert len(pairs) == network.links
