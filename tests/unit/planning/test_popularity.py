"""The popularity exponent: shares of trees whose answer is known, and fits of known power laws."""

import numpy as np
import pytest

from siftcast.planning.popularity import fit_power_law, traversed_shares
from siftcast.planning.spanning_trees import minimum_spanning_tree
from siftcast.space import Tree
from siftcast.underlay import TransitStub

STAR = Tree(range(101), [(0, leaf) for leaf in range(1, 101)])


def test_event_on_a_star_passes_its_takers_its_publisher_and_the_middle():
    shares = traversed_shares(STAR, [0.5, 1.0], np.random.default_rng(1), draws=200)
    # Half of 101 rounds to 50 takers; publisher and middle are not among them half of the time.
    assert shares[0] == pytest.approx((50 + 0.5 + 0.5) / 101, rel=0.01)
    assert shares[1] == 1.0


def test_exponent_of_a_power_law_is_found():
    x = np.linspace(0.01, 1, 50)
    fit = fit_power_law(x, x**0.6101)
    assert fit.exponent == pytest.approx(0.6101)
    assert fit.r_squared == pytest.approx(1.0)
    assert fit_power_law(x, 3 * x**0.5).r_squared < 0.9


def test_exponent_on_a_kyra_network_is_near_the_published_one():
    rng = np.random.default_rng(2)
    tree = minimum_spanning_tree(TransitStub().build(rng).attach(500, rng).latencies_ms)
    popularities = np.arange(0.05, 1.01, 0.05)
    fit = fit_power_law(popularities, traversed_shares(tree, popularities.tolist(), rng))
    assert fit.exponent == pytest.approx(0.6101, abs=0.06)
    assert fit.r_squared > 0.98


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: traversed_shares(STAR, [0.0], np.random.default_rng(1)), "above 0"),
        (lambda: traversed_shares(STAR, [1.1], np.random.default_rng(1)), "at most 1"),
        (lambda: traversed_shares(STAR, [1.0], np.random.default_rng(1), draws=0), "one draw"),
        (lambda: fit_power_law([1.0, 1.0], [1.0, 2.0]), "two points"),
        (lambda: fit_power_law([0.0, 1.0], [1.0, 2.0]), "above 0"),
    ],
)
def test_impossible_measurements_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
