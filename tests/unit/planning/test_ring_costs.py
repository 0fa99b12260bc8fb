"""The costs of a ring: the formulas of the layering paper, where they overflow, and what we have instead."""

from math import ceil, inf
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from siftcast.planning.ring_costs import (
    MatchTimes,
    NodeCosts,
    imbalance,
    largest_part,
    least_imbalance,
    overflow_chance,
    parts_needed,
    parts_printed,
    scatter_ms,
    throughput_s,
    wait_ms,
    walk_ms,
)
from siftcast.space.shard_plan import part_of

COSTS = NodeCosts(MatchTimes((1_000, 10_000, 100_000), (0.01, 0.02, 0.2)), hop_ms=0.5, handling_ms=0.05)
stores = st.lists(st.integers(0, 500_000), min_size=1, max_size=12)


def test_latency_and_throughput_are_those_of_the_paper():
    assert walk_ms(COSTS, [10_000] * 8) == pytest.approx(8 * 0.5 + 8 * 0.07)
    assert scatter_ms(COSTS, [10_000] * 8) == pytest.approx(7 * 0.05 + 0.5 + 0.07)
    assert throughput_s(COSTS, [1_000, 100_000, 10_000]) == pytest.approx(1_000 / 0.25)
    assert throughput_s(COSTS, [1_000, 100_000, 10_000], replicas=3) == pytest.approx(3_000 / 0.25)


def test_times_between_and_beyond_measured_stores():
    times = COSTS.match
    assert times.at(0) == times.at(1_000) == 0.01
    assert times.at(5_500) == pytest.approx(0.015)
    assert times.at(200_000) == pytest.approx(0.4)
    assert MatchTimes((1, 2, 3), (5.0, 4.0, 6.0)).times_ms == (5.0, 5.0, 6.0)
    assert MatchTimes.linear(0.1, 2.0).at(3_000_000) == pytest.approx(6.1)
    for sizes, found in (((), ()), ((1, 1), (1.0, 1.0)), ((2, 1), (1.0, 1.0)), ((1,), (-1.0,)), ((1,), (1.0, 2.0))):
        with pytest.raises(ValueError, match=r"stores|match times"):
            MatchTimes(sizes, found)


@given(stores)
def test_scattering_is_never_slower_than_walking_where_a_copy_costs_no_more_than_a_visit(visited):
    assert scatter_ms(COSTS, visited) <= walk_ms(COSTS, visited) + 1e-9


@given(stores, st.integers(0, 500_000))
def test_one_more_visit_never_helps(visited, more):
    assert walk_ms(COSTS, [*visited, more]) > walk_ms(COSTS, visited)
    assert scatter_ms(COSTS, [*visited, more]) >= scatter_ms(COSTS, visited)
    assert throughput_s(COSTS, [*visited, more]) <= throughput_s(COSTS, visited)


def test_the_printed_best_h_overflows_where_subscriptions_are_just_under_h_times_m():
    subscriptions, room = 39_999, 10_000
    rng = Random(1)
    ids = [f"{rng.getrandbits(64):x}" for _ in range(subscriptions)]

    def most(parts):
        held = [0] * parts
        for id in ids:
            held[part_of(id, parts)] += 1
        return max(held)

    printed, needed = parts_printed(subscriptions, room), parts_needed(subscriptions, room)
    assert (printed, needed) == (4, 5)
    assert most(printed) > room
    assert most(needed) <= room
    assert overflow_chance(subscriptions, printed, room) == 1.0


@given(st.integers(0, 10**7), st.integers(1, 10**6))
def test_best_h_fits_and_is_the_least_that_does(subscriptions, room):
    assume(subscriptions <= room * 2_000)
    needed = parts_needed(subscriptions, room)
    assert overflow_chance(subscriptions, needed, room) <= 0.001
    assert needed == 1 or overflow_chance(subscriptions, needed - 1, room) > 0.001
    assert needed * room >= subscriptions


@given(st.integers(2, 60), st.integers(1, 400))
def test_the_chance_is_a_bound_on_the_exact_one(parts, room):
    """Against the exact law of one part, summed up over the parts."""
    from scipy.stats import binom

    subscriptions = parts * room - parts
    exact = min(1.0, parts * float(binom.sf(room, subscriptions, 1 / parts)))
    assert overflow_chance(subscriptions, parts, room) >= exact - 1e-9


@given(st.integers(0, 10**7), st.integers(1, 500))
def test_the_fullest_part_is_bounded_too(subscriptions, parts):
    most = largest_part(subscriptions, parts)
    assert subscriptions / parts <= most <= subscriptions
    assert most == subscriptions or overflow_chance(subscriptions, parts, ceil(most)) <= 0.001


def test_the_margin_is_some_percent_of_a_small_store_and_less_of_a_large_one():
    for room, margin in ((10_000, 0.06), (1_000_000, 0.006)):
        fitting = max(load for load in range(8 * room, 0, -room // 1_000) if parts_needed(load, room) == 8)
        assert 0.5 * margin < 1 - fitting / (8 * room) < margin


def test_a_node_must_have_room():
    with pytest.raises(ValueError, match="room"):
        parts_needed(5, 0)
    assert NodeCosts(COSTS.match, base_bytes=100, subscription_bytes=10).room(1_000) == 90
    assert NodeCosts(COSTS.match).room(10) == 0
    assert COSTS.memory_bytes(COSTS.room(2**30)) <= 2**30


def test_waiting_is_that_of_a_queue_with_constant_service():
    assert wait_ms(500, [(1.0, 1.0)]) == pytest.approx(0.5 * 1.0 / (2 * 0.5))
    assert wait_ms(1_000, [(1.0, 1.0)]) == inf
    assert wait_ms(0, [(1.0, 1.0)]) == wait_ms(5, []) == 0.0
    mixed = wait_ms(500, [(0.5, 0.5), (0.5, 1.5)])
    assert mixed == pytest.approx(0.5 * (0.25 + 2.25) / 2 / (2 * 0.5))
    assert mixed > wait_ms(500, [(1.0, 1.0)])


@given(st.floats(0, 900), st.floats(0.01, 1.0))
def test_more_events_wait_longer(rate, service):
    assert wait_ms(rate + 50, [(1.0, service)]) > wait_ms(rate, [(1.0, service)]) or rate * service >= 1_000


def test_waiting_agrees_with_a_simulated_queue():
    rng, now, free, waited, count = Random(4), 0.0, 0.0, 0.0, 60_000
    for _ in range(count):
        now += rng.expovariate(0.7)
        waited += max(0.0, free - now)
        free = max(now, free) + 1.0
    assert waited / count == pytest.approx(wait_ms(700, [(1.0, 1.0)]), rel=0.05)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 12))
def test_the_ring_attains_the_least_imbalance_with_one_rendezvous_value(clusters, replicas, parts):
    parts = min(parts, clusters)
    loads = [1.0 if cluster < parts else 0.0 for cluster in range(clusters) for _ in range(replicas)]
    nodes = len(loads)
    assert imbalance(loads) == pytest.approx(least_imbalance(nodes, replicas, parts))
    assert parts * replicas * imbalance(loads) >= nodes - 1e-9
    assert imbalance([]) == imbalance([0, 0]) == 1.0
