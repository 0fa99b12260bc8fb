"""Cyclon's exchange, one at a time, and the other choices of the framework."""

from random import Random

import pytest

from siftcast.overlays.contract import SendMessage
from siftcast.overlays.membership import RandomView, RandomViewOptions
from siftcast.overlays.membership.random_view import Exchange, ExchangeReply

SMALL = RandomViewOptions(size=4, exchanged=3)


def view(*names, node=0, options=SMALL):
    made = RandomView(node, options, Random(1))
    made.handle_started(names)
    return made


def sent(effects):
    return [(effect.message, effect.destinations[0]) for effect in effects if isinstance(effect, SendMessage)]


def exchange(one, other, one_id=0):
    """One exchange of `one`; returns whom it asked."""
    ((message, peer),) = sent(one.handle_timer("random/exchange"))
    ((reply, _),) = sent(other.handle_message(one_id, message))
    one.handle_message(peer, reply)
    return peer


def test_the_oldest_is_asked_and_the_link_turns_around():
    one = view(5)
    one.handle_timer("random/exchange")  # asks 5, which does not answer, and is out of the view
    assert 5 not in one
    one.add(6)
    one.handle_message(9, ExchangeReply(((7, 3),)))
    assert one.age(7) == 3
    other = view(8, 9, 10, node=7)
    assert exchange(one, other) == 7
    assert set(one.names) == {6, 8, 9, 10}  # full: 7 is known to know this node, and not the other way
    assert 0 in other
    assert other.age(0) == 0


def test_who_answers_is_kept_if_there_is_room_so_that_nobody_is_cut_off():
    one, other = view(7), view(node=7)
    assert exchange(one, other) == 7
    assert one.names == (7,)
    assert other.names == (0,)


def test_messages_name_the_sender_first_and_introduce_all_they_name():
    ((message, _),) = sent(view(5, 6, 7).handle_timer("random/exchange"))
    assert message.names[0] == (0, 0)
    assert len(message.names) == SMALL.exchanged
    assert message.introduces == tuple(node for node, _ in message.names)


def test_what_is_received_takes_the_places_of_what_was_sent():
    one = view(1, 2, 3, 4)
    ((message, peer),) = sent(one.handle_timer("random/exchange"))
    away = {node for node, _ in message.names} - {0}
    one.handle_message(peer, ExchangeReply(((11, 0), (12, 0), (13, 0))))
    assert set(one.names) == {1, 2, 3, 4} - away - {peer} | {11, 12, 13}


def test_a_reply_that_comes_too_late_only_fills_what_is_empty():
    one = view(1, 2, 3, 4)
    one.handle_timer("random/exchange")
    before = set(one.names)
    one.handle_message(77, ExchangeReply(((11, 0), (12, 0), (13, 0))))
    assert before < set(one.names)
    assert len(one) == SMALL.size


def test_a_name_is_kept_once_with_its_least_age_and_never_the_node_itself():
    one = view(1)
    one.handle_timer("random/exchange")
    one.add(2)
    one.handle_timer("random/exchange")
    one.handle_message(9, Exchange(((0, 0), (3, 5), (3, 2), (3, 7))))
    assert one.names == (3,)
    assert one.age(3) == 2


def test_healing_drops_the_oldest_first():
    one = view(options=RandomViewOptions(size=2, exchanged=2, healing=2))
    one.handle_message(9, Exchange(((1, 9), (2, 8))))
    one.handle_message(9, Exchange(((3, 1), (4, 0))))
    assert set(one.names) == {3, 4}


def test_plain_gossip_asks_anybody_and_keeps_any_names():
    plain = RandomViewOptions(size=4, exchanged=3, oldest=False, swapping=False)
    asked = set()
    for seed in range(20):
        one = RandomView(0, plain, Random(seed))
        one.handle_message(9, Exchange(((1, 1), (2, 2), (3, 3), (4, 4))))
        ((_, peer),) = sent(one.handle_timer("random/exchange"))
        asked.add(peer)
        one.handle_message(peer, ExchangeReply(((11, 0), (12, 0), (13, 0))))
        assert len(one) == 4
    assert asked == {1, 2, 3, 4}


def test_a_sample_is_of_the_view_without_whom_it_must_not_have():
    one = view(1, 2, 3)
    assert sorted(one.sample(9, without=(2,))) == [1, 3]
    assert len(one.sample(2)) == 2
    one.forget(1)
    assert sorted(one.sample(9)) == [2, 3]


@pytest.mark.parametrize("wrong", [{"exchanged": 0}, {"size": 4}, {"healing": -1}, {"exchange_ms": 0.0}])
def test_options_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=r"\w"):
        RandomViewOptions(**wrong)
