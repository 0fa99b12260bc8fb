"""Holders of a place: when they are too many, and how one of them is given to somebody else without losing a bit."""

from random import Random

from siftcast.overlays.contract import SendMessage, Unwatch, Watch
from siftcast.overlays.membership import Health
from siftcast.overlays.protocols.homed import HomedSettings
from siftcast.overlays.protocols.homed.holders import Holders
from siftcast.overlays.protocols.homed.home import Home
from siftcast.overlays.protocols.homed.messages import Accept, Beat, BeatAnswer
from siftcast.overlays.protocols.homed.post import Post

UPPER, LOWER = 7, 9
REALM = (0.0, 0)


def place(node):
    return node, 1


def test_a_place_is_crowded_if_half_as_many_again_hold_it_as_when_all_choose_evenly():
    holders = Holders()
    for node in range(6):
        holders.note(place(node), UPPER, 0, 1.0)
    holders.note(place(50), LOWER, 0, 1.0)
    assert not holders.is_crowded(UPPER, contacts=4, here=10, beyond=10)
    holders.note(place(6), UPPER, 0, 1.0)
    assert holders.is_crowded(UPPER, contacts=4, here=10, beyond=10)
    assert holders.is_crowded(UPPER, contacts=4, here=10, beyond=2), "nobody need hold it less than `contacts` times"
    assert not holders.is_crowded(UPPER, contacts=4, here=10, beyond=20), "where few are for many, each has more"
    assert not holders.is_crowded(LOWER, contacts=4, here=10, beyond=10)
    holders.forget(place(0))
    assert not holders.is_crowded(UPPER, contacts=4, here=10, beyond=10)


def test_a_holder_counts_once_and_no_more_when_it_is_silent_or_beyond_another_split():
    holders = Holders()
    for now in range(9):
        holders.note(place(1), UPPER, 0, now)
    assert not holders.is_crowded(UPPER, contacts=1, here=1, beyond=1)
    holders.note(place(1), LOWER, 0, 9.0)
    holders.note(place(2), UPPER, 0, 3.0)
    assert dict(holders.items()) == {place(1): LOWER, place(2): UPPER}
    holders.forget_silent(4.0)
    assert list(holders) == [place(1)]
    holders.forget(place(2))  # who is not there may be forgotten
    assert len(holders) == 1


def test_those_who_were_heard_last_come_first():
    holders = Holders()
    for node, split, now in ((1, LOWER, 1.0), (2, LOWER, 2.0), (3, UPPER, 3.0), (1, LOWER, 4.0), (4, LOWER, 5.0)):
        holders.note(place(node), split, node, now)
    assert holders.heard_last({LOWER}, 2.0) == [(place(4), 4), (place(1), 1), (place(2), 2)]
    assert holders.heard_last({LOWER}, 4.5) == [(place(4), 4)]


def test_a_node_is_watched_until_each_of_its_places_that_has_the_contact_lets_it_go():
    post = Post(0)
    post.watch(place(5))
    post.watch(place(5))  # another place of node 0 has the same contact
    post.unwatch(place(5))
    assert post.take() == [Watch(5)]
    post.unwatch(place(5))
    post.unwatch(place(5))
    assert post.take() == [Unwatch(5)]


# -- an exchange -------------------------------------------------------------------------------------------


def placed_home(contacts=(10,), settings=None):
    """A place with one contact or more beyond each of two splits, all of whose bits are told; and its post."""
    post = Post(0)
    home = Home(place(0), 0b1, 8, settings or HomedSettings(contacts=2), post, Random(1), Health())
    listed = tuple((place(node), 0b10) for node in contacts)
    near = ((place(20), 0b1),)
    path = ((UPPER, 0, 5 << 8 | 5, 0, (0b1110,) * 3, 40, listed), (LOWER, 1, 6 << 8 | 6, 0, (0b1,) * 3, 40, near))
    home.handle_accept(Accept(1, REALM, path), 0.0)
    post.take()
    return home, post


def answer_of(node, *named, crowded=True):
    listed = tuple((UPPER, place(each), 0b100) for each in named)
    return node, BeatAnswer(1, UPPER, 1, 1, 0b10, 0b1110, 40, named=listed, crowded=crowded)


def test_a_crowded_contact_goes_for_one_that_it_names_and_no_bit_is_lost():
    home, post = placed_home((10, 11))
    split = home.table.get(UPPER)
    split.widen(0b1_0000)  # told meanwhile, after the answer was sent
    home.handle_answer(*answer_of(10, 0, 11, 12), now=5.0)
    assert set(split.contacts) == {place(11), place(12)}
    assert post.take() == [Watch(12), Unwatch(10)]
    assert split.is_told(0b1110)
    assert split.fresh & 0b1110 == 0b1110
    assert split.summary == 0b1_1110
    home.handle_answer(*answer_of(11, 13), now=6.0)
    assert split.is_told(0b1110), "nobody has been heard but those who have gone"


def test_a_crowded_contact_stays_if_it_names_nobody_else():
    home, post = placed_home((10, 11))
    split = home.table.get(UPPER)
    home.handle_answer(*answer_of(10, 0, 11), now=5.0)
    home.handle_answer(*answer_of(10), now=6.0)
    home.handle_answer(*answer_of(10, 12, crowded=False), now=7.0)
    assert set(split.contacts) == {place(10), place(11)}
    assert post.take() == []


def beat(home, post, node, split, now):
    home.handle_beat(node, Beat(1, split, 1, 1, REALM, 0b10, 0b10, 40), {}, now)
    (sent,) = (effect for effect in post.take() if type(effect) is SendMessage)
    assert sent.destinations == (node,)
    return sent.message


def test_whoever_comes_when_a_place_is_crowded_is_named_somebody_who_is_there_and_is_not_counted():
    home, post = placed_home()
    beat(home, post, 30, LOWER, 1.0)
    for node in range(100, 104):
        assert not beat(home, post, node, UPPER, 2.0).crowded
    late = beat(home, post, 104, UPPER, 3.0)
    assert late.crowded
    assert (UPPER, place(30), 0b10) in late.named
    assert place(104) not in home.holders
    assert not beat(home, post, 103, UPPER, 4.0).crowded, "who was there before may stay"
    silent = beat(home, post, 105, UPPER, 1_000.0)
    assert not silent.crowded, "nobody has just been heard, and might be gone"
    assert place(105) in home.holders
