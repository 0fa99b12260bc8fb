"""Networks: what they refuse, what they say of themselves, and how servers are put on them."""

import numpy as np
import pytest

from siftcast.model import UnderlayError
from siftcast.underlay import Network


def line(*latencies_ms: float) -> Network:
    """Routers in a row."""
    return Network.of(len(latencies_ms) + 1, [(i, i + 1, latency) for i, latency in enumerate(latencies_ms)])


@pytest.mark.parametrize(
    ("routers", "links", "words"),
    [
        (0, [], "at least one router"),
        (2, [(0, 2, 1.0)], "routers 0 … 1"),
        (2, [(-1, 1, 1.0)], "routers 0 … 1"),
        (2, [(0, 1, 1.0), (1, 1, 1.0)], "link 1 joins a router to itself"),
        (2, [(0, 1, -1.0)], "at least 0"),
        (2, [(0, 1, float("nan"))], "finite"),
    ],
)
def test_impossible_network_is_refused(routers, links, words):
    with pytest.raises(UnderlayError, match=words):
        Network.of(routers, links)


def test_names_must_be_as_many_as_routers():
    with pytest.raises(UnderlayError, match="1 names for 2 routers"):
        Network.of(2, [(0, 1, 1.0)], names=["only"])


def test_degrees_and_summary_describe_the_network():
    network = Network.of(4, [(0, 1, 1.0), (0, 2, 2.5)])
    assert network.degrees.tolist() == [2, 1, 1, 0]
    assert not network.is_connected
    assert network.summary() == ("4 routers, 2 links (4 arcs); degree 0–2, mean 1.00; latency 1–2.5 ms; in 2 pieces")


def test_largest_component_keeps_its_links_and_names():
    network = Network.of(5, [(0, 1, 9.0), (2, 3, 1.0), (4, 3, 2.0)], names=list("abcde"))
    largest = network.largest_component()
    assert largest.is_connected
    assert largest.names == ("c", "d", "e")
    assert list(zip(largest.tails, largest.heads, largest.latencies_ms, strict=True)) == [(0, 1, 1.0), (2, 1, 2.0)]


def test_servers_take_distinct_routers_while_there_are_enough():
    network = line(1.0, 1.0, 1.0)
    assert sorted(network.attach(4, np.random.default_rng(1)).server_routers) == [0, 1, 2, 3]
    crowded = network.attach(10, np.random.default_rng(1)).server_routers
    assert set(np.bincount(crowded)) == {2, 3}


def test_servers_keep_to_the_kind_of_router_asked_for():
    network = Network(
        3,
        np.array([0, 1]),
        np.array([1, 2]),
        np.ones(2),
        np.array(["transit", "stub", "stub"]),
        np.array(["link", "link"]),
        np.full(3, -1),
    )
    assert 0 not in network.attach(20, np.random.default_rng(3), router_kind="stub").server_routers
    with pytest.raises(UnderlayError, match="kind 'edge'; there are: stub, transit"):
        network.attach(1, np.random.default_rng(3), router_kind="edge")


def test_servers_that_could_not_reach_each_other_are_refused():
    network = Network.of(3, [(0, 1, 1.0)])
    assert network.attach_at([0, 1]).latency_ms(0, 1) == 3.0
    with pytest.raises(UnderlayError, match="largest_component"):
        network.attach_at([0, 2])


@pytest.mark.parametrize(
    ("routers", "access_ms", "words"), [([], 1.0, "at least one"), ([5], 1.0, "0 … 1"), ([0], -1.0, "access")]
)
def test_impossible_attachment_is_refused(routers, access_ms, words):
    with pytest.raises(UnderlayError, match=words):
        line(1.0).attach_at(routers, access_ms)
