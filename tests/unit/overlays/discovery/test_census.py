"""The census: how many peers there are and who the landmarks are, from one sketch."""

from random import Random

import pytest

from siftcast.overlays.discovery.census import KEPT, Census, number_of


def gossip(members, rounds, seed=1):
    random = Random(seed)
    for _ in range(rounds):
        for node, census in members.items():
            other = members[random.choice([each for each in members if each != node])]
            other.hear(census.tell())
            census.hear(other.said)


def gathered(count, rounds=8):
    members = {node: Census(node) for node in range(count)}
    gossip(members, rounds)
    return members


def test_a_few_peers_are_counted_exactly_and_all_are_landmarks_if_so_many_are_wanted():
    members = gathered(5)
    assert {census.size for census in members.values()} == {5.0}
    assert members[0].landmarks(5) == tuple(sorted(range(5), key=number_of))


def test_many_peers_are_counted_nearly_and_all_agree_on_the_landmarks():
    members = gathered(400)
    sizes = {census.size for census in members.values()}
    assert len(sizes) == 1
    assert sizes.pop() == pytest.approx(400, rel=0.5)  # three times the spread of such a sketch
    (landmarks,) = {census.landmarks(8) for census in members.values()}
    assert 3 <= len(landmarks) <= 16
    assert max(len(census.said) for census in members.values()) == KEPT


def test_there_is_always_a_landmark():
    assert Census(7).landmarks(1) == (7,)
    members = gathered(40)
    assert len(members[0].landmarks(1)) >= 1


def test_a_landmark_that_is_lost_is_out_with_all_and_another_takes_its_place():
    members = gathered(60)
    lost = members[0].landmarks(4)[0]
    del members[lost]
    gossip(members, 30)
    assert all(lost not in census.landmarks(4) for census in members.values())
    assert all(census.landmarks(4) for census in members.values())


def test_one_that_comes_back_is_counted_although_it_has_forgotten_its_beats():
    members = gathered(30)
    gossip(members, 20)
    members[3] = Census(3)
    gossip(members, 6)
    assert all(3 in dict(census.said) for census in members.values())
    assert members[5].size == 30.0


def test_a_peer_that_was_dropped_does_not_come_back_with_what_is_known_of_it():
    census = Census(0)
    census.hear(((1, 5),))
    census.drop(1)
    census.hear(((1, 5), (1, 4)))
    assert census.size == 1.0
    census.hear(((1, 6),))
    assert census.size == 2.0
