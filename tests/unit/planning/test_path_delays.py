"""Delays along the ways of a plan, against walks on small networks."""

import itertools

import numpy as np
import pytest

from siftcast import Schema
from siftcast.planning import minimum_spanning_tree, plan_kyra
from siftcast.planning.core_trees import core_tree
from siftcast.planning.path_delays import (
    mean_clique_delay_ms,
    mean_kyra_delay_ms,
    mean_source_delay_ms,
    mean_tree_delay_ms,
    tree_delays_ms,
)
from siftcast.schemes.tree_plan import graph_around
from siftcast.space import ContentSpace, Tree

SPACE = ContentSpace(Schema.parse('[[attribute]]\nname = "value"\ntype = "int"\ndomain = [0, 99]\ngranularity = 1\n'))


def plane(count: int, seed: int) -> np.ndarray:
    """Nodes somewhere on a square, so far apart as they are there."""
    points = np.random.default_rng(seed).random((count, 2)) * 100
    return np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))


def shortest(edges, latencies) -> np.ndarray:
    """Shortest ways over these links between all pairs, as Floyd finds them."""
    found = np.full(latencies.shape, np.inf)
    np.fill_diagonal(found, 0.0)
    for a, b in edges:
        found[a, b] = found[b, a] = latencies[a, b]
    for middle in range(len(found)):
        found = np.minimum(found, found[:, middle, None] + found[None, middle])
    return found


@pytest.mark.parametrize("seed", range(5))
def test_delays_on_a_tree_are_those_of_its_only_ways(seed):
    latencies = plane(12, seed)
    tree = minimum_spanning_tree(latencies)
    found = tree_delays_ms(tree, latencies)
    assert found == pytest.approx(shortest(tree.edges, latencies))
    assert mean_tree_delay_ms(tree, latencies) == pytest.approx(found.sum() / (12 * 11))


def test_delays_are_those_of_the_ground_that_is_asked_about_and_of_the_slower_direction():
    tree = Tree(range(3), [(0, 1), (1, 2)])
    latencies = np.array([[0.0, 1.0, 50.0], [3.0, 0.0, 5.0], [50.0, 5.0, 0.0]])
    assert mean_tree_delay_ms(tree, latencies) == pytest.approx((3 + 5 + 8) / 3)
    assert mean_tree_delay_ms(Tree((0,), ()), np.zeros((1, 1))) == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_where_each_source_has_a_tree_its_delays_are_on_that(seed):
    latencies = plane(10, seed)
    trees = graph_around(minimum_spanning_tree(latencies), latencies, 2)
    edges = [(a, b) for a, others in trees.neighbours.items() for b in others]
    assert mean_source_delay_ms(trees, latencies) == pytest.approx(shortest(edges, latencies).sum() / 90)


def test_a_copy_for_a_clique_goes_to_one_member_and_from_there_to_the_others():
    latencies = np.array([[0.0, 2.0, 30.0, 30.0], [2.0, 0.0, 30.0, 30.0], [30.0, 30.0, 0.0, 4.0], [30.0, 30.0, 4.0, 0]])
    within, to_either_of_two = 2 + 4, 30 + (2 + 0) / 2  # in the mean a member is one of the two, or 2 ms from it
    back = 30 + (4 + 0) / 2
    expected = (2 * within + 4 * to_either_of_two + 4 * back) / 12
    assert mean_clique_delay_ms([(0, 1), (2, 3)], latencies) == pytest.approx(expected)
    assert mean_clique_delay_ms([(0, 1, 2, 3)], latencies) == pytest.approx(latencies.sum() / 12)


@pytest.mark.parametrize("trees", [None, 2])
def test_on_kyra_an_event_takes_its_proxy_the_tree_and_the_proxy_there(trees):
    latencies = np.round(plane(9, 3))
    edges = np.arange(0, 101, 1.0)
    layout = plan_kyra(latencies, SPACE, edges, np.ones(100), clique_ms_max=60, trees=trees)
    assert len(layout.cliques) > 1
    total = count = 0.0
    for value in range(100):
        event = {"value": value}
        tree = layout.trees[layout.tree_of(event)]
        delays = shortest(tree.edges, latencies)
        for a, b in itertools.permutations(range(9), 2):
            first, last = (layout.clique_of(each).proxy_of(event) for each in (a, b))
            way = 0.0 if first == last else delays[first, last]
            total += latencies[a, first] + way + latencies[last, b]
            count += 1
    assert mean_kyra_delay_ms(layout, latencies) == pytest.approx(total / count, rel=0.05)


def test_a_core_tree_has_the_shortest_ways_from_its_core_and_ways_that_are_shorter_together():
    latencies = plane(40, 1)
    tree = core_tree(latencies, near=4)
    mst = minimum_spanning_tree(latencies)
    assert mean_tree_delay_ms(tree, latencies) < 0.9 * mean_tree_delay_ms(mst, latencies)
    links = {*mst.edges}
    for node in range(40):
        links |= {(min(node, other), max(node, other)) for other in np.argsort(latencies[node])[1:5].tolist()}
    assert set(tree.edges) <= links
    sums = shortest(links, latencies).sum(axis=1)
    core = int(np.argmin(sums))
    assert shortest(tree.edges, latencies)[core].sum() == pytest.approx(sums[core])


def test_with_all_links_a_core_tree_is_the_star_and_with_none_the_minimum_spanning_tree():
    latencies = plane(8, 2)
    star = core_tree(latencies, near=7)
    assert max(len(near) for near in star.neighbours.values()) == 7
    assert core_tree(latencies, near=0) == minimum_spanning_tree(latencies)
    assert core_tree(np.zeros((3, 3)), near=1).nodes == (0, 1, 2)
    assert core_tree(np.zeros((1, 1)), near=1) == Tree((0,), ())
    with pytest.raises(ValueError, match="near"):
        core_tree(latencies, near=-1)
