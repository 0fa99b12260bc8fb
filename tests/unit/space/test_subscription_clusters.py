"""Clusters of subscriptions: assignments, layouts, and placement by recent events."""

import pytest

from siftcast.model import Event, Filter
from siftcast.space import ClusterAssignment, ClusterLayout, InterestProfiles

DISTANCES = [[0, 1, 5, 6], [1, 0, 4, 5], [5, 4, 0, 1], [6, 5, 1, 0]]
EVENTS = [Event({"price": price}) for price in (1, 2, 3, 11, 12, 13)]
LOW, HIGH = [True] * 3 + [False] * 3, [False] * 3 + [True] * 3


def parse(text):
    return Filter.parse(text)


def test_named_subscriptions_have_their_cluster_and_others_are_placed():
    assignment = ClusterAssignment({"a": 3, "b": 1}, place=lambda filter_: 7)
    assert [assignment.cluster(id, parse("TRUE")) for id in ("a", "b", "c")] == [3, 1, 7]
    assert assignment.clusters == (1, 3)
    assert ClusterAssignment().cluster("a", parse("TRUE")) == 0


def test_a_negative_cluster_is_refused_by_the_name_of_its_subscription():
    with pytest.raises(ValueError, match="'b'"):
        ClusterAssignment({"a": 0, "b": -1})


def test_publishers_use_the_nearest_rendezvous_or_are_one():
    layout = ClusterLayout(ClusterAssignment(), (3, 0), DISTANCES)
    assert layout.coordinator == 3
    assert [layout.rendezvous_of(node) for node in range(4)] == [0, 0, 3, 3]


@pytest.mark.parametrize("rendezvous", [(), (1, 1), (4,), (-1,)])
def test_rendezvous_are_nodes_and_none_twice(rendezvous):
    with pytest.raises(ValueError, match="rendezvous"):
        ClusterLayout(ClusterAssignment(), rendezvous, DISTANCES)


def test_a_tree_without_children_is_refused():
    with pytest.raises(ValueError, match="child"):
        ClusterLayout(ClusterAssignment(), (0,), DISTANCES, degree_max=0)


def test_a_new_filter_goes_where_it_shares_most_events():
    place = InterestProfiles(EVENTS, [LOW, LOW, HIGH], [0, 0, 1])
    assert place(parse("price < 5")) == 0
    assert place(parse("price BETWEEN 10 AND 14")) == 1
    assert place(parse("price > 2")) == 1  # one of the three low ones, all of the high ones
    assert place(parse("price < 12")) == 0


def test_a_narrow_filter_goes_to_the_narrow_cluster():
    everything = [True] * 6
    place = InterestProfiles(EVENTS, [everything, everything, everything, HIGH], [0, 0, 0, 1])
    assert place(parse("price > 10")) == 1
    assert place(parse("price > 0")) == 0


def test_a_filter_that_matches_nothing_seen_goes_into_the_silent_cluster():
    assert InterestProfiles(EVENTS, [LOW, HIGH, HIGH], [0, 1, 1])(parse("price = 99")) == 2
    assert InterestProfiles(EVENTS, [LOW, HIGH, HIGH], [0, 1, 1], silent=7)(parse("price = 99")) == 7
    assert InterestProfiles([], [[], [], []], [2, 0, 2])(parse("TRUE")) == 3


@pytest.mark.parametrize(
    ("matched", "labels"), [([LOW], [0, 1]), ([LOW[:5]], [0]), ([], []), ([LOW], [-1])],
    ids=["labels", "events", "nobody", "negative"],
)  # fmt: skip
def test_profiles_that_do_not_fit_are_refused(matched, labels):
    with pytest.raises(ValueError, match=r"do not fit|at least one subscription"):
        InterestProfiles(EVENTS, matched, labels)
