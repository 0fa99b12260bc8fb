"""The number of nodes from the identities near one of them."""

from random import Random
from statistics import mean, pstdev

import pytest

from siftcast.planning.ring_density import IDENTITY_BITS, estimate_nodes


@pytest.mark.parametrize("near", [6, 18, 66])
def test_estimates_have_no_bias_and_the_error_that_they_say(near):
    rng, nodes, found = Random(near), 1_000, []
    for _ in range(150):
        identities = [rng.getrandbits(IDENTITY_BITS) for _ in range(nodes)]
        own = identities[0]
        successors = sorted((each - own) % 2**IDENTITY_BITS for each in identities)[: near + 1]
        far = [own + 2**power for power in range(58, 63)]  # the long links of a routing table change nothing
        found.append(estimate_nodes(own, [*(own + each for each in successors), *far], near=near))
    error = found[0].error
    assert mean(each.nodes for each in found) == pytest.approx(nodes, rel=3 * error / 150**0.5)
    assert pstdev(each.nodes for each in found) / nodes == pytest.approx(error, rel=0.35)
    low, high = found[0].likely
    assert low < found[0].nodes < high
    assert f"± {error:.0%}" in str(found[0])


def test_who_knows_all_nodes_counts_them():
    assert estimate_nodes(5, [5, 7, 9, 9]).nodes == 3
    assert estimate_nodes(5, [7, 9], near=8).nodes == 3
    assert estimate_nodes(5, []).error == 0.0
    assert str(estimate_nodes(5, range(1_500))) == "1,500 nodes"


def test_two_successors_are_too_few():
    with pytest.raises(ValueError, match="three successors"):
        estimate_nodes(5, [7, 9, 11], near=2)
