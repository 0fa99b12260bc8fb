"""Cases 1 to 3, and what goes wrong by the printed rules. Routes are written as words, a letter for each router."""

import pytest

from siftcast.overlays.discovery import routes, triangle
from tests.unit.overlays.discovery.parts import AT, NEW, NOWHERE, Peer


def test_a_newcomer_is_handed_on_to_the_farthest_neighbour_on_its_way_with_the_rest_of_its_route():
    peer = Peer({1: (5.0, "ab"), 2: (9.0, "abc"), 3: (9.0, "axc")})
    what, to, message = peer.place("abcd", 20.0)
    assert (what, to) == ("handed on", 2)
    assert message.route == ("c", "d")
    assert message.passed == (AT,)


def test_a_newcomer_takes_over_all_neighbours_that_lie_beyond_it():
    """As printed it takes over one, and the others stay beside a peer that lies before them."""
    peer = Peer({1: (30.0, "abcd"), 2: (25.0, "abce"), 3: (9.0, "axc")})
    what, adopted, placed = peer.place("abc", 20.0)
    assert (what, adopted) == ("stays", {1: ("c", "d"), 2: ("c", "e")})
    assert placed.delay_ms == 20.0


def test_a_newcomer_that_is_neither_before_nor_beyond_anybody_becomes_a_neighbour():
    assert Peer({1: (30.0, "abcd")}).place("axy", 20.0)[:2] == ("stays", {})


def test_two_newcomers_at_one_router_are_one_behind_the_other():
    assert Peer({1: (30.0, "abc")}).place("abc", 30.0)[:2] == ("handed on", 1)


@pytest.mark.parametrize("route", ["", "a"])
def test_a_peer_at_the_own_router_takes_over_nobody(route):
    """As printed it lies before all others, and would become the only neighbour."""
    peer = Peer({1: (30.0, "ab"), 2: (25.0, "ac"), 3: (1.0, "a")})
    assert peer.place(route, 1.0)[:2] == ("stays", {})


def test_nobody_is_handed_to_a_peer_at_the_own_router():
    assert Peer({3: (1.0, "a"), 4: (1.0, "")}).place("abc", 20.0)[:2] == ("stays", {})


def test_a_newcomer_does_not_come_back_to_whom_it_has_passed():
    assert Peer({1: (5.0, "ab")}).place("abc", 20.0, passed=(1,))[:2] == ("stays", {})


def test_whoever_was_handed_on_in_vain_stays():
    assert Peer({1: (5.0, "ab")}).place("abc", 20.0, stays=True)[:2] == ("stays", {})


def test_a_router_without_a_name_is_the_same_if_all_before_it_is():
    """Taken for another one each time, nobody lies before anybody behind a nameless router."""
    peer = Peer({1: (5.0, ("a", None, "c"))})
    assert peer.place(("a", None, "c", "d"), 20.0)[:2] == ("handed on", 1)
    assert not routes.is_before(("a", None), ("b", None, "c"))
    assert not routes.is_before(("a", None), ("a", None, "c"))  # whose end has no name may be at any such router


def test_a_newcomer_that_does_not_answer_is_dropped():
    assert Peer({}).place("ab", None)[0] == "dropped"


def test_without_a_route_delays_decide_and_neighbours_are_asked_for_them():
    peer = Peer({1: (10.0, None), 2: (40.0, None)}, routes="triangle")
    what, asked, _ = peer.place(delay_ms=20.0)
    assert (what, asked) == ("asks", (1, 2))
    assert peer.placing.handle_distance(2, NEW, 21.0, 1.0) == []
    (effect,) = peer.placing.handle_distance(1, NEW, 11.0, 2.0)
    assert effect.destinations == (1,)
    assert effect.message.delay_ms == 11.0


def test_by_delays_a_newcomer_takes_over_all_that_lie_beyond_it():
    peer = Peer({1: (40.0, None), 2: (50.0, None), 3: (15.0, None)}, routes="auto")
    assert peer.place(delay_ms=20.0, status="partial")[0] == "asks"
    for other, distance_ms in ((1, 21.0), (2, 31.0), (3, 30.0)):
        peer.placing.handle_distance(other, NEW, distance_ms, 1.0)
    (placed,) = peer.placing.placed
    assert dict(placed.adopted) == {1: None, 2: None}


def test_a_neighbour_that_does_not_answer_is_not_waited_for_longer_than_the_time_allowed():
    peer = Peer({1: (10.0, None)}, routes="triangle", request_ms=100.0)
    assert peer.place(delay_ms=20.0)[0] == "asks"
    assert peer.placing.expire(99.0) == []
    assert peer.placing.placed == []
    peer.placing.expire(100.0)
    (placed,) = peer.placing.placed
    assert placed.request.newcomer == NEW


def test_where_routes_are_all_that_counts_a_peer_without_one_becomes_a_neighbour():
    peer = Peer({1: (10.0, "ab")}, routes="traceroute")
    assert peer.place(delay_ms=20.0, status="unavailable")[:2] == ("stays", {})


def test_the_triangle_says_nothing_about_a_peer_beside_the_one_that_is_asked():
    assert triangle.is_before(10.0, 11.0, 20.0, slack=0.1)
    assert not triangle.is_before(10.0, 13.0, 20.0, slack=0.1)
    assert not triangle.is_before(0.5, 20.0, 20.0, slack=0.1)  # passes the test wherever the third is


def test_each_step_by_delays_brings_a_newcomer_nearer_so_that_it_is_not_handed_around_for_ever():
    """Three peers at the corners, each of which sees the next one on the way to the fourth."""
    assert triangle.is_nearer(10.0, 20.0)
    assert not triangle.is_nearer(20.0, 20.0)
    peer = Peer({1: (4.0, None)}, routes="triangle")
    assert peer.place(delay_ms=40.0)[0] == "asks"
    # On the way by the test, with a slack of a tenth: 4 + 40 ≤ 44. But no nearer.
    assert peer.placing.handle_distance(1, NEW, 40.0, 1.0) == []
    (placed,) = peer.placing.placed
    assert placed.adopted == ()
    assert placed.request.place == NOWHERE
