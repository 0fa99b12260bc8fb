"""Kyra's zones: among servers of cliques and among trees, who is left without one, and who joins which tree."""

import numpy as np
import pytest

from siftcast.model import Attribute, Schema
from siftcast.planning.owned_zones import own_zones, tree_members
from siftcast.space import ContentSpace, OwnedZones, Partition

SPACE = ContentSpace(Schema([Attribute("value", "int", (0, 9), 1)], name="ten"))
EDGES = np.arange(11)
A, B, C, D, E, F, G, H = range(8)


def by_hand(places: list[int], owners: list[int]) -> OwnedZones:
    return OwnedZones(Partition.along(SPACE, 0, places), tuple(owners))


def values_of(zones: OwnedZones) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for value in range(10):
        found.setdefault(zones.owner_of_event({"value": value}), []).append(value)
    return found


def test_servers_of_the_eight_server_example_join_the_published_trees():
    cliques = [by_hand([4, 7], [A, B, C]), by_hand([5], [D, E]), by_hand([4, 7], [F, G, H])]
    trees = by_hand([4, 7], [0, 1, 2])
    assert tree_members(trees, cliques) == {0: (A, D, F), 1: (B, D, E, G), 2: (C, E, H)}


def test_owners_answer_for_events_and_filters():
    zones = by_hand([4, 7], [A, B, C])
    assert zones.owner_of_event({"value": 9}) == C
    assert zones.owner_of_event({"value": 10}) is None
    assert zones.owners_of("value IN (1, 8)") == [A, C]
    assert zones.zone_of(B).box.lows == (4.0,)
    assert zones.zone_of(H) is None


@pytest.mark.parametrize("method", ["bottleneck", "shares"])
def test_even_loads_make_even_zones(method):
    zones = own_zones(SPACE, EDGES, np.ones(10), [7, 3, 5, 1, 2], method=method)
    assert values_of(zones) == {7: [0, 1], 3: [2, 3], 5: [4, 5], 1: [6, 7], 2: [8, 9]}
    assert zones.partition.loads == (2.0,) * 5


def test_hot_value_leaves_servers_without_a_zone_under_shares_only():
    loads = np.ones(10)
    loads[4] = 91.0
    shares = own_zones(SPACE, EDGES, loads, range(5), method="shares")
    assert values_of(shares) == {0: [0, 1, 2, 3], 2: [4], 4: [5, 6, 7, 8, 9]}
    assert len(own_zones(SPACE, EDGES, loads, range(5)).owners) == 5


@pytest.mark.parametrize("method", ["bottleneck", "shares"])
def test_more_servers_than_values_leave_some_without_a_zone_and_in_no_tree(method):
    cliques = [own_zones(SPACE, EDGES, np.ones(10), clique, method=method) for clique in (range(20), [20])]
    assert len(cliques[0].owners) == 10
    trees = own_zones(SPACE, EDGES, np.ones(10), range(2), method=method)
    members = tree_members(trees, cliques)
    assert set(members[0]) & set(members[1]) == {20}
    assert set(members[0]) | set(members[1]) == {*cliques[0].owners, 20}


def test_uneven_loads_make_zones_of_different_sizes():
    zones = own_zones(SPACE, EDGES, np.r_[np.full(5, 8.0), np.full(5, 1.0)], [0, 1])
    assert values_of(zones) == {0: [0, 1, 2], 1: [3, 4, 5, 6, 7, 8, 9]}


@pytest.mark.parametrize("method", ["bottleneck", "shares"])
def test_unused_values_are_still_somebodys(method):
    assert values_of(own_zones(SPACE, EDGES, np.zeros(10), [1, 2], method=method)) == {
        1: [0, 1, 2, 3, 4],
        2: [5, 6, 7, 8, 9],
    }
    assert None not in values_of(own_zones(SPACE, EDGES, [0, 0, 1, 0, 0, 0, 0, 1, 0, 0], [1, 2, 3], method=method))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: own_zones(SPACE, EDGES, np.ones(9), [1]), "9 cells have 10 edges"),
        (lambda: own_zones(SPACE, EDGES, np.ones(10), [1], method="luck"), "bottleneck, shares"),
        (lambda: own_zones(SPACE, EDGES, np.ones(10), []), "at least one zone"),
        (lambda: own_zones(SPACE, EDGES, -np.ones(10), [1, 2], method="shares"), "at least 0"),
        (lambda: by_hand([4], [A]), "2 zones have as many owners"),
        (lambda: by_hand([4], [A, A]), "an owner has one zone"),
    ],
)
def test_impossible_zones_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
