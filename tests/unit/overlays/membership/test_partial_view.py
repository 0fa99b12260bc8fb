"""HyParView's moves, one at a time: joining, walks, requests, shuffles, loss, goodbye."""

from random import Random

import pytest

from siftcast.overlays.contract import SendMessage, SetTimer, Unwatch, Watch
from siftcast.overlays.membership import Neighbouring, PartialView, PartialViewOptions
from siftcast.overlays.membership.view_messages import (
    Disconnect,
    ForwardJoin,
    Join,
    NeighbourAnswer,
    NeighbourRequest,
    Shuffle,
    ShuffleReply,
)

SMALL = PartialViewOptions(active_size=3, passive_size=4, mixing=0)


def view(*neighbours, options=SMALL, node=0):
    """A view that has these neighbours."""
    made = PartialView(node, options, Random(1))
    for peer in neighbours:
        made.handle_message(peer, NeighbourRequest(urgent=True), 0.0)
    assert made.active == list(neighbours)
    made.news.clear()
    return made


def sent(effects):
    return [(effect.message, tuple(effect.destinations)) for effect in effects if isinstance(effect, SendMessage)]


def test_a_node_enters_through_a_contact_and_has_it_for_a_neighbour_once_it_answers():
    entering = PartialView(0, SMALL, Random(1))
    effects = entering.handle_started((7,), 0.0)
    assert (Join(), (7,)) in sent(effects)
    assert Watch(7) in effects
    assert entering.active == []
    entering.handle_message(7, NeighbourAnswer(True), 5.0)
    assert entering.active == [7]
    assert entering.news == [Neighbouring("up", 7)]


def test_contacts_it_does_not_enter_through_are_spare_and_not_watched():
    entering = PartialView(0, SMALL, Random(1))
    effects = entering.handle_started((7, 8, 0), 0.0)
    (entrance,) = (to[0] for message, to in sent(effects) if message == Join())
    other = 15 - entrance
    assert Unwatch(other) in effects
    assert set(entering.passive) == {7, 8}


def test_who_was_not_let_in_tries_again_although_others_joined_through_it():
    entering = PartialView(0, SMALL, Random(1))
    entering.handle_started((7,), 0.0)
    entering.handle_message(3, Join(), 1.0)
    assert (Join(), (7,)) in sent(entering.handle_timer("view/requests", SMALL.request_ms))


def test_a_contact_takes_the_joiner_in_and_has_its_neighbours_hear_of_it():
    contact = view(1, 2, options=PartialViewOptions())
    effects = contact.handle_message(9, Join(), 0.0)
    assert contact.active == [1, 2, 9]
    assert (ForwardJoin(9, 6), (1, 2)) in sent(effects)
    assert (NeighbourAnswer(True), (9,)) in sent(effects)


def test_a_full_contact_drops_one_at_random_and_keeps_it_as_a_spare():
    contact = view(1, 2, 3)
    effects = contact.handle_message(9, Join(), 0.0)
    (dropped,) = {1, 2, 3} - set(contact.active)
    assert len(contact.active) == 3
    assert dropped in contact.passive
    assert any(isinstance(message, Disconnect) and to == (dropped,) for message, to in sent(effects))
    assert contact.news == [Neighbouring("down", dropped), Neighbouring("up", 9)]
    assert Unwatch(dropped) in effects


def test_a_walk_goes_on_remembers_half_way_and_ends_with_a_neighbour():
    walker = view(1, 2)
    assert sent(walker.handle_message(1, ForwardJoin(9, 6), 0.0)) == [(ForwardJoin(9, 5), (2,))]
    assert 9 not in walker.passive
    walker.handle_message(1, ForwardJoin(9, SMALL.passive_walk), 0.0)
    assert 9 in walker.passive
    ended = walker.handle_message(1, ForwardJoin(9, 0), 0.0)
    assert sent(ended) == [(NeighbourRequest(urgent=True), (9,))]
    assert ForwardJoin(9, 0).introduces == (9,)


def test_a_walk_that_meets_the_joiner_itself_ends():
    assert view(1, 2, node=9).handle_message(1, ForwardJoin(9, 6), 0.0) == []


def test_a_request_without_urgency_is_refused_without_room():
    full = view(1, 2, 3)
    assert sent(full.handle_message(9, NeighbourRequest(urgent=False), 0.0)) == [(NeighbourAnswer(False), (9,))]
    assert sent(view(1).handle_message(9, NeighbourRequest(urgent=False), 0.0)) == [(NeighbourAnswer(True), (9,))]


def test_who_was_refused_asks_another_and_not_the_same_before_the_next_shuffle():
    asking = view(1)
    asking.suggest((5,))
    asked = sent(asking.handle_lost(99, 0.0))
    assert asked == [(NeighbourRequest(urgent=True), (5,))]  # urgent: one neighbour alone may be an island with it
    assert sent(asking.handle_message(5, NeighbourAnswer(False), 1.0)) == []
    again = sent(asking.handle_timer("view/shuffle", 2.0))
    assert (NeighbourRequest(urgent=True), (5,)) in again


def test_with_two_neighbours_a_request_is_not_urgent():
    asking = view(1, 2, 3)
    asking.suggest((5,))
    assert sent(asking.handle_lost(3, 0.0)) == [(NeighbourRequest(urgent=False), (5,))]


def test_a_lost_neighbour_is_replaced_stays_watched_and_is_asked_when_it_is_found():
    broken = view(1, 2, 3)
    broken.suggest((5,))
    effects = broken.handle_lost(1, 0.0)
    assert Unwatch(1) not in effects
    assert broken.former == [1]
    assert 1 not in broken.passive
    broken.handle_message(5, NeighbourAnswer(True), 1.0)
    assert broken.active == [2, 3, 5]
    assert (NeighbourRequest(urgent=True), (1,)) in sent(broken.handle_found(1, 2.0))
    broken.handle_message(1, NeighbourAnswer(True), 3.0)
    assert 1 in broken.active
    assert len(broken.active) == 3
    assert broken.former == []


def test_only_so_many_former_neighbours_stay_watched():
    broken = view(1, 2, 3)
    for peer in (1, 2, 3):
        assert Unwatch(peer) not in broken.handle_lost(peer, 0.0)
    broken.handle_message(4, Join(), 0.0)
    assert Unwatch(1) in broken.handle_lost(4, 0.0)
    assert broken.former == [2, 3, 4]


def test_a_spare_that_does_not_answer_in_time_is_forgotten():
    asking = view(1, 2)
    asking.suggest((5,))
    asking.handle_lost(1, 0.0)
    assert Unwatch(5) in asking.handle_timer("view/requests", SMALL.request_ms)
    assert 5 not in asking.passive


def test_a_shuffle_goes_to_a_neighbour_with_names_and_swaps_where_it_ends():
    starting = view(1, 2)
    starting.suggest((5, 6))
    (shuffle, to), *_ = [each for each in sent(starting.handle_timer("view/shuffle", 0.0)) if type(each[0]) is Shuffle]
    assert shuffle.origin == 0
    assert to[0] in (1, 2)
    assert set(shuffle.peers) == {1, 2, 5, 6} - set(to)
    assert shuffle.introduces == (0, *shuffle.peers)
    ending = view(0, node=8)
    ending.suggest((20, 21))
    ((reply, back),) = sent(ending.handle_message(0, Shuffle(0, (5, 6), 1), 0.0))[:1]
    assert back == (0,)
    assert set(reply.peers) == {20, 21}
    assert reply.introduces == reply.peers
    assert {5, 6} <= set(ending.passive)


def test_now_and_then_a_full_view_asks_a_spare_urgently_so_that_groups_that_are_complete_meet():
    full = view(1, 2, 3, options=PartialViewOptions(active_size=3, mixing=1))
    full.suggest((5,))
    assert (NeighbourRequest(urgent=True), (5,)) in sent(full.handle_timer("view/shuffle", 0.0))
    full.handle_message(5, NeighbourAnswer(True), 1.0)
    assert 5 in full.active
    assert len(full.active) == 3
    still = view(1, 2, 3)
    still.suggest((5,))
    assert [type(message) for message, _ in sent(still.handle_timer("view/shuffle", 0.0))] == [Shuffle]


def test_a_reply_takes_the_places_of_what_was_sent():
    starting = view(1, 2, 3, options=PartialViewOptions(active_size=3, passive_size=4, shuffled_passive=2, mixing=0))
    starting.suggest((5, 6, 7, 8))
    (shuffle,) = [m for m, _ in sent(starting.handle_timer("view/shuffle", 0.0)) if type(m) is Shuffle]
    away = {peer for peer in shuffle.peers if peer in (5, 6, 7, 8)}
    starting.handle_message(3, ShuffleReply((20, 21)), 0.0)
    assert set(starting.passive) == {5, 6, 7, 8} - away | {20, 21}


def test_what_only_neighbours_send_is_answered_by_disconnect_if_the_sender_is_none():
    here = view(1, 2)
    assert any(type(m) is Disconnect and to == (9,) for m, to in sent(here.handle_message(9, Shuffle(9, (), 6), 0.0)))
    assert here.handle_stranger(1) == []


def test_goodbye_names_others_and_is_forgotten_by_those_who_stay():
    leaving, staying = view(1, 2), view(0, node=1)
    effects = leaving.handle_leaving()
    ((goodbye, _),) = [each for each in sent(effects) if each[1] == (1,)]
    assert goodbye.leaving
    assert 2 in goodbye.introduces
    staying.handle_message(0, goodbye, 0.0)
    assert 0 not in [*staying.active, *staying.passive, *staying.former]
    assert 2 in staying.passive


def test_who_is_gone_is_nowhere():
    here = view(1, 2)
    here.handle_lost(1, 0.0)
    here.handle_gone(1, 0.0)
    here.handle_gone(2, 0.0)
    assert [*here.active, *here.passive, *here.former] == []


def test_every_shuffle_sets_the_next():
    assert SetTimer("view/shuffle", SMALL.shuffle_ms) in view(1).handle_timer("view/shuffle", 0.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"active_size": 2},
        {"passive_size": 0},
        {"passive_walk": 7},
        {"shuffle_ms": 0.0},
        {"request_ms": float("inf")},
        {"mixing": -1},
    ],
)
def test_options_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=r"\w"):
        PartialViewOptions(**wrong)
