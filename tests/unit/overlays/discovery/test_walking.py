"""Walks: branches, what ends them, and who becomes a target."""

import pytest

from siftcast.overlays.contract import MeasureDelay
from siftcast.overlays.discovery.messages import Visited, Walk
from siftcast.overlays.discovery.questions import Visit
from siftcast.space.coordinates import Coordinate
from tests.unit.overlays.discovery.parts import NEW, NOWHERE, Peer, sent

THERE = Coordinate()
TEN = {peer: (10.0 + peer, None) for peer in range(1, 9)}


def walk(left=5, ttl=3, way_ms=50.0):
    return Walk(NEW, 1, NOWHERE, way_ms, left, ttl)


def onward(effects):
    return [(message.left, to) for message, to in sent(effects) if isinstance(message, Walk)]


@pytest.mark.parametrize("left", [1, 3, 7, 20])
def test_branches_divide_what_is_left_of_the_targets_without_loss(left):
    """As printed each branch gets the rounded part: of 7 targets for 4 branches, 3 are lost."""
    peer = Peer(TEN, selectivity=0.5)
    shares = [share for share, _ in onward(peer.walking.handle_walk(walk(left), 0.0))]
    assert sum(shares) == left
    assert len(shares) == min(4, left)
    assert min(shares) >= 1


def test_a_walk_ends_after_its_last_step_and_says_so():
    peer = Peer(TEN)
    (effect,) = peer.walking.handle_walk(walk(ttl=1), 0.0)
    assert effect == MeasureDelay(NEW)
    ((report, to),) = sent(peer.walking.measured(Visit(walk(ttl=1), 5), 12.0))
    assert to == NEW
    assert (report.delay_ms, report.ended) == (12.0, 5)


def test_a_walk_that_asks_for_more_than_anybody_needs_is_not_taken_up():
    peer = Peer(TEN)
    assert peer.walking.handle_walk(walk(ttl=10**9), 0.0) == []
    assert peer.walking.handle_walk(walk(left=-1), 0.0) == []


@pytest.mark.parametrize(
    ("heuristic", "delay_ms", "is_chosen"),
    [
        ("best", 10.5, True),
        ("best", 11.5, False),
        ("worst", 17.5, True),
        ("worst", 18.5, False),
        ("link", 49.0, True),
        ("link", 51.0, False),
    ],
)
def test_a_visited_peer_is_a_target_if_the_walker_is_near_enough_for_the_heuristic(heuristic, delay_ms, is_chosen):
    """Neighbours are 11 to 18 ms away, and the way of the walk took 50."""
    peer = Peer(TEN, heuristic=heuristic)
    effects = peer.walking.measured(Visit(walk()), delay_ms)
    assert [request.newcomer for request in peer.walking.chosen] == [NEW] * is_chosen
    assert sum(left for left, _ in onward(effects)) == 5 - is_chosen


def test_the_way_of_a_walk_leaves_out_the_last_miles_of_those_in_between():
    peer = Peer({1: (11.0, None)})
    peer.here.last_mile_ms = 2.0
    ((message, _),) = [each for each in sent(peer.walking.handle_walk(walk(), 0.0)) if isinstance(each[0], Walk)]
    assert message.way_ms == 50.0 + 11.0 - 2 * 2.0


def test_the_own_walk_is_over_when_all_branches_have_ended_and_is_so_once():
    peer = Peer(TEN, selectivity=0.25, targets=5)
    shares = [share for share, _ in onward(peer.walking.begin(0.0))]
    assert len(shares) == 2
    peer.walking.handle_visited(3, Visited(1, NOWHERE, 7.0), THERE, 1.0)
    for share in shares:
        assert not peer.walking.is_over(1.0)
        peer.walking.handle_visited(4, Visited(1, NOWHERE, 8.0, share), THERE, 1.0)
    assert peer.walking.is_over(1.0)
    assert not peer.walking.is_over(1.0)
    assert {node: sight.delay_ms for node, sight in peer.walking.seen.items()} == {3: 7.0, 4: 8.0}


def test_a_walk_that_is_lost_is_over_when_nothing_was_heard_of_it_for_a_while():
    peer = Peer(TEN, request_ms=100.0)
    peer.walking.begin(0.0)
    peer.walking.handle_visited(3, Visited(1, NOWHERE, 7.0), THERE, 50.0)
    assert not peer.walking.is_over(149.0)
    assert peer.walking.is_over(150.0)


def test_what_belongs_to_an_earlier_walk_does_not_count():
    peer = Peer(TEN)
    peer.walking.begin(0.0)
    peer.walking.begin(1.0)
    peer.walking.handle_visited(3, Visited(1, NOWHERE, 7.0, 10), THERE, 1.0)
    assert peer.walking.seen == {}
    assert not peer.walking.is_over(1.0)


def test_with_coordinates_nobody_who_is_visited_measures():
    peer = Peer(TEN, source="coordinates")
    effects = peer.walking.handle_walk(walk(), 0.0)
    assert not any(isinstance(effect, MeasureDelay) for effect in effects)
    ((report, _),) = [each for each in sent(effects) if isinstance(each[0], Visited)]
    assert report.delay_ms is None
