"""Landmark trees, one message after the other. Routes are written as words, a letter for each router."""

import itertools
from collections import deque

import pytest

from siftcast.overlays.contract import InferRoute, RouteInferred, SendMessage
from siftcast.overlays.discovery import routes
from siftcast.overlays.discovery.landmarks import Landmarks

ROOT = 0


class Forest:
    """Peers that join the tree of one landmark; `ways` are the routes to each from there."""

    def __init__(self, ways):
        self.ways = {node: tuple(way) for node, way in ways.items()}
        self.peers = {node: Landmarks(node, 100.0) for node in (ROOT, *ways)}
        self.do(ROOT, self.peers[ROOT].choose((ROOT,), 0.0))

    def join(self, *nodes):
        for node in nodes:
            self.do(node, self.peers[node].choose((ROOT,), 0.0))

    def do(self, node, effects):
        waiting = deque((node, effect) for effect in effects)
        while waiting:
            at, effect = waiting.popleft()
            match effect:
                case InferRoute(peer):
                    found = self.peers[at].handle_route(RouteInferred(peer, self.ways[peer]))
                    waiting += ((at, each) for each in found)
                case SendMessage(message, (to,)) if to in self.peers:
                    waiting += ((to, each) for each in self.peers[to].handle_message(at, message, 0.0))

    def lose(self, node):
        del self.peers[node]
        for other, peer in self.peers.items():
            self.do(other, peer.lose(node, 0.0))

    def parents(self):
        return {node: peer.parents()[ROOT] for node, peer in self.peers.items() if node != ROOT}


def expect_a_tree(forest):
    parents = forest.parents()
    for node, parent in parents.items():
        assert node in forest.peers[parent].children(ROOT)
        seen = {node}
        while parent != ROOT:
            assert parent not in seen
            seen.add(parent)
            parent = parents[parent]
    for peer in forest.peers.values():
        known = [route for route in peer.children(ROOT).values() if not routes.is_local(route)]
        assert not any(routes.is_before(one, other) for one, other in itertools.permutations(known, 2))


def test_a_newcomer_comes_below_the_one_that_lies_before_it_wherever_that_is():
    forest = Forest({1: "rab", 2: "rabcd", 3: "rabc", 4: "rx"})
    forest.join(1, 2, 3, 4)
    assert forest.parents() == {1: ROOT, 3: 1, 2: 3, 4: ROOT}
    expect_a_tree(forest)


def test_a_newcomer_takes_over_all_children_beyond_it():
    """As printed it takes over one: from then on, others stand beside a peer that lies before them."""
    forest = Forest({1: "rabx", 2: "raby", 3: "rabz", 4: "rab"})
    forest.join(1, 2, 3, 4)
    assert forest.parents() == {1: 4, 2: 4, 3: 4, 4: ROOT}
    expect_a_tree(forest)


@pytest.mark.parametrize("way", ["r", ""])
def test_a_peer_at_the_landmarks_own_router_does_not_become_its_only_child(way):
    forest = Forest({1: "ra", 2: "rb", 3: way, 4: "rc"})
    forest.join(1, 2, 3, 4)
    assert set(forest.parents().values()) == {ROOT}


def test_in_whatever_order_they_join_no_child_stands_beside_one_that_lies_before_it():
    for order in itertools.permutations((1, 2, 3, 4, 5)):
        forest = Forest({1: "ra", 2: "rab", 3: "rab", 4: "rabc", 5: "rax"})
        forest.join(*order)
        expect_a_tree(forest)


def test_who_loses_its_parent_joins_again_with_all_below_it():
    forest = Forest({1: "ra", 2: "rab", 3: "rabc", 4: "rax"})
    forest.join(1, 2, 3, 4)
    forest.lose(1)
    assert forest.parents() == {2: ROOT, 3: 2, 4: ROOT}
    expect_a_tree(forest)
    assert sum(peer.rejoins for peer in forest.peers.values()) == 2
    assert forest.peers[ROOT].inferences == 4 + 2


def test_a_landmark_that_is_none_any_more_takes_its_tree_with_it():
    forest = Forest({1: "ra", 2: "rab"})
    forest.join(1, 2)
    forest.do(2, forest.peers[2].choose((1,), 0.0))
    assert forest.peers[2].parents() == {1: 1}
    assert ROOT not in forest.peers[2].edges
