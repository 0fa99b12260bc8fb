"""How a peer comes in: whom it asks, in which order, and when it is in."""

from random import Random

from siftcast.overlays.contract import Unwatch
from siftcast.overlays.discovery.entering import Entering
from siftcast.overlays.discovery.links import Links
from siftcast.overlays.membership import RandomView, RandomViewOptions
from tests.unit.overlays.discovery.parts import NOWHERE, sent


def entering(*contacts):
    links, sample = Links(0, 3), RandomView(0, RandomViewOptions(), Random(1))
    made = Entering(0, links, sample, 100.0)
    made.start(contacts)
    return made, links, sample


def asked(made, now):
    made.expire(now)
    return [(to, message.entering, message.stays) for message, to in sent(made.seek(NOWHERE, now))]


def test_contacts_are_asked_one_after_the_other_and_in_the_second_round_not_to_hand_on():
    made, _, _ = entering(1, 2)
    assert asked(made, 0.0) == [(1, True, False)]
    assert asked(made, 99.0) == []
    assert asked(made, 100.0) == [(2, True, False)]
    assert asked(made, 200.0) == [(1, True, True)]


def test_who_came_through_this_peer_does_not_let_it_in():
    made, links, sample = entering(1)
    links.add_near(5, 10.0, None)
    sample.add(5)
    assert asked(made, 0.0) == [(1, True, False)]
    assert asked(made, 100.0) == [(1, True, True)]
    made.enter(7)
    assert asked(made, 200.0) == []


def test_contacts_that_are_no_neighbours_are_not_watched_any_more_once_it_is_in():
    made, links, _ = entering(1, 2)
    made.enter(1)
    links.add_near(1, 10.0, None)
    assert made.seek(NOWHERE, 0.0) == [Unwatch(2)]
    assert made.seek(NOWHERE, 1.0) == []


def test_a_contact_that_is_found_is_asked_at_once():
    made, _, _ = entering(1)
    assert asked(made, 0.0) == [(1, True, False)]
    made.found(1)
    assert asked(made, 1.0) == [(1, True, False)]


def test_who_lost_all_near_neighbours_asks_distant_ones_first_and_counts_it():
    made, links, sample = entering(1)
    made.enter(1)
    links.add_far(8, 90.0, chosen=True)
    sample.add(5)
    assert asked(made, 0.0) == [(8, False, False)]
    assert made.rejoins == 1
    made.refused()
    assert asked(made, 1.0) == [(5, False, False)]


def test_if_the_one_that_let_it_in_denies_that_it_is_not_in():
    made, _, _ = entering(1)
    made.enter(7)
    made.deny(8)
    assert made.has_entered
    made.deny(7)
    assert not made.has_entered


def test_without_contacts_it_is_in_from_the_start():
    made, _, _ = entering()
    assert made.is_settled
    assert asked(made, 0.0) == []
