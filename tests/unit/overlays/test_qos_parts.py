"""The parts of the QoS overlay: messages on a wire, the order, pieces of regions, children, and what is remembered."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from siftcast.model import Event
from siftcast.overlays.protocols.qos import Qos
from siftcast.overlays.protocols.qos.children import Children
from siftcast.overlays.protocols.qos.claims import Bound
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
from siftcast.overlays.protocols.qos.order import has_place, landing, rank
from siftcast.overlays.protocols.qos.regions import NOTHING, Pieces, coarse, coarse_union
from siftcast.overlays.recent import Recent
from siftcast.overlays.wire_messages import MessageCodec
from siftcast.schemes import SchemeError, scheme
from siftcast.space.dz import Dz, DzSet

INF = float("inf")
NODE = 2**63 - 1
WIDE = DzSet(["0*1", "1" * 60 + "***0*1" + "0" * 62, "00"])
LAST = (4.5, False, -0.5, INF, (NODE, 2))
PROFILE = Profile((NODE, 3), WIDE, 0.5, INF, 7.5, False, 12.5, 3, LAST, 2, 100.0)
MESSAGES = [
    Connect(1, PROFILE, WIDE, 5, True),
    Status(1, (NODE, 0), (), WIDE, NOTHING, frozenset(), 1.5, 0, None, 7, 8),
    Status(1, (NODE, 2), (PROFILE,), WIDE, WIDE, frozenset({(NODE, 1), (2, 1)}), INF, 2, LAST, 7, 8),
    Hint(1, (NODE, 1), (PROFILE,), LAST, (PROFILE,), 3, 4),
    Release(0, (NODE, 1), 9),
    News((Advert(NODE, NOTHING, 9, LAST),), (PROFILE,), True, ((3, 2.5),)),
    Forward((1, 2), Event({"a": 1}, id="x"), DzSet(["01"]), 3.5),
]
places = st.text("01*", max_size=6)
sets = st.lists(places, max_size=5).map(DzSet)


def _profile(number, *wanted, bound_ms=INF, claim_ms=INF, is_open=True, depth=1, last=None, room_below=0):
    region = DzSet(wanted)
    own = float(region.volume)
    return Profile((number, 1), region, own, bound_ms, claim_ms, is_open, 0.0, depth, last, room_below, INF)


def _with_children(degree, *profiles):
    children = Children(degree, grace_ms=100.0)
    for each in profiles:
        children.put(Connect(0, each, each.wanted, 1), each.wanted, 0.0)
    return children


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


@given(st.lists(sets, min_size=1, max_size=4), st.integers(1, 4))
def test_a_coarse_union_encloses_all_and_is_one_of_few(regions, pieces):
    found = coarse_union(regions, pieces)
    assert all(found.covers(each) for each in regions)
    assert len(found) <= pieces


def test_claims_come_first_then_those_without_limit_then_the_wide_then_the_hasty():
    urgent, later = _profile(9, "0000", claim_ms=5.0), _profile(8, "0", claim_ms=6.0)
    wide, hasty, patient = _profile(7, "0"), _profile(6, "00", bound_ms=5.0), _profile(5, "00")
    limited = _profile(1, "0", is_open=False)
    drawn = [limited, patient, hasty, wide, later, urgent]
    assert sorted(drawn, key=rank) == [urgent, later, wide, hasty, patient, limited]


def test_nobody_moves_in_the_order_by_what_it_takes_on():
    one = _profile(1, "00")
    assert rank(structs.replace(one, wanted=DzSet(["0"]))) == rank(one)


def test_a_peer_lands_where_there_is_room_or_where_somebody_goes_for_it():
    last = rank(_profile(5, "000"))
    full = _profile(1, "0", depth=2, last=last, room_below=3)
    assert has_place(last, rank(_profile(2, "00")))
    assert landing(full, rank(_profile(2, "00"))) == 2
    assert landing(full, rank(_profile(6, "000"))) == 5
    assert landing(_profile(1, "0", depth=2), rank(_profile(6, "000"))) == 2


def test_of_too_many_children_the_last_in_the_order_goes_and_hears_of_those_that_stay():
    one, two, three = _profile(1, "0"), _profile(2, "10"), _profile(3, "010")
    children = _with_children(2, one, two, three)
    assert children.surplus() == (3, 1)
    children.dismiss((3, 1), 0.0)
    assert [each.peer[0] for each in children.hints_for(three, three.wanted)] == [1, 2], "0 covers it, 10 does not"
    assert children.hints_for(three, NOTHING), "who wants nothing hears of them as well"
    assert children.last == rank(two)
    assert children.room_below == 1, "below both there is room"
    claimed = _profile(4, "1111", claim_ms=1.0)
    children.put(Connect(0, claimed, claimed.wanted, 1), claimed.wanted, 0.0)
    assert children.surplus() == (2, 1), "a claim stands before what is wide"


def test_who_insists_is_served_beyond_the_degree():
    one, two = _profile(1, "0"), _profile(2, "10")
    children = _with_children(2, one, two)
    narrow = _profile(3, "111")
    children.put(Connect(0, narrow, narrow.wanted, 1, True), narrow.wanted, 0.0)
    assert children.surplus() is None
    assert len(children.staying) == 3


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
    assert [(kept.event.id, kept.note) for kept in recent.at(1, 99.0)] == [("e", point)]
    assert not list(recent.at(2, 99.0))
    assert not list(recent.at(1, 100.0))
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
    bound = Bound(20.0, 1_000.0)
    bound.check(15.0, 5.0, 1.0)
    assert (bound.missed_since_ms, bound.is_impossible) == (None, False)
    bound.check(25.0, 5.0, 2.0)
    assert bound.is_worth_trying
    bound.check(26.0, 21.0, 3.0)
    assert (bound.missed_since_ms, bound.is_impossible, bound.is_worth_trying) == (2.0, True, False)
    bound.check(20.0, 5.0, 4.0)
    assert (bound.missed_since_ms, bound.is_impossible) == (None, False)
    assert not Bound(INF, 1_000.0).is_finite


def test_a_claim_is_made_after_a_while_kept_while_it_helps_and_made_more_rarely_each_time_it_does_not():
    bound = Bound(20.0, 1_000.0)
    bound.check(25.0, 5.04, 0.0)
    assert bound.claimable(5.04, 1_000.0) is None, "not at once"
    assert bound.claimable(5.04, 2_000.0) == 15.0, "what is left over, in tenths"
    bound.claim(15.0, 2_000.0)
    bound.check(19.0, 6.0, 3_000.0)
    bound.check(19.0, 6.0, 90_000.0)
    assert bound.claim_ms == 15.0, "it helps, and is what it was"
    waits = []
    for _ in range(4):
        lost_ms = now = 100_000.0 + sum(waits)
        bound.claim(15.0, now)
        while bound.claim_ms < INF:
            bound.check(25.0, 5.0, now)
            now += 1_000.0
        while bound.claimable(5.0, now) is None:
            now += 1_000.0
        waits.append(now - lost_ms)
    assert all(later > earlier + 15_000.0 for earlier, later in pairwise(waits))
    bound.check(25.0, 21.0, now)
    assert bound.claimable(21.0, now + 1e9) is None, "nothing helps against distance"


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
