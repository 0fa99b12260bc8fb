"""Links that differ by direction, and pairs of servers that cannot reach each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model.errors import UnderlayError
from siftcast.planning import minimum_spanning_tree
from siftcast.underlay import MeasuredUnderlay, Network, Unreachable, Waxman


def network(servers=30):
    rng = np.random.default_rng(4)
    return Waxman(routers=60).build(rng).attach(servers, rng)


def test_this_share_of_links_differs_by_direction_and_no_round_trip_over_a_link_does():
    before = network()
    after = before.with_asymmetry(0.4, np.random.default_rng(1))
    there, back = after.arcs.latency_ms[::2], after.arcs.latency_ms[1::2]
    is_link = ~after.arcs.is_access[::2]
    assert (there != back).sum() == round(0.4 * is_link.sum())
    assert (there == back)[~is_link].all()
    assert np.allclose(there + back, 2 * before.arcs.latency_ms[::2])
    assert (there[is_link] > 0).all()
    assert (back[is_link] > 0).all()
    assert before.is_symmetric
    assert not after.is_symmetric


def test_routes_and_latencies_differ_by_direction_then():
    skewed = network().with_asymmetry(1.0, np.random.default_rng(1))
    pairs = [(a, b) for a in range(30) for b in range(a)]
    there = [skewed.routers_between(a, b) for a, b in pairs]
    back = [skewed.routers_between(b, a)[::-1] for a, b in pairs]
    assert there != back
    assert not np.allclose(skewed.latencies_ms, skewed.latencies_ms.T)
    for a, b in pairs:
        assert np.isclose(skewed.latency_ms(a, b), skewed.arcs.latency_ms[list(skewed.route(a, b))].sum())
        assert skewed.latencies_ms[b, a] == skewed.latency_ms(b, a) == skewed.latency_from(b)(a)


def test_a_share_of_nothing_changes_nothing():
    plain = network()
    same = plain.with_asymmetry(0.0, np.random.default_rng(1)).with_unreachable(0.0, np.random.default_rng(1))
    assert same.unreachable is None
    assert np.array_equal(same.latencies_ms, plain.latencies_ms)
    assert same.route(3, 9) == plain.route(3, 9)


def test_directions_of_a_measured_network_are_left_as_they_were_measured():
    with pytest.raises(UnderlayError, match="differ as they were measured"):
        MeasuredUnderlay([[0, 1], [2, 0]]).with_asymmetry(0.5, np.random.default_rng(1))


def test_shares_that_are_none_are_refused():
    with pytest.raises(UnderlayError, match="'asymmetry' must be between 0 and 1"):
        network().with_asymmetry(1.5, np.random.default_rng(1))
    with pytest.raises(UnderlayError, match="'unreachable' must be between 0 and 1"):
        network().with_unreachable(-0.1, np.random.default_rng(1))


@given(st.integers(1, 40), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_pairs_are_cut_in_both_directions_and_all_servers_still_hang_together(servers, share, seed):
    drawn = Unreachable.drawn(servers, share, np.random.default_rng(seed))
    cut = np.array([[drawn.cuts(a, b) for b in range(servers)] for a in range(servers)])
    assert np.array_equal(cut, cut.T)
    assert not cut.diagonal().any()
    assert drawn.pairs == cut.sum() // 2
    open_pairs = np.argwhere(~cut)
    joined = Network.of(servers, [(a, b, 1.0) for a, b in open_pairs.tolist() if a < b])
    assert joined.is_connected


def test_about_this_share_of_all_pairs_is_cut():
    drawn = Unreachable.drawn(200, 0.1, np.random.default_rng(3))
    assert 0.08 < drawn.pairs / (200 * 199 / 2) < 0.12
    assert Unreachable.drawn(200, 1.0, np.random.default_rng(3)).pairs == 199 * 198 // 2


@given(st.integers(2, 20), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_a_tree_by_avoided_latencies_has_no_link_that_is_cut(servers, share, seed):
    rng = np.random.default_rng(seed)
    drawn = Unreachable.drawn(servers, share, rng)
    latencies_ms = rng.choice([0.0, 1.0, 5.0], (servers, servers))
    tree = minimum_spanning_tree(drawn.avoided(latencies_ms))
    assert not [pair for pair in tree.edges if drawn.cuts(*pair)]
