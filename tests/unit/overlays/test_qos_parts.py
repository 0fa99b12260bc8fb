"""The parts of the QoS overlay: messages on a wire, the order, pieces of regions, children, and what is remembered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siftcast.model import Event
from siftcast.overlays.protocols.qos import Qos
from siftcast.overlays.protocols.qos.bounds import Bound
from siftcast.overlays.protocols.qos.children import Children
from siftcast.overlays.protocols.qos.messages import (
    Advert,
    Connect,
    Forward,
    Hint,
    News,
    Profile,
    Release,
    Status,
)
from siftcast.overlays.protocols.qos.news import Gazette
from siftcast.overlays.protocols.qos.options import QosSettings
from siftcast.overlays.protocols.qos.order import rank, rank_with
from siftcast.overlays.protocols.qos.recent import Recent
from siftcast.overlays.protocols.qos.regions import NOTHING, Pieces, coarse
from siftcast.overlays.wire_messages import MessageCodec
from siftcast.schemes import SchemeError, scheme
from siftcast.space.dz import Dz, DzSet

INF = float("inf")
NODE = 2**63 - 1
WIDE = DzSet(["0*1", "1" * 60 + "***0*1" + "0" * 62, "00"])
PROFILE = Profile((NODE, 3), WIDE, INF, 12.5, 4)
MESSAGES = [
    Connect(1, PROFILE, WIDE, 5, True),
    Status(1, (NODE, 0), (), WIDE, True, frozenset(), 1.5, 7, 8),
    Status(1, (NODE, 2), (PROFILE,), WIDE, False, frozenset({(NODE, 1), (2, 1)}), INF, 7, 8),
    Hint(1, (NODE, 1), (PROFILE,), (PROFILE,), 3, 4),
    Release(0, (NODE, 1), 9),
    News((Advert(NODE, NOTHING, 9),), (PROFILE,), True),
    Forward((1, 2), Event({"a": 1}, id="x"), DzSet(["01"]), 3.5),
]
places = st.text("01*", max_size=6)
sets = st.lists(places, max_size=5).map(DzSet)


def _profile(number, *wanted, bound_ms=INF, room=1):
    return Profile((number, 1), DzSet(wanted), bound_ms, 0.0, room)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda each: type(each).__name__)
def test_messages_survive_the_wire_and_introduce_whom_they_name(message):
    codec = MessageCodec(Qos.messages)
    assert codec.decode(codec.encode(message)) == message
    assert set(message.introduces) == ({NODE} if isinstance(message, Hint | News) else set())


@given(sets, st.booleans())
def test_a_set_is_the_same_after_the_wire(region, exact):
    made = DzSet(region, exact=exact)
    found = DzSet.from_wire(made.to_wire())
    assert found == made
    assert found.items == made.items
    assert found.exact == exact


@given(sets, sets)
def test_the_volume_of_a_union_needs_no_union(one, other):
    assert one.volume_with(other) == (one | other).volume


@given(sets, st.lists(sets, max_size=3), sets)
def test_pieces_are_disjoint_hold_what_is_wanted_and_no_border_crosses_them(wanted, borders, region):
    pieces = Pieces(wanted, borders)
    single = [pieces.region(1 << bit) for bit in range(pieces.all.bit_length())]
    assert sum(each.volume for each in single) == wanted.volume
    assert pieces.region(pieces.all) == wanted
    for each in single:
        assert all(border.covers(each) or not border.overlaps(each) for border in borders)
    mask = pieces.mask(region)
    assert [region.covers(each) for each in single] == [bool(mask >> bit & 1) for bit in range(len(single))]
    touched = pieces.touched(region)
    assert [region.overlaps(each) for each in single] == [bool(touched >> bit & 1) for bit in range(len(single))]


@given(sets, st.integers(1, 4))
def test_coarse_regions_enclose_and_are_few(region, pieces):
    found = coarse(region, pieces)
    assert found.covers(region)
    assert len(found) <= pieces
    assert len(region) > pieces or found is region


@given(st.lists(st.tuples(sets, st.sampled_from([5.0, INF])), min_size=2, max_size=6))
def test_whoever_wants_less_never_stands_before_whoever_covers_it(drawn):
    profiles = [Profile((number, 1), wanted, bound, 0.0, 1) for number, (wanted, bound) in enumerate(drawn)]
    ranks = [rank(each) for each in profiles]
    assert len(set(ranks)) == len(ranks), "one order of all"
    for one in profiles:
        for other in profiles:
            if one.wanted.covers(other.wanted) and one.wanted.volume > other.wanted.volume:
                assert rank(one) < rank(other)
            assert rank_with(one, other.wanted) <= rank(one)


def test_of_too_many_children_the_last_that_another_covers_goes_else_the_last():
    children = Children(2, grace_ms=100.0)
    for number, wanted in ((1, "0"), (2, "10"), (3, "010")):
        profile = _profile(number, wanted)
        children.put(Connect(0, profile, profile.wanted, 1), profile.wanted, 0.0)
    assert children.surplus() == (3, 1), "0 covers it"
    children.forget((3, 1))
    profile = _profile(4, "11")
    children.put(Connect(0, profile, profile.wanted, 1), profile.wanted, 0.0)
    assert children.surplus() == (4, 1), "nobody covers it, and of equals the later number is last"
    others, adopters = children.hints_for(profile, profile.wanted)
    assert others == ()
    assert [each.peer[0] for each in adopters] == [1, 2], "both would widen by a quarter"


def test_a_child_that_was_sent_away_is_served_for_a_while_and_one_that_is_silent_is_forgotten():
    children = Children(2, grace_ms=100.0)
    profile = _profile(1, "0")
    children.put(Connect(0, profile, profile.wanted, 1), profile.wanted, 0.0)
    children.dismiss((1, 1), 10.0)
    children.expire(109.0, 1_000.0)
    assert (1, 1) in children.links
    children.expire(110.0, 1_000.0)
    assert not children.links
    children.put(Connect(0, profile, profile.wanted, 2), profile.wanted, 200.0)
    children.expire(1_201.0, 1_000.0)
    assert not children.links


def test_events_are_known_longer_than_they_are_passed_on_late():
    recent = Recent(linger_ms=100.0)
    point = DzSet(["01"])
    recent.put(Event({"x": 1}, id="e"), point, 0.0, 0.0).places.add(1)
    assert [kept.event.id for kept in recent.at(1, DzSet(["0"]), 99.0)] == ["e"]
    assert not list(recent.at(2, DzSet(["0"]), 99.0))
    assert not list(recent.at(1, DzSet(["1"]), 99.0))
    assert not list(recent.at(1, DzSet(["0"]), 100.0))
    recent.expire(199.0)
    assert 1 in recent.put(Event({"x": 1}, id="e"), point, 199.0, 199.0).places
    recent.expire(200.0)
    assert not len(recent)


def test_a_publisher_that_is_silent_is_forgotten_and_old_word_of_it_does_not_bring_it_back():
    settings = QosSettings()
    gazette = Gazette(1, settings, None)
    assert gazette.add_advert(Advert(2, WIDE, 5), 0.0)
    assert not gazette.add_advert(Advert(2, WIDE, 6), 10_000.0), "the same again"
    assert not gazette.expire(20_000.0)
    assert gazette.expire(26_000.0)
    assert not gazette.add_advert(Advert(2, WIDE, 6), 26_000.0)
    assert not gazette.offered
    gazette.add_advert(Advert(2, WIDE, 7), 27_000.0)
    assert gazette.offered == {2: WIDE}
    assert gazette.add_advert(Advert(2, NOTHING, 8), 28_000.0)
    assert not gazette.offered


def test_a_bound_is_kept_missed_or_impossible():
    bound = Bound(20.0)
    bound.check(15.0, 5.0, 1.0)
    assert (bound.missed_since_ms, bound.is_impossible) == (None, False)
    bound.check(25.0, 5.0, 2.0)
    bound.check(26.0, 21.0, 3.0)
    assert (bound.missed_since_ms, bound.is_impossible) == (2.0, True)
    bound.check(20.0, 5.0, 4.0)
    assert (bound.missed_since_ms, bound.is_impossible) == (None, False)
    assert not Bound(INF).is_finite


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"degree": 1}, "2 to 1000 children"),
        ({"theta": 0}, "1 to 1024 expressions"),
        ({"theta": 20, "pieces": 10}, "theta \\(20\\) to 4096"),
        ({"view": 0}, "1 to 100000 peers"),
        ({"grace_ms": 1e-9}, "grace_ms is a time of at least 1 ms"),
        ({"linger_ms": INF}, "linger_ms is a time of at least 1 ms"),
        ({"forget_ms": 100.0}, "at least three rounds"),
        ({"attributes": 3}, "of type str"),
    ],
)
def test_options_that_make_no_sense_are_refused_in_words(changes, words):
    with pytest.raises(SchemeError, match=words):
        scheme("qos").configure(changes)


def test_the_whole_space_is_one_piece():
    assert Pieces(DzSet([Dz()])).all == 1
