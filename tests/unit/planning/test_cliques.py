"""Cliques by example: both limits, ties, and what is refused."""

import numpy as np
import pytest

from siftcast.planning.cliques import clique_sizes, cluster_cliques, join_lone_servers
from siftcast.underlay import TransitStub


def on_a_line(*places: float) -> np.ndarray:
    points = np.array(places, dtype=float)
    return np.abs(points[:, None] - points)


def test_near_servers_form_cliques_no_wider_than_the_limit():
    latencies = on_a_line(0, 1, 3, 10, 12)
    assert cluster_cliques(latencies, latency_ms_max=2) == ((0, 1), (2,), (3, 4))
    assert cluster_cliques(latencies, latency_ms_max=3) == ((0, 1, 2), (3, 4))
    assert cluster_cliques(latencies, latency_ms_max=100) == ((0, 1, 2, 3, 4),)
    assert cluster_cliques(latencies, latency_ms_max=0) == ((0,), (1,), (2,), (3,), (4,))


def test_pair_too_large_to_merge_leaves_the_next_nearest_its_chance():
    latencies = on_a_line(0, 1, 2.5, 10, 20)
    assert cluster_cliques(latencies, latency_ms_max=8, members_max=2) == ((0, 1), (2, 3), (4,))


def test_clustering_ends_where_every_near_pair_is_too_large():
    assert cluster_cliques(on_a_line(0, 1, 2, 3), latency_ms_max=100, members_max=2) == ((0, 1), (2, 3))
    assert cluster_cliques(on_a_line(0, 1), latency_ms_max=100, members_max=1) == ((0,), (1,))


def test_slower_direction_of_a_pair_counts():
    assert cluster_cliques([[0, 1], [5, 0]], latency_ms_max=4) == ((0,), (1,))


def test_a_lone_server_joins_the_clique_with_the_least_mean_latency_to_it():
    latencies = on_a_line(0, 1, 20, 34, 40, 46)
    cliques = cluster_cliques(latencies, latency_ms_max=12)
    assert cliques == ((0, 1), (2,), (3, 4, 5))
    # 14 ms from the nearest member of the one clique but 20 on average, and 19.5 on average from the other.
    assert join_lone_servers(latencies, cliques) == ((0, 1, 2), (3, 4, 5))


def test_lone_servers_join_each_other_and_the_nearest_pair_first():
    latencies = on_a_line(0, 10, 21, 33)
    alone = cluster_cliques(latencies, latency_ms_max=1)
    assert join_lone_servers(latencies, alone) == ((0, 1), (2, 3))
    assert join_lone_servers(on_a_line(0, 10, 21, 60), alone) == ((0, 1, 2, 3),)


def test_lone_servers_respect_the_limit_of_members():
    latencies = on_a_line(0, 1, 5, 30)
    cliques = cluster_cliques(latencies, latency_ms_max=2, members_max=2)
    assert cliques == ((0, 1), (2,), (3,))
    assert join_lone_servers(latencies, cliques, members_max=2) == ((0, 1), (2, 3))
    assert join_lone_servers(latencies, cliques, members_max=3) == ((0, 1, 2), (3,))
    assert join_lone_servers(latencies, ((0,), (1,), (2,), (3,)), members_max=1) == ((0,), (1,), (2,), (3,))


def test_without_lone_servers_or_without_others_nothing_is_joined():
    assert join_lone_servers(on_a_line(0, 1, 9, 10), ((0, 1), (2, 3))) == ((0, 1), (2, 3))
    assert join_lone_servers(on_a_line(0), ((0,),)) == ((0,),)
    assert join_lone_servers(np.zeros((0, 0)), ()) == ()
    with pytest.raises(ValueError, match="at least one member"):
        join_lone_servers(on_a_line(0), ((0,),), members_max=0)


def test_sizes_describe_cliques():
    assert clique_sizes(((0, 1, 2), (3,))) == (2.0, 3)
    assert clique_sizes(()) == (0.0, 0)


def test_no_servers_make_no_cliques():
    assert cluster_cliques(np.zeros((0, 0)), latency_ms_max=1) == ()


@pytest.mark.parametrize(
    ("latencies", "limits", "words"),
    [
        ([[0.0, 1.0]], {"latency_ms_max": 1}, "square"),
        ([[0.0, -1.0], [1.0, 0.0]], {"latency_ms_max": 1}, "at least 0"),
        ([[0.0]], {"latency_ms_max": -1}, "largest latency"),
        ([[0.0]], {"latency_ms_max": float("nan")}, "largest latency"),
        ([[0.0]], {"latency_ms_max": 1, "members_max": 0}, "at least one member"),
    ],
)
def test_impossible_limits_are_refused(latencies, limits, words):
    with pytest.raises(ValueError, match=words):
        cluster_cliques(latencies, **limits)


def test_cliques_of_a_kyra_network_grow_with_the_limit_as_in_table_one():
    rng = np.random.default_rng(1)
    latencies = TransitStub().build(rng).attach(500, rng).latencies_ms
    means = [clique_sizes(cluster_cliques(latencies, latency_ms_max=limit))[0] for limit in (0, 100, 200, 300, 500)]
    for ours, published in zip(means, (1, 6, 13, 32, 500), strict=True):
        assert published / 1.6 <= ours <= published * 1.6
