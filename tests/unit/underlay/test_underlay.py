"""Routes, latencies and arcs by example, and an underlay from measured latencies."""

import numpy as np
import pytest

from siftcast.model import UnderlayError
from siftcast.underlay import MeasuredUnderlay, Network

SQUARE = Network.of(4, [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (0, 3, 5.0)])


def test_route_lists_arcs_in_order_with_access_arcs_at_both_ends():
    underlay = SQUARE.attach_at([0, 3], access_ms=[0.25, 0.5])
    # Links 0–3 are the square, 4 and 5 the access links; an odd arc runs against its link.
    assert underlay.route(0, 1) == (8, 0, 2, 4, 11)
    assert underlay.route(1, 0) == (10, 5, 3, 1, 9)
    assert underlay.latency_ms(0, 1) == 3.75
    assert underlay.arcs.is_access.tolist() == [False] * 8 + [True] * 4


def test_servers_on_one_router_meet_there():
    underlay = SQUARE.attach_at([2, 2], access_ms=1.0)
    assert underlay.route(0, 1) == (8, 11)
    assert underlay.latency_ms(0, 1) == 2.0


def test_nothing_is_crossed_from_a_server_to_itself():
    underlay = SQUARE.attach_at([0, 3])
    assert underlay.route(1, 1) == ()
    assert underlay.latency_ms(1, 1) == 0.0
    assert underlay.multicast_arcs(1, [1]).tolist() == []


def test_routers_as_servers_have_no_access_links():
    underlay = SQUARE.routers_as_servers()
    assert underlay.servers == 4
    assert underlay.route(0, 3) == (0, 2, 4)
    assert not underlay.arcs.is_access.any()
    assert underlay.server_routers.tolist() == [0, 1, 2, 3]


def test_quickest_of_parallel_links_is_used_and_the_first_of_equals():
    network = Network.of(2, [(0, 1, 3.0), (1, 0, 2.0), (0, 1, 2.0)])
    assert network.routers_as_servers().route(0, 1) == (3,)
    assert network.routers_as_servers().route(1, 0) == (2,)


def test_links_of_latency_zero_are_links():
    underlay = Network.of(3, [(0, 1, 0.0), (1, 2, 0.0), (0, 2, 1.0)]).routers_as_servers()
    assert underlay.route(0, 2) == (0, 2)
    assert underlay.latency_ms(0, 2) == 0.0


def test_single_router_serves_a_single_server():
    underlay = Network.of(1, []).routers_as_servers()
    assert underlay.latencies_ms.tolist() == [[0.0]]
    assert underlay.route(0, 0) == ()


def test_multicast_crosses_a_shared_arc_once():
    underlay = SQUARE.routers_as_servers()
    assert underlay.multicast_arcs(0, [2, 3]).tolist() == [0, 2, 4]
    assert underlay.multicast_arcs(0, [3, 2, 1, 1]).tolist() == [0, 2, 4]


def test_latencies_cannot_be_changed_by_a_reader():
    with pytest.raises(ValueError, match="read-only"):
        SQUARE.routers_as_servers().latencies_ms[0, 1] = 0.0


@pytest.mark.parametrize("underlay", [SQUARE.routers_as_servers(), MeasuredUnderlay(np.zeros((4, 4)))])
@pytest.mark.parametrize("server", [-1, 4])
def test_unknown_server_is_refused(underlay, server):
    for ask in (underlay.route, underlay.latency_ms, lambda a, b: underlay.multicast_arcs(a, [b])):
        with pytest.raises(UnderlayError, match=r"servers are numbered 0 … 3"):
            ask(0, server)
        with pytest.raises(UnderlayError, match=r"servers are numbered 0 … 3"):
            ask(server, 0)


def test_measured_route_is_the_one_arc_between_two_servers():
    latencies = np.array([[0, 1, 9], [2, 0, 3], [4, 5, 0]], dtype=float)
    underlay = MeasuredUnderlay(latencies)
    for a in range(3):
        for b in range(3):
            route = underlay.route(a, b)
            assert len(route) == (a != b)
            assert [(underlay.arcs.tail[arc], underlay.arcs.head[arc]) for arc in route] == [(a, b)] * (a != b)
            assert underlay.arcs.latency_ms[list(route)].sum() == underlay.latency_ms(a, b) == latencies[a, b]
    assert underlay.multicast_arcs(0, [1, 2]).tolist() == [0, 2]


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([[0.0, 1.0]], "square"),
        ([[0.0, -1.0], [1.0, 0.0]], "at least 0"),
        ([[0.0, np.inf], [1.0, 0.0]], "finite"),
        ([[1.0]], "itself must be 0"),
    ],
)
def test_impossible_measurements_are_refused(matrix, words):
    with pytest.raises(UnderlayError, match=words):
        MeasuredUnderlay(matrix)
