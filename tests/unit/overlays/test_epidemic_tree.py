"""The epidemic tree: pushes, pruning, announcements and grafts."""

import pytest

from siftcast.model import Event
from siftcast.overlays.contract import CancelTimer, SendMessage, SetTimer
from siftcast.overlays.epidemic_tree import EpidemicTree, EpidemicTreeOptions, Graft, Have, Prune, Push

OPTIONS = EpidemicTreeOptions()
EVENT = Event({"a": 1}, id="e")


def tree(*neighbours, options=OPTIONS):
    made = EpidemicTree(options)
    made.handle_started(0.0)
    for peer in neighbours:
        made.add(peer, 0.0)
    return made


def sent(effects):
    return [(effect.message, tuple(effect.destinations)) for effect in effects if isinstance(effect, SendMessage)]


def test_an_event_goes_to_all_eager_neighbours_but_where_it_came_from():
    made = tree(1, 2, 3)
    assert sent(made.handle_message(2, Push(EVENT), 5.0)) == [(Push(EVENT), (1, 3))]
    assert made.fresh == [EVENT]


def test_the_second_copy_prunes_its_link_at_both_ends():
    here, there = tree(1, 2), tree(0, node := 5)
    here.handle_message(1, Push(EVENT), 5.0)
    assert sent(here.handle_message(2, Push(EVENT), 6.0)) == [(Prune(), (2,))]
    assert here.fresh == [EVENT]
    assert (here.eager, here.lazy) == ((1,), (2,))
    there.handle_message(0, Prune(), 7.0)
    assert (there.eager, there.lazy) == ((node,), (0,))
    assert here.handle_message(2, Push(EVENT), 8.0) == []


def test_lazy_neighbours_hear_what_there_is_all_at_once():
    made = tree(1, 2)
    made.handle_message(2, Prune(), 0.0)
    effects = made.publish(EVENT, 10.0)
    assert SetTimer("tree/announce", OPTIONS.lazy_ms) in effects
    assert sent(effects) == [(Push(EVENT), (1,))]
    made.publish(Event({}, id="f"), 60.0)
    assert sent(made.handle_timer("tree/announce", 110.0)) == [(Have((("e", 100.0), ("f", 50.0))), (2,))]
    assert made.handle_timer("tree/announce", 210.0) == []


def test_nobody_hears_of_an_event_it_sent_itself():
    made = tree(1, 2, 3)
    made.handle_message(2, Prune(), 0.0)
    made.handle_message(3, Prune(), 0.0)
    made.publish(Event({}, id="f"), 9.0)
    made.handle_message(1, Push(EVENT), 10.0)
    made.handle_message(1, Prune(), 10.0)
    said = sent(made.handle_timer("tree/announce", 110.0))
    assert (Have((("f", 101.0),)), (1,)) in said
    assert (Have((("f", 101.0), ("e", 100.0))), (2, 3)) in said


def test_an_event_that_others_have_is_grafted_if_it_does_not_come():
    made = tree(1, 2)
    made.handle_message(2, Prune(), 0.0)
    assert made.handle_message(2, Have((("e", 50.0),)), 200.0) == [SetTimer("tree/graft/e", OPTIONS.graft_ms)]
    assert made.handle_message(3, Have((("e", 50.0),)), 200.0) == []
    assert sent(made.handle_timer("tree/graft/e", 500.0)) == [(Graft("e"), (2,))]
    assert made.eager == (1, 2)
    assert sent(made.handle_timer("tree/graft/e", 800.0)) == [(Graft("e"), (3,))]
    assert made.handle_timer("tree/graft/e", 1_100.0) == []


def test_an_event_that_comes_in_time_is_not_grafted():
    made = tree(1, 2)
    made.handle_message(2, Have((("e", 50.0),)), 200.0)
    assert CancelTimer("tree/graft/e") in made.handle_message(1, Push(EVENT), 210.0)
    assert made.handle_message(2, Have((("e", 60.0),)), 220.0) == []
    assert made.handle_timer("tree/graft/e", 500.0) == []


def test_a_graft_is_answered_with_the_event_and_makes_the_link_eager():
    made = tree(1, 2)
    made.publish(EVENT, 0.0)
    made.handle_message(2, Prune(), 0.0)
    assert sent(made.handle_message(2, Graft("e"), 5.0)) == [(Push(EVENT, age_ms=5.0), (2,))]
    assert made.lazy == ()
    assert made.handle_message(2, Graft("unknown"), 5.0) == []


def test_a_new_neighbour_hears_of_what_came_lately_and_a_young_node_does_not_ask_for_what_was_before_it():
    made = tree(1)
    made.publish(EVENT, 0.0)
    made.publish(Event({}, id="f"), OPTIONS.recall_ms)
    ((have, to),) = sent(made.add(2, OPTIONS.recall_ms + 500.0))
    assert (have, to) == (Have((("f", 500.0),)), (2,))
    young = EpidemicTree(OPTIONS)
    young.handle_started(10_000.0)
    young.add(1, 10_000.0)
    assert young.handle_message(1, Have((("f", 500.0),)), 10_100.0) == []
    assert young.handle_message(1, Have((("g", 50.0),)), 10_100.0) != []


def test_an_event_grows_old_where_it_lies():
    made = tree(1)
    made.handle_message(1, Push(EVENT, age_ms=400.0), 500.0)
    ((have, _),) = sent(made.add(2, 600.0))
    assert have == Have((("e", 500.0),))


def test_neighbours_that_went_are_sent_nothing():
    made = tree(1, 2, 3)
    made.handle_message(2, Prune(), 0.0)
    made.remove(1)
    made.remove(2)
    assert (made.eager, made.lazy) == ((3,), ())
    assert sent(made.publish(EVENT, 0.0)) == [(Push(EVENT), (3,))]


def test_an_id_that_is_known_counts_once():
    made = tree(1)
    made.publish(EVENT, 0.0)
    assert made.publish(EVENT, 1.0) == []
    assert made.fresh == [EVENT]


def test_old_events_are_forgotten():
    made = tree(1, options=EpidemicTreeOptions(remembered=4))
    for number in range(20):
        made.publish(Event({}, id=str(number)), 0.0)
    assert made.handle_message(1, Graft("0"), 0.0) == []
    assert made.handle_message(1, Graft("19"), 0.0) != []


@pytest.mark.parametrize(
    "wrong", [{"lazy_ms": -1.0}, {"graft_ms": float("inf")}, {"recall_ms": -1.0}, {"remembered": 1}]
)
def test_options_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=r"\w"):
        EpidemicTreeOptions(**wrong)
