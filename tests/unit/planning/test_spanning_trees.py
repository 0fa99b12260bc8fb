"""Spanning trees by example: of the least latency, over some servers, and with balanced degrees."""

import numpy as np
import pytest

from siftcast.planning.spanning_trees import balanced_spanning_trees, minimum_spanning_tree


def star(leaves: int) -> np.ndarray:
    """Server 0 in the middle: 1 ms to each leaf, and slightly less than 2 ms between leaves."""
    latencies = np.full((leaves + 1, leaves + 1), 1.9)
    latencies[0], latencies[:, 0] = 1.0, 1.0
    np.fill_diagonal(latencies, 0.0)
    return latencies


def degrees(trees) -> list[int]:
    return [sum(len(tree.neighbours.get(server, ())) for tree in trees) for server in range(5)]


def test_minimum_tree_of_a_star_is_the_star():
    assert minimum_spanning_tree(star(4)).edges == ((0, 1), (0, 2), (0, 3), (0, 4))


def test_tree_spans_only_the_servers_asked_for():
    assert minimum_spanning_tree(star(4), [3, 1]).edges == ((1, 3),)
    assert minimum_spanning_tree(star(4), [2]).nodes == (2,)


def test_balance_factor_one_gives_the_minimum_tree():
    assert balanced_spanning_trees(star(4), [range(5)], balance_factor=1) == (minimum_spanning_tree(star(4)),)


def test_balanced_tree_spares_the_middle_of_a_star():
    (tree,) = balanced_spanning_trees(star(4), [range(5)], balance_factor=100)
    assert max(len(near) for near in tree.neighbours.values()) == 2


def test_only_the_m_shortest_connections_are_considered():
    # Two of the middle's connections are all there is to choose from, until one is left beside a longer one.
    (tree,) = balanced_spanning_trees(star(4), [range(5)], balance_factor=2)
    assert tree.edges == ((0, 1), (0, 2), (0, 3), (1, 4))


def test_degrees_add_up_over_trees():
    together = balanced_spanning_trees(star(4), [range(5), range(5)], balance_factor=100)
    alone = balanced_spanning_trees(star(4), [range(5)], balance_factor=100)
    assert together[0] == alone[0]
    assert together[1] != alone[0]
    assert np.var(degrees(together)) < np.var(degrees(alone * 2))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: minimum_spanning_tree(star(4), []), "at least one server"),
        (lambda: minimum_spanning_tree(star(4), [5]), "0 … 4"),
        (lambda: minimum_spanning_tree(star(4), [-1]), "0 … 4"),
        (lambda: minimum_spanning_tree([[0.0, np.inf], [np.inf, 0.0]]), "finite"),
        (lambda: balanced_spanning_trees(star(4), [range(5)], balance_factor=0), "balance factor"),
        (lambda: balanced_spanning_trees(star(4), [[]], balance_factor=1), "at least one server"),
    ],
)
def test_impossible_trees_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
