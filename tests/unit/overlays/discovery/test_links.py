"""Links and how they are agreed on: degrees, eviction, distant ones, and taking over without a gap."""

from siftcast.overlays.contract import MeasureDelay, SendMessage, Unwatch, Watch
from siftcast.overlays.discovery.agreeing import Agreeing
from siftcast.overlays.discovery.links import DISTANT_MAX, FORMER_MAX
from siftcast.overlays.discovery.messages import LinkAnswer, LinkRequest, Part
from siftcast.overlays.discovery.questions import Adoption
from siftcast.overlays.membership import Neighbouring
from tests.unit.overlays.discovery.parts import NOWHERE, Peer, sent

FULL = {1: (10.0, None), 2: (20.0, None), 3: (30.0, None)}


def full(near=FULL):
    peer = Peer(near, degree=3)
    peer.links.news.clear()
    peer.agreeing = Agreeing(peer.links, peer.questions, peer.here, 100.0)
    return peer


def request(delay_ms=15.0, **kinds):
    return LinkRequest(NOWHERE, delay_ms, **kinds)


def answers(effects):
    return [(message.accepted, to) for message, to in sent(effects) if isinstance(message, LinkAnswer)]


def test_over_the_degree_the_farthest_is_told_to_go_and_whom_else_to_ask():
    peer = full()
    effects = peer.agreeing.handle_request(7, request())
    assert answers(effects) == [(True, 7)]
    assert set(peer.links.near) == {1, 2, 7}
    ((part, to),) = [each for each in sent(effects) if isinstance(each[0], Part)]
    assert to == 3
    assert part.peers == (1, 7, 2)  # the nearest first
    assert peer.links.news == [Neighbouring("up", 7), Neighbouring("down", 3)]
    assert Watch(7) in effects
    assert Unwatch(3) in effects


def test_one_that_is_farther_than_all_is_refused_with_the_names_of_others():
    peer = full()
    (effect,) = peer.agreeing.handle_request(7, request(31.0))
    assert effect.message.accepted is False
    assert effect.message.peers == (1, 2, 3)


def test_one_without_any_neighbours_is_never_refused():
    peer = full()
    assert answers(peer.agreeing.handle_request(7, request(99.0, urgent=True))) == [(True, 7)]
    assert set(peer.links.near) == {1, 2, 7}


def test_what_cannot_be_a_delay_makes_no_link():
    for delay_ms in (float("nan"), -1.0, float("inf")):
        assert answers(full().agreeing.handle_request(7, request(delay_ms, urgent=True))) == [(False, 7)]


def test_who_is_taken_over_gives_up_the_old_link_when_it_has_the_new_one():
    peer = full()
    effects = peer.agreeing.handle_request(7, request(99.0, replaced=1))
    assert set(peer.links.near) == {2, 3, 7}
    assert [to for message, to in sent(effects) if isinstance(message, Part)] == [1]
    assert peer.links.news == [Neighbouring("up", 7), Neighbouring("down", 1)]


def test_a_newcomer_asks_those_it_is_to_take_over_once_it_knows_how_far_they_are():
    peer = full({})
    effects = peer.agreeing.handle_request(5, request(adopted=((8, ("c", "d")),), route=("c", "a")))
    assert MeasureDelay(8) in effects
    ((message, to),) = sent(peer.agreeing.adopt(8, Adoption(("c", "d"), 5), 9.0, 0.0))
    assert (to, message.replaced, message.route) == (8, 5, ("d", "c"))


def test_whoever_hands_over_neighbours_counts_them_no_more_and_keeps_the_others():
    peer = full()
    peer.agreeing.ask(7, request(adopted=((3, None),)), None, 0.0)
    effects, _ = peer.agreeing.handle_answer(7, LinkAnswer(NOWHERE, True))
    assert set(peer.links.near) == {1, 2, 3, 7}  # until 3 has parted by itself
    assert not [effect for effect in effects if isinstance(effect, SendMessage)]
    assert [to for _, to in sent(peer.links.tidy())] == [3]  # nobody has taken it over: too many again


def test_a_distant_link_is_beyond_the_degree_and_there_are_not_too_many_of_them():
    peer = full()
    for other in range(10, 10 + DISTANT_MAX):
        assert answers(peer.agreeing.handle_request(other, request(90.0, distant=True))) == [(True, other)]
    assert answers(peer.agreeing.handle_request(99, request(90.0, distant=True))) == [(False, 99)]
    assert set(peer.links.near) == set(FULL)
    assert len(peer.links.delays_ms) == 3 + DISTANT_MAX


def test_a_new_distant_neighbour_takes_the_place_of_the_one_that_was_chosen_before():
    peer = full()
    peer.links.add_far(7, 90.0, chosen=True)
    peer.links.add_far(8, 80.0, chosen=False)
    effects = peer.links.add_far(9, 95.0, chosen=True)
    assert peer.links.distant == 9
    assert set(peer.links.far) == {8, 9}
    assert [to for _, to in sent(effects)] == [7]


def test_a_distant_neighbour_that_is_near_as_well_is_none_against_partitions():
    peer = full()
    peer.links.add_far(1, 10.0, chosen=True)
    assert peer.links.needs_distant
    assert peer.links.part(1) == []  # it stays as a distant one
    assert not peer.links.needs_distant


def test_lost_neighbours_stay_watched_up_to_a_number():
    peer = Peer({node: (float(node), None) for node in range(1, FORMER_MAX + 2)}, degree=0)
    effects = []
    for node in range(1, FORMER_MAX + 2):
        effects += peer.links.lose(node)
    assert effects == [Unwatch(1)]
    assert list(peer.links.former) == list(range(2, FORMER_MAX + 2))


def test_who_leaves_tells_all_and_nobody_is_a_neighbour_any_more():
    peer = full()
    peer.links.add_far(7, 90.0, chosen=True)
    goodbyes = sent(peer.links.leave())
    assert sorted(to for _, to in goodbyes) == [1, 2, 3, 7]
    assert all(message.leaving for message, _ in goodbyes)
    assert not peer.links
