"""Generators: exact totals, latencies in their ranges, one seed one network, topologies that pair."""

from typing import get_args

import numpy as np
import pytest

from siftcast.model import UnderlayError
from siftcast.underlay import BalancedTree, Hierarchy, TransitStub, Waxman
from siftcast.underlay.catalogue import FORMATS, GENERATORS, FormatName, GeneratorName
from siftcast.underlay.waxman import LIGHT_KM_A_MS


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_hierarchy_has_domains_that_hang_together_and_are_joined():
    network = Hierarchy(domains=7, routers=150).build(generator(4))
    assert network.routers == 150
    assert network.is_connected
    sizes = np.bincount(network.domains)
    assert sorted(set(sizes.tolist())) == [21, 22]
    between = network.domains[network.tails] != network.domains[network.heads]
    assert (between == (network.link_kinds == "inter-domain")).all()
    assert network.latencies_ms[between].mean() > 3 * network.latencies_ms[~between].mean()


def test_every_name_that_a_scenario_may_give_is_built():
    assert get_args(GeneratorName) == tuple(GENERATORS)
    assert get_args(FormatName) == tuple(FORMATS)


@pytest.mark.parametrize("seed", range(5))
def test_kyra_network_has_the_published_totals_for_every_seed(seed):
    network = TransitStub().build(generator(seed))
    assert (network.routers, network.links) == (2_500, 4_469)
    assert network.is_connected
    assert (network.router_kinds == "transit").sum() == 100
    assert (network.link_kinds == "transit-stub").sum() == 300
    assert len(np.unique(network.domains)) == 320


def test_latencies_of_each_kind_of_link_lie_in_its_range():
    network = TransitStub().build(generator(1))
    ranges = {"transit": (50, 100), "inter-domain": (50, 100), "transit-stub": (10, 40), "stub": (1, 5)}
    for kind, (low, high) in ranges.items():
        latencies = network.latencies_ms[network.link_kinds == kind]
        assert low <= latencies.min() < low + (high - low) / 10
        assert high - (high - low) / 10 < latencies.max() <= high


def test_links_join_the_domains_their_kind_says():
    network = TransitStub().build(generator(2))
    same = network.domains[network.tails] == network.domains[network.heads]
    assert (same == np.isin(network.link_kinds, ("transit", "stub"))).all()
    kinds = np.sort(np.stack((network.router_kinds[network.tails], network.router_kinds[network.heads])), axis=0)
    expected = {"transit": "transit transit", "inter-domain": "transit transit", "stub": "stub stub"}
    for kind, tail, head in zip(network.link_kinds, *kinds, strict=True):
        assert f"{tail} {head}" == expected.get(kind, "stub transit")


def test_sizes_of_domains_vary_around_their_mean():
    network = TransitStub().build(generator(3))
    sizes = np.bincount(network.domains)
    assert sizes[:20].mean() == 5
    assert sizes[20:].mean() == 8
    assert sizes.min() >= 1
    assert sizes[20:].std() > 1


def test_domain_pairs_and_transit_routers_are_linked_about_as_often_as_asked():
    counts = {"inter-domain": 0, "transit": 0}
    pairs = 0
    for seed in range(20):
        network = TransitStub().build(generator(seed))
        sizes = np.bincount(network.domains)[:20]
        pairs += int((sizes * (sizes - 1) // 2).sum())
        for kind in counts:
            counts[kind] += int((network.link_kinds == kind).sum())
    assert counts["inter-domain"] / (20 * 190) == pytest.approx(0.7, abs=0.03)
    assert counts["transit"] / pairs == pytest.approx(0.8, abs=0.04)


def test_multi_homed_networks_pair_with_the_single_homed_one():
    rngs = generator(7), generator(7)
    single = TransitStub().build(rngs[0])
    multi = TransitStub(multi_homed_share=0.1).build(rngs[1])
    assert multi.links == single.links + 30
    for name in ("tails", "heads", "latencies_ms", "link_kinds"):
        assert (getattr(multi, name)[: single.links] == getattr(single, name)).all()
    # What is drawn next is the same too, so that servers and interests pair as well.
    assert rngs[0].random() == rngs[1].random()


def test_second_link_leads_from_its_stub_domain_to_another_transit_domain():
    network = TransitStub(multi_homed_share=1.0).build(generator(4))
    uplinks = np.flatnonzero(network.link_kinds == "transit-stub")
    assert len(uplinks) == 600
    stubs = network.domains[network.heads[uplinks]]
    for stub in np.unique(stubs):
        assert len(set(network.domains[network.tails[uplinks[stubs == stub]]])) == 2


@pytest.mark.parametrize("parameters", [TransitStub(), Waxman(routers=100), Hierarchy(5, 101), BalancedTree(3)])
def test_one_seed_gives_one_network_and_another_seed_another(parameters):
    first, again, other = (parameters.build(generator(seed)) for seed in (5, 5, 6))
    assert (first.latencies_ms == again.latencies_ms).all()
    assert (first.tails == again.tails).all()
    if not isinstance(parameters, BalancedTree):
        assert not np.array_equal(first.latencies_ms, other.latencies_ms)


def test_underlay_chapter_networks_have_their_sizes():
    network = TransitStub.underlay_chapter().build(generator(1))
    assert (network.routers, network.is_connected) == (1_584, True)
    network = Waxman().build(generator(1))
    assert (network.routers, network.links, network.is_connected) == (1_640, 3_277, True)


def test_waxman_prefers_near_routers_the_more_the_smaller_beta_is():
    means = [Waxman(routers=300, beta=beta).build(generator(2)).latencies_ms.mean() for beta in (0.02, 0.2, 20.0)]
    assert means == sorted(means)
    # Without preference, links are as long as random points of the unit square are apart: 0.521 of a side.
    assert means[-1] == pytest.approx(521 / LIGHT_KM_A_MS, rel=0.1)


def test_binary_tree_of_depth_six_has_127_servers_and_diameter_twelve():
    underlay = BalancedTree(depth=6, link_ms=2.0).build().routers_as_servers()
    assert underlay.servers == 127
    assert underlay.latencies_ms.max() == 24.0
    assert len(underlay.route(63, 126)) == 12


@pytest.mark.parametrize(("depth", "branching", "routers"), [(0, 2, 1), (3, 1, 4), (2, 3, 13)])
def test_balanced_tree_counts_its_routers(depth, branching, routers):
    network = BalancedTree(depth, branching).build()
    assert network.routers == routers == BalancedTree(depth, branching).routers
    assert network.is_connected
    assert network.links == routers - 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: TransitStub(transit_domains=0), "'transit_domains' must be a whole number from 1"),
        (lambda: TransitStub(multi_homed_share=1.5), "'multi_homed_share' must be between 0 and 1"),
        (lambda: TransitStub(stub_ms=(5.0, 1.0)), "'stub_ms' must be two ascending"),
        (lambda: TransitStub(links=100).build(generator(1)), "set it to None"),
        (lambda: TransitStub(links=10**6).build(generator(1)), "set it to None"),
        (lambda: Hierarchy(domains=1), "'domains' must be a whole number from 2"),
        (lambda: Hierarchy(domains=5, routers=9), "'routers' must be a whole number from 10"),
        (lambda: Waxman(routers=1), "'routers' must be a whole number from 2"),
        (lambda: Waxman(links_per_router=0), "'links_per_router'"),
        (lambda: BalancedTree(-1), "'depth' must be a whole number from 0"),
        (lambda: BalancedTree(40), "more than routers_max"),
    ],
)
def test_impossible_parameters_are_refused(make, words):
    with pytest.raises(UnderlayError, match=words):
        make()


def test_stub_domains_of_the_only_transit_router_cannot_be_multi_homed():
    lonely = TransitStub(transit_domains=1, transit_routers=1, links=None, multi_homed_share=1.0)
    with pytest.raises(UnderlayError, match="two transit routers"):
        lonely.build(generator(1))
