"""The rendezvous ring: what must hold for any N, R and H does, and each flaw of the printed one can be seen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siftcast.experiments.rendezvous.placements import measure_applications, measure_load
from siftcast.experiments.rendezvous.printed import PrintedRing, broken_by_estimates, empty_share, meetings
from siftcast.experiments.rendezvous.rings import (
    Shape,
    count_meetings,
    count_singles,
    draw_events,
    draw_filters,
    key_axis,
    placement,
    ring,
)
from siftcast.space import cut_by_rank


def wrong(placing, seed):
    """Meetings of random filters and events that are missed or doubled, beside all."""
    rng = np.random.default_rng(seed)
    found = count_meetings(placing, draw_filters(15, rng), draw_events(15, rng))
    return found["missed"] + found["again"], sum(found.values())


@settings(max_examples=25, deadline=None)
@given(nodes=st.integers(1, 120), replicas=st.integers(1, 12), hops=st.integers(1, 40), seed=st.integers(0, 10**6))
def test_every_event_meets_every_matching_subscription_once_for_any_n_r_and_h(nodes, replicas, hops, seed):
    assert wrong(placement(ring(nodes, Shape(min(replicas, nodes), hops))), seed)[0] == 0


@pytest.mark.parametrize("hops", range(1, 9))
def test_the_repaired_range_of_clusters_is_the_walk_for_even_and_odd_h(hops):
    (circle,) = ring(64, Shape(2, hops)).circles
    zone = 10
    assert circle.clusters_of(zone) == tuple(range(zone - hops // 2, zone - hops // 2 + hops))


@pytest.mark.parametrize("hops", range(2, 11, 2))
def test_as_printed_even_h_misses_one_of_h_plus_1_subscriptions(hops):
    for floored in (False, True):
        assert (meetings(32, hops, floored=floored) == 0).mean() == pytest.approx(1 / (hops + 1))


@pytest.mark.parametrize("hops", range(1, 11, 2))
def test_as_printed_odd_h_misses_one_of_h_subscriptions_if_the_start_is_floored(hops):
    assert (meetings(32, hops, floored=True) == 0).mean() == pytest.approx(1 / hops)
    assert (meetings(32, hops, floored=False) == 1).all()


@pytest.mark.parametrize("hops", [4, 5])
def test_as_printed_subscriptions_of_a_single_zone_are_missed_and_as_repaired_none(hops):
    axis = key_axis(32)
    printed = count_singles(PrintedRing(axis, 32, hops, np.random.default_rng(3)), axis, 9, 400)
    assert printed["missed"] / 400 == pytest.approx(0.2, abs=0.06)
    assert printed["again"] == 0
    repaired = count_singles(placement(ring(64, Shape(2, hops))), axis, 9, 400)
    assert repaired == {"once": 400, "missed": 0, "again": 0}


def test_as_printed_a_walk_longer_than_the_ring_meets_subscriptions_again():
    assert (meetings(4, 6, floored=False) > 1).any()
    assert ring(8, Shape(2, 6)).circles[0].shards.parts == (4,) * 5


def test_as_printed_a_filter_that_fixes_no_single_key_is_missed():
    rng = np.random.default_rng(5)
    printed, repaired = PrintedRing(key_axis(16), 16, 3, rng, floored=False), placement(ring(32, Shape(2, 3)))
    misses, pairs = wrong(printed, 5)
    assert misses > pairs / 4
    assert wrong(repaired, 5) == (0, pairs)


@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_random_identities_leave_clusters_empty_and_ranks_do_not(replicas):
    assert empty_share(20_000, replicas, np.random.default_rng(1)) == pytest.approx(np.exp(-replicas), rel=0.1)
    assert all(cut_by_rank(range(2_000), 2_000 // replicas))


def test_nodes_that_disagree_on_n_by_a_hundredth_break_exactly_once():
    rng = np.random.default_rng(2)
    assert broken_by_estimates(960, 4, 8, 0.0, 4_000, rng) == 0
    assert broken_by_estimates(960, 4, 8, 0.01, 4_000, rng) > 0.15


def test_load_is_what_the_formula_says_for_one_value_and_less_for_uniform_values():
    found = measure_load(64, 4, 4, 500, 1)
    assert all(1 <= ratio < 1.25 for ratio in found["one"])
    assert all(ratio < 0.5 for ratio in found["uniform"])


def test_applications_with_their_own_r_and_h_share_nodes():
    found = measure_applications(4, 20, 20, 3)
    assert found["met"]["once"] > 50
    assert (found["met"]["missed"], found["met"]["again"], found["copies"], found["visits"]) == (0, 0, 0, 0)
    assert found["applications"] >= 8
