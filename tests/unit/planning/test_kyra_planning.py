"""Layouts and groups from planning: limits, balance, and parameters that make no sense."""

import numpy as np
import pytest

from siftcast.model import Attribute, Filter, Schema
from siftcast.planning import cell_loads, group_trees, minimum_spanning_tree, plan_groups, plan_kyra
from siftcast.space import ContentSpace

SPACE = ContentSpace(Schema([Attribute("value", "int", (0, 9), 1)]))
EDGES = np.arange(11)
LATENCIES = np.array([[float(abs(a - b)) for b in range(12)] for a in range(12)])


def plan(loads=None, **options):
    even = np.ones(10) if loads is None else loads
    return plan_kyra(LATENCIES, SPACE, EDGES, even, **{"clique_ms_max": 3.0, **options})


def test_both_limits_of_cliques_hold():
    assert {len(clique.members) for clique in plan().cliques} == {4}
    assert max(len(clique.members) for clique in plan(clique_servers_max=3).cliques) <= 3


def test_a_server_that_nobody_is_near_to_is_alone_unless_singletons_join():
    apart = LATENCIES.copy()
    apart[11, :11] += 500.0
    apart[:11, 11] += 500.0
    sizes = []
    for join in (False, True):
        layout = plan_kyra(apart, SPACE, EDGES, np.ones(10), clique_ms_max=3.0, trees=4, join_singletons=join)
        sizes.append(sorted(len(clique.members) for clique in layout.cliques))
        joined = sum(11 in tree.nodes for tree in layout.trees.values())
        assert joined == 4 if not join else joined < 4
    assert sizes == [[1, 3, 4, 4], [4, 4, 4]]


def test_event_weights_move_the_zones():
    even = cell_loads(np.full(10, 0.1), np.ones(10))
    heavy = cell_loads(np.full(10, 0.1), np.ones(10), [8.0] + [1.0] * 9)
    first = [plan(loads).cliques[0].zones.partition.zones[0].box.highs for loads in (even, heavy)]
    assert first[1] == (1.0,)
    assert first[0] > first[1]


def test_balanced_trees_have_smaller_largest_degrees():
    star = np.full((12, 12), 10.0)
    star[0, :] = star[:, 0] = 9.0
    degrees = []
    for factor in (1, 100):
        layout = plan_kyra(star, SPACE, EDGES, np.ones(10), clique_ms_max=0.0, trees=3, balance_factor=factor)
        joined = [tree.neighbours for tree in layout.trees.values()]
        degrees.append(max(sum(len(each[server]) for each in joined) for server in range(12)))
    assert degrees[0] == 33
    assert degrees[1] <= 9


@pytest.mark.parametrize(
    ("options", "problem"),
    [({"trees": 0}, "at least one tree"), ({"balance_factor": 0}, "balance factor"), ({"method": "luck"}, "method")],
)
def test_parameters_that_make_no_sense_are_refused(options, problem):
    with pytest.raises(ValueError, match=problem):
        plan(**options)


def test_a_network_without_servers_is_refused():
    with pytest.raises(ValueError, match="at least one server"):
        plan_kyra(np.zeros((0, 0)), SPACE, EDGES, np.ones(10), clique_ms_max=1.0)


def test_values_that_the_same_servers_want_are_in_one_group():
    interest = np.zeros((10, 12), dtype=bool)
    interest[[0, 4, 9], :6] = True
    interest[[1, 2, 3], 6:] = True
    groups = plan_groups(SPACE, EDGES, interest, 10, np.random.default_rng(1))
    found = [groups.of_event({"value": value}) for value in range(10)]
    assert found[0] == found[4] == found[9]
    assert found[1] == found[2] == found[3] != found[0]
    assert groups.of_filter(Filter.parse("value IN (0, 1)")) == tuple(sorted({found[0], found[1]}))
    assert groups.of_event({}) == groups.outside == len(groups) - 1
    with pytest.raises(ValueError, match="11 edges"):
        plan_groups(SPACE, EDGES[:-1], interest, 3, np.random.default_rng(1))


def test_trees_of_groups_are_minimum_spanning_trees_found_once():
    tree_of = group_trees(LATENCIES)
    assert tree_of((1, 4, 9)) == minimum_spanning_tree(LATENCIES, (1, 4, 9))
    assert tree_of((1, 4, 9)) is tree_of((1, 4, 9))
