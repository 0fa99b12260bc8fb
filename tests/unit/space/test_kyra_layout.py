"""A layout that breaks a rule cannot be made, and the message says which."""

import pytest

from siftcast.model import Attribute, Schema
from siftcast.space import OUTSIDE, Clique, ContentSpace, KyraLayout, OwnedZones, Partition, Tree

SPACE = ContentSpace(Schema([Attribute("value", "int", (0, 9), 1)]))
OTHER = ContentSpace(Schema([Attribute("price", "int", (0, 9), 1)]))


def zones(places, owners, space=SPACE):
    return OwnedZones(Partition.along(space, 0, places), tuple(owners))


PAIR = Clique((0, 1), zones([5], (0, 1)), 0)
ALONE = Clique((2,), zones([], (2,)), 2)
TREES = {0: Tree((0, 2), [(0, 2)]), 1: Tree((1, 2), [(1, 2)])}
OUTER = Tree((0, 2), [(0, 2)])


def test_a_sound_layout_knows_cliques_proxies_and_trees():
    layout = KyraLayout((PAIR, ALONE), zones([5], (0, 1)), TREES, OUTER)
    assert layout.servers == (0, 1, 2)
    assert layout.clique_of(1) is PAIR
    assert [PAIR.proxy_of({"value": value}) for value in (4, 5, 10)] == [0, 1, 0]
    assert [layout.tree_of({"value": value}) for value in (4, 5, 10)] == [0, 1, OUTSIDE]
    with pytest.raises(ValueError, match="in no clique"):
        layout.clique_of(9)


@pytest.mark.parametrize(
    ("cliques", "tree_zones", "trees", "outer", "problem"),
    [
        ((PAIR, PAIR), zones([5], (0, 1)), TREES, OUTER, "in one clique"),
        ((PAIR, Clique((2,), zones([], (2,), OTHER), 2)), zones([5], (0, 1)), TREES, OUTER, "the same space"),
        ((PAIR, ALONE), zones([5], (0, 1)), TREES, Tree((0,), []), "without a point"),
        ((PAIR, ALONE), zones([5], (0, 7)), TREES, OUTER, "tree 7, which is not among"),
        ((PAIR, ALONE), zones([4], (0, 1)), TREES, OUTER, r"servers \[0\] overlap that of tree 1"),
    ],
)
def test_a_layout_that_would_lose_events_is_refused(cliques, tree_zones, trees, outer, problem):
    with pytest.raises(ValueError, match=problem):
        KyraLayout(cliques, tree_zones, trees, outer)


def test_who_answers_for_a_clique_is_in_it():
    with pytest.raises(ValueError, match="not in"):
        Clique((0, 1), zones([5], (0, 2)), 0)
    with pytest.raises(ValueError, match="not in"):
        Clique((0, 1), zones([5], (0, 1)), 5)
    with pytest.raises(ValueError, match="once"):
        Clique((0, 0), zones([], (0,)), 0)
