"""Rooted trees: what holds however they are grown and pruned."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.space import RootedTree, grow


@st.composite
def grown(draw):
    """Distances, members, the most children, and the tree of them."""
    count = draw(st.integers(1, 12))
    matrix = np.random.default_rng(draw(st.integers(0, 2**32))).integers(0, 20, (count, count))
    members = draw(st.sets(st.integers(0, count - 1), min_size=1))
    degree_max = draw(st.integers(1, 4))
    return matrix, members, degree_max, grow(members, matrix, degree_max)


@given(grown())
def test_a_grown_tree_joins_exactly_its_members_within_the_limit(case):
    _, members, degree_max, tree = case
    assert set(tree.parents) == set(tree.downwards) == members
    assert len(tree.downwards) == len(members)
    assert max(map(len, tree.children.values())) <= degree_max
    assert [node for node, parent in tree.parents.items() if parent is None] == [tree.root]


@given(grown())
def test_every_node_comes_after_its_parent_and_is_its_child(case):
    tree = case[3]
    place = {node: number for number, node in enumerate(tree.downwards)}
    for node, parent in tree.parents.items():
        if parent is not None:
            assert place[parent] < place[node]
            assert node in tree.children[parent]


@given(grown(), st.data())
def test_a_leaf_joins_and_leaves_without_moving_anyone(case, data):
    matrix, members, degree_max, tree = case
    outside = sorted(set(range(len(matrix))) - members)
    if not outside:
        return
    leaf = data.draw(st.sampled_from(outside))
    more = tree.with_leaf(leaf, matrix, degree_max)
    assert {node: parent for node, parent in more.parents.items() if node != leaf} == tree.parents
    assert max(map(len, more.children.values())) <= degree_max
    room = [node for node in tree.parents if len(tree.children[node]) < degree_max]
    assert matrix[more.parents[leaf]][leaf] == min(matrix[node][leaf] for node in room)
    assert more.without_leaf(leaf) == tree


@given(grown())
def test_the_root_is_kept_if_asked_for(case):
    matrix, members, degree_max, _ = case
    assert all(grow(members, matrix, degree_max, node).root == node for node in members)


@given(grown(), st.data())
def test_with_shortest_ways_a_leaf_joins_where_its_way_from_the_root_is_shortest(case, data):
    matrix, members, degree_max, _ = case
    tree = grow(members, matrix, degree_max, shortest_ways=True)
    assert max(map(len, tree.children.values())) <= degree_max
    ways = tree.ways(matrix)
    outside = sorted(set(range(len(matrix))) - members)
    if not outside:
        return
    leaf = data.draw(st.sampled_from(outside))
    more = tree.with_leaf(leaf, matrix, degree_max, shortest_ways=True)
    room = [node for node in tree.parents if len(tree.children[node]) < degree_max]
    assert more.ways(matrix)[leaf] == min(ways[node] + matrix[node][leaf] for node in room)


@given(grown())
def test_with_shortest_ways_and_room_for_all_no_way_is_longer_than_the_link_from_the_root(case):
    matrix, members, _, _ = case
    tree = grow(members, matrix, len(members), shortest_ways=True)
    assert all(way <= matrix[tree.root][node] for node, way in tree.ways(matrix).items() if node != tree.root)


def test_shortest_ways_are_shorter_than_ways_over_nearest_nodes():
    places = np.random.default_rng(5).uniform(0, 100, (60, 2))
    distances = np.hypot(*(places[:, None] - places[None, :]).transpose(2, 0, 1))
    near, core = (grow(range(60), distances, 4, shortest_ways=each) for each in (False, True))
    assert near.root == core.root
    assert np.mean([*core.ways(distances).values()]) < 0.8 * np.mean([*near.ways(distances).values()])


@pytest.mark.parametrize(
    ("parents", "told"),
    [({}, "one root"), ({0: None, 1: None}, "one root"), ({0: None, 1: 7}, "not in the tree"),
     ({0: None, 1: 2, 2: 1}, "loop")],
)  # fmt: skip
def test_what_is_no_tree_is_refused(parents, told):
    with pytest.raises(ValueError, match=told):
        RootedTree(parents)


def test_wrong_nodes_and_limits_are_refused():
    distances = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    tree = grow((0, 1), distances, 1, root=0)
    for build, told in (
        (lambda: grow((), distances, 2), "at least one node"),
        (lambda: grow((0, 1), distances, 0), "at least one child"),
        (lambda: grow((0, 1), distances, 2, root=2), "not among the nodes"),
        (lambda: tree.with_leaf(1, distances, 2), "already"),
        (lambda: tree.without_leaf(0), "not a leaf"),
        (lambda: tree.without_leaf(2), "not a leaf"),
    ):
        with pytest.raises(ValueError, match=told):
            build()
