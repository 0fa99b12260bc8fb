"""Laws of cliques, spanning trees and zones, against answers that are correct by being obvious."""

from itertools import combinations, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import Attribute, Schema
from siftcast.planning.cliques import cluster_cliques
from siftcast.planning.owned_zones import METHODS, own_zones, tree_members
from siftcast.planning.spanning_trees import balanced_spanning_trees, minimum_spanning_tree
from siftcast.space import ContentSpace, Tree


@st.composite
def latency_matrices(draw, servers_max: int = 9):
    """Symmetric, with many ties."""
    servers = draw(st.integers(1, servers_max))
    upper = np.triu(
        np.array(draw(st.lists(st.integers(0, 6), min_size=servers**2, max_size=servers**2))).reshape(servers, -1), 1
    )
    return (upper + upper.T).astype(float)


def published_cliques(latencies, latency_ms_max, members_max):
    """Figure 5 of the paper as it is written, but for its endless loop."""
    cliques = [[server] for server in range(len(latencies))]

    def distance(pair):
        return max(latencies[a, b] for a in pair[0] for b in pair[1])

    while True:
        for pair in sorted(combinations(cliques, 2), key=distance):
            if distance(pair) <= latency_ms_max and len(pair[0]) + len(pair[1]) <= members_max:
                pair[0].extend(pair[1])
                cliques.remove(pair[1])
                break
        else:
            return tuple(tuple(sorted(clique)) for clique in cliques)


@given(latency_matrices(), st.integers(0, 7), st.integers(1, 9))
def test_cliques_are_those_of_the_published_algorithm(latencies, latency_ms_max, members_max):
    found = cluster_cliques(latencies, latency_ms_max=latency_ms_max, members_max=members_max)
    assert found == published_cliques(latencies, latency_ms_max, members_max)


@given(latency_matrices(), st.integers(0, 7), st.integers(1, 9))
def test_cliques_keep_both_limits_and_cover_every_server_once(latencies, latency_ms_max, members_max):
    cliques = cluster_cliques(latencies, latency_ms_max=latency_ms_max, members_max=members_max)
    assert sorted(server for clique in cliques for server in clique) == list(range(len(latencies)))
    for clique in cliques:
        assert len(clique) <= members_max
        assert latencies[np.ix_(clique, clique)].max() <= latency_ms_max


def is_tree(servers: int, edges) -> bool:
    try:
        Tree(range(servers), edges)
    except ValueError:
        return False
    return True


@given(latency_matrices(servers_max=5))
def test_minimum_spanning_tree_is_the_shortest_of_all_trees(latencies):
    servers = len(latencies)
    candidates = combinations(combinations(range(servers), 2), servers - 1)
    shortest = min(sum(latencies[edge] for edge in edges) for edges in candidates if is_tree(servers, edges))
    assert sum(latencies[edge] for edge in minimum_spanning_tree(latencies).edges) == shortest


def published_balanced_tree(latencies, servers, degrees, balance_factor):
    """The modified Kruskal as the paper words it: all connections are looked at again in every step."""
    part = {server: server for server in servers}
    edges = []
    while len(edges) < len(servers) - 1:
        valid = [pair for pair in combinations(sorted(servers), 2) if part[pair[0]] != part[pair[1]]]
        shortest = sorted(valid, key=lambda pair: latencies[pair])[:balance_factor]
        a, b = min(shortest, key=lambda pair: max(degrees[pair[0]], degrees[pair[1]]))
        edges.append((a, b))
        degrees[a] += 1
        degrees[b] += 1
        part = {server: part[a] if label == part[b] else label for server, label in part.items()}
    return Tree(servers, edges)


@given(latency_matrices(), st.integers(1, 40), st.data())
def test_balanced_trees_are_those_of_the_published_algorithm(latencies, balance_factor, data):
    subsets = st.sets(st.integers(0, len(latencies) - 1), min_size=1)
    members = data.draw(st.lists(subsets, min_size=1, max_size=3))
    degrees = [0] * len(latencies)
    expected = tuple(published_balanced_tree(latencies, each, degrees, balance_factor) for each in members)
    assert balanced_spanning_trees(latencies, members, balance_factor=balance_factor) == expected


@given(latency_matrices())
def test_balance_factor_one_gives_a_tree_as_short_as_the_minimum_one(latencies):
    (kruskal,) = balanced_spanning_trees(latencies, [range(len(latencies))], balance_factor=1)
    prim = minimum_spanning_tree(latencies)
    assert sum(latencies[edge] for edge in kruskal.edges) == sum(latencies[edge] for edge in prim.edges)


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=12),
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.integers(1, 6),
    st.sampled_from(METHODS),
)
def test_every_value_has_one_tree_and_in_each_clique_one_server_of_that_tree(loads, sizes, trees, method):
    space = ContentSpace(Schema([Attribute("value", "int", (0, len(loads) - 1), 1)], name="values"))
    edges = np.arange(len(loads) + 1)
    ends = np.cumsum([0, *sizes])
    members = [range(low, high) for low, high in pairwise(ends)]
    cliques = [own_zones(space, edges, loads, each, method=method) for each in members]
    global_zones = own_zones(space, edges, loads, range(trees), method=method)
    joined = tree_members(global_zones, cliques)
    for value in range(len(loads)):
        tree = global_zones.owner_of_event({"value": value})
        for clique, servers in zip(cliques, members, strict=True):
            owner = clique.owner_of_event({"value": value})
            assert owner in servers
            assert owner in joined[tree]
