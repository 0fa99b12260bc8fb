"""Clusters on a network: labels become an assignment, servers become rendezvous."""

import numpy as np
import pytest

from siftcast.model import Event, Filter
from siftcast.planning import assign_clusters, interest_clusters, plan_clusters
from siftcast.space import ClusterAssignment

# Two far groups of three servers; server 1 is in the middle of the first, 2 lies between.
PLACES = np.array([0.0, 1.0, 3.0, 20.0, 21.0, 22.0])
LATENCIES = np.abs(PLACES[:, None] - PLACES)
EVENTS = [Event({"price": price}) for price in range(8)]


def test_subscriptions_that_match_the_same_events_are_clustered():
    low, high = [True] * 4 + [False] * 4, [False] * 4 + [True] * 4
    labels = interest_clusters([low, high, low, high, low], 2, np.random.default_rng(3))
    assert labels[0] == labels[2] == labels[4] != labels[1] == labels[3]


def test_labels_name_their_subscriptions_and_place_new_ones():
    matched = [[True] * 4 + [False] * 4, [False] * 4 + [True] * 4]
    assignment = assign_clusters(["a", "b"], [4, 2], EVENTS, matched)
    assert dict(assignment.cluster_of) == {"a": 4, "b": 2}
    assert assignment.cluster("new", Filter.parse("price < 3")) == 4
    assert assignment.cluster("new", Filter.parse("price > 3")) == 2


def test_nobody_to_cluster_leaves_everything_in_the_first_cluster():
    assert assign_clusters([], [], EVENTS, np.zeros((0, 8))).cluster("new", Filter.parse("TRUE")) == 0


def test_what_matched_nothing_is_in_no_cluster_and_then_in_a_silent_one():
    low, nothing = [True] * 4 + [False] * 4, [False] * 8
    matched = [low, nothing, low]
    labels = interest_clusters(matched, 1, np.random.default_rng(3))
    assert labels.tolist() == [0, -1, 0]
    assignment = assign_clusters(["a", "quiet", "b"], labels, EVENTS, matched)
    assert dict(assignment.cluster_of) == {"a": 0, "quiet": 1, "b": 0}
    assert assignment.cluster("new", Filter.parse("price = 77")) == 1
    named = assign_clusters(["a", "quiet", "b"], labels, EVENTS, matched, silent=9)
    assert named.cluster_of["quiet"] == named.cluster("new", Filter.parse("price = 77")) == 9
    assert interest_clusters([nothing], 3, np.random.default_rng(3)).tolist() == [-1]
    assert assign_clusters(["quiet"], [-1], EVENTS, [nothing]).cluster("quiet", Filter.parse("price = 1")) == 0


@pytest.mark.parametrize("silent", [-1, 0])
def test_the_silent_cluster_has_no_others(silent):
    with pytest.raises(ValueError, match="silent"):
        assign_clusters(["a"], [0], EVENTS, [[True] * 8], silent=silent)


def test_each_subscription_needs_a_label():
    with pytest.raises(ValueError, match="label"):
        assign_clusters(["a", "b"], [0], EVENTS, np.zeros((2, 8)))


def test_the_coordinator_is_central_and_further_rendezvous_are_far_apart():
    layout = plan_clusters(LATENCIES, ClusterAssignment(), rendezvous=3, degree_max=2)
    assert layout.coordinator == int(np.argmin(LATENCIES.sum(axis=1)))
    assert layout.rendezvous == (2, 5, 0)
    assert [layout.rendezvous_of(node) for node in (1, 3, 4)] == [0, 5, 5]
    assert plan_clusters(LATENCIES, ClusterAssignment(), rendezvous=6).rendezvous[0] == 2


@pytest.mark.parametrize("rendezvous", [0, 7])
def test_there_are_no_more_rendezvous_than_servers(rendezvous):
    with pytest.raises(ValueError, match="1 to 6"):
        plan_clusters(LATENCIES, ClusterAssignment(), rendezvous=rendezvous)
