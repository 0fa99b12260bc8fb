"""Trees: what is one, who is next to whom, and what lies between."""

import pytest

from siftcast.space import Tree

#   1 ─ 4 ─ 7
#       │   └ 9
#       5
TREE = Tree([9, 7, 5, 4, 1], [(4, 1), (7, 4), (5, 4), (7, 9)])


def test_neighbours_and_parents_follow_the_edges():
    assert TREE.neighbours == {1: (4,), 4: (1, 5, 7), 5: (4,), 7: (4, 9), 9: (7,)}
    assert TREE.parents(5) == {5: 5, 4: 5, 1: 4, 7: 4, 9: 7}


def test_spanning_subtree_holds_what_lies_between():
    assert TREE.spanning([1, 9]) == {1, 4, 7, 9}
    assert TREE.spanning([5]) == {5}
    assert TREE.spanning([]) == frozenset()
    assert TREE.spanning([9, 7, 9]) == {7, 9}


def test_equal_trees_compare_equal_however_they_are_written():
    twin = Tree((1, 4, 5, 7, 9), [(9, 7), (1, 4), (4, 5), (4, 7)])
    assert twin == TREE
    assert hash(twin) == hash(TREE)
    assert Tree([1, 2], [(1, 2)]) != TREE


@pytest.mark.parametrize(
    ("nodes", "edges", "words"),
    [
        ([], [], "at least one node"),
        ([1, 2], [], "1 edges, not 0"),
        ([1, 2, 3, 4], [(1, 2), (2, 3), (1, 3)], "close a loop"),
        ([1, 2], [(1, 3)], "not in the tree"),
        ([1, 2], [(1, 1)], "close a loop"),
    ],
)
def test_what_is_no_tree_is_refused(nodes, edges, words):
    with pytest.raises(ValueError, match=words):
        Tree(nodes, edges)


def test_unknown_node_is_refused():
    with pytest.raises(ValueError, match="node 2 is not in the tree"):
        TREE.parents(2)
    with pytest.raises(ValueError, match="node 2 is not in the tree"):
        TREE.spanning([1, 2])
